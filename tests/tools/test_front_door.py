"""./lab does what its help says."""

import os
import re
import shutil

import pytest
from conftest import LABS, ROOT, on_terminal, passed, refused, run
from machine import Machine

COMMANDS = "start run test explain list setup docs plot handout grade package-autograder package-classroom instructor doctor help".split()


def lab(*words, **options):
    return run(ROOT / "lab", *words, **options)


@pytest.mark.parametrize("command", ["rum", "run test"])
def test_an_unknown_command_ends_with_2_and_one_line_that_names_the_commands(command):
    refused(lab(command), command, *COMMANDS)


@pytest.mark.parametrize("command", ["run", "test", "explain"])
def test_an_unknown_lab_ends_with_2_and_one_line_that_names_the_labs(command):
    refused(lab(command, "sax.*"), "sax.*", *LABS)


def test_run_without_a_lab_ends_with_2_and_one_line_that_names_the_labs():
    refused(lab("run"), *LABS)


@pytest.mark.parametrize("words, named", [
    (["saxpy", "spmv"], ["saxpy", "spmv"]),
    ([""], ["''", *LABS]),  # such as a variable that is not set
    (["saxpy", "--lrage"], ["--lrage", "--large", "--variant"]),
    (["saxpy", "--variant"], ["--variant"]),
    (["saxpy", "--variant="], ["--variant"]),
    (["--variant", "cpu_blocks"], ["cpu_blocks", *LABS]),
])
def test_test_refuses_a_word_too_many_or_too_few_in_one_line(words, named):
    refused(lab("test", *words), *named)


@pytest.fixture
def fakes(scratch):
    """A copy of ./lab with a lab, a, whose CMake and ctest write down how they are called."""
    machine = Machine(scratch)
    machine.lab("01_a")
    (machine.copy / "tests/labs/01_a").mkdir(parents=True)
    (machine.copy / "tests/labs/01_a/CMakeLists.txt").touch()
    for program in ("cmake", "ctest"):
        machine.fake(program, f"""
if [ "$1" = --version ]; then echo cmake version 9.9; exit; fi
echo {program} "$@" ${{GPULAB_TEST_VARIANT:-}} >>"$scratch/called"
if [ {program} = ctest ]; then echo "100% tests passed, 0 tests failed out of 7"; fi""")
    return machine


CTEST = f"ctest --preset default --parallel {min(2 * os.cpu_count(), 12)}"


@pytest.mark.parametrize("words, options", [
    ([], " -C parts"),
    (["a"], " -L ^a$ -LE ^grading$"),
    (["--grading", "a"], " -L ^a$"),
    (["a", "--large"], " -C large -L ^a$ -LE ^grading$"),
    (["--large"], " -C large"),
])
def test_test_runs_the_tests_of_one_lab_the_large_ones_only_with_large_those_of_grading_only_with_grading(fakes, words, options):
    done = fakes.run_lab("test", *words)
    assert (done.returncode, done.stdout) == (0, "\n100% tests passed, 0 tests failed out of 7\n"), done
    assert fakes.calls("ctest")[-1] == CTEST + options
    if "a" in words:
        assert any(call.endswith("--target labs/01_a/all tests/labs/01_a/all") for call in fakes.calls("cmake --build"))


def test_test_v_runs_ctest_itself(fakes):
    done = fakes.run_lab("test", "-v", "a")
    assert done.stdout == "100% tests passed, 0 tests failed out of 7\n"
    assert fakes.calls("ctest") == [CTEST + " -L ^a$ -LE ^grading$"]


def test_test_of_a_variant_builds_the_labs_test_program_and_runs_the_tests_that_name_it(fakes):
    (fakes.copy / "build/default/bin").mkdir(parents=True)
    program = fakes.copy / "build/default/bin/test_a"
    program.write_text("""#!/bin/sh
case $4 in
    *"cuda_two *"*) echo "cuda_two under compute-sanitizer" ;;
    *sanitizer*) ;;
    *) printf '%s\\n' "cpu_one adds floats" "cpu_one adds doubles" "cuda_two adds" "another test" ;;
esac""")
    program.chmod(0o755)
    for words in (["--variant", "cpu_one"], ["--variant=cpu_one"]):
        fakes.called.unlink(missing_ok=True)
        assert fakes.run_lab("test", "a", *words).returncode == 0
        assert fakes.calls("ctest")[-1] == CTEST + " -R ^test_a: cpu_one "
        assert [call.partition("--target ")[2] for call in fakes.calls("cmake --build")] == ["bin/test_a"]
    # Under compute-sanitizer too, where test cases run under it: only those of the variant.
    assert fakes.run_lab("test", "a", "--variant", "cuda_two").returncode == 0
    assert fakes.calls("ctest")[-1] == CTEST + " -R ^test_a: (cuda_two |compute-sanitizer's ) cuda_two"
    for name in ("cpu_on", "cpu_one ", "cpu.one", "another"):
        done = fakes.run_lab("test", "a", "--variant", name)
        assert (done.returncode, done.stdout) == (2, "") and done.stderr.endswith(
            f"a has no variant '{name}'; there are: cpu_one cuda_two\n"), done


