"""Verdicts kept by contents (tools/judged.py), and what runs when they are due on a GPU (tools/due)."""

import os
import re
import shutil
import subprocess
import sys
import time

import pytest
from conftest import ROOT, Files, module_of
from conftest import run as started

pytest.importorskip("tomllib", reason="needs Python 3.11")
sys.path.insert(0, str(ROOT / "tools"))
import judged  # noqa: E402

due = module_of(ROOT / "tools/due")

LAB = "labs/01_one"
FILES = {
    f"{LAB}/rungs.inc": 'CUDA_RUNG(cuda_a, "the first")\nCUDA_RUNG(cuda_b, "the second", .needs = {.fp64 = true})\nOPENCL_RUNG(opencl_a, "it")\n',
    f"{LAB}/cuda/01_a.cu": '#include "one.hpp"\nvoid cuda_a(int) { f("// no comment", 1\'000); }  // a comment\n',
    f"{LAB}/cuda/02_b.cu": '#include "own.cuh"\nvoid cuda_b(int) {}\n',
    f"{LAB}/cuda/own.cuh": "int own();\n",
    f"{LAB}/opencl/01_a.cpp": '#include "01_a.cl.hpp"\nvoid opencl_a(int) {}\n',
    f"{LAB}/opencl/01_a.cl": "kernel void a() {}\n",
    f"{LAB}/one.hpp": '#include "gpulab/stopwatch.hpp"\n',
    f"{LAB}/one.cpp": "int reference();\n",
    "common/include/gpulab/stopwatch.hpp": "int stopwatch();\n",
    "common/src/stopwatch.cpp": "int stopwatch() { return 1; }\n",
    "tests/labs/01_one/CMakeLists.txt": "add_lab_test(test_one LABELS one SOURCES test_one.cpp)\n",
    "tests/labs/01_one/test_one.cpp": '#include "one.hpp"\nint check();\n',
    "tests/labs/01_one/test_program.cpp": "int program();\n",
    **{name: (ROOT / name).read_text(encoding="utf-8") for name in ("tests/mistakes/plant.py", "tests/mistakes/order.py")},
    "tests/mistakes/01_one.toml": '["cuda/01_a.cu".nothing]\ntext = "1"\nby = "2"\nstudent = "says two"\n',
}


@pytest.fixture
def tree(scratch):
    return Files(scratch, FILES).folder


def keys(tree):
    return {item.name: item.key for item in due.Everything(tree).items}


def changed(tree, name, old, new):
    """The names of the items that an edit makes due."""
    before, files = keys(tree), Files(tree, {})
    text = files.change(name, old, new)
    after = keys(tree)
    files.write(name, text)
    return {one for one in after if before.get(one) != after[one]}


def of(*names):
    whole = {f"{kind} test_one" for kind in ("cuda", "opencl", "large", *due.TOOLS)}
    return whole | {f"{kind} {name}" for name in names for kind in ("cuda", *due.TOOLS)}


@pytest.mark.parametrize("name, old, new, names", [
    (f"{LAB}/cuda/01_a.cu", "// a comment", "/* another\n */", set()),
    (f"{LAB}/cuda/01_a.cu", "{ f", "{   f", set()),
    (f"{LAB}/cuda/01_a.cu", "// no comment", "// no string", of("cuda_a") | {"fault nothing"}),
    (f"{LAB}/cuda/01_a.cu", "1'000", "2'000", of("cuda_a") | {"fault nothing"}),
    (f"{LAB}/cuda/own.cuh", "int", "long", of("cuda_b")),
    (f"{LAB}/opencl/01_a.cl", "void", "int", of() | {"opencl opencl_a"}),
    (f"{LAB}/rungs.inc", "the second", "the other", set()),
    (f"{LAB}/rungs.inc", "true", "false", of("cuda_b")),
    ("common/src/stopwatch.cpp", "1", "2", of("cuda_a", "cuda_b") | {"opencl opencl_a", "fault nothing"}),
    (f"{LAB}/one.cpp", "int", "long", of("cuda_a", "cuda_b") | {"opencl opencl_a", "fault nothing"}),
    ("tests/labs/01_one/test_one.cpp", "int", "long", of("cuda_a", "cuda_b") | {"opencl opencl_a", "fault nothing"}),
    ("tests/labs/01_one/test_program.cpp", "int", "long", set()),
    ("tests/mistakes/01_one.toml", "says two", "does so", set()),
    ("tests/mistakes/01_one.toml", 'by = "2"', 'by = "3"', {"fault nothing"}),
])
def test_an_edit_makes_due_what_depends_on_it_and_a_comment_nothing(tree, monkeypatch, name, old, new, names):
    monkeypatch.setattr(due.Everything, "plant", planted_in(tree))
    assert changed(tree, name, old, new) == names


