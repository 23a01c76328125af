#!/usr/bin/env bash
# The tests of ./lab and of what stands behind it. test_lab.sh "the sentence to test"; ctest runs each sentence.
set -uo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
    echo "FAILED: $*"
    exit 1
}

# Runs a command; rc, out and err are what came of it.
try() {
    "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
    rc=$?
    out=$(<"$scratch/out")
    err=$(<"$scratch/err")
}
ends_with() { [[ $rc == "$1" ]] || fail "exit code $rc, not $1. It said: $out $err"; }
says_one_line() { [[ -z $out && $(wc -l <"$scratch/err") == 1 ]] || fail "not one line on stderr: '$out' '$err'"; }
names() { # names TEXT WORD...: each word occurs in the text
    local word
    for word in "${@:2}"; do [[ $1 == *"$word"* ]] || fail "'$word' is not in: $1"; done
}

labs=()
for folder in "$root"/labs/[0-9][0-9]_*; do
    folder=${folder##*/}
    labs+=("${folder#*_}")
done
[[ ${#labs[@]} -gt 0 ]] || fail "no labs"
commands=(run test list setup docs plot doctor help)

# A bare machine: a PATH with nothing but these.
bare() {
    local program
    mkdir -p "$scratch/bin"
    for program in bash sed awk wc ls paste grep cat uname getconf head id mktemp rm mkdir dirname env; do
        ln -sf "$(command -v $program)" "$scratch/bin/"
    done
    PATH=$scratch/bin
}

case $* in
    "an unknown command ends with 2 and one line that names the commands")
        try "$root/lab" rum
        ends_with 2 && says_one_line && names "$err" rum "${commands[@]}" ;;

    "an unknown lab ends with 2 and one line that names the labs")
        for command in run test; do
            try "$root/lab" $command 'sax.*'
            ends_with 2 && says_one_line && names "$err" 'sax.*' "${labs[@]}"
        done ;;

    "run without a lab ends with 2 and one line that names the labs")
        try "$root/lab" run
        ends_with 2 && says_one_line && names "$err" "${labs[@]}" ;;

    "test with a word too many ends with 2 and one line")
        try "$root/lab" test "${labs[0]}" "${labs[1]:-more}"
        ends_with 2 && says_one_line && names "$err" "${labs[0]}" "${labs[1]:-more}"
        try "$root/lab" test "${labs[0]}" --lrage
        ends_with 2 && says_one_line && names "$err" --lrage --large ;;

    "test runs the tests of one lab, the large ones only with --large")
        mkdir -p "$scratch/copy/labs/01_a" "$scratch/copy/tests/wrong/01_a" "$scratch/bin"
        cp -r "$root/lab" "$root/tools" "$scratch/copy/"
        touch "$scratch/copy/labs/01_a/CMakeLists.txt" "$scratch/copy/tests/wrong/01_a/CMakeLists.txt"
        for program in cmake ctest; do
            cat >"$scratch/bin/$program" <<END