def test_run_cg_ranks_starts_that_many_processes_without_colours_where_no_terminal_shows_them(scratch):
    machine = Machine(scratch)
    machine.lab("09_cg")
    machine.fake("cmake", '[ "$1" != --version ] || echo cmake version 9.9')
    machine.fake("ninja", "")
    machine.fake("mpirun", """
if [ "$1" = --version ]; then echo "mpirun (Open MPI) 9.9"; exit; fi
echo "NO_COLOR=${NO_COLOR:-}"
printf "<%s>" "$@" """)
    machine.environment["NO_COLOR"] = None
    program = machine.copy / "build/default/bin/cg_mpi"
    for words in ("--ranks 3 --generate laplace2d:10", "--generate laplace2d:10 --ranks=3", "--generate --ranks 3 laplace2d:10"):
        done = machine.run_lab("run", "cg", *words.split())
        assert done.returncode == 0 and "NO_COLOR=1" in done.stdout and "<-np><3>" in done.stdout, done
        assert done.stdout.endswith(f"<{program}><--generate><laplace2d:10>"), done
    for words in ("--ranks 0", "--ranks", "--ranks=", "--ranks two", "--ranks -1", "--ranks 1.5"):
        refused(machine.run_lab("run", "cg", *words.split()), "--ranks: how many processes?")
    shown = on_terminal(machine.copy / "lab", "run", "cg", "--ranks", "2", **machine.environment)
    assert "<-np><2>" in shown and "NO_COLOR=1" not in shown


def test_plot_without_a_file_ends_with_2_and_one_line_and_draws_a_file_from_any_folder(scratch):
    refused(lab("plot"), "FILE.json")
    if all(run(python, "-c", "import matplotlib").returncode for python in ("python3", "/usr/bin/python3")):
        pytest.skip("no matplotlib (package python3-matplotlib)")
    shutil.copy(ROOT / "docs/results/h200/saxpy.json", scratch)
    assert passed(ROOT / "lab", "plot", "saxpy.json", cwd=scratch).stdout == "saxpy.svg\n"
    assert (scratch / "saxpy.svg").stat().st_size > 0


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


@pytest.mark.parametrize("words", [["help"], ["--help"], []])
def test_help_names_every_command(words):
    text = passed(ROOT / "lab", *words).stdout
    assert not [command for command in COMMANDS if command not in text]


@pytest.mark.parametrize("command", "start run test explain list setup docs doctor help".split())
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_every_command_has_a_help(command, option):
    done = passed(ROOT / "lab", command, option)
    assert "usage: ./lab COMMAND" in done.stdout and done.stderr == ""
    assert re.findall(r"(?m)^  ([a-z]+)", done.stdout) == [command]
    if command == "run":
        assert all(name in done.stdout for name in LABS)


@pytest.mark.parametrize("words", ["start 9", "start bogus", "setup --bogus", "docs bogus", "list bogus", "doctor bogus", "run --backend"])
def test_a_command_refuses_what_it_does_not_know_in_one_line(words):
    refused(lab(*words.split()), words.split()[-1])


def test_a_command_that_fails_shows_its_output_and_ends_with_2(scratch):
    machine = Machine(scratch)
    machine.lab("01_broken")
    machine.fake("cmake", 'if [ "$1" = --version ]; then echo cmake version 9.9; else echo configuring broke; exit 7; fi')
    done = machine.run_lab("run", "broken")
    assert done.returncode == 2 and "configuring broke" in done.stderr and "this failed: cmake" in done.stderr, done


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


def test_completion_in_bash_knows_commands_labs_and_options(copy_of_labs):
    for text, wanted in (
        ("./lab ", COMMANDS),
        ("./lab do", ["docs", "doctor"]),
        ("./lab run ", LABS),
        ("./lab test s", ["saxpy", "spmv", "streams"]),
        ("./lab test saxpy -", ["--variant", "--large", "--grading", "-v"]),
        ("./lab test saxpy --g", ["--grading"]),
        ("./lab setup -", ["--all", "--cuda"]),
        ("./lab list ", []),
        ("./lab run saxpy --v", []),  # not built: there is nothing to ask
        ("./lab test saxpy --variant c", []),
    ):
        assert completed(copy_of_labs, text) == wanted, text
    assert completed(copy_of_labs.parent, "a\\ copy/lab run tri") == []


def test_completion_in_bash_knows_options_variants_and_studies_of_a_lab_that_is_built(copy_of_labs):
    programs = os.path.join(os.environ.get("GPULAB_BUILD", ROOT / "build/default"), "bin")
    if not os.path.exists(f"{programs}/saxpy"):
        pytest.skip("saxpy is not built")
    (copy_of_labs / "build/default/bin").symlink_to(programs)
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
