"""./lab does what its help says."""

import glob
import os
import re
import shlex
import shutil

import pytest
from conftest import BUILD, LABS, ROOT, built, passed, refused, run
from machine import Machine

os.environ.pop("GPULAB_MISTAKES", None)  # of the run that this is a part of
COMMANDS = "start run test explain profile list setup docs plot handout grade package-autograder package-classroom instructor doctor help".split()


def lab(*words, **options):
    return run(ROOT / "lab", *words, **options)


@pytest.mark.parametrize("words, named", [
    (["rum"], ["rum", *COMMANDS]),
    (["run test"], ["run test", *COMMANDS]),
    (["run"], LABS),
    (["run", "sax.*"], ["sax.*", *LABS]),
    (["test", "sax.*"], ["sax.*", *LABS]),
    (["explain", "sax.*"], ["sax.*", *LABS]),
    (["run", "--backend"], ["--backend"]),
    (["test", "saxpy", "spmv"], ["saxpy", "spmv"]),
    (["test", ""], ["''", *LABS]),  # such as a variable that is not set
    (["test", "saxpy", "--lrage"], ["--lrage", "--large", "--variant", "--all", "--mistakes", "--due"]),
    (["test", "saxpy", "--variant"], ["--variant"]),
    (["test", "saxpy", "--variant="], ["--variant"]),
    (["test", "--variant", "cpu_blocks"], ["cpu_blocks", *LABS]),
    (["test", "--mistakes", "some"], ["--mistakes", "all"]),
    *((["start", *words], ["from 1 to 16", *words[-1:]]) for words in (["0"], ["17"], ["x"], [""], ["1", "2"], ["--cuda", "0"], ["--cuda", "1", "2"],
                                                                    ["--cuda", "--cuda"], ["--opencl"])),
    (["setup", "--bogus"], ["--bogus", "--all", "--cuda"]),
    (["docs", "bogus"], ["bogus", "--zip"]),
    (["list", "bogus"], ["bogus"]),
    (["doctor", "bogus"], ["bogus"]),
    (["plot"], ["FILE.json"]),
])
def test_what_a_command_does_not_know_is_refused_in_one_line_that_names_what_there_is(words, named):
    refused(lab(*words), *named)


@pytest.mark.parametrize("words", [["help"], ["--help"], []])
def test_help_names_every_command(words):
    text = passed(ROOT / "lab", *words).stdout
    assert not [command for command in COMMANDS if command not in text]


@pytest.mark.parametrize("command", "start run test explain profile list setup docs doctor help".split())
def test_every_command_has_a_help(command):
    done = passed(ROOT / "lab", command, "--help")
    assert "usage: ./lab COMMAND" in done.stdout and done.stderr == ""
    assert set(re.findall(r"(?m)^  ([a-z]+)", done.stdout)) == {command}
    if command == "run":
        assert all(name in done.stdout for name in LABS)
    assert passed(ROOT / "lab", command, "-h").stdout == done.stdout


def test_list_shows_every_folder_of_labs_with_its_summary():
    lines = passed(ROOT / "lab", "list").stdout.splitlines()
    assert [line.split()[0] for line in lines] == LABS
    assert all(re.match(r"\w+ +\S.{10,}", line) for line in lines), lines


def test_lab_is_found_through_a_link_and_whatever_CDPATH_says(scratch):
    deeper = scratch / "a link/deeper"
    deeper.mkdir(parents=True)
    (scratch / "elsewhere/deeper/repository").mkdir(parents=True)
    (deeper / "repository").symlink_to(ROOT)
    (deeper / "lab").symlink_to("repository/lab")
    wanted = lab("list").stdout
    for way in ("./deeper/lab", "deeper/lab", "deeper/repository/lab"):
        done = passed("bash", way, "list", cwd=scratch / "a link", CDPATH=f"{scratch}/elsewhere:{scratch}")
        assert (done.stdout, done.stderr) == (wanted, ""), way


@pytest.mark.parametrize("script", ["lab", "tools/setup.sh", "tools/doctor.sh", "tools/grading/student/lab"])
def test_lab_and_the_doctor_need_nothing_that_the_bash_3_2_of_macOS_lacks(script):
    newer = r"\$\{\w+(\[\w+\])?(,|\^)|\[-\d\]|\b(mapfile|readarray|coproc)\b|(declare|local) -[An]|&>>|\|&|;;&|\[\[ -v"
    lines = (ROOT / script).read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if re.search(newer, line)] == []


def test_a_command_that_fails_shows_its_output_and_ends_with_2(scratch):
    machine = Machine(scratch)
    machine.lab("01_broken")
    machine.fake("cmake", 'if [ "$1" = --version ]; then echo cmake version 9.9; else echo configuring broke; exit 7; fi')
    done = machine.run_lab("run", "broken")
    assert done.returncode == 2 and "configuring broke" in done.stderr and "this failed: cmake" in done.stderr, done