#!/bin/sh
if [ "\$1" = --version ]; then echo cmake version 9.9; else echo $program "\$@" >>"$scratch/called"; fi
END
            chmod +x "$scratch/bin/$program"
        done
        called() { # called OPTION... -> what ./lab test calls in the end
            rm -f "$scratch/called"
            try env PATH="$scratch/bin:$PATH" GPULAB_INSTALL=no CI= "$scratch/copy/lab" test "$@"
            ends_with 0
            grep '^ctest' "$scratch/called"
        }
        jobs=$(getconf _NPROCESSORS_ONLN)
        want="ctest --preset default --parallel $((jobs < 12 ? jobs : 12))"
        [[ $(called) == "$want" ]] || fail "all: $(called)"
        [[ $(called a) == "$want -L ^a\$" ]] || fail "one lab: $(called a)"
        grep -q '^cmake --build .* --target labs/01_a/all tests/wrong/01_a/all$' "$scratch/called" ||
            fail "not the lab's targets: $(<"$scratch/called")"
        [[ $(called a --large) == "$want -C large -L ^a\$" ]] || fail "one lab, large: $(called a --large)"
        [[ $(called --large) == "$want -C large" ]] || fail "all, large: $(called --large)" ;;

    "plot without a file ends with 2 and one line, and draws a file from any folder")
        command -v python3 >/dev/null || { echo "skipped: no python3" && exit 4; }
        try "$root/lab" plot
        ends_with 2 && says_one_line && names "$err" FILE.json
        python3 -c "import matplotlib" 2>/dev/null || /usr/bin/python3 -c "import matplotlib" 2>/dev/null ||
            { echo "skipped: no matplotlib (package python3-matplotlib)" && exit 4; }
        cp "$root/docs/results/h200/saxpy.json" "$scratch/"
        cd "$scratch" || fail "no folder"
        try "$root/lab" plot saxpy.json
        ends_with 0
        [[ $out == saxpy.svg && -s saxpy.svg ]] || fail "no saxpy.svg: $out $(ls)" ;;

    "list shows every folder of labs with its summary")
        try "$root/lab" list
        ends_with 0
        [[ $(wc -l <"$scratch/out") == "${#labs[@]}" ]] || fail "not one line for each of ${labs[*]}: $out"
        for lab in "${labs[@]}"; do
            grep -qE "^$lab +[^ ].{10,}" "$scratch/out" || fail "no line with a summary for $lab: $out"
        done ;;

    "help names every command")
        for words in "help" "--help" ""; do
            # shellcheck disable=SC2086
            try "$root/lab" $words
            ends_with 0 && names "$out" "${commands[@]}"
        done ;;

    "doctor ends with 0 and speaks of each thing a lab can use")
        try "$root/lab" doctor
        ends_with 0 && names "$out" compiler CMake Ninja Catch2 CUDA NVIDIA OpenCL MPI oclgrind Doxygen clang-format matplotlib
        grep -qE '^ok +CMake +.*[0-9]\.[0-9]' "$scratch/out" || fail "CMake runs this test, but: $out" ;;

    "doctor says what is missing on a bare machine, and how to get it")
        bare
        try bash "$root/tools/doctor.sh"
        ends_with 0
        for thing in compiler CMake Ninja clinfo MPI oclgrind Doxygen clang-format; do
            grep -A1 "^missing *$thing " "$scratch/out" | grep -q -- '-> .' || fail "nothing said about $thing: $out"
        done ;;

    "a machine without apt is told what it needs, and nothing is tried")
        mkdir -p "$scratch/copy/build"
        cp -r "$root/lab" "$root/tools" "$root/labs" "$scratch/copy/"
        bare
        try "$scratch/copy/lab" run "${labs[0]}"
        ends_with 2 && says_one_line && names "$err" compiler CMake Ninja git OpenCL
        [[ -z $(ls "$scratch/copy/build") ]] || fail "it left something behind: $(ls "$scratch/copy/build")" ;;

    "backports come from the mirror in a one-line source")
        # shellcheck source=tools/setup.sh
        . "$root/tools/setup.sh"
        cat >"$scratch/a.list" <<'END'
# deb http://commented.invalid/debian bookworm main
deb cdrom:[Debian 12]/ bookworm main
deb-src http://mirror.invalid/debian bookworm main
deb http://mirror.invalid/security bookworm-security main
deb [arch=amd64 signed-by=/usr/share/keyrings/k.gpg] http://mirror.invalid/debian bookworm main contrib
deb http://second.invalid/debian bookworm main
END
        want='deb [arch=amd64 signed-by=/usr/share/keyrings/k.gpg] http://mirror.invalid/debian bookworm-backports main contrib'
        got=$(backports_entry bookworm "$scratch/a.list")
        [[ $got == "$want" ]] || fail "got '$got'"
        [[ -z $(backports_entry trixie "$scratch/a.list") ]] || fail "an entry for a release that is not there" ;;

    "backports come from the mirror in a source of fields")
        # shellcheck source=tools/setup.sh
        . "$root/tools/setup.sh"
        cat >"$scratch/a.sources" <<'END'
Types: deb
URIs: http://mirror.invalid/security
Suites: bookworm-security
Components: main

