"""What the tests of hand-outs and grading share."""

import atexit
import contextlib
import copy
import csv
import dataclasses
import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

if sys.version_info < (3, 11):
    pytest.skip("Python 3.11 is needed", allow_module_level=True)

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

from grading import behaves, cuda, handout, judge as judging, student  # noqa: E402
from grading.exercises import folders, load  # noqa: E402
from grading.fault import Fault  # noqa: E402
from grading.judge import Judge  # noqa: E402
from grading.sandbox import best  # noqa: E402

BUILD = Path(os.environ.get("GPULAB_BUILD", ROOT / "build/default"))
PROGRAMS = BUILD / "bin"
TAMPERING = ROOT / "tests/tools/tampering"
LABS = [os.environ["GPULAB_LAB"]] if "GPULAB_LAB" in os.environ else list(folders(ROOT))  # with which a test runs for each lab

# Without these tools tests for races are not graded.
HAS_OCLGRIND = shutil.which("oclgrind") is not None
needs_oclgrind = pytest.mark.skipif(not HAS_OCLGRIND, reason="oclgrind is not installed")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root has other users")
HAS_TOOL = {"opencl": HAS_OCLGRIND, "cuda": bool(list((BUILD / "emulator").glob("libcudart.so.*")))}

COMMAND = [sys.executable, "-m", "grading", str(ROOT)]  # what ./lab calls, with these variables
VARIABLES = {**os.environ, "PYTHONPATH": str(ROOT / "tools")}


def command(*words, rc=0):
    """Runs a command of the tools and looks at its exit code."""
    ran = subprocess.run([*COMMAND, *map(str, words)], text=True, capture_output=True, check=False, env=VARIABLES)
    assert ran.returncode == rc, f"{words}: {ran.stdout} {ran.stderr}"
    return ran


class SharedJudge(Judge):
    """What the judges of a lab have in common in all tests of a file: they ask the devices once. A test that changes an attribute
    changes its own copy only."""

    keeps = True  # whether what PoCL compiles is kept in a test: of submissions that do not tamper with it

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.found = {}

    def asked_once(name):
        def find(self):
            if name not in self.found:
                self.found[name] = getattr(Judge, name).func(self)
            return self.found[name]

        return functools.cached_property(find)

    devices, plugin, fingerprint = map(asked_once, ("devices", "plugin", "fingerprint"))


class SharedRun(judging.Run):
    """A test of a submission. Its workers find what PoCL has compiled for others of the same user: a program takes half a second."""

    @contextlib.contextmanager
    def started(self, program, kernels, tool=None, environment=None, slot=None, **how):
        slot = self.slot if slot is None else slot
        if getattr(self.judge, "keeps", False) and self.part.backend == "opencl" and not how.get("kept"):
            user = self.judge.sandbox.owner(slot)
            if user not in self.judge.caches:
                self.judge.caches[user] = self.judge.sandbox.folder(f"slot{slot}-cache", slot)
            how["kept"] = self.judge.caches[user]
            environment = {**(environment or {}), "POCL_CACHE_DIR": str(how["kept"])}
        with super().started(program, kernels, tool, environment, slot, **how) as worker:
            yield worker

    def found_in_rung(self, tool):
        """A rung that is handed in runs under the tool in any case: it is not tried before as well."""
        if getattr(self.judge, "keeps", False) and self.judge.lab.rung(self.part.file) in self.texts().values():
            self.judge.tried[" ".join(tool), self.part.rung, self.test.name] = ""
        return super().found_in_rung(tool)


judging.Run = behaves.Run = SharedRun


@functools.cache
def shared_judge(name, kind):
    sandbox = best(kind)
    atexit.register(sandbox.close)
    return SharedJudge(load(ROOT, name), BUILD, sandbox, b"secret of the tests")