def test_lab_goes_on_in_POSIX_mode_and_without_stderr_and_names_TMPDIR_where_no_file_can_be_made(scratch):
    machine = Machine(scratch)
    machine.lab("01_a")
    machine.fake("cmake", 'echo cmake version 9.9; echo "$*" >>"$scratch/called"')
    passed(machine.copy / "lab", "list", POSIXLY_CORRECT=1)
    for words in (("run", "a"), ("doctor",)):
        done = machine.run_lab(*words, TMPDIR=scratch / "none")
        assert done.returncode == 2 and "none/tmp." in done.stderr and "(TMPDIR names another folder)" in done.stderr, done
    machine.run("sh", "-c", '"$0" run a 2>&-', machine.copy / "lab")
    assert machine.calls("--target a")


def test_a_full_stdout_is_an_error_and_what_a_terminal_cannot_show_is_none(scratch):
    machine = Machine(scratch)
    tool = ROOT / "tools"
    for words in (f"{ROOT}/lab doctor", f"{ROOT}/lab list", f"{tool}/due {ROOT} . --list", f"{tool}/due {ROOT} . --count",
                  *(f"{tool}/{name} --help" for name in ("plot", "tables", "concordance", "course"))):
        done = machine.run("sh", "-c", f"{words} >/dev/full")
        assert done.returncode != 0 and "No space left on device" in done.stderr and "Traceback" not in done.stderr, done
    for print_it in ("print(1)", "print(1, flush=True)"):
        program = f"import sys; sys.path += ['{tool}']; from grading.fault import exit_code; sys.exit(exit_code(lambda: {print_it}))"
        done = machine.run("sh", "-c", f'python3 -c "{program}" >/dev/full')
        assert (done.returncode, done.stderr) == (2, "lab: cannot write to stdout: No space left on device\n"), done
    show = f"root={ROOT}; . {tool}/setup.sh; python3 -c 'print(chr(0x2192))'"
    assert passed("bash", "-c", show, PYTHONIOENCODING="ascii").stdout == "?\n"
    assert passed("bash", "-c", show, PYTHONIOENCODING="utf-8:strict").stdout == "\u2192\n"


@pytest.fixture
def fakes(scratch):
    """A copy of ./lab with a lab, a, whose CMake and ctest write down how they are called."""
    machine = Machine(scratch)
    machine.lab("01_a")
    (machine.copy / "tests/labs/01_a").mkdir(parents=True)
    (machine.copy / "tests/labs/01_a/CMakeLists.txt").touch()
    machine.fake("cmake", 'if [ "$1" = --version ]; then echo cmake version 9.9; else echo cmake "$@" >>"$scratch/called"; fi')
    machine.fake("ctest", """
echo ctest "$@" "${GPULAB_TEST_VARIANT:-}${GPULAB_MISTAKES:-}" >>"$scratch/called"
echo "100% tests passed, 0 tests failed out of 7" """)
    return machine


CTEST = f"ctest --preset all --parallel {min(2 * os.cpu_count(), 12)} "
OF_A = "labs/01_a/all tests/labs/01_a/all"


@pytest.mark.parametrize("words, options, targets", [
    ("", "-LE ^thorough$ ", "all"),
    ("a", "-L ^a$ -LE ^thorough$ ", OF_A),
    ("--all", "", "all thorough"),
    ("--all a", "-L ^a$ ", OF_A + " thorough"),
    ("--mistakes all", "all", "all thorough"),  # the last word is told to the tests
    ("a --large", "-L ^a$ -LE ^thorough$ -C large ", OF_A),
    ("-v a", "-L ^a$ -LE ^thorough$ ", OF_A),
])
def test_test_builds_and_runs_the_tests_of_a_lab_or_of_all_the_thorough_and_large_ones_only_when_asked_for(
        fakes, words, options, targets):
    done = fakes.run_lab("test", *words.split())
    last = "100% tests passed, 0 tests failed out of 7\n"
    wanted = "" if "-v" in words else "\n(0 checks have not run on a GPU .*\n\n)?"  # -v: as ctest says it
    assert done.returncode == 0 and re.fullmatch(wanted + last, done.stdout), done
    assert fakes.calls("ctest")[-1] == CTEST + options
    built, = fakes.calls("cmake --build")
    assert built.endswith(f"--target {targets}")