Enabled: no
Types: deb
URIs: http://off.invalid/debian
Suites: bookworm
Components: main

Types: deb deb-src
URIs: http://mirror.invalid/debian
Suites: bookworm bookworm-updates
Components: main
Signed-By: /usr/share/keyrings/k.gpg
END
        want='Types: deb
URIs: http://mirror.invalid/debian
Suites: bookworm-backports
Components: main
Signed-By: /usr/share/keyrings/k.gpg'
        got=$(backports_entry bookworm "$scratch/a.sources")
        [[ $got == "$want" ]] || fail "got '$got'"
        [[ -z $(backports_entry trixie "$scratch/a.sources") ]] || fail "an entry for a release that is not there" ;;

    "a command that fails shows its output and ends with 2")
        mkdir -p "$scratch/copy/labs/01_broken" "$scratch/bin"
        cp -r "$root/lab" "$root/tools" "$scratch/copy/"
        cat >"$scratch/bin/cmake" <<'END'
#!/bin/sh
if [ "$1" = --version ]; then echo cmake version 9.9; else echo configuring broke; exit 7; fi
END
        chmod +x "$scratch/bin/cmake"
        try env PATH="$scratch/bin:$PATH" GPULAB_INSTALL=no CI= "$scratch/copy/lab" run broken
        ends_with 2 && names "$err" "configuring broke" "this failed: cmake" ;;

    "no test case has a name that its program takes for an option")
        try grep -rnE 'TEST_CASE\("-' "$root/tests" --include='*.cpp' --include='*.cu'
        [[ $rc == 1 ]] || fail "ctest runs '--help names ...' as --help, which passes: $out$err" ;;

    "of a lab's files only its tables include rungs.hpp") # so that a new rung recompiles no other
        for file in $(grep -rl '"rungs.hpp"' "$root/labs"); do
            grep -q 'constexpr std::array table' "$file" || fail "$file includes rungs.hpp"
        done ;;

    "files of rungs are numbered with two digits, or named as baselines") # so that they list in their order
        cd "$root/labs" || fail "no labs"
        try ls [0-9][0-9]_*/{cpu,cuda,opencl}/*
        for file in $out; do
            [[ ! ${file##*/} =~ ^([a-z]+_)?[0-9]+_ || ${file##*/} =~ ^([a-z]+_)?[0-9][0-9]_ ]] || fail "$file"
            [[ $file != *cub.cu && $file != *cublas.cu && $file != *cusparse.cu || $file == *baseline_* ]] || fail "$file"
        done ;;

    "the format check finds a line that is not formatted")
        clang-format --version 2>/dev/null | grep -q 'version 14\.' || { echo "skipped: no clang-format 14" && exit 4; }
        mkdir -p "$scratch/copy"
        cp -r "$root/tools" "$root/.clang-format" "$scratch/copy/"
        cd "$scratch/copy" || fail "no copy"
        echo 'int  f( ){return 1 ;}' >bad.cpp
        git init -q . && git add bad.cpp
        try tools/check-format.sh
        [[ $rc != 0 ]] || fail "it passed"
        names "$err" bad.cpp
        try tools/check-format.sh --fix
        ends_with 0
        try tools/check-format.sh
        ends_with 0
        echo 'int  g( ){return 2 ;}' >not_added.cpp
        try tools/check-format.sh
        [[ $rc != 0 ]] || fail "it passed over a file that git does not know yet"
        names "$err" not_added.cpp ;;

    "ctest says why tests were skipped, at its end and in the JUnit file")
        mkdir "$scratch/a folder"
        cd "$scratch/a folder" || fail "no folder"
        cat >CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.25)
project(skips NONE)
enable_testing()
include("$root/cmake/TestSummary.cmake")
END
        cat >>CMakeLists.txt <<'END'
function(skips name text)
    file(WRITE ${CMAKE_BINARY_DIR}/${name} "${text}\n")
    add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E cat ${CMAKE_BINARY_DIR}/${name})
    set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "skipped: |SKIPPED:")
