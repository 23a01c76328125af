"""What CMake and ctest do for the labs: the summary of a run, presets, tools that run programs, labs that stand alone."""

import ctypes
import json
import os
import pathlib
import platform
import re
import shutil
import signal
import subprocess
import sys
import time
from xml.etree import ElementTree

import pytest
from conftest import BUILD, LABS, ROOT, on_terminal, passed, refused, run
from machine import Machine

RUN_TESTS = [sys.executable, "-B", ROOT / "tools/run_tests.py"]


def project(folder, text, languages="NONE"):
    """Writes a project of CMake with tests."""
    folder.mkdir(exist_ok=True)
    (folder / "CMakeLists.txt").write_text(f"cmake_minimum_required(VERSION 3.25)\nproject(tests LANGUAGES {languages})\nenable_testing()\n{text}")


FUNCTIONS = f"""
include("{ROOT}/cmake/TestSummary.cmake")
function(prints name text) # a test that prints a text; further arguments: its properties
    file(WRITE "${{CMAKE_BINARY_DIR}}/${{name}}" "${{text}}\\n")
    add_test(NAME "${{name}}" COMMAND ${{CMAKE_COMMAND}} -E cat "${{CMAKE_BINARY_DIR}}/${{name}}")
    set_tests_properties("${{name}}" PROPERTIES ${{ARGN}})
endfunction()
function(skips name text)
    prints("${{name}}" "${{text}}" SKIP_REGULAR_EXPRESSION "skipped: |SKIPPED:")
endfunction()
function(faulty name text)
    prints("${{name}}" "${{text}}" FAIL_REGULAR_EXPRESSION "is wrong")
endfunction()
"""
SKIPS = r"""
string(REPEAT "many words before it\n" 500 long)
skips(line "skipped: no <GPU> & \"none; at all\", its driver's fault")
skips(line_again "${long}skipped: no <GPU> & \"none; at all\", its driver's fault")
skips(catch2 "test.cpp:25: SKIPPED:\nexplicitly with message:\n  a long reason that\n  goes on\n\n====")
skips(silent "SKIPPED:")
prints(pytest "a.py ss.\nSKIPPED [2] tools/a.py:5: no browser: none at all\nSKIPPED [1] tools/a.py: no chart\n1 passed" LABELS a)
set(case "skipped: no doubles\ntest.cpp:25: SKIPPED:\nexplicitly with message:\n  no doubles\n\n")
prints(part "${case}${case}test cases: 3 | 1 passed | 2 skipped" LABELS a)
add_test(NAME good COMMAND ${CMAKE_COMMAND} -E echo "skipped: nothing")
"""
REASONS = """
Why tests were skipped:
  2 tests: no <GPU> & "none; at all", its driver's fault
  2 tests: no browser: none at all
  2 tests: no doubles
  1 test: a long reason that goes on
  1 test: no reason given
  1 test: no chart
"""
FAULTS = r"""
faulty(one "Randomness\n\ncpu_a on cpu:0 (A <CPU> [2]; new) is wrong\n  every size: n = 3: 1 & 2\n  special: the same\n\nFAILED:")
faulty(two "opencl_b on opencl:1 (B) is wrong\n  by hand: (1, 2)\nopencl_b on opencl:2 (C) is wrong\n  by hand: 3\nend")
string(REPEAT "0123456789abcdef" 10000 long)
faulty(long "cuda_c on cuda:0 (D) is wrong\n  by hand: ${long}\n    in two lines\n  last: 5\n")
faulty(other "the sum is wrong\n  indented")
add_test(NAME good COMMAND ${CMAKE_COMMAND} -E true)
"""
WRONG = f"""
What is wrong with the variants:
  cpu_a on cpu:0 (A <CPU> [2]; new) is wrong
    every size: n = 3: 1 & 2
    special: the same
  opencl_b on opencl:1 (B) is wrong
    by hand: (1, 2)
  opencl_b on opencl:2 (C) is wrong
    by hand: 3
  cuda_c on cuda:0 (D) is wrong
    by hand: {"0123456789abcdef" * 10000}
      in two lines
    last: 5
"""