def test_tests_in_the_folder_of_an_operation_judge_its_rungs_alone(tree, monkeypatch):
    monkeypatch.setattr(due.Everything, "plant", planted_in(tree))
    (tree / LAB / "rungs_more.inc").write_text('CUDA_RUNG(cuda_more, "of another operation")\n')
    (tree / LAB / "cuda/more.cu").write_text("void cuda_more(int) {}\n")
    (tree / "tests/labs/01_one/more").mkdir()
    (tree / "tests/labs/01_one/more/test_more.cpp").write_text("int check_more();\n")
    assert changed(tree, "tests/labs/01_one/more/test_more.cpp", "int", "long") == of("cuda_more")
    assert of("cuda_a", "cuda_b", "cuda_more") <= changed(tree, "tests/labs/01_one/test_one.cpp", "int", "long")


def planted_in(tree):
    """plant.py as the tree has it."""
    plant = module_of(ROOT / "tests/mistakes/plant.py")
    plant.ROOT, plant.MISTAKES = tree, tree / "tests/mistakes"
    return plant


def test_keys_do_not_depend_on_where_the_repository_lies(tree, monkeypatch):
    monkeypatch.setattr(due.Everything, "plant", planted_in(tree))
    before = keys(tree)
    copy = tree / "elsewhere"
    shutil.copytree(tree, copy)
    monkeypatch.setattr(due.Everything, "plant", planted_in(copy))
    assert keys(copy) == before


def test_every_rung_of_the_labs_has_a_key_of_its_own_and_its_file():
    sources = judged.Sources(ROOT)
    for folder in judged.folders(ROOT):
        lab = judged.Lab(sources, folder)
        assert len(lab.lines) >= 10 and lab.lines.keys() == lab.defining.keys()


def test_several_processes_write_at_the_same_time_and_each_line_stays(scratch):
    code = "import sys; sys.path.insert(0, sys.argv[1]); import judged, pathlib\n" \
           "for i in range(20): judged.write(pathlib.Path(sys.argv[2]), {f'{sys.argv[3]} {i}': judged.made('k', 'passed', 'a\\tb', 't', 1)})"
    path = scratch / "judged/01_one.txt"
    runs = [subprocess.Popen([sys.executable, "-c", code, str(ROOT / "tools"), str(path), name]) for name in "abc"]
    assert [run.wait() for run in runs] == [0, 0, 0]
    assert len(judged.read(path)) == 60 and judged.read(path)["a 0"].by == "a b"
    lines = path.read_text().splitlines()
    assert lines == sorted(lines)
    path.write_text("\n".join(["<<<<<<< mine", *lines[:2], "======="]))  # a merge that nobody has finished
    assert len(judged.read(path)) == 2


# ---------------------------------------------------------------------------------------------------------------------
# A run, with programs that are none of the labs'

