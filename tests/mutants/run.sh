#!/usr/bin/env bash
# Plants the mistakes of this folder one at a time and says which of them the tests reject.
#   tests/mutants/run.sh [part of a name ...]
# For a machine with a CUDA device and a finished build in build/default. Needs a working tree without changes.
set -euo pipefail
cd "$(dirname "$0")/../.."
git diff --quiet || { echo "run.sh: the working tree has changes" >&2 && exit 2; }

# How a mistake ends: the labels of its tests are the lab's; large ones are left out.
verdict() { # verdict LAB
    cmake --build build/default --target "test_$1" >/dev/null 2>&1 </dev/null || { echo "does not compile" && return; }
    if (cd build/default && GPULAB_REQUIRE_DEVICES=1 ctest -j 8 --timeout 300 -L "^$1\$" -L '^(cuda|sanitizer)$' \
        --stop-on-failure >/dev/null 2>&1 </dev/null); then echo accepted; else echo rejected; fi
}

declare -A accepts # labs whose unchanged rungs are accepted here
tail -n +2 tests/mutants/manifest.tsv | while IFS=$'\t' read -r id lab _ mistake harmless; do
    wanted=$#
    for part in "$@"; do [[ $id != *"$part"* ]] || wanted=0; done
    ((wanted == 0)) || continue
    if [[ ! ${accepts[$lab]:-} ]]; then
        [[ $(verdict "$lab") == accepted ]] || { echo "run.sh: the unchanged $lab is not accepted here" >&2 && exit 2; }
        accepts[$lab]=yes
    fi
    patch=tests/mutants/$id.patch
    if ! git apply "$patch" 2>/dev/null; then
        printf '%-50s %s\n' "$id" "does not fit the files any more"
        continue
    fi
    trap 'git apply -R "$patch"' EXIT
    printf '%-50s %s (%s; harmless: %s)\n' "$id" "$(verdict "$lab")" "$mistake" "$harmless"
    git apply -R "$patch"
    trap - EXIT
done
