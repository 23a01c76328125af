#!/usr/bin/env bash
# Are all sources formatted as .clang-format says? --fix formats them. Versions of clang-format differ: 14 decides.
set -euo pipefail
cd "$(dirname "$0")/.."
for program in clang-format-14 clang-format; do
    if [[ $("$program" --version 2>/dev/null) == *"version 14."* ]]; then break; fi
    program=""
done
[[ $program ]] || { echo "check-format: clang-format 14 is not installed (pip install clang-format==14.0.6)" >&2 && exit 2; }
mode=(--dry-run -Werror)
if [[ ${1:-} == --fix ]]; then mode=(-i); fi
# Files not yet added to git count too, ignored ones do not.
git ls-files -z --cached --others --exclude-standard '*.cpp' '*.hpp' '*.cu' '*.cuh' '*.cl' | xargs -0 "$program" "${mode[@]}"
