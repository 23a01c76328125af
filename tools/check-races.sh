#!/usr/bin/env bash
# Data races between the threads of CPU variants: builds the programs with these variants alone under ThreadSanitizer and
# runs each with seven threads. A race that would give the right answer nearly always is found all the same.
#   tools/check-races.sh [LAB...]      all labs without one; ends with 0 when there is no race
set -euo pipefail
cd "$(dirname "$0")/.."

# Small ones, because the sanitizer makes a program some twenty times as slow. But gpulab::parts_for() takes another thread only
# for enough work, and one thread races with nobody: a loop that is shared out needs a problem here that is worth two threads.
problems() {
    case $1 in
        saxpy) echo "--n 8388617" && echo "--op distances --n 524309" ;;
        reduction) for op in sum dot inclusive-scan exclusive-scan pi log; do echo "--op $op --n 524309"; done ;;
        matmul) echo "--m 70001 --k 33 --n 5" && echo "--m 5 --k 33 --n 70001 --variant cpu_threads" ;;
        spmv)
            echo "--generate laplace2d:530000x1"
            echo "--generate powerlaw:140000:8 --write build/races/written.mtx"
            echo "--matrix build/races/written.mtx --variant cpu_threads" # several threads read it
            ;;
        streams) echo "--width 67 --height 41" ;;
        tridiagonal) echo "--n 67 --systems 7001" ;;
        lu)
            echo "--n 150"
            echo "--n 600 --variant cpu_threads_pivot" # its exchanges need more columns than its update
            echo "--op solve --n 128 --rhs-count 2100 --variant cpu_solve_blocked"
            echo "--op batch --n 9 --matrices 450"
            ;;
        fdtd) for scene in book waveguide heterogeneous; do echo "--scene $scene --nx 90 --ny 80 --steps 20"; done ;;
        cg) echo "--generate laplace2d:400 --tolerance 0.5" ;;
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