@contextlib.contextmanager
def judge_of(name, kind="", seconds=20.0):
    """A judge of a lab, with programs of this build."""
    if not (PROGRAMS / f"judge_{name}").is_file():
        pytest.skip(f"judge_{name} has not been built")
    try:
        judge = copy.copy(shared_judge(name, kind))
    except Fault as fault:
        pytest.skip(str(fault))
    judge.case_seconds, judge.caches = seconds, {}
    for name in [name for name in judge.tried if name[0] == "trial"]:  # a test may change its cases
        del judge.tried[name]
    if judge.devices["opencl"]["names"] == []:
        pytest.skip(judge.devices["opencl"]["why"])
    yield judge


@pytest.fixture(params=LABS)
def judge(request):
    """A judge of each lab that has exercises."""
    with judge_of(request.param) as found:
        yield found


@pytest.fixture
def saxpy():
    """The judge of lab 01."""
    with judge_of("saxpy") as found:
        yield found


@pytest.fixture
def sandbox():
    found = best()
    yield found
    found.close()


def started(sandbox, *command, slot=0, **how):
    """A program that runs in a sandbox, in a new folder."""
    return sandbox.start(list(map(str, command)), slot=slot,
                         **{"scratch": sandbox.folder("try", slot), "readable": [], "environment": {}, **how})


@pytest.fixture
def users():
    """A sandbox of root's, whose programs run as users of their own."""
    if os.geteuid() != 0:
        pytest.skip("only root has other users")
    found = best("user")
    yield found
    found.close()


@pytest.fixture(params=LABS)
def lab(request):
    return load(ROOT, request.param)


@pytest.fixture(scope="session")
def hand_out_of():
    """Makes the hand-out of a lab, once for all tests that do not change it."""
    with tempfile.TemporaryDirectory() as folder:
        def made_once(name):
            target = Path(folder, name)
            if not target.exists():
                assert handout.main(ROOT, [name, str(target)]) == 0
            return target

        yield made_once


def handed_out(scratch, name, monkeypatch=None):
    """A hand-out of a lab, with the programs of this build in the place of its own. @param monkeypatch builds nothing there"""
    assert handout.main(ROOT, [name, str(scratch / "out")]) == 0
    (scratch / "out/build").mkdir()
    (scratch / "out/build/default").symlink_to(BUILD)
    if monkeypatch:
        monkeypatch.setattr(student, "built", lambda root, targets: "")
    return scratch / "out"