endfunction()
string(REPEAT "many words before it\n" 500 long)
skips(line "skipped: no <GPU> & \"none; at all\", its driver's fault")
skips(line_again "${long}skipped: no <GPU> & \"none; at all\", its driver's fault")
skips(catch2 "test.cpp:25: SKIPPED:\nexplicitly with message:\n  a long reason that\n  goes on\n\n====")
skips(silent "SKIPPED:")
add_test(NAME good COMMAND ${CMAKE_COMMAND} -E echo "skipped: nothing")
END
        
        try cmake -S . -B "the build" -G Ninja
        ends_with 0
        try ctest --test-dir "the build" --output-junit tests.xml
        ends_with 0
        [[ $out == *"Why tests were skipped:
  2 tests: no <GPU> & \"none; at all\", its driver's fault
  1 test: a long reason that goes on
  1 test: no reason given"* ]] || fail "not the reasons: $out"
        xml=$(<"the build/tests.xml")
        want='<skipped message="no &lt;GPU&gt; &amp; &quot;none; at all&quot;, its driver'
        [[ $(grep -cF "$want" <<<"$xml") == 2 ]] || fail "not twice in the file: $xml"
        [[ $(grep -c '<testcase ' <<<"$xml") == 5 && $(grep -c '</testcase>' <<<"$xml") == 5 && $xml == *"</testsuite>"* ]] ||
            fail "not a whole file: $xml"
        # A run that writes no file says nothing of the one before, and one without a skip nothing at all.
        for arguments in "" "-R good --output-junit tests.xml"; do
            # shellcheck disable=SC2086
            try ctest --test-dir "the build" $arguments
            ends_with 0
            [[ $out != *"Why tests"* ]] || fail "it speaks of skips: $out"
        done ;;

    "of another GCC than the C++ compiler's no folder is linked")
        cat >"$scratch/folders.cmake" <<END
cmake_minimum_required(VERSION 3.25)
include("$root/cmake/LinkFolders.cmake")
set(cuda /usr/lib/cuda/lib64 /usr/lib/gcc/x86_64-linux-gnu/13 /usr/lib/gcc/x86_64-linux-gnu/14 /usr/lib/x86_64-linux-gnu)
gpulab_without_other_gcc(cuda /usr/lib/gcc/x86_64-linux-gnu/14 /usr/lib/x86_64-linux-gnu /lib)
message("\${cuda}")
END
        try cmake -P "$scratch/folders.cmake"
        ends_with 0
        [[ $err == "/usr/lib/cuda/lib64;/usr/lib/gcc/x86_64-linux-gnu/14;/usr/lib/x86_64-linux-gnu" ]] || fail "left: $err"
        # And in a project, where there is a CUDA compiler and an older GCC for it.
        PATH=$PATH:/usr/local/cuda/bin
        command -v nvcc >/dev/null || { echo "skipped: no CUDA compiler" && exit 4; }
        newest=$(c++ -dumpversion)
        for version in $(seq $((${newest%%.*} - 1)) -1 9) none; do
            if command -v "g++-$version" >/dev/null; then break; fi
        done
        [[ $version != none ]] || { echo "skipped: no GCC older than the C++ compiler" && exit 4; }
        mkdir "$scratch/project"
        cat >"$scratch/project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(folders LANGUAGES CXX)
set(GPULAB_CUDA ON)
include("$root/cmake/Cuda.cmake")
add_library(kernels STATIC kernels.cu)
add_executable(folders main.cpp)
target_link_libraries(folders kernels)
END
        echo 'void launch() {}' >"$scratch/project/kernels.cu"
        echo 'void launch(); int main() { launch(); }' >"$scratch/project/main.cpp"
        try cmake -S "$scratch/project" -B "$scratch/build" -G Ninja -DCMAKE_CUDA_HOST_COMPILER="g++-$version" \
            -DCMAKE_CUDA_ARCHITECTURES=80
        ends_with 0
        names "$(<"$scratch/build/build.ninja")" "cudart"
        ! grep "LINK_PATH.*/gcc/[^ ]*/$version\b" "$scratch/build/build.ninja" || fail "it links the folder of GCC $version" ;;

    *) fail "no test of that name: $*" ;;
esac
