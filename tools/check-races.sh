#!/usr/bin/env bash
# Data races between the threads of CPU variants: builds the programs with these variants alone under ThreadSanitizer and
# runs each with seven threads. A race that would give the right answer nearly always is found all the same.
#   tools/check-races.sh [LAB...]      all labs without one; ends with 0 when there is no race
set -euo pipefail
cd "$(dirname "$0")/.."

problems() { # small ones: the sanitizer makes a program some twenty times as slow
    case $1 in
        saxpy) echo "--n 10007" && echo "--op distances --n 10007" ;;
        reduction) for op in sum dot inclusive-scan exclusive-scan pi log; do echo "--op $op --n 10007"; done ;;
        matmul) echo "--m 67 --k 33 --n 65" ;;
        spmv) echo "--generate powerlaw:1000:8" ;;
        streams) echo "--width 67 --height 41" ;;
        tridiagonal) echo "--n 67 --systems 33" ;;
        lu) echo "--n 150" && echo "--op solve --n 150 --rhs-count 9" ;;
        fdtd) for scene in book waveguide heterogeneous; do echo "--scene $scene --nx 90 --ny 80 --steps 20"; done ;;
        cg) echo "--generate laplace2d:40" ;;
        *) echo "check-races: name a small problem of lab $1 in this script" >&2 && exit 1 ;;
    esac
}

labs=("$@")
[[ $# -gt 0 ]] || mapfile -t labs < <(./lab list | awk '{ print $1 }')
cmake --preset races >/dev/null
cmake --build --preset races --target "${labs[@]}" >build/races.log 2>&1 || { cat build/races.log; exit 1; }
export GPULAB_CPU_THREADS=7
for lab in "${labs[@]}"; do
    options=$(problems "$lab")
    while read -r arguments; do
        # shellcheck disable=SC2086 # words on purpose
        build/races/bin/$lab $arguments --backend cpu --repeat 3 --warmup 0 >build/races.log 2>&1 || {
            cat build/races.log
            echo "check-races: $lab $arguments: a data race, or a wrong answer" >&2
            exit 1
        }
    done <<<"$options"
done
