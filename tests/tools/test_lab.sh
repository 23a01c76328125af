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
commands=(run test list setup docs plot handout grade package-autograder package-classroom doctor help)

# A bare machine: a PATH with nothing but these, and those named.
bare() {
    local program
    mkdir -p "$scratch/bin"
    for program in bash sed awk wc ls paste grep cat uname getconf head id mktemp rm mkdir dirname env "$@"; do
        ln -sf "$(command -v $program)" "$scratch/bin/"
    done
    PATH=$scratch/bin
}

# A copy of ./lab with one lab, a, on a machine where a compiler, CMake, Ninja and git are installed, and apt can install the
# rest. All of them are fakes, which write their calls into the file called. They are told what to do by variables:
# ID, the number of the user; UPDATE, what apt-get update prints (then it fails); INSTALL, the same for apt-get install.
# shellcheck disable=SC2016 # the fakes expand their variables themselves
fake_machine() {
    bare tee touch sort tput chmod cp
    mkdir -p "$scratch/copy/labs/01_a"
    cp -r "$root/lab" "$root/tools" "$scratch/copy/"
    touch "$scratch/copy/labs/01_a/CMakeLists.txt"
    fake cmake '
if [ "$1" = --version ]; then echo cmake version 9.9; exit; fi
echo cmake "$@" >>"$scratch/called"
build=$scratch/copy/build/default
mkdir -p "$build/bin"
if [ "$1" = -S ]; then
    touch "$build/build.ninja"
    echo GPULAB_WERROR:BOOL=OFF >"$build/CMakeCache.txt"
else
    echo "[1/2] Compiling"
    echo "[2/2] Linking"
    echo "#!/bin/sh" >"$build/bin/a"
    chmod +x "$build/bin/a"
fi'
    fake apt-get '
echo apt-get "$@" >>"$scratch/called"
case " $* " in
    *" update "*) [ -z "${UPDATE:-}" ] || { echo "$UPDATE"; exit 100; } ;;
    *" --assume-no "*) echo "Need to get 12 MB/312 MB of archives."
        echo "After this operation, 1203 MB of additional disk space will be used."; exit 1 ;;
    *" install "*) [ -z "${INSTALL:-}" ] || { echo "$INSTALL"; exit 100; }
        for program in clinfo oclgrind; do echo "#!/bin/sh" >"$scratch/bin/$program"; chmod +x "$scratch/bin/$program"; done ;;
esac'
    fake apt-cache 'echo "$2 | 9.0 | mirror"'
    fake id 'echo "${ID:-0}"'
    for program in c++ ninja git dpkg; do fake $program ''; done
    export scratch
    unset GPULAB_INSTALL CI CMAKE_PREFIX_PATH
}
fake() { # fake PROGRAM SCRIPT
    rm -f "$scratch/bin/$1"
    printf '#!/bin/sh\n%s\n' "$2" >"$scratch/bin/$1"
    chmod +x "$scratch/bin/$1"
}
calls() { # calls TEXT: how many calls of the fakes contain it
    grep -c -- "$1" "$scratch/called"
}

fetched=() # options that name what the build around this test had to fetch
for folder in "${GPULAB_FETCHED:-/nowhere}"/*-src; do
    name=${folder##*/}
    name=${name%-src}
    [[ ! -d $folder ]] || fetched+=("-DFETCHCONTENT_SOURCE_DIR_${name^^}=$folder")
done

case $* in
    "an unknown command ends with 2 and one line that names the commands")
        for command in rum "run test"; do
            try "$root/lab" "$command"
            ends_with 2 && says_one_line && names "$err" "$command" "${commands[@]}"
        done ;;

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
        try "$root/lab" test "" # such as a variable that is not set
        ends_with 2 && says_one_line && names "$err" "''" "${labs[@]}"
        try "$root/lab" test "${labs[0]}" --lrage
        ends_with 2 && says_one_line && names "$err" --lrage --large ;;

    "test runs the tests of one lab, the large ones only with --large, those of grading only with --grading")
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
        [[ $(called a) == "$want -L ^a\$ -LE ^grading\$" ]] || fail "one lab: $(called a)"
        [[ $(called --grading a) == "$want -L ^a\$" ]] || fail "one lab, grading: $(called --grading a)"
        grep -q '^cmake --build .* --target labs/01_a/all tests/wrong/01_a/all$' "$scratch/called" ||
            fail "not the lab's targets: $(<"$scratch/called")"
        [[ $(called a --large) == "$want -C large -L ^a\$ -LE ^grading\$" ]] || fail "one lab, large: $(called a --large)"
        [[ $(called --large) == "$want -C large" ]] || fail "all, large: $(called --large)" ;;

    "run cg --ranks starts that many processes, without colours where no terminal shows them")
        mkdir -p "$scratch/copy/labs/09_cg" "$scratch/bin"
        cp -r "$root/lab" "$root/tools" "$scratch/copy/"
        touch "$scratch/copy/labs/09_cg/CMakeLists.txt"
        fake cmake '[ "$1" != --version ] || echo cmake version 9.9'
        fake ninja ''
        # shellcheck disable=SC2016 # the fake expands its variables itself
        fake mpirun '