PROGRAM = """#!/usr/bin/env python3
import os, pathlib, sys, time
words = sys.argv[1:]
cases = {"[cuda]~[large]": ["cuda_a adds", "cuda_b adds", "both add"], "[opencl]~[large]": ["opencl_a adds"], "[.sanitizer]": ["cuda_a under it"]}
if "--list-tests" in words:
    print("\\n".join(cases.get(words[0], [])))
    sys.exit()
behaviour = dict(line.split("=") for line in pathlib.Path(__file__).with_name("behaviour").read_text().split())
with pathlib.Path(__file__).with_name("turns").open("a") as turns: turns.write(os.environ.get("GPULAB_TEST_TURNS", "own") + "\\n")
with pathlib.Path(__file__).with_name("gpus").open("a") as gpus: gpus.write(os.environ.get("CUDA_VISIBLE_DEVICES", "all") + " " + os.environ.get("TMPDIR", "own") + "\\n")
out = next(word for word in words if word.startswith("xml::out=")).removeprefix("xml::out=")
text, bad = "", False
for name in words[0].split(","):
    how = behaviour.get(name.split()[0], "passes")
    bad |= how in ("crashes", "ends-badly")
    if how == "hangs": time.sleep(600)
    if how == "crashes": break  # as Catch2 ends its report
    inner = {"fails": "<StdOut>\\n%s is wrong\\n  every size: n = 1 &lt; 2\\n</StdOut>" % name, "skips": "<Skip>\\n no fp64\\n</Skip>"}.get(how, "")
    text += '<TestCase name="%s" tags="[x]">%s<OverallResult success="%s" skips="0" durationInSeconds="0.5"/></TestCase>' % (
        name, inner, "false" if how == "fails" else "true")
pathlib.Path(out).write_text("<Catch2TestRun>" + text + "</Catch2TestRun>")
sys.exit(42 if "is wrong" in text or bad else 0)
"""
SANITIZER = """#!/bin/sh
while [ "$1" != --log-file ]; do shift; done
log=$2; shift 2
"$@" || exit 1
grep -q memcheck=finds "$(dirname "$1")/behaviour" && echo "========= Invalid read" >"$log" || echo "RACECHECK SUMMARY: 0 hazards displayed ERROR SUMMARY: 0 errors" >"$log"
"""


@pytest.fixture
def run(tree, monkeypatch, capsys):
    """Runs what is due in the tree. @return the exit code, what was printed, and the verdicts by name"""
    monkeypatch.setattr(due.Everything, "plant", planted_in(tree))
    monkeypatch.setattr(judged, "opencl_gpu", lambda: True)
    monkeypatch.setattr(judged, "tool", lambda place: "a GPU")
    monkeypatch.setattr(due.Everything, "add_rest", lambda self: None)
    (tree / "tests/mistakes/01_one.toml").write_text("")
    for name, text in (("build/bin/test_one", PROGRAM), ("build/sanitizer", SANITIZER), ("path/nvidia-smi", "#!/bin/sh\necho GPU 0:\n")):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
        (tree / name).chmod(0o755)
    (tree / "build/CMakeCache.txt").write_text(f"GPULAB_COMPUTE_SANITIZER:X={tree}/build/sanitizer\n")
    (tree / "build/build.ninja").write_text("build one.cu.o: CUDA one.cu\n")
    monkeypatch.setenv("PATH", f"{tree}/path:{os.environ['PATH']}")

    def run(behaviour="", *options):
        (tree / "build/bin/behaviour").write_text(behaviour)
        monkeypatch.setattr(sys, "argv", ["due", str(tree), str(tree / "build"), *options])
        code = due.main()
        entries = judged.read(tree / "tests/judged/01_one.txt")
        return code, capsys.readouterr().out, {name: entry.verdict for name, entry in entries.items()}

    return run


def test_what_is_due_runs_once_and_then_nothing_is_due(run, tree):
    assert "18 checks have not run" in run("", "--list")[1]
    code, out, verdicts = run()
    assert code == 0 and out.endswith("ran: 10 no case, 8 passed\n0 checks are still due\n"), out
    assert verdicts["cuda cuda_a"] == verdicts["cuda test_one"] == verdicts["memcheck cuda_a"] == "passed"
    assert verdicts["memcheck cuda_b"] == verdicts["large test_one"] == "no case"
    turns = (tree / "build/bin/turns").read_text().split()
    assert set(turns) == {"own", "shared"} and turns == sorted(turns), "programs without a tool would wait for those under one"
    assert judged.read(tree / "tests/judged/01_one.txt")["cuda cuda_a"].seconds == 0.5
    assert run("", "--list")[1] == "Everything has run on a GPU as it stands now.\n"
    assert run("", "--count")[1].startswith("0 checks have not run on a GPU")
    (tree / LAB / "cuda/02_b.cu").write_text('#include "own.cuh"\nvoid cuda_b(int) { own(); }\n')
    assert "CUDA test cases: cuda_b, test_one" in run("", "--list")[1]


def test_each_gpu_has_programs_and_turns_of_its_own(run, tree):
    (tree / "path/nvidia-smi").write_text("#!/bin/sh\necho GPU 0:; echo GPU 1:\n")
    assert run()[0] == 0
    used = {line.split()[0]: line.split()[1] for line in (tree / "build/bin/gpus").read_text().splitlines()}
    assert used.keys() == {"0", "1"} and len(set(used.values())) == 2, used