def ctest(scratch, text):
    """Configures a project with these tests. The words of a call of ctest for it, which writes the JUnit file."""
    source, build = scratch / "a folder", scratch / "the build"
    project(source, FUNCTIONS + text)
    passed("cmake", "-S", source, "-B", build, "-G", "Ninja")
    return build, ["ctest", "--test-dir", build, "--output-junit", "tests.xml", "--output-on-failure"]


def test_ctest_says_why_tests_were_skipped_at_its_end_and_in_the_JUnit_file(scratch):
    build, words = ctest(scratch, SKIPS)
    assert passed(*words).stdout.endswith(REASONS)
    cases = ElementTree.parse(build / "tests.xml").findall(".//testcase")
    reasons = {case.get("name"): case.find("skipped").get("message") for case in cases if case.find("skipped") is not None}
    gpu = 'no <GPU> & "none; at all", its driver\'s fault'
    assert reasons == {"line": gpu, "line_again": gpu, "catch2": "a long reason that goes on", "silent": "no reason given"}
    assert len(cases) == 7
    # A run that writes no file says nothing of the one before, and one without a skip nothing at all.
    for options in (["ctest", "--test-dir", build], [*words, "-R", "good"]):
        assert "Why tests" not in passed(*options).stdout


def test_ctest_says_at_its_end_what_is_wrong_with_each_variant(scratch):
    _, words = ctest(scratch, FAULTS)
    done = run(*words)
    assert done.returncode == 8 and done.stdout.endswith(WRONG), done


def test_a_run_shows_what_failed_and_why_tests_were_skipped_and_the_last_lines_of_ctest(scratch):
    build, words = ctest(scratch, SKIPS + FAULTS.replace("add_test(NAME good", "add_test(NAME right"))
    done = run(*RUN_TESTS, build, *words)
    assert done.returncode == 8, done
    lines = done.stdout.splitlines()
    assert lines[0] == "others: 4 passed, 4 failed, 4 skipped", done.stdout
    # Of a test that says what is wrong with a variant only that; the whole output of another.
    for text in ("one: ", "  cpu_a on cpu:0 (A <CPU> [2]; new) is wrong\n    every size: n = 3: 1 & 2\n    special: the same\n\n",
                 "other: ", "  the sum is wrong\n    indented\n", REASONS):
        assert text in done.stdout, text
    assert "Randomness" not in done.stdout and done.stdout.count("cpu_a") == 1 and "good" not in done.stdout
    closing = done.stdout.rpartition("\n\n")[2].splitlines()
    assert closing[0] == "67% tests passed, 4 tests failed out of 12" and closing[1].startswith("Total Test time (real) ="), closing
    assert [line.split()[2] for line in closing[3:7]] == ["one", "two", "long", "other"], closing
    done = run(*RUN_TESTS, build, *words, "-R", "right|line$")
    assert done.returncode == 0
    assert re.fullmatch(r"others: 1 passed, 1 skipped\n\nWhy tests were skipped:\n  1 test: no <GPU> .*\n\n"
                        r"100% tests passed, 0 tests failed out of 2\nTotal Test time \(real\) = .*\n", done.stdout), done.stdout


def test_a_run_shows_a_line_for_each_lab_and_one_that_changes_on_a_terminal(scratch):
    names = ["test_saxpy: a on 1, 2, ... threads", "saxpy mistakes: b", "test_cg_perturbed: c", "matmul does not d", "tools: e", "test_common: f"]
    build, words = ctest(scratch, "".join(f'prints("{name}" "text" LABELS a)\n' for name in names))
    done = passed(*RUN_TESTS, build, *words)
    assert done.stdout.splitlines()[:5] == ["saxpy: 2 passed", "cg: 1 passed", "matmul: 1 passed", "tools: 1 passed", "common: 1 passed"]
    shown = on_terminal(*RUN_TESTS, build, *words)
    assert "\r\x1b[K[3/6] 3 passed: test_cg_perturbed: c\r" in shown and "saxpy: 2 passed" not in shown, shown
    assert "\r\x1b[K\r\n100% tests passed, 0 tests failed out of 6\r\nTotal" in shown, shown