if [ "$1" = --version ]; then echo "mpirun (Open MPI) 9.9"; exit; fi
echo "NO_COLOR=${NO_COLOR:-}"
printf "<%s>" "$@"'
        ranks=(env -u NO_COLOR PATH="$scratch/bin:$PATH" GPULAB_INSTALL=no CI= "$scratch/copy/lab" run cg)
        program=$scratch/copy/build/default/bin/cg_mpi
        for words in "--ranks 3 --generate laplace2d:10" "--generate laplace2d:10 --ranks=3" "--generate --ranks 3 laplace2d:10"; do
            # shellcheck disable=SC2086
            try "${ranks[@]}" $words
            ends_with 0 && names "$out" "NO_COLOR=1" "<-np><3>" "<$program><--generate><laplace2d:10>"
            [[ $out == *"<$program><--generate><laplace2d:10>" ]] || fail "more options: $out"
        done
        for words in "--ranks 0" "--ranks" "--ranks=" "--ranks two" "--ranks -1" "--ranks 1.5"; do
            # shellcheck disable=SC2086
            try "${ranks[@]}" $words
            ends_with 2 && says_one_line && names "$err" "--ranks: how many processes?"
        done
        if command -v script >/dev/null; then
            try script -qec "$(printf '%q ' "${ranks[@]}" --ranks 2)" /dev/null
            ends_with 0 && names "$out" "<-np><2>"
            [[ $out != *NO_COLOR=1* ]] || fail "no colours on a terminal: $out"
        fi ;;

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

    "./lab is found through a link, and whatever CDPATH says")
        mkdir -p "$scratch/a link/deeper" "$scratch/elsewhere/deeper/repository"
        ln -s "$root" "$scratch/a link/deeper/repository"
        ln -s "repository/lab" "$scratch/a link/deeper/lab"
        cd "$scratch/a link" || fail "no folder"
        want=$("$root/lab" list)
        for way in ./deeper/lab deeper/lab deeper/repository/lab; do
            CDPATH=$scratch/elsewhere:$scratch try bash "$way" list
            ends_with 0 && [[ $out == "$want" && -z $err ]] || fail "$way: $out $err"
        done ;;

    "help names every command")
        for words in "help" "--help" ""; do
            # shellcheck disable=SC2086
            try "$root/lab" $words
            ends_with 0 && names "$out" "${commands[@]}"
        done ;;

    "doctor ends with 0 and speaks of each thing a lab can use")
        try "$root/lab" doctor
        ends_with 0 && names "$out" compiler CMake Ninja Catch2 CUDA NVIDIA OpenCL MPI oclgrind Doxygen clang-format matplotlib Python bubblewrap
        grep -qE '^ok +CMake +.*[0-9]\.[0-9]' "$scratch/out" || fail "CMake runs this test, but: $out" ;;

    "doctor says what is missing on a bare machine, and how to get it")
        bare chmod
        try bash "$root/tools/doctor.sh"
        ends_with 0
        for thing in compiler CMake Ninja clinfo MPI oclgrind Doxygen clang-format Python bubblewrap; do
            grep -A1 "^missing *$thing " "$scratch/out" | grep -q -- '-> .' || fail "nothing said about $thing: $out"
        done
        fake clang-format 'echo clang-format version 19.1.7' # the format check refuses it
        try bash "$root/tools/doctor.sh"
        ends_with 0
        grep -q "^missing *clang-format .*14.*19\.1\.7" "$scratch/out" || fail "clang-format 19 will do: $out" ;;

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

    "an administrator is told how to add the backports that Catch2 needs")
        . "$root/tools/setup.sh"
        apt-cache() { echo "$2 | 9.0 | mirror"; }
        recent_catch2() { :; }
        find_backports() { release=bookworm entry=$'Types: deb\nURIs: http://mirror/of me' added=$scratch/added; }
        line=$(by_hand libcatch2-dev cmake)
        names "$line" "&& apt-get update && apt-get install -y" " libcatch2-dev/bookworm-backports cmake"
        line=${line#For an administrator: }
        bash -c "${line%%&&*}" # adds the entry
        [[ $(<"$scratch/added") == $'Types: deb\nURIs: http://mirror/of me' ]] || fail "not the entry: $(<"$scratch/added")"
        find_backports() { return 1; }
        [[ $(by_hand libcatch2-dev cmake) == "For an administrator: apt-get update && apt-get install -y "*" cmake" ]] ||
            fail "without backports: $(by_hand libcatch2-dev cmake)" ;;

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
            grep -q '^#include "rungs.*\.inc"' "$file" || fail "$file includes rungs.hpp"
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
        [[ $out != *"What is wrong"* ]] || fail "it speaks of faults: $out"
        # A run that writes no file says nothing of the one before, and one without a skip nothing at all.
        for arguments in "" "-R good --output-junit tests.xml"; do
            # shellcheck disable=SC2086
            try ctest --test-dir "the build" $arguments
            ends_with 0
            [[ $out != *"Why tests"* ]] || fail "it speaks of skips: $out"
        done ;;

    "ctest says at its end what is wrong with each variant")
        cd "$scratch" || fail "no folder"
        cat >CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.25)