@pytest.mark.parametrize("behaviour, wrong, says", [
    ("cuda_a=fails", {"cuda cuda_a", *(f"{tool} cuda_a" for tool in due.TOOLS)}, "failed: 01_one: cuda cuda_a: every size: n = 1 < 2"),
    ("cuda_b=crashes", {"cuda cuda_b"}, "failed: 01_one: cuda cuda_b: it crashed, or did not end"),
    ("cuda_b=ends-badly", {"cuda cuda_b"}, "failed: 01_one: cuda cuda_b: the program ended with 42, and no test case failed"),
    ("both=skips", set(), "skipped: 01_one: cuda test_one: no fp64"),
    ("memcheck=finds", {f"{tool} cuda_a" for tool in due.TOOLS}, "failed: 01_one: memcheck cuda_a: ========= Invalid read"),
])
def test_what_fails_is_told_and_stays_due_and_nothing_else(run, tree, behaviour, wrong, says):
    code, out, verdicts = run(behaviour)
    assert code == bool(wrong) and says in out
    assert {name for name, verdict in verdicts.items() if verdict == "failed"} == wrong
    left = 1 if behaviour == "both=skips" else len(wrong)
    assert len(due.Everything(tree).due()) == left
    assert run()[0] == 0 and not due.Everything(tree).due()


def test_what_does_not_end_takes_no_longer_than_the_minutes_and_the_rest_is_kept(run, tree, monkeypatch):
    monkeypatch.setattr(due, "GRACE", 1)
    begin = time.monotonic()
    code, out, verdicts = run("cuda_b=hangs", "--minutes", "0.5")
    assert time.monotonic() - begin < 120
    assert code == 0 and verdicts["opencl opencl_a"] == "passed" and "cuda cuda_b" not in verdicts
    assert "cuda cuda_b" in {item.name for item in due.Everything(tree).due()}


def test_without_a_gpu_or_a_build_it_says_so_in_a_line(run, tree):
    none = {**os.environ, "PATH": "/nowhere"}
    for change, says in ((none, "this machine has no NVIDIA GPU"), (os.environ, "there is no build with CUDA")):
        done = subprocess.run([sys.executable, ROOT / "tools/due", tree, tree / "nowhere"], env=change, capture_output=True, text=True)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1) and says in done.stderr
    done = subprocess.run([sys.executable, ROOT / "tools/due", tree / "nowhere", tree, "--count"], capture_output=True, text=True)
    assert (done.returncode, done.stdout.count("\n"), done.stderr) == (0, 1, "")


def test_tests_that_passed_run_again_when_something_they_run_changes_and_a_few_of_the_others(scratch):
    for name in ("tests/conftest.py", "tests/judged_once.py", "tests/pytest.ini", "tools/judged.py"):
        (scratch / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, scratch / name)
    one = scratch / "tests/test_start_one.py"
    one.write_text("import os, pytest\n@pytest.mark.parametrize('n', range(40))\ndef test_n(n): assert n != 7 and 'BROKEN' not in os.environ\n")

    def ran(n=40, seed=1, **environment):
        done = started(sys.executable, "-B", "-m", "pytest", one,
                       **{"GPULAB_JUDGED_ONCE": "yes", "GPULAB_MISTAKES_SEED": seed, "GPULAB_MISTAKES": None, **environment})
        assert f"collected {n} items" in done.stdout and "test_n[7] FAILED" in done.stdout, "what has failed runs each time"
        return set(re.findall(r"test_n\[(\d+)\] PASSED", done.stdout))
    assert len(ran()) == 39
    again = ran()
    assert 1 <= len(again) < 20 and ran() == again != ran(seed=2)
    assert not ran(GPULAB_MISTAKES="all", BROKEN=1) and len(ran()) == 39, "what fails is kept no longer"
    assert len(ran(GPULAB_MISTAKES="all")) == 39 and len(ran(GPULAB_JUDGED_ONCE=None)) == 39
    (scratch / "tools/other.py").touch()
    assert len(ran()) == 39 and len(ran()) < 20
    one = one.rename(scratch / "tests/test_two.py")
    assert len(ran()) == 39 and len(ran()) == 39, "without a repository nothing is known of all files"
    for words in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", "-C", scratch, *words], check=True)
    assert len(ran()) == 39 and len(ran()) < 20
    (scratch / "tools/judged.py").write_text((scratch / "tools/judged.py").read_text() + "\n")
    assert len(ran()) == 39
