#!/usr/bin/env bash
# Data races between the threads of CPU variants: builds the programs with these variants alone under ThreadSanitizer and
# runs each with seven threads. A race that would give the right answer nearly always is found all the same.
#   tools/check-races.sh      ends with 0 when there is none
set -euo pipefail
cd "$(dirname "$0")/.."
cmake --preset races > /dev/null
cmake --build --preset races > build/races.log 2>&1 || { cat build/races.log; exit 1; }
export GPULAB_CPU_THREADS=7
while read -r arguments; do
    # shellcheck disable=SC2086 # words on purpose
    build/races/bin/$arguments --backend cpu --repeat 3 --warmup 0 > build/races.log 2>&1 || {
        cat build/races.log
        echo "check-races: $arguments: a data race, or a wrong answer" >&2
        exit 1
    }
done << 'PROGRAMS'
saxpy --n 10007
reduction --n 10007
reduction --op pi --n 10007
matmul --m 67 --k 33 --n 65
spmv --generate powerlaw:1000:8
streams --width 67 --height 41
tridiagonal --n 67 --systems 33
PROGRAMS