project(faults NONE)
enable_testing()
include("$root/cmake/TestSummary.cmake")
END
        cat >>CMakeLists.txt <<'END'
function(faulty name text)
    file(WRITE ${CMAKE_BINARY_DIR}/${name} "${text}\n")
    add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E cat ${CMAKE_BINARY_DIR}/${name})
    set_tests_properties(${name} PROPERTIES FAIL_REGULAR_EXPRESSION "is wrong")
endfunction()
faulty(one "Randomness\n\ncpu_a on cpu:0 (A <CPU> [2]; new) is wrong\n  every size: n = 3: 1 & 2\n  special: the same\n\nFAILED:")
faulty(two "opencl_b on opencl:1 (B) is wrong\n  by hand: (1, 2)\nopencl_b on opencl:2 (C) is wrong\n  by hand: 3\nend")
string(REPEAT "0123456789abcdef" 10000 long) # too long for an argument of a command
faulty(long "cuda_c on cuda:0 (D) is wrong\n  by hand: ${long}\n    in two lines\n  last: 5\n")
faulty(other "the sum is wrong\n  indented")
add_test(NAME good COMMAND ${CMAKE_COMMAND} -E true)
END
        try cmake -S . -B build -G Ninja
        ends_with 0
        try ctest --test-dir build --output-junit tests.xml
        ends_with 8
        long=$(printf '0123456789abcdef%.0s' {1..10000})
        [[ $out == *"What is wrong with the variants:
  cpu_a on cpu:0 (A <CPU> [2]; new) is wrong
    every size: n = 3: 1 & 2
    special: the same
  opencl_b on opencl:1 (B) is wrong
    by hand: (1, 2)
  opencl_b on opencl:2 (C) is wrong
    by hand: 3
  cuda_c on cuda:0 (D) is wrong
    by hand: $long
      in two lines
    last: 5" ]] || fail "not the faults: $out" ;;

    "the preset gpu leaves out tools, grading and pages, also where ctest is told to leave out more")
        cd "$scratch" || fail "no folder"
        mkdir cmake
        cp "$root/CMakePresets.json" .
        cp "$root/cmake/GpuSlotsServer.json" cmake/
        cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.25)
project(labels NONE)
enable_testing()
foreach(name "tools: one" "grading: two" "docs: three" "test_a: four" "test_a: five")
    add_test(NAME "${name}" COMMAND ${CMAKE_COMMAND} -E true)