def test_without_a_driver_the_programs_of_a_run_start_without_NVIDIAs_libraries_and_with_them_too(scratch):
    programs = [BUILD / "bin" / lab for lab in LABS if (BUILD / "bin" / lab).is_file()]
    linked = [program for program in programs if "libcublas" in run("nm", "-D", program).stdout]
    if not linked:
        pytest.skip("no program is linked with cuBLAS")
    for program in programs:
        assert passed(program, "--help", LD_LIBRARY_PATH=None).stderr == ""
    (scratch / "bin").mkdir()
    for program in linked:
        (scratch / "bin" / program.name).symlink_to(program)
    try:
        ctypes.CDLL("libcuda.so.1")
        pytest.skip("there is an NVIDIA driver")
    except OSError:
        pass
    for program in linked:
        told = run(*RUN_TESTS, scratch, "sh", "-c", 'echo "$LD_LIBRARY_PATH"; ldd "$0"', program, LD_LIBRARY_PATH="/nowhere").stderr
        assert f"{scratch}/stand_ins:/nowhere\n" in told and f"{scratch}/stand_ins/libcublas" in told, told
        assert "libcublasLt" not in told, told
        assert passed(program, "--help", LD_LIBRARY_PATH=scratch / "stand_ins", LD_BIND_NOW=1).stderr == ""