def test_test_of_a_variant_builds_the_labs_test_program_and_runs_the_tests_that_name_it(fakes):
    (fakes.copy / "build/default/bin").mkdir(parents=True)
    program = fakes.copy / "build/default/bin/test_a"
    program.write_text("""#!/bin/sh
printf '%s\\n' "cpu_one adds floats" "cpu_one adds doubles" "opencl_two adds" "cuda_three adds" "another test"
""")
    program.chmod(0o755)
    gpu = glob.glob("/dev/nvidia[0-9]*") + glob.glob("/dev/dxg")
    for words, name, tests in (("--variant cpu_one", "cpu_one", "one variant"), ("--variant=cpu_one", "cpu_one", "one variant"),
                               ("--variant opencl_two", "opencl_two", "(one variant|Core rungs under oclgrind)"),
                               ("--variant cuda_three", "cuda_three", "(one variant|compute-sanitizer's .*)" if gpu else "(one variant|CUDA in the emulator)")):
        fakes.called.unlink(missing_ok=True)
        assert fakes.run_lab("test", "a", *words.split()).returncode == 0
        assert fakes.calls("ctest")[-1] == f"{CTEST}-C variant -R ^test_a: {tests}$ {name}"
        assert [call.partition("--target ")[2].split() for call in fakes.calls("cmake --build")] == [["bin/test_a"]]
    for name in ("cpu_on", "cpu_one ", "cpu.one", "another"):
        done = fakes.run_lab("test", "a", "--variant", name)
        assert (done.returncode, done.stdout) == (2, "") and done.stderr.endswith(
            f"a has no variant '{name}'; there are: cpu_one cuda_three opencl_two\n"), done


def completed(folder, text):
    """The words that bash offers after these, the last one begun."""
    script = f"""
. "{ROOT}/tools/completion.bash"
read -ra COMP_WORDS <<<"$1."
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
COMP_WORDS[COMP_CWORD]=${{COMP_WORDS[COMP_CWORD]%.}}
_gpulab
[[ ${{#COMPREPLY[@]}} == 0 ]] || printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    return passed("bash", "-c", script, "bash", text, cwd=folder).stdout.splitlines()


@pytest.fixture
def copy_of_labs(scratch):
    copy = scratch / "a copy"
    (copy / "build/default").mkdir(parents=True)
    shutil.copy(ROOT / "lab", copy)
    (copy / "tools").symlink_to(ROOT / "tools")
    for name in LABS:
        folder = next((ROOT / "labs").glob(f"*_{name}")).name
        (copy / "labs" / folder).mkdir(parents=True)
    return copy


def test_one_variant_is_tested_by_its_name():
    built("test_saxpy")
    # Read, because ctest, even where it only lists, begins the log of its folder anew: that of the run which this is a part of.
    listed = (BUILD / "tests/labs/01_saxpy/CTestTestfile.cmake").read_text(encoding="utf-8")
    command = shlex.split(re.search(r"add_test\(\[=\[test_saxpy: one variant\]=\] (.*)\)", listed)[1].replace(r"\$", "$"))
    for variant, code in (("cpu_blocks", 0), ("cpu_block", 2)):
        ran = run(*command, GPULAB_TEST_VARIANT=variant)
        assert ran.returncode == code and ("All tests passed" in ran.stdout) == (code == 0), ran


def test_completion_in_bash_knows_commands_labs_and_options(copy_of_labs):
    for text, wanted in (
        ("./lab ", COMMANDS),
        ("./lab do", ["docs", "doctor"]),
        ("./lab run ", LABS),
        ("./lab test s", ["saxpy", "spmv", "streams"]),
        ("./lab test saxpy --a", ["--all"]),
        ("./lab setup -", ["--all", "--cuda"]),
        ("./lab list ", []),
        ("./lab run saxpy --v", []),  # not built: there is nothing to ask
        ("./lab test saxpy --variant c", []),
    ):
        assert completed(copy_of_labs, text) == wanted, text
    assert completed(copy_of_labs.parent, "a\\ copy/lab run tri") == []


@pytest.mark.parametrize("command", ["test", "setup"])
def test_completion_in_bash_knows_the_options_that_the_help_names(copy_of_labs, command):
    offered = completed(copy_of_labs, f"./lab {command} -")
    named = set(re.findall(r"(?<![\w-])--?[a-z]+", passed(ROOT / "lab", command, "--help").stdout))
    assert offered and set(offered) == named


def test_completion_in_bash_knows_options_variants_and_studies_of_a_lab_that_is_built(copy_of_labs):
    (copy_of_labs / "build/default/bin").symlink_to(built("saxpy").parent)
    for name in ("cpu", "h100", "h200"):
        (copy_of_labs / "docs/results" / name).mkdir(parents=True, exist_ok=True)
    for text, wanted in (
        ("./lab run saxpy --va", "--variant"),
        ("./lab run saxpy --n 1e6 --re", "--repeat --recorded"),
        ("./lab run saxpy --recorded h100,h2", "h100,h200"),
        ("./lab run saxpy --variant cpu_", "cpu_sequential cpu_blocks cpu_interleaved cpu_distances"),
        ("./lab run saxpy --variant = cpu_b", "cpu_blocks"),
        ("./lab test saxpy --variant cpu_b", "cpu_blocks"),
        ("./lab run saxpy --variant cpu_blocks,cuda_f", "cpu_blocks,cuda_float4"),
        ("./lab run saxpy --study b", "block-size"),
        ("./lab run saxpy --backend c", "cpu cuda"),
        ("./lab run saxpy --json sa", ""),  # bash completes files itself
    ):
        assert completed(copy_of_labs, text) == wanted.split(), text