endforeach()
set_tests_properties("test_a: five" PROPERTIES LABELS sanitizer)
END
        try cmake --preset default
        ends_with 0
        chosen() { # chosen OPTION...: the tests that ctest would run
            try ctest --preset gpu -N "$@"
            ends_with 0
            sed -n 's/^ *Test *#[0-9]*: //p' <<<"$out" | paste -sd, -
        }
        [[ $(chosen) == "test_a: four,test_a: five" ]] || fail "all: $(chosen)"
        [[ $(chosen -LE "^sanitizer$") == "test_a: four" ]] || fail "without a label: $(chosen -LE "^sanitizer$")"
        [[ $(chosen -L "^sanitizer$") == "test_a: five" ]] || fail "with a label: $(chosen -L "^sanitizer$")" ;;

    "a run under compute-sanitizer counts as skipped only when all of its test cases were")
        sanitizer() { # sanitizer RC FINDINGS OUTPUT: runs the script with a tool that ends so, and logs and prints this
            cat >"$scratch/tool" <<END
#!/bin/sh
echo "\$@" >"$scratch/words"
while [ "\$1" != --log-file ]; do shift; done
echo "$2" >"\$2"
printf '$3'
exit $1
END
            chmod +x "$scratch/tool"
            try cmake -DSANITIZER="$scratch/tool" -DTOOL=memcheck -DPROGRAM=program -DCASES=[.sanitizer] -DFINDS= \
                -DLOG="$scratch/log" -P "$root/cmake/RunSanitizer.cmake"
        }
        unset GPULAB_REQUIRE_DEVICES
        one='skipped: no NVIDIA GPU\n'
        for code in 4 255; do
            sanitizer $code "Error: terminated before the first call" "${one}test cases: 2 | 2 skipped\nassertions: 0\n"
            ends_with 0 && names "$err" "skipped: no NVIDIA GPU"
        done
        # Without padding a read past the end of an array may be a valid read of the next.
        [[ $(<"$scratch/words") == "--tool memcheck --leak-check no --padding 4096 --log-file "* ]] ||
            fail "memcheck's options: $(<"$scratch/words")"
        some="${one}test cases: 2 | 1 passed | 1 skipped\n"
        sanitizer 0 "ERROR SUMMARY: 0 errors" "$some"
        ends_with 0 && [[ $out$err != *"skipped: "* ]] || fail "one that passed counts as skipped: $out $err"
        for findings in "Invalid __global__ write ERROR SUMMARY: 1 error" "Error: terminated before the first call"; do
            sanitizer 0 "$findings" "$some"
            ends_with 1 && [[ $out$err != *"skipped: "* ]] || fail "a finding counts as skipped: $out $err"
        done
        sanitizer 42 "ERROR SUMMARY: 0 errors" "${one}test cases: 2 | 1 failed | 1 skipped\n"
        ends_with 1 && [[ $out$err != *"skipped: "* ]] || fail "a failure counts as skipped: $out $err"
        export GPULAB_REQUIRE_DEVICES=1
        sanitizer 4 "ERROR SUMMARY: 0 errors" "${one}test cases: 2 | 2 skipped\n"
        ends_with 1 && [[ $out$err != *"skipped: "* ]] || fail "a missing device counts as skipped: $out $err" ;;

    "setup --all configures after it has installed everything")
        fake_machine
        try "$scratch/copy/lab" setup --all
        ends_with 0
        last=$(grep -nE "apt-get .* install -y" "$scratch/called" | sed -n '$p')
        [[ $last == *libopenmpi-dev* ]] || fail "MPI is not installed: $(<"$scratch/called")"
        configured=$(grep -n "cmake -S" "$scratch/called")
        ((${configured%%:*} > ${last%%:*})) || fail "it configures before: $(<"$scratch/called")" ;;

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

    "packages that GPULAB_INSTALL=no left out are installed by a later run without it")
        fake_machine
        try env GPULAB_INSTALL=no "$scratch/copy/lab" run a
        ends_with 0 && names "$err" "not installed, because GPULAB_INSTALL is no: " oclgrind
        [[ $(calls apt-get) == 0 ]] || fail "it called apt: $(<"$scratch/called")"
        try env GPULAB_INSTALL=no "$scratch/copy/lab" run a
        ends_with 0
        [[ $err != *"not installed"* ]] || fail "it says so in each run: $err"
        try "$scratch/copy/lab" run a
        ends_with 0
        [[ $(calls "apt-get .* install -y .*oclgrind") == 1 ]] || fail "nothing was installed: $(<"$scratch/called")" ;;

    "what was installed since the last run is noticed")
        fake_machine
        try env GPULAB_INSTALL=no "$scratch/copy/lab" run a
        try env GPULAB_INSTALL=no "$scratch/copy/lab" run a
        ends_with 0
        [[ $(calls "cmake -S") == 1 ]] || fail "it configures in each run: $(<"$scratch/called")"
        for program in nvcc clinfo mpirun; do
            : >"$scratch/called"
            fake $program 'echo release 12.9'
            try env GPULAB_INSTALL=no "$scratch/copy/lab" run a
            ends_with 0
            [[ $(calls "cmake -S .* --fresh") == 1 ]] || fail "$program is not noticed: $(<"$scratch/called")"
            try env GPULAB_INSTALL=no "$scratch/copy/lab" run a
            [[ $(calls "cmake -S") == 1 ]] || fail "$program is noticed again: $(<"$scratch/called")"
        done
        : >"$scratch/called"
        fake nvcc 'echo release 13.0'
        try env GPULAB_INSTALL=no "$scratch/copy/lab" run a
        [[ $(calls "cmake -S .* --fresh") == 1 ]] || fail "another version is not noticed: $(<"$scratch/called")"
        # Who configured by hand keeps the options.
        : >"$scratch/called"
        rm "$scratch/copy/build/default/machine"
        try env GPULAB_INSTALL=no "$scratch/copy/lab" run a
        [[ $(calls "cmake -S") == 1 && $(calls "--fresh") == 0 ]] || fail "not without --fresh: $(<"$scratch/called")" ;;

    "a user without root gets the command that an administrator can run")
        fake_machine
        try env ID=1000 "$scratch/copy/lab" run a
        ends_with 0
        grep -qE "For an administrator: apt-get update && apt-get install -y [^;]*oclgrind" "$scratch/err" || fail "no such line: $err"
        [[ $(calls apt-get) == 0 ]] || fail "it called apt: $(<"$scratch/called")"
        fake sudo 'exit 1'
        rm -r "$scratch/copy/build" "$scratch/bin/c++"
        try env ID=1000 "$scratch/copy/lab" run a
        ends_with 2 && says_one_line && names "$err" "'c++' is not installed" "apt-get install -y" build-essential oclgrind
        fake sudo '[ "$1" = -n ] || exec "$@"'
        try env ID=1000 "$scratch/copy/lab" run a
        [[ $(calls "apt-get .* install -y .*build-essential") == 1 ]] || fail "sudo is not used: $(<"$scratch/called")" ;;

    "a broken apt source does not stop the others")
        fake_machine
        broken="E: The repository 'https://broken.invalid stable Release' does not have a Release file."
        hit="Hit:1 http://mirror.invalid/debian stable InRelease"
        try env UPDATE="$hit"$'\n'"$broken" "$scratch/copy/lab" run a
        ends_with 0 && names "$err" "$broken"
        [[ $(calls "apt-get .* install -y .*oclgrind") == 1 ]] || fail "nothing was installed: $(<"$scratch/called")"
        # A package that none of them has is not asked for again and again.
        rm -r "$scratch/copy/build" "$scratch/bin/oclgrind"
        fake apt-cache '[ "$2" = oclgrind ] || echo "$2 | 9.0 | mirror"'
        try env UPDATE="$hit"$'\n'"$broken" "$scratch/copy/lab" run a
        ends_with 0 && names "$err" "the apt sources do not have them: oclgrind." "tests skipped"
        : >"$scratch/called"
        try env UPDATE="$hit"$'\n'"$broken" "$scratch/copy/lab" run a
        [[ $(calls apt-get) == 0 ]] || fail "it asks again: $(<"$scratch/called")"
        # What they have of the missing packages is installed all the same.
        rm -r "$scratch/copy/build" "$scratch/bin/clinfo"
        try "$scratch/copy/lab" run a
        ends_with 0 && names "$err" "not in the apt sources: oclgrind." "tests skipped"
        [[ $(calls "install -y .* clinfo$") == 1 ]] || fail "not clinfo alone: $(<"$scratch/called")"
        # Without network nothing is known of the packages either: a later run tries again.
        rm -r "$scratch/copy/build" "$scratch/bin/oclgrind"
        fake apt-cache ''
        : >"$scratch/called"
        try env UPDATE="W: Failed to fetch: no network" "$scratch/copy/lab" run a
        ends_with 0 && names "$err" oclgrind "no apt source can be reached: W: Failed to fetch: no network"
        [[ $(calls " install ") == 0 ]] || fail "it tries to install: $(<"$scratch/called")"
        [[ ! -e $scratch/copy/build/unavailable ]] || fail "it gave up: $(<"$scratch/copy/build/unavailable")"
        fake apt-cache 'echo "$2 | 9.0 | mirror"'
        try env INSTALL="E: Failed to fetch http://mirror.invalid/oclgrind.deb" "$scratch/copy/lab" run a
        ends_with 0 && names "$err" "E: Failed to fetch http://mirror.invalid/oclgrind.deb"
        rm "$scratch/bin/c++"
        try env INSTALL="E: Failed to fetch http://mirror.invalid/gcc.deb" "$scratch/copy/lab" run a
        ends_with 2 && names "$err" "'c++' is not installed, and apt says: E: Failed to fetch" ;;

    "on a terminal the progress shows, elsewhere a line for each step")
        command -v script >/dev/null || { echo "skipped: no script (package bsdutils)" && exit 4; }
        script=$(command -v script)
        fake_machine
        try "$scratch/copy/lab" run a
        ends_with 0
        for step in "reading the package lists" "installing, and what they depend on (12 MB to download, 1203 MB on disk): " \
            configuring "building a (the first time takes some minutes)"; do
            [[ $(grep -cF "$step" "$scratch/err") == 1 ]] || fail "not one line for '$step': $err"
        done
        [[ $(wc -l <"$scratch/err") == 5 && $err != *"[1/2]"* ]] || fail "more than that: $err"
        mkdir -p "$scratch/copy/build/default/common"
        touch "$scratch/copy/build/default/common/libgpulab_common.a"
        try env TERM=xterm "$script" -qec "$scratch/copy/lab run a" /dev/null
        ends_with 0 && names "$out" "building a" "[1/2] Compiling" "[2/2] Linking"
        [[ $out != *"first time"* ]] || fail "it is not the first time: $out" ;;

    "./lab of a hand-out shows its progress and notices what was installed")
        command -v script >/dev/null || { echo "skipped: no script (package bsdutils)" && exit 4; }
        script=$(command -v script)
        fake_machine
        cp "$root/tools/grading/student/lab" "$scratch/copy/lab"
        fake python3 ''
        export GPULAB_INSTALL=no
        try "$scratch/copy/lab" run a
        ends_with 0 && names "$err" "building a (the first time takes some minutes)"
        try env TERM=xterm "$script" -qec "$scratch/copy/lab run a" /dev/null
        ends_with 0 && names "$out" "[1/2] Compiling" "[2/2] Linking"
        [[ $(calls "cmake -S") == 1 ]] || fail "it configures in each run: $(<"$scratch/called")"
        fake clinfo ''
        mkdir "$scratch/tmp"
        try env TMPDIR="$scratch/tmp" "$scratch/copy/lab" test
        ends_with 0
        [[ $(calls "cmake -S .* --fresh") == 1 ]] || fail "clinfo is not noticed: $(<"$scratch/called")"
        [[ -z $(ls "$scratch/tmp") ]] || fail "it left something behind: $(ls "$scratch/tmp")" ;;

    "every command has a help, and refuses what it does not know in one line")
        for command in run test list setup docs doctor help; do
            for option in --help -h; do
                try "$root/lab" $command $option
                ends_with 0 && names "$out" "usage: ./lab COMMAND" "  $command "
                [[ -z $err && $(grep -cE '^  [a-z]' "$scratch/out") == 1 ]] || fail "of other commands too: $out $err"
            done
        done
        try "$root/lab" run --help
        names "$out" "${labs[@]}"
        for words in "setup --bogus" "docs bogus" "list bogus" "doctor bogus" "run --backend"; do
            # shellcheck disable=SC2086
            try "$root/lab" $words
            ends_with 2 && says_one_line && names "$err" "${words##* }"
        done ;;

    "without network one line names the packages to install")
        mkdir "$scratch/bin"
        fake git 'exit 128'
        try env PATH="$scratch/bin:$PATH" cmake -S "$root" -B "$scratch/build" -G Ninja -DGPULAB_CUDA=OFF \
            -DCMAKE_DISABLE_FIND_PACKAGE_fmt=ON -DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON \
            -DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON -DCMAKE_DISABLE_FIND_PACKAGE_Catch2=ON
        ends_with 1
        line=$(grep 'apt-get install' "$scratch/err")
        names "$line" "needed: fmt, CLI11, nlohmann_json, Catch2" libfmt-dev libcli11-dev nlohmann-json3-dev libcatch2-dev 3.7.1
        [[ $(wc -l <"$scratch/err") -lt 10 ]] || fail "CMake says more than its ten lines of an error: $err"
        # ./lab shows nothing but this line, and so does that of a hand-out.
        mkdir -p "$scratch/copy/labs/01_a"
        cp -r "$root/lab" "$root/tools" "$scratch/copy/"
        cp "$root/tools/grading/student/lab" "$scratch/copy/student"
        for program in ninja c++ python3; do fake $program ''; done
        fake cmake "if [ \"\$1\" = --version ]; then echo cmake version 9.9; else cat '$scratch/err' && exit 1; fi"
        cp "$scratch/err" "$scratch/cmake_says"
        sed -i "s|$scratch/err|$scratch/cmake_says|" "$scratch/bin/cmake"
        for script in lab student; do
            try env PATH="$scratch/bin:$PATH" GPULAB_INSTALL=no CI= "$scratch/copy/$script" run a
            ends_with 2
            [[ $(tail -n 1 "$scratch/err") == "lab: ${line#"${line%%[! ]*}"}" ]] || fail "the last line is not '$line': $err"
            [[ $err != *"CMake Error"* ]] || fail "more than a line: $err"
        done ;;

    "the first step of an autograder configures the lab, without tests and without Catch2")
        python3 -c "import tomllib" 2>/dev/null || { echo "skipped: no Python 3.11" && exit 4; }
        try env PYTHONPATH="$root/tools" python3 -m grading "$root" package-autograder saxpy "$scratch/a.zip"
        ends_with 0
        python3 -m zipfile -e "$scratch/a.zip" "$scratch/source" # no file may be run as a program then
        sed -i "s|/autograder/source|$scratch/source|" "$scratch/source/setup.sh"
        mkdir "$scratch/bin"
        fake apt-get ''
        fake cmake "