def test_a_run_whose_ctest_does_not_come_to_its_end_says_so_and_fails(scratch):
    build, words = ctest(scratch, f"add_test(NAME slow COMMAND sh -c \"touch '{scratch}/begun'; exec sleep 60\")\n")
    done = run(*RUN_TESTS, build, *words, "-R", "none", "--no-tests=error")
    assert done.returncode == 8 and "No tests were found!!!" in done.stderr and "ended before its end" in done.stderr, done
    done = run(*RUN_TESTS, build, "ctest", "--preset", "bogus")
    assert done.returncode == 1 and "ended before its end, with 1" in done.stderr, done
    process = subprocess.Popen([*map(str, RUN_TESTS), str(build), *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True)
    while not (scratch / "begun").exists() and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    _, printed = process.communicate(timeout=600)
    assert process.returncode == 128 + signal.SIGTERM and "ended before its end" in printed, (process.returncode, printed)
    # What an unreadable file would tell is left out; the exit code stays that of ctest.
    (build / "CTestCustom.cmake").write_text(
        f'set(CTEST_CUSTOM_POST_TEST [["{shutil.which("cmake")}" -E copy "{build}/CMakeCache.txt" "{build}/tests.xml"]])\n')
    (build / "CTestTestfile.cmake").write_text("add_test(quick true)\n")
    done = passed(*RUN_TESTS, build, *words)
    assert "tests.xml cannot be read" in done.stdout and "100% tests passed" in done.stdout, done


def test_the_preset_gpu_leaves_out_tools_grading_and_pages_also_where_ctest_is_told_to_leave_out_more(scratch):
    shutil.copy(ROOT / "CMakePresets.json", scratch)
    project(scratch, """
foreach(name "tools: one" "grading: two" "docs: three" "a mistakes: six" "test_a: four" "test_a: five")
    add_test(NAME "${name}" COMMAND ${CMAKE_COMMAND} -E true)
endforeach()
set_tests_properties("test_a: five" PROPERTIES LABELS sanitizer)
""")
    passed("cmake", "--preset", "default", cwd=scratch)
    for options, wanted in (([], ["test_a: four", "test_a: five"]), (["-LE", "^sanitizer$"], ["test_a: four"]),
                            (["-L", "^sanitizer$"], ["test_a: five"])):
        listing = passed("ctest", "--preset", "gpu", "-N", *options, cwd=scratch).stdout
        assert re.findall(r"(?m)^ *Test *#\d+: (.*)$", listing) == wanted


@pytest.fixture
def sanitizer(scratch):
    """Runs the script for compute-sanitizer with a tool that ends so, and logs and prints this."""
    def sanitizer(code, findings, output, **environment):
        tool = scratch / "tool"
        tool.write_text(f"""#!/bin/sh
echo "$@" >"{scratch}/words"
while [ "$1" != --log-file ]; do shift; done
echo "{findings}" >"$2"
printf '{output}'
exit {code}
""")
        tool.chmod(0o755)
        done = run("cmake", f"-DRUNNER={tool}", "-DTOOL=memcheck", "-DPROGRAM=program", "-DCASES=[.sanitizer]", "-DFINDS=",
                   f"-DLOG={scratch}/log", "-P", ROOT / "cmake/RunUnderTool.cmake", **{"GPULAB_REQUIRE_DEVICES": None, **environment})
        return done.returncode, "skipped: no NVIDIA GPU" in done.stderr, (scratch / "words").read_text()
    return sanitizer


ONE = "skipped: no NVIDIA GPU\\n"
SOME = ONE + "test cases: 2 | 1 passed | 1 skipped\\n"
NONE = ONE + "test cases: 2 | 2 skipped\\n"
CLEAN = "ERROR SUMMARY: 0 errors"
UNUSED = "Error: terminated before the first call"


@pytest.mark.parametrize("code, findings, output, required, ends_with, skipped", [
    (4, UNUSED, NONE, None, 0, True),
    (255, UNUSED, NONE + "assertions: 0\\n", None, 0, True),
    (0, CLEAN, SOME, None, 0, False),
    (0, "Invalid __global__ write ERROR SUMMARY: 1 error", SOME, None, 1, False),
    (0, UNUSED, SOME, None, 1, False),
    (42, CLEAN, ONE + "test cases: 2 | 1 failed | 1 skipped\\n", None, 1, False),
    (4, CLEAN, NONE, 1, 1, False),
])
def test_a_run_under_compute_sanitizer_counts_as_skipped_only_when_all_of_its_test_cases_were(
        sanitizer, code, findings, output, required, ends_with, skipped):
    returned, told, words = sanitizer(code, findings, output, GPULAB_REQUIRE_DEVICES=required)
    assert (returned, told) == (ends_with, skipped)
    # Without padding a read past the end of an array may be a valid read of the next.
    assert words.startswith("--tool memcheck --leak-check no --padding 4096 --log-file ")


def test_compute_sanitizer_runs_the_test_cases_of_one_variant_when_told(sanitizer):
    assert sanitizer(0, CLEAN, SOME)[2].endswith(" program [.sanitizer]\n")
    assert sanitizer(0, CLEAN, SOME, GPULAB_TEST_VARIANT="cuda_a")[2].endswith(" program cuda_a *[.sanitizer]\n")


def test_of_another_GCC_than_the_compilers_no_folder_is_linked(scratch):
    (scratch / "folders.cmake").write_text(f"""
cmake_minimum_required(VERSION 3.25)
include("{ROOT}/cmake/LinkFolders.cmake")
set(cuda /usr/lib/cuda/lib64 /usr/lib/gcc/x86_64-linux-gnu/13 /usr/lib/gcc/x86_64-linux-gnu/14 /usr/lib/x86_64-linux-gnu)
gpulab_without_other_gcc(cuda /usr/lib/gcc/x86_64-linux-gnu/14 /usr/lib/x86_64-linux-gnu /lib)
message("${{cuda}}")
""")
    done = passed("cmake", "-P", scratch / "folders.cmake")
    assert done.stderr == "/usr/lib/cuda/lib64;/usr/lib/gcc/x86_64-linux-gnu/14;/usr/lib/x86_64-linux-gnu\n"


def test_where_CUDA_has_an_older_GCC_its_folder_is_not_linked(scratch):
    path = os.environ["PATH"] + ":/usr/local/cuda/bin"
    if not shutil.which("nvcc", path=path):
        pytest.skip("no CUDA compiler")
    newest = int(passed("c++", "-dumpversion").stdout.split(".")[0])
    version = next((v for v in range(newest - 1, 8, -1) if shutil.which(f"g++-{v}")), None)
    if not version:
        pytest.skip("no GCC older than the C++ compiler")
    project(scratch, f"""
set(GPULAB_CUDA ON)
include("{ROOT}/cmake/Cuda.cmake")
add_library(kernels STATIC kernels.cu)
add_executable(folders main.cpp)
target_link_libraries(folders kernels)
""", "CXX")
    (scratch / "kernels.cu").write_text("void launch() {}\n")
    (scratch / "main.cpp").write_text("void launch(); int main() { launch(); }\n")
    passed("cmake", "-S", scratch, "-B", scratch / "build", "-G", "Ninja", f"-DCMAKE_CUDA_HOST_COMPILER=g++-{version}",
           "-DCMAKE_CUDA_ARCHITECTURES=80", PATH=path)
    rules = (scratch / "build/build.ninja").read_text()
    assert "cudart" in rules and not re.search(rf"LINK_PATH.*/gcc/[^ ]*/{version}\b", rules)


def fetched():
    """Options that name what the build around this test had to fetch."""
    return [f"-DFETCHCONTENT_SOURCE_DIR_{folder.name[:-4].upper()}={folder}" for folder in (BUILD / "_deps").glob("*-src")]


NVCC = r"""
case $1 in
    --version) echo "Cuda compilation tools, release $VERSION, V$VERSION.88" ;;
    --list-gpu-arch) printf 'compute_%s\n' 75 80 86 90 100 120 ;;
    *) [ -z "$FAULT" ] || { printf '%b\n' "$FAULT" >&2; exit 1; } ;;
esac"""
NVIDIA_SMI = """
[ -n "$GPUS" ] || { echo "NVIDIA-SMI has failed"; exit 9; }
case "$*" in
    *compute_cap*) printf '%s\\n' $GPUS ;;
    *) echo "| NVIDIA-SMI 1.2        ${KIND:-Driver} Version: $DRIVER     CUDA ${KIND:+UMD }Version: $RUNS    |" ;;
esac"""


@pytest.fixture
def chosen(scratch):
    """What CMake says of the CUDA compiler that it chooses on a machine with these GPUs, driver and nvcc."""
    machine = Machine(scratch)
    machine.fake("nvcc", NVCC)
    machine.fake("nvidia-smi", NVIDIA_SMI)
    (scratch / "tools").mkdir()
    (scratch / "tools/doctor.sh").touch()  # the whole repository
    (scratch / "choose.cmake").write_text(f"""
include("{ROOT}/cmake/ChooseCuda.cmake")
gpulab_choose_nvcc("{scratch}")
message("${{GPULAB_NVCC}} ${{GPULAB_NVCC_VERSION}} ${{GPULAB_ARCHITECTURES}}${{GPULAB_NO_NVCC}}")
""")

    def chosen(**environment):
        environment = {"VERSION": "13.0", "FAULT": "", "GPUS": "", "DRIVER": "580.95", "RUNS": "13.0", "CUDAARCHS": None, **environment}
        return machine.run("cmake", "-P", scratch / "choose.cmake", cwd=scratch, **environment).stderr.strip()
    chosen.machine = machine
    return chosen


@pytest.mark.parametrize("here, told", [
    ({}, " 13.0 90-virtual"),
    ({"GPUS": "8.6 9.0 8.6"}, " 13.0 86;90"),
    ({"GPUS": "10.3"}, " 13.0 100-virtual"),  # newer than the compiler
    ({"GPUS": "6.1 8.6"}, " 13.0 86"),
    ({"GPUS": "7.0"}, "no longer knows compute capability 7.0, which the GPU here has: install CUDA 12 (./lab setup --cuda)"),
    ({"GPUS": "6.1"}, "need compute capability 7.0, and the GPU here has 6.1"),
    ({"GPUS": "9.0", "DRIVER": "550.54.14", "RUNS": "12.4", "KIND": "KMD"}, "needs driver 580, and 550.54.14 is here"),
    ({"GPUS": "9.0", "DRIVER": "550.54.14", "RUNS": "12.4"}, "needs driver 580, and 550.54.14 is here: update it, or install CUDA 12"),
    ({"GPUS": "9.0", "DRIVER": "470.2", "RUNS": "11.4", "VERSION": "12.9"}, "needs driver 525, and 470.2 is here: update it"),
    ({"GPUS": "9.0", "DRIVER": "550.54.14", "RUNS": "12.4", "VERSION": "12.9"}, " 12.9 90"),
    ({"GPUS": "9.0", "DRIVER": "550.54.14", "RUNS": "13.0"}, " 13.0 90"),  # with NVIDIA's package for compatibility
    ({"GPUS": "6.1", "CUDAARCHS": "80"}, " 13.0"),  # the user knows better
    ({"VERSION": "12.3"}, "is 12.3, and 12.4 or newer is needed"),
    ({"FAULT": "host_config.h:132:2: error: #error -- unsupported GNU version! gcc versions later than 13 are not supported!\\nmore"},
     "(host_config.h:132:2: error: error -- unsupported GNU version! gcc versions later than 13 are not supported!): install a newer CUDA"
     " (./lab setup --cuda), or an older GCC and name it (CUDAHOSTCXX=g++-13)"),
    ({"FAULT": 'mathcalls.h(206): error: exception specification is incompatible with that of previous function "rsqrt"'},
     "does not work here (mathcalls.h(206): error: exception specification is incompatible with that of previous function rsqrt)"),
])
def test_CUDA_is_compiled_for_the_GPUs_here_or_off_with_the_reason_and_what_to_install(chosen, here, told):
    nvcc = str(chosen.machine.bin / "nvcc")
    text = chosen(CUDACXX=nvcc, **here)
    assert told in text and nvcc in text or "need compute" in told, text
    assert "\n" not in text, text


def test_the_CUDA_compiler_is_that_of_CUDACXX_or_the_first_that_can_be_used_of_PATH_and_the_usual_folders(chosen, scratch):
    machine = chosen.machine
    for folder, version in (("own", "12.5"), ("second", "12.6"), (".cuda/bin", "12.8")):
        (scratch / folder).mkdir(parents=True)
        shutil.copy(machine.bin / "nvcc", scratch / folder / "nvcc")
        (scratch / folder / "nvcc").write_text(f"#!/bin/sh\nVERSION={version}\n{NVCC}")
    both = f"{machine.environment['PATH']}:{scratch}/second"
    assert chosen(PATH=both, CUDACXX=f"{scratch}/own/nvcc -O1") == f"{scratch}/own/nvcc 12.5 90-virtual"
    assert chosen(PATH=both, CUDACXX="/nowhere/nvcc") == "/nowhere/nvcc does not run"
    assert chosen(PATH=both, CUDACXX=None) == f"{machine.bin}/nvcc 13.0 90-virtual"  # though CUDA's own folder may have one
    assert chosen(PATH=both, CUDACXX=None, GPUS="9.0", RUNS="12.4") == f"{scratch}/second/nvcc 12.6 90"
    last = chosen(CUDACXX=None, VERSION="12.3", GPUS="9.0", RUNS="12.4")
    assert last.startswith((f"{scratch}/.cuda/bin/nvcc 12.8 90", "/usr/local/cuda/bin/nvcc 12.")), last


def test_a_CUDA_compiler_that_cannot_be_used_keeps_nobody_from_building_the_rest(scratch):
    machine = Machine(scratch)
    machine.fake("nvcc", "VERSION=13.0 FAULT='cicc: not found'" + NVCC)
    lab = next((ROOT / "labs").glob(f"*_{LABS[0]}"))
    done = machine.run("cmake", "-S", lab, "-B", scratch / "build", "-G", "Ninja", "-DGPULAB_TESTS=OFF", *fetched(), CUDACXX=machine.bin / "nvcc")
    assert done.returncode == 0 and f"CUDA: off, {machine.bin}/nvcc does not work here (cicc: not found)" in done.stdout, done
    rules = (scratch / "build/build.ninja").read_text()
    assert f"\nbuild bin/{LABS[0]}:" in rules and "does not work here (cicc: not found)" in rules, "the program does not say why"


def test_a_program_that_meets_a_processor_without_what_it_was_compiled_for_says_so_in_one_line(scratch):
    if platform.machine() != "x86_64":
        pytest.skip("no x86-64")
    (scratch / "main.cpp").write_text("#include <cstdio>\nint main() { std::puts(\"main\"); }\n")

    def program(option):
        passed("c++", "-std=c++20", "-O0", option, f"-I{ROOT}/common/include", ROOT / "common/src/processor.cpp", scratch / "main.cpp",
               "-o", scratch / "program")
        return run(scratch / "program")
    assert program("-march=native").stdout == "main\n"
    if " fma4 " in pathlib.Path("/proc/cpuinfo").read_text():
        pytest.skip("this processor has all that was looked for")
    refused(program("-mfma4"), "this one has no fma4", "./lab builds it again", "GPULAB_MARCH")


def test_every_program_asks_for_its_processor():
    programs = [BUILD / "bin" / name for lab in LABS for name in (lab, f"test_{lab}") if (BUILD / "bin" / name).is_file()]
    if not programs:
        pytest.skip("no program is built")
    for program in programs:
        assert "refuse_other_processors" in passed("nm", "-C", program).stdout, program


def test_on_another_processor_all_is_compiled_again(scratch):
    machine = Machine(scratch)
    machine.fake("c++", f'exec {shutil.which("c++")} "$@" $MORE')
    project(scratch, f"""
set(GPULAB_MARCH native CACHE STRING "")
include("{ROOT}/cmake/Compile.cmake")
add_library(one one.cpp)
target_link_libraries(one PRIVATE gpulab_compile)
""", "CXX")
    (scratch / "one.cpp").write_text("int one() { return 1; }\n")

    def compiled(more, *options):
        for words in (["cmake", "-S", scratch, "-B", scratch / "build", "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={machine.bin}/c++", *options],
                      ["cmake", "--build", scratch / "build"]):
            done = machine.run(*words, MORE=more)
            assert done.returncode == 0, done
        return "Building" in done.stdout

    assert compiled("") and not compiled("") and compiled("-mno-sse4.2") and not compiled("-mno-sse4.2")
    assert compiled("", "-DGPULAB_MARCH=x86-64") and "-march=x86-64 " in (scratch / "build/build.ninja").read_text()


def test_in_WSL_the_tests_that_use_a_GPU_run_one_after_the_other(scratch):
    project(scratch, f"""
set(GPULAB_ROOT "{ROOT}")
set(CMAKE_HOST_SYSTEM_VERSION ${{version}})
include("{ROOT}/cmake/AddLabTest.cmake")
foreach(kind cpu cuda program)
    gpulab_cases(${{kind}} true "[${{kind}}]" "a;${{kind}}")
endforeach()
gpulab_sanitizer_test(memcheck true "a" TOOL memcheck)
""")
    for version, wanted in (("6.1.0-13-amd64", []), ("5.15.153.1-microsoft-standard-WSL2", ["cuda", "program", "memcheck"])):
        passed("cmake", "-S", scratch, "-B", scratch / "build", f"-Dversion={version}")
        tests = json.loads(passed("ctest", "--test-dir", scratch / "build", "--show-only=json-v1").stdout)["tests"]
        assert [test["name"] for test in tests if "RESOURCE_LOCK" in str(test["properties"])] == wanted


def test_the_fuzzers_have_all_sources_that_they_need():
    """Nobody builds them every day: what their sources use of each other is looked up in the objects of this build."""
    text = (ROOT / "tests/fuzz/CMakeLists.txt").read_text(encoding="utf-8")
    lists = dict(re.findall(r"(?m)^set\((\w+)\s+([^)]*)\)", text))
    fuzzers = re.findall(r"(?m)^gpulab_fuzzer\((\w+)\s+([^)]*)\)", text)
    assert len(fuzzers) == text.count("\ngpulab_fuzzer(")
    for name, sources in fuzzers:
        used, defined, stubs = set(), set(), ["tests/fuzz/host.cpp"]
        for source in re.sub(r"\$\{(\w+)\}", lambda one: lists[one[1]], sources).split():
            assert (ROOT / source).is_file(), source
            folder = re.match(r"common|labs/\w+|tests/", source)[0]
            if folder == "tests/":  # the fuzzer itself
                stubs.append(source)
                continue
            found = sorted((BUILD / folder).glob(f"CMakeFiles/*/{source.removeprefix(folder + '/')}.o"))
            if not found:
                pytest.skip(f"{source} has not been built")
            for line in passed("nm", "-C", found[0]).stdout.splitlines():
                kind, _, symbol = line[17:].partition(" ")
                (used if kind == "U" else defined).add(symbol)
        own = " ".join((ROOT / stub).read_text(encoding="utf-8") for stub in stubs)
        own = set(re.findall(r"(?m)^[\w:]+ (?:\w+::)*(\w+)\(.*\) \{", own))
        missing = [one for one in used - defined if (found := re.match(r"(?:gpulab|tridiagonal|lu|fdtd|cg)::(?:\w+::)?(\w+)", one))
                   and found[1] not in own]
        assert missing == [], name


def test_a_lab_that_is_configured_alone_has_its_tests(scratch):
    lab = next((ROOT / "labs").glob(f"*_{LABS[0]}"))
    passed("cmake", "-S", lab, "-B", scratch, "-G", "Ninja", "-DGPULAB_CUDA=OFF", *fetched())

    def has(target):
        return f"\nbuild bin/{target}:" in (scratch / "build.ninja").read_text()

    assert has(LABS[0]) and has(f"test_{LABS[0]}")
    assert not has("test_common"), "tests of the whole tree too"
    assert "test_saxpy: the CPU variants are right with seven threads" in passed("ctest", "--test-dir", scratch, "-N").stdout
    passed("cmake", "-S", lab, "-B", scratch, "-DGPULAB_TESTS=OFF")
    assert not has(f"test_{LABS[0]}"), "tests although GPULAB_TESTS is off"


def test_the_first_step_of_an_autograder_configures_the_lab_without_tests_and_without_Catch2(scratch):
    if sys.version_info < (3, 11):
        pytest.skip("no Python 3.11")
    package, source = scratch / "a.zip", scratch / "source"
    passed(sys.executable, "-B", "-m", "grading", ROOT, "package-autograder", "saxpy", package, PYTHONPATH=ROOT / "tools")
    passed(sys.executable, "-m", "zipfile", "-e", package, source)  # no file may be run as a program then
    setup = source / "setup.sh"
    setup.write_text(setup.read_text().replace("/autograder/source", str(source)))
    machine = Machine(scratch)
    machine.fake("apt-get", "")
    cmake = shutil.which("cmake")
    machine.fake("cmake", f"""
case $1 in
    -S) exec {cmake} "$@" -DGPULAB_CUDA=OFF -DCMAKE_DISABLE_FIND_PACKAGE_Catch2=ON {' '.join(fetched())} ;;
    --build) echo "$@" >"$scratch/called" ;;
    *) exec {cmake} "$@" ;;
esac""")
    done = machine.run("bash", setup)
    assert done.returncode == 0 and "atch2" not in done.stderr, done
    targets = machine.called.read_text().partition("--target ")[2].split()
    if any(pathlib.Path("/dev").glob("nvidia[0-9]*")):
        assert targets == ["grading_programs_saxpy"]
    else:  # without a GPU no worker in CUDA
        assert "judge_saxpy" in targets and "worker_saxpy_opencl_one_item" in targets and not [t for t in targets if "cuda" in t]
    rules = (source / "repository/build/default/build.ninja").read_text()
    assert "-march=x86-64-v3" in rules and "-march=native" not in rules, "it grades on the processor alone that built it"
    for target in (*targets, "bin/judge_saxpy"):
        assert f"\nbuild {target}:" in rules, target