def tree_of(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def with_tests(exercise, keep):
    return dataclasses.replace(exercise, tests=[one for one in exercise.tests if keep(one)])


def exercise_of(judge, title, backend="opencl"):
    """An exercise, and its part in a back end."""
    exercise = next(one for one in judge.lab.exercises if one.name == title)
    return exercise, exercise.parts[backend]


def changed(text, *changes):
    """A text with changes, pairs of an old and a new text."""
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


def results_of(judge, title, *changes, tests=lambda _: True, text="", backend="opencl"):
    """What the rung of an exercise gets with changes, or another text in its place."""
    exercise, part = exercise_of(judge, title, backend)
    text = changed(text or judge.lab.rung(part.file), *changes)
    return judge.judge(with_tests(exercise, tests), part, text.encode(), 0)


def why_not_emulated(judge, part):
    """Why submissions in CUDA are not graded in the emulator here; "" when they are."""
    return judge.why_not(part) or ("" if judge.emulated else "CUDA has a GPU here")


def of_values(test):
    return test.visible and test.check == "values"


def hidden_races(test):
    return test.check == "races" and not test.visible


def told(results):
    return "; ".join(f"{one.test}: {one.outcome} {one.message}" for one in results)


def compiles(source, tree, known, target=""):
    """Compiles a file of a hand-out with the command that the build has for a file of the lab.

    @param tree the root of the hand-out, whose files in labs/ it includes
    @param target the object to make; without it, the compiler only reads the file: of CUDA it makes PTX for one device, which
           is a quarter of the work
    """
    words = cuda.compile_command(BUILD, known)
    del words[words.index("-o"):words.index("-o") + 2]
    words = [str(source) if word == str(known) else word.replace(f"{ROOT}/labs/", f"{tree}/labs/") for word in words
             if word != "-Winvalid-pch" and not re.fullmatch("-O[0-3]", word)]
    if not target:
        devices = [word for word in words if word.startswith(("--generate-code", "-gencode", "-arch"))]
        words = [word for word in words if word not in devices[1:]]
        words[words.index("-c")] = "-ptx" if source.suffix == ".cu" else "-fsyntax-only"
    ran = subprocess.run([*words, "-O0", *(["-o", target or os.devnull] if target or source.suffix == ".cu" else [])],
                         cwd=BUILD, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"{source} does not compile: {ran.stderr or ran.stdout}"


# Classes


@pytest.fixture
def closed_repository():
    """Skips where `./lab grade` refuses to work: without bubblewrap submissions could read the tests."""
    found = best()
    open_to_all = found.can_read(ROOT / "README.md")
    found.close()
    if open_to_all:
        pytest.skip("bubblewrap does not work here, and every user can read the repository")


def graded(*words, rc=0):
    return command("grade", *words, rc=rc)


def put(folder, files=()):
    """A folder with these files, by their names in it: a submission, say."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in dict(files).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def result_with(outcomes, name="ada", behaves="", score=0, **fields):
    """A made-up result of lab 01: its first exercise has these outcomes. @param fields of each test"""
    lab = load(ROOT, "saxpy")
    exercise = lab.exercises[0]
    tests = [judging.Result(test.name, one, 0, test.points, **fields).as_dict() for test, one in zip(exercise.tests, outcomes)]
    tests[-1]["behaves"] = behaves
    return {"name": name, "score": score, "max_score": lab.points, "notes": [], "seconds": 1,
            "exercises": {exercise.name: {"backend": "opencl", "score": 0, "points": exercise.points, "tests": tests}}}


def books(out):
    with open(out / "gradebook.csv", encoding="utf-8", newline="") as file:
        return {line["submission"]: line for line in csv.DictReader(file)}


def why_not_compiled(results):
    """Why a device never ran a kernel that makes system calls: the compiler of PoCL 6 ends with an assertion of its own."""
    if any(re.search(r"/llvm/.*Assertion|Could not find a dominating alternative", one.message + one.printed) for one in results):
        return "the compiler of this OpenCL device crashes on system calls in a kernel"
    return ""


def code_lines(text):
    lines = [" ".join(re.sub(r"//.*", "", line).replace("std::", "").split()) for line in text.splitlines()]
    return [line for line in lines if line not in ("", "{", "}")]


def leaks(lab, tree):
    """Which answers, hidden tests or mistakes a hand-out holds."""
    found = []
    texts = {}
    for name, content in tree.items():
        if Path(name).suffix in (".cl", ".cu", ".cuh", ".cpp", ".hpp", ".md", ".toml", ".py"):
            texts[name] = "\n".join(code_lines(content.decode("utf-8")))
    for file, regions in lab.marked().items():
        for region in regions:
            text = "\n".join(code_lines("\n".join(region.lines)))
            if len(text) >= 25:  # a shorter one, such as "c[i] = 0;", appears by chance
                found += [f"the answer of {region.names} in {name}, as {file} has it" for name, other in texts.items()
                          if text in other]
    for exercise in lab.exercises:
        shown = {one.hint for one in exercise.tests if one.visible}
        for one in exercise.tests:
            for name, other in texts.items():
                if not one.visible and (f'name = "{one.name}"' in other or (one.hint not in shown and one.hint in other)):
                    found.append(f"the hidden test '{one.name}' in {name}")
    answers = {part.file for _, part in lab.parts()}
    for row in [row for row in lab.mistakes() if row["file"] in answers]:
        found += [f"the mistake '{row['id']}' in {name}" for name, other in texts.items() if row["student"] in other]
    found += [f"{name} has no place in a hand-out" for name in tree if name.startswith("tests/") or "mistakes" in name or
              name.endswith("/behaves.py")]
    return found