case \$1 in
    -S) exec $(command -v cmake) \"\$@\" -DGPULAB_CUDA=OFF -DCMAKE_DISABLE_FIND_PACKAGE_Catch2=ON ${fetched[*]:-} ;;
    --build) echo \"\$@\" >'$scratch/called' ;;
    *) exec $(command -v cmake) \"\$@\" ;;
esac"
        try env PATH="$scratch/bin:$PATH" GPULAB_INSTALL=no bash "$scratch/source/setup.sh"
        ends_with 0
        [[ $err != *atch2* ]] || fail "Catch2 is asked for: $err"
        target=$(sed 's/.*--target //' "$scratch/called")
        names "$target" labs/01_saxpy/exercises/all
        for target in "$target" bin/judge_saxpy; do
            grep -q "^build $target:" "$scratch/source/repository/build/default/build.ninja" || fail "no target $target"
        done ;;

    "a lab that is configured alone has its tests")
        try cmake -S "$root/labs/01_saxpy" -B "$scratch/build" -G Ninja -DGPULAB_CUDA=OFF ${fetched[@]+"${fetched[@]}"}
        ends_with 0
        for target in saxpy test_saxpy test_wrong_saxpy; do
            grep -q "^build bin/$target:" "$scratch/build/build.ninja" || fail "no target $target"
        done
        ! grep -q "^build bin/test_common:" "$scratch/build/build.ninja" || fail "tests of the whole tree too"
        try ctest --test-dir "$scratch/build" -N
        ends_with 0 && names "$out" "test_saxpy: the CPU variants are right with seven threads"
        try cmake -S "$root/labs/01_saxpy" -B "$scratch/build" -DGPULAB_TESTS=OFF
        ends_with 0
        ! grep -q "^build bin/test_saxpy:" "$scratch/build/build.ninja" || fail "tests although GPULAB_TESTS is off" ;;

    "the pages build in a folder whose name has spaces")
        command -v doxygen >/dev/null || { echo "skipped: no Doxygen (./lab setup --all)" && exit 4; }
        copy="$scratch/a folder with 'spaces'"
        mkdir "$copy"
        cp -r "$root"/{README.md,CONTRIBUTING.md,lab,tools,cmake,common,docs,labs,tests,CMake*} "$copy/"
        try cmake -S "$copy/docs" -B "$copy/build/the pages"
        ends_with 0
        try cmake --build "$copy/build/the pages" --target docs
        ends_with 0
        html="$copy/build/the pages/html"
        for lab in "${labs[@]}"; do [[ -s $html/lab_$lab.html ]] || fail "no page of $lab: $(ls "$html")"; done
        rungs=("$html"/*vectorised_8cu.html)
        grep -q 'href="lab_[a-z]*.html' "${rungs[0]}" || fail "the page of a rung, ${rungs[0]}, was not filtered" ;;

    "completion in bash knows commands, labs, options, variants and studies")
        # shellcheck source=tools/completion.bash
        . "$root/tools/completion.bash"
        completes() { # completes "WORD..." WANTED...: after these words, the last one begun, exactly this is offered
            read -ra COMP_WORDS <<<"$1."
            COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
            COMP_WORDS[COMP_CWORD]=${COMP_WORDS[COMP_CWORD]%.}
            COMPREPLY=()
            _gpulab
            [[ ${COMPREPLY[*]} == "${*:2}" && ${#COMPREPLY[@]} == $(($# - 1)) ]] ||
                fail "after '$1': ${#COMPREPLY[@]} words, ${COMPREPLY[*]}"
        }
        mkdir -p "$scratch/a copy/build/default"
        cp -r "$root/lab" "$root/labs" "$scratch/a copy/"
        cd "$scratch/a copy" || fail "no copy"
        completes "./lab " "${commands[@]}"
        completes "./lab do" docs doctor
        completes "./lab run " "${labs[@]}"
        completes "./lab test s" saxpy spmv streams
        completes "./lab test saxpy -" --large --grading
        completes "./lab test saxpy --g" --grading
        completes "./lab setup -" --all
        completes "./lab list "
        completes "./lab run saxpy --v" # not built: there is nothing to ask
        [[ -x ${GPULAB_PROGRAMS:-}/saxpy ]] || { echo "skipped: saxpy is not built" && exit 4; }
        ln -s "$GPULAB_PROGRAMS" build/default/bin
        completes "./lab run saxpy --va" --variant
        completes "./lab run saxpy --n 1e6 --re" --repeat
        completes "./lab run saxpy --variant cpu_" cpu_sequential cpu_blocks cpu_interleaved cpu_distances
        completes "./lab run saxpy --variant = cpu_b" cpu_blocks
        completes "./lab run saxpy --variant cpu_blocks,cuda_f" cpu_blocks,cuda_float4
        completes "./lab run saxpy --study b" block-size
        completes "./lab run saxpy --backend c" cpu cuda
        completes "./lab run saxpy --json sa" # bash completes files itself
        cd "$scratch" || fail "no folder"
        completes "a\\ copy/lab run tri" ;;

    "clangd finds the compile commands of the preset default")
        database=$(sed -n 's/^  CompilationDatabase: //p' "$root/.clangd")
        [[ $database == build/default ]] || fail "it looks in '$database'"
        # shellcheck disable=SC2016 # CMake's variables
        grep -q '"binaryDir": "${sourceDir}/build/${presetName}"' "$root/CMakePresets.json" || fail "the preset builds elsewhere"
        command -v clangd >/dev/null || { echo "skipped: no clangd" && exit 4; }
        mkdir -p "$scratch/copy/build/default" "$scratch/copy/labs"
        cp "$root/.clangd" "$scratch/copy/"
        echo 'int main() { return GIVEN_BY_CMAKE; }' >"$scratch/copy/labs/main.cpp"
        cat >"$scratch/copy/build/default/compile_commands.json" <<END
[{"directory": "$scratch/copy/build/default", "file": "$scratch/copy/labs/main.cpp",
  "command": "c++ -DGIVEN_BY_CMAKE=0 -c $scratch/copy/labs/main.cpp"}]
END
        cd "$scratch/copy" || fail "no copy"
        try clangd --check=labs/main.cpp
        ends_with 0 && names "$err" "All checks completed, 0 errors" ;;

    "doctor finds the libraries that CMake finds")
        command -v cmake >/dev/null && command -v c++ >/dev/null || { echo "skipped: no CMake or compiler" && exit 4; }
        mkdir -p "$scratch/copy" "$scratch/a prefix/lib/cmake/CLI11"
        cp -r "$root/tools" "$root/cmake" "$scratch/copy/"
        try bash "$scratch/copy/tools/doctor.sh"
        ends_with 0
        for library in fmt CLI11 nlohmann_json Catch2 zlib libpng "OpenCL loader" "OpenCL headers" "OpenCL bindings"; do
            grep -qE "^(ok|missing) +$library +." "$scratch/out" || fail "nothing about $library: $out"
        done
        # One that lies elsewhere, as its name and version in the environment and in the cache of the build.
        folder="$scratch/a prefix/lib/cmake/CLI11"
        echo 'set(CLI11_FOUND TRUE)' >"$folder/CLI11Config.cmake"
        echo 'set(PACKAGE_VERSION 7.8.9)
set(PACKAGE_VERSION_COMPATIBLE TRUE)' >"$folder/CLI11ConfigVersion.cmake"
        try env CMAKE_PREFIX_PATH="$scratch/a prefix" bash "$scratch/copy/tools/doctor.sh"
        names "$out" "7.8.9, $folder"
        mkdir -p "$scratch/copy/build/default"
        echo "CMAKE_PREFIX_PATH:PATH=/nowhere;$scratch/a prefix" >"$scratch/copy/build/default/CMakeCache.txt"
        try bash "$scratch/copy/tools/doctor.sh"
        names "$out" "7.8.9, $folder"
        # A version that is too old, and one that is nowhere.
        echo 'set(PACKAGE_VERSION 1.0)' >"$folder/CLI11ConfigVersion.cmake"
        try bash "$scratch/copy/tools/doctor.sh"
        [[ $out != *7.8.9* && $out != *"$folder"* ]] || fail "it takes one that is too old: $out"
        sed -i 's/^gpulab_library(CLI11 /gpulab_library(NoSuchLibrary /' "$scratch/copy/cmake/Libraries.cmake"
        try bash "$scratch/copy/tools/doctor.sh"
        grep -A1 '^missing *NoSuchLibrary ' "$scratch/out" | grep -q 'libcli11-dev' || fail "not what is missing: $out" ;;

    *) fail "no test of that name: $*" ;;
esac
