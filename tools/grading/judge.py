"""Judges one exercise of one submission: makes the inputs, runs a worker on them, ends it, and only then compares."""

from __future__ import annotations

import codecs
import hashlib
import hmac
import json
import math
import os
import random
import re
import secrets
import shutil
import stat
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

from . import clock, cost, cuda
from .exercises import Exercise, Lab, Part, Test, is_unsolved
from .fault import Fault
from .launches import LIBRARY, Counter, Counts
from .races import told
from .sandbox import Limits, Sandbox, remove
from .words import ENDLESS, in_opencl
from .worker import Ended, TimedOut, Worker

PASSED, FAILED, UNSOLVED, BUILD_ERROR = "passed", "failed", "unsolved", "build error"
CRASHED, TIMED_OUT, NOT_GRADED = "crashed", "timed out", "not graded"
OUTCOMES = (PASSED, FAILED, UNSOLVED, BUILD_ERROR, CRASHED, TIMED_OUT, NOT_GRADED)

FULL_UP_TO, NONE_FROM = 1.2, 10.0  # times the rung's own time
# A submission is timed in new processes, TRIES times at most, while the result lies near the limit: some processes are slower
# than others as a whole (with one OpenCL kernel 28 to 33 or 39 to 49 ms). Each has ROUNDS rounds after one that does not count.
TRIES, ROUNDS = 10, 4
OF_RUNGS = 500  # added to a slot: for the rung that a submission is timed against
CASE_SECONDS, TEST_SECONDS = 15.0, 60.0
OF_TOOLS = 45.0  # for a case under a tool that interprets the kernel
AFTER_TIMEOUT = 3.0  # seconds of a case in the tests after one that timed out
EXERCISE_SECONDS = 180.0  # of a submission's own programs, in all tests of an exercise together
JUDGE_SECONDS = 600.0  # for the judge's own program, which makes inputs and compares
MAX_SHOWN = 8 << 10  # bytes that a program has printed
MAX_LOGGED = 4 << 20  # bytes of a tool's log that are read
TOOLS = "/usr/bin:/usr/local/bin:/usr/local/cuda/bin"  # where they are
OCLGRIND = ["--max-errors", "5", "--build-options", "-cl-opt-disable", "--log"]  # and the log
OF_RACES = ["oclgrind", "--data-races", "--uninitialized", "--check-api", *OCLGRIND]
EMULATOR = ["the CUDA emulator"]  # in the place of a tool: no command, but the library in the place of the CUDA runtime
# In the emulator limits are of processor time and of instructions; the clock, which runs on while others compute, ends only what hangs.
OF_EMULATOR = Limits(cpu_seconds=60)
MOST_INSTRUCTIONS = 5_000_000  # of a warp: an endless loop
PATIENCE = 20  # times the seconds of a device
ENDLESS_IN_CUDA = "cudaErrorLaunchTimeout"  # what the emulator and a GPU with a display say of it
FOUND = 3  # the emulator's exit code when it found something

# A submission whose kernels do nothing must get this share of its numbers wrong. The others may be right by chance.
SMALL_PART = 0.1
LOOKED_AT = 4096  # numbers of an answer, chosen by chance
FEW = 64  # answers with fewer numbers are looked at together
HEAD = 9  # bytes of an answer before its numbers: they say that there is one
NO_GUARDS = {"GPULAB_GUARD_BYTES": "0", "GPULAB_POISON": "0"}  # for a tool, which sees these accesses itself
CLOSE = 1e-3  # relative: somebody may change the last digits on purpose

# The messages for a student whose program does not use its kernels. They contain no input of a hidden test.
NO_KERNEL = "no kernel ran"
NOT_ITS_KERNELS = "the answers are the same when its kernels do nothing, so they do not come from them"
MOSTLY_ELSEWHERE = "much of the answers is right when its kernels do nothing, so it does not come from them"
TOO_FEW = "its kernels ran less often than the test repeats them"
CUT_OFF = "its kernels could not be counted, because it disturbed the counter"
OUT_OF_TIME = "the tests before it took all the time that an exercise has"
NOT_ENDED = "a program of this exercise could not be ended"
REACHES = "host code that may run in the CUDA emulator must not use these, because they could disturb what it finds and counts"
SUSPICIOUS = 0.2  # times the rung's time
BARRIER = r"\b(?:barrier|work_group_barrier|__sync\w+|sync|arrive_and_wait)\s*\("
HAS_ANSWERS = Path(__file__).with_name("handout.py").is_file()  # a hand-out has neither this file nor solutions
SHORTEST_ANSWER = 16  # characters of a line of a solution that is not shown; shorter ones appear by chance
NO_RIGHT_ANSWER = "a kernel that gives wrong answers, or leaves its arrays, is not counted: see the other tests"
NOT_TIMED = "a kernel that gives wrong answers is not timed: see the other tests"
WRONG_UNDER_TOOL = "the tool found nothing, but values are wrong: see the other tests"
OTHER_TESTS = (NO_RIGHT_ANSWER, NOT_TIMED, WRONG_UNDER_TOOL)  # what these say is wrong; the hint of this test would mislead
ELSEWHERE = (NO_KERNEL, NOT_ITS_KERNELS, MOSTLY_ELSEWHERE, TOO_FEW, CUT_OFF)
NOT_COUNTED = "launches were not counted"
OUTSIDE = ": it used memory far outside of an array. Is an index below 0? As a size_t it is huge"
COMPILER = "PoCL's compiler is at fault here: in Oclgrind the same kernel is right, and free of races"
NO_TIME = f"{COMPILER}; so its time under PoCL says nothing"
UNWRITTEN = (4 * b"\xa7", b"never written")  # in an answer, of integers, and in what the judge says of one
BESIDES = 20.0  # seconds that Oclgrind gets for a case which is wrong under PoCL
BUSY = "this machine was busy"
OF_OTHERS = 0.1  # of all processors: a larger share that other programs take may disturb a measurement


@dataclass
class Result:
    """How one test of one exercise went."""

    test: str
    outcome: str
    score: float
    points: float
    message: str = ""  # for the instructor; for the student as well where the test is visible
    public: str = ""  # for the student even if the test is hidden: nothing that the student's program wrote
    seconds: float = 0.0
    key: str = ""
    printed: str = ""  # what the program printed, for the instructor: it may hold what it read in our programs
    ratio: float = 0.0  # in a test of speed: times the time of the rung
    device: str = ""  # in a test of speed: where it was timed
    behaves: str = ""  # for the student: the known mistake that the kernel behaves like, a sentence

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Trial:
    """What the rung itself does in a test of a CUDA exercise. Submissions are compared with it."""

    needs_kernels: list[bool]  # for each case: whether the rung's answer is wrong when its launches do nothing
    why_not_counted: str  # why its kernels are not counted here; "" when they are
    in_place: list[set[int]]  # for each case the places where its answer is right without kernels: a copy of the input


class Turns:
    """Tests and compilers run side by side; a measurement of time runs alone."""

    def __init__(self) -> None:
        self.door = threading.Lock()  # who waits to run alone holds it, so that nobody else begins
        self.changed = threading.Condition()
        self.shared = 0

    @contextmanager
    def beside_others(self) -> Iterator[None]:
        with self.door, self.changed:
            self.shared += 1
        try:
            yield
        finally:
            with self.changed:
                self.shared -= 1
                self.changed.notify_all()

    @contextmanager
    def by_itself(self) -> Iterator[None]:
        with self.door, self.changed:
            self.changed.wait_for(lambda: self.shared == 0)
            yield


def plugin_of(root: Path, build: Path) -> subprocess.CompletedProcess[str]:
    """Builds the plugin of oclgrind that counts, and prints its path, or why there is none."""
    return subprocess.run([sys.executable, "-B", str(root / "tools/explain/plugin.py"), str(root), str(build)],
                          capture_output=True, text=True, check=False)


class Judge:
    """Judges the exercises of a lab with the programs of a build."""

    def __init__(self, lab: Lab, build: Path, sandbox: Sandbox, secret: bytes) -> None:
        self.lab = lab
        self.build = build
        self.sandbox = sandbox
        self.secret = secret
        self.turns = Turns()
        self.case_seconds = CASE_SECONDS
        self.test_seconds = TEST_SECONDS
        self.exercise_seconds = EXERCISE_SECONDS
        self.judge_seconds = JUDGE_SECONDS
        self.min_tries = 1  # of a test of speed
        self.trials: dict[tuple[str, str], Trial] = {}  # by exercise and test
        self.trying = threading.Lock()
        self.tools: dict[tuple[str, str, str], str] = {}  # what a tool finds in the rung, by exercise, test and tool
        self.bounds: dict[tuple[str, str], list[dict[str, str]]] = {}  # that follow from the counts of the rung, by rung and test
        self.no_device: dict[str, bool] = {}  # by back end: whether a rung finds no device in the sandbox
        self.explain = lab.root / "tools/explain"
        self.program = build / "bin" / f"judge_{lab.name}"
        if not self.program.is_file():
            raise Fault(f"{self.program} has not been built")
        # What ./lab setup puts where the system has no package of it, at a place that every user can read.
        own = lab.root / ".oclgrind"
        if sandbox.kind != "none" and own.is_dir():
            own = sandbox.installed(own)
        self.own_tools = [own] if own.is_dir() else []

    def call(self, *arguments: str) -> str:
        begin = clock.now()
        while True:
            try:
                ran = subprocess.run([str(self.program), *arguments], capture_output=True, text=True, check=False,
                                     timeout=self.judge_seconds)
                break
            except subprocess.TimeoutExpired:  # of which the time in which the grader stood still is no part
                if clock.now() - begin >= self.judge_seconds:
                    raise Fault(f"the judge of {self.lab.name} did not end in {self.judge_seconds:g} s: "
                                f"{arguments[0]}") from None
        if ran.returncode != 0:
            raise Fault(f"the judge of {self.lab.name} failed: {ran.stderr.strip()}")
        return ran.stdout

    @cached_property
    def devices(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.call("devices"))
        return found

    @property
    def on_pocl(self) -> bool:
        """Whether OpenCL runs on PoCL here."""
        return "Portable Computing Language" in self.devices["opencl"].get("platforms", [])[:1]

    def program_of(self, tool: list[str]) -> str | None:
        return shutil.which(tool[0], path=":".join([TOOLS, *(str(folder / "bin") for folder in self.own_tools)]))

    def why_not(self, part: Part) -> str:
        """Why a back end cannot be graded here; "" when it can."""
        found = self.devices[part.backend]
        if found["names"]:
            return ""
        return "no GPU" if part.backend == "cuda" else str(found["why"])

    @cached_property
    def plugin(self) -> tuple[Path | None, str]:
        """The plugin of oclgrind that counts, at a place that every user can read, or why there is none. Built when it is first
        asked for."""
        ran = plugin_of(self.lab.root, self.build)
        if ran.returncode != 0:
            return None, (ran.stderr.strip() or "its plugin cannot be built").splitlines()[-1].removeprefix("explain: ")
        return self.sandbox.installed(Path(ran.stdout.strip())), ""

    @property
    def emulated(self) -> bool:
        """Whether CUDA has no GPU here."""
        return bool(self.devices["cuda"]["names"][:1] == ["CUDA emulator"])

    def device(self, part: Part) -> str:
        """The device, where it is none of the machine's."""
        return "CUDA emulator" if part.backend == "cuda" and self.emulated else ""

    def timed_on(self, backend: str) -> str:
        """The device that runs a back end."""
        return str(self.devices[backend]["names"][0]) if self.devices[backend]["names"] else ""

    @cached_property
    def emulator(self) -> Path | None:
        """The emulator's library, in a folder that every user can read. None: it has not been built."""
        found = sorted((self.build / "emulator").glob("libcudart.so.[0-9]*"))
        return self.sandbox.installed(found[0]) if found else None

    @cached_property
    def fingerprint(self) -> str:
        """A digest that changes with the programs that judge."""
        digest = hashlib.sha256()
        workers = [self.worker_program(part) for _, part in self.lab.parts()]
        libraries = [*(self.build / "bin" / library for library in (LIBRARY, cuda.NO_LAUNCHES)),
                     *(self.build / "emulator").glob("libcudart.so.[0-9]*")]
        sources = [Path(__file__).with_name(name)
                   for name in ("judge.py", "worker.py", "sandbox.py", "cuda.py", "launches.py", "clock.py", "memory.py", "cost.py",
                                "races.py", "words.py")]
        sources += [self.explain / name for name in ("counts.cpp", "report.py")]
        for path in [self.program, *(file for file in [*workers, *libraries] if file.is_file()), *sources]:
            digest.update(path.read_bytes())
        return digest.hexdigest()

    def worker_program(self, part: Part) -> Path:
        return self.build / "bin" / f"worker_{self.lab.name}_{part.rung}"

    def rung_without_kernels(self, part: Part) -> Path:
        """The worker of a CUDA rung whose launches do nothing, at a place that every user can read."""
        place = self.sandbox.base / "bin" / "without_kernels"
        for folder in (place.parent, place):
            folder.mkdir(exist_ok=True)
            folder.chmod(0o755)
        program = place / self.worker_program(part).name
        if not program.exists():
            cuda.rung_without_kernels(self.build, self.lab, part, program)
        return program

    def key(self, part: Part, test: Test, files: dict[str, bytes]) -> str:
        """A digest that changes with everything that a result depends on."""
        digest = hashlib.sha256(self.fingerprint.encode())
        digest.update(repr((part, test, sorted(files.items()), self.secret, self.why_not(part))).encode())
        digest.update(repr(part.backend == "cuda" and self.emulated).encode())
        if test.check == "speed":
            digest.update(repr((self.timed_on(part.backend), self.min_tries)).encode())
        return digest.hexdigest()[:32]

    def seed(self, exercise: Exercise, test: Test, number: int) -> str:
        text = f"{self.lab.name}/{exercise.name}/{test.name}/{number}"
        if test.visible and test.check != "cost":  # the same for everybody, so that a student can repeat what the feedback says
            return str(int.from_bytes(hashlib.sha256(text.encode()).digest()[:7], "big"))
        return str(int.from_bytes(hmac.digest(self.secret, text.encode(), "sha256")[:7], "big"))

    def judge(self, exercise: Exercise, part: Part, files: dict[str, bytes], slot: int,
              known: dict[str, Result] | None = None, built: Path | None = None) -> list[Result]:
        """All tests of an exercise in one back end.

        @param files what was handed in, by the names in part.files
        @param known results of an earlier run, by key; those that still hold are taken over. What could not be graded
               is tried again
        @param built the program that runs these files, where it has been built from them already
        """
        def all_of(outcome: str, message: str = "") -> list[Result]:
            return [Result(t.name, outcome, 0, t.points, message, message if outcome == NOT_GRADED else "",
                           key=self.key(part, t, files)) for t in tests]

        tests = exercise.tests
        missing = [name for name in part.files if name not in files]
        texts = {name: files[name].decode("utf-8", errors="replace") for name in part.files if name not in missing}
        if missing or all(is_unsolved(self.lab.stub(name), text) for name, text in texts.items()):
            return all_of(UNSOLVED, f"{' '.join(missing)} was not handed in" if missing else "")
        for name, text in texts.items():
            if "\0" in text:  # a compiler reads up to it, or says something that helps nobody
                return all_of(BUILD_ERROR, f"{name}, line {text[:text.index(chr(0))].count(chr(10)) + 1}, holds a NUL byte: "
                                           "it is no text file")
        why = self.why_not(part)
        if why:
            return all_of(NOT_GRADED, why)
        results: list[Result] = []
        owner = self.sandbox.owner(slot)  # of the files of this exercise
        left = self.exercise_seconds * (PATIENCE if part.backend == "cuda" and self.emulator else 1)
        with self.handed_in(exercise, part, files, slot) as kernels, ExitStack() as compiled:
            program, without_kernels, reaches = self.sandbox.installed(built or self.worker_program(part)), None, ""
            if part.backend == "cuda" and not built:
                try:
                    with self.turns.beside_others():  # a compiler must not disturb a measurement
                        programs = cuda.build(self.lab, self.build, part, kernels, self.sandbox, slot)
                except cuda.DoesNotCompile as error:
                    return all_of(BUILD_ERROR, self.redacted(str(error), texts))
                compiled.callback(remove, programs.scratch)
                program, without_kernels, reaches = programs.whole, programs.without_kernels, programs.reaches
            for test in tests:
                key = self.key(part, test, files)
                if known and key in known and known[key].outcome != NOT_GRADED:
                    results.append(known[key])
                    continue
                begin = time.perf_counter()
                run = Run(self, exercise, part, test, program, kernels, slot, without_kernels, left)
                run.reaches = reaches
                run.miscompiled = any(one.public == COMPILER for one in results)
                run.left_out = any(UNWRITTEN[1].decode() in one.message for one in results)
                if results and results[0].outcome == BUILD_ERROR:  # nothing else was tried, and nothing can run
                    result = run.outcome(BUILD_ERROR, results[0].message)
                elif left <= 0:
                    result = run.outcome(TIMED_OUT, OUT_OF_TIME, public=OUT_OF_TIME)
                else:
                    if any(one.outcome == TIMED_OUT for one in results):
                        run.seconds = min(run.seconds, AFTER_TIMEOUT)
                    result = run.result()
                    result.printed = result.printed or run.printed[:MAX_SHOWN].decode("utf-8", errors="replace")
                    left = run.left
                    if self.sandbox.owner(slot) != owner and result.outcome != PASSED:  # it could not read its files
                        result = run.outcome(NOT_GRADED, NOT_ENDED, public=NOT_ENDED)
                    result.message = self.redacted(result.message, texts)
                result.key, result.seconds = key, round(time.perf_counter() - begin, 2)
                results.append(result)
        return results

    @contextmanager
    def handed_in(self, exercise: Exercise, part: Part, files: dict[str, bytes], slot: int) -> Iterator[Path]:
        """A folder with the files that were handed in."""
        kernels = self.sandbox.base / f"slot{slot}-{exercise.name}-{part.backend}-files"
        self.sandbox.fill(kernels, {Path(name).name: files[name].removeprefix(codecs.BOM_UTF8) for name in part.files}, slot)
        try:
            yield kernels
        finally:
            remove(kernels)

    def why_look(self, part: Part, files: dict[str, bytes], results: list[Result]) -> str:
        """Why an instructor should look at a submission that has points: it may do something else than the exercise asks for.
        "": nothing is strange."""
        if not any(one.score for one in results):
            return ""
        for one in results:
            if 0 < one.ratio < SUSPICIOUS:
                return f"{one.ratio:g} times the {'work' if part.backend == 'cuda' and self.emulated else 'time'} of the rung"
        texts = ["".join(map(bare_code, of)) for of in ((files[name].decode(errors="replace") for name in part.files),
                                                        map(self.lab.rung, part.files))]
        own, rung = (bool(re.search(BARRIER, text)) for text in texts)
        return "no barrier, where the rung has one: is it another algorithm?" if rung and not own else ""

    @cached_property
    def answers(self) -> set[str]:
        """The lines of all solutions of the lab, without spaces. A hand-out has none."""
        if not HAS_ANSWERS:
            return set()
        lines = {bare(re.sub("//.*", "", line)) for regions in self.lab.marked().values() for one in regions
                 if one.kind == "EXERCISE" for line in one.lines}
        return {line for line in lines if len(line) >= SHORTEST_ANSWER}

    def redacted(self, message: str, own: dict[str, str]) -> str:
        """A message without the lines of solutions, unless the student wrote them: workers and compilers could show them."""
        written = bare("".join(own.values()))
        return "\n".join("(a line that is not shown)" if any(one in bare(line) and one not in written for one in self.answers)
                         else line for line in message.split("\n"))


class Run:
    """One test of one exercise of one submission."""

    def __init__(self, judge: Judge, exercise: Exercise, part: Part, test: Test, program: Path, kernels: Path,
                 slot: int, without_kernels: Path | None = None, left: float = EXERCISE_SECONDS) -> None:
        self.judge = judge
        self.exercise = exercise
        self.part = part
        self.test = test
        self.program = program
        self.kernels = kernels
        self.slot = slot
        self.without_kernels = without_kernels  # only of a CUDA submission
        self.emulated = part.backend == "cuda" and judge.emulated
        self.patience = PATIENCE if self.emulated else 1
        self.seconds = judge.case_seconds * self.patience
        self.left = left  # seconds that the programs of the submission may still run
        self.printed = b""  # by the first of its programs that printed
        self.reaches = ""  # what the host code uses that could disturb the emulator
        self.miscompiled = self.left_out = False  # in an earlier test PoCL's compiler was at fault; something was not written
        self.by_others: list[tuple[float, float]] = []  # of runs that were timed: see clock.Load

    def outcome(self, outcome: str, message: str = "", share: float = 0.0, public: str = "", printed: str = "") -> Result:
        return Result(self.test.name, outcome, round(share * self.test.points, 2), self.test.points, message, public,
                      printed=printed)

    @contextmanager
    def charged(self, worker: Worker) -> Iterator[None]:
        """Counts the time that a program of the submission takes. That of a rung is not the submission's."""
        before = worker.spent
        try:
            yield
        finally:
            if worker.slot == self.slot:
                self.left -= worker.spent - before

    def result(self) -> Result:
        if self.reaches and (self.emulated or self.test.check in ("races", "cost")):
            why = f"{REACHES}: {self.reaches}"
            return self.outcome(FAILED, why, public=why)
        if self.test.check == "speed" and not self.emulated:
            with self.judge.turns.by_itself():
                return self.speed()
        with self.judge.turns.beside_others():
            return {"races": self.races, "cost": self.cost, "speed": self.work}.get(self.test.check, self.values)()

    @contextmanager
    def started(self, program: Path, kernels: Path, tool: list[str] | None = None, environment: dict[str, str] | None = None,
                slot: int | None = None, counted: bool = False, kept: Path | None = None,
                more: tuple[Path, ...] = ()) -> Iterator[Worker]:
        """A worker with a new empty folder: it finds nothing of an earlier worker. In the end it is killed.

        @param tool words before its command; EMULATOR: none, but it runs in the emulator, and in a test of races ends with FOUND if
               that finds something. A test of cost runs without, as in OpenCL: a race costs the points of races only
        @param kept a folder in which its files stay
        @param more files that it may read
        """
        sandbox = self.judge.sandbox
        slot = self.slot if slot is None else slot
        readable = [program, kernels, *more, *self.judge.own_tools]
        emulated, counter = self.emulated or tool == EMULATOR, None
        variables = {"GPULAB_KERNELS": str(kernels), "GPULAB_EMULATOR": "never", **(environment or {})}
        if emulated and self.judge.emulator:
            readable.append(self.judge.emulator)
            variables |= {"LD_LIBRARY_PATH": str(self.judge.emulator.parent), "CUDA_EMULATOR_INSTRUCTIONS": str(MOST_INSTRUCTIONS),
                          "CUDA_EMULATOR_CHECK": "fail" if tool == EMULATOR and self.test.check == "races" else "off"}
            tool = None
        if counted and emulated:
            counter = Counts(sandbox.owner(slot))
            variables |= counter.environment
        elif counted:
            counter = Counter()
            library = sandbox.installed(self.judge.build / "bin" / LIBRARY)
            readable.append(library)
            tool = [*(tool or []), *counter.command(library)]
        if self.part.pocl_threads:
            variables["POCL_MAX_PTHREAD_COUNT"] = str(self.part.pocl_threads)
        if self.part.backend == "opencl":
            variables.setdefault("GPULAB_PREPROCESS", "1")
            if sandbox.kind == "none":  # nobody is kept apart, so what was compiled may serve again
                variables.setdefault("POCL_CACHE_DIR", str(sandbox.base / "pocl"))
        folder = sandbox.folder(f"slot{slot}", slot)
        worker = None
        try:
            process = sandbox.start([*(tool or []), str(program)], slot=slot, scratch=folder, readable=readable,
                                    environment=variables, limits=OF_EMULATOR if emulated else Limits(),
                                    gpu=self.part.backend == "cuda", inherited=(counter.inherited(),) if counter else (), kept=kept)
            if counter:
                counter.started()
            worker = Worker(sandbox, process, slot, [folder, *([kept] if kept else [])], counter)
            yield worker
        finally:
            if worker:
                worker.end()
                self.printed = self.printed or (worker.printed if slot == self.slot else b"")
            remove(folder)

    def cases(self, rounds: int = 1, first: int = 0) -> list[dict[str, Any]]:
        cases = []
        for number, problem in enumerate(self.test.problems() * rounds, first):
            seed = self.judge.seed(self.exercise, self.test, number)
            chance = random.Random(f"sizes {seed}")
            if "group" in problem and self.part.backend == "cuda":  # there the file says how many threads a block has
                continue
            once = {"repeats": 1} if self.emulated and self.test.check == "speed" and "repeats" in problem else {}
            cases.append({name: drawn(value, chance) for name, value in problem.items()} | once | {"seed": seed})
        return cases

    def made(self, cases: list[dict[str, Any]], name: str) -> Iterator[bytes]:
        """The messages for a worker. The judge has made all of them when this returns."""
        spec, file = self.private(name + ".json"), self.private(name + ".cases")
        spec.write_text(json.dumps(cases), encoding="utf-8")
        self.judge.call("make", str(spec), str(file))

        def messages() -> Iterator[bytes]:
            with open(file, "rb") as stream:
                while length := stream.read(8):
                    yield stream.read(struct.unpack("<Q", length)[0])
            file.unlink()

        return messages()

    def checked(self, cases: list[dict[str, Any]], answers: list[bytes]) -> list[dict[str, str]]:
        """A verdict for each answer: the judge makes the problems again and computes the reference."""
        spec, file = self.private("check.json"), self.private("check.answers")
        spec.write_text(json.dumps(cases), encoding="utf-8")
        with open(file, "wb") as stream:
            for answer in answers:
                stream.write(struct.pack("<Q", len(answer)))
                stream.write(answer)
        verdicts: list[dict[str, str]] = json.loads(self.judge.call("check", str(spec), str(file)))
        file.unlink()
        return verdicts

    def private(self, name: str) -> Path:
        """A file that only the judge can read."""
        folder = self.judge.sandbox.base / f"judge{self.slot}"
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder / name

    def asked(self, worker: Worker, cases: list[dict[str, Any]]) -> tuple[list[bytes], Result | None]:
        """The answers to the cases, and a result if the worker did not answer all."""
        answers: list[bytes] = []
        messages = self.made(cases, "cases")  # the judge's time is not the submission's
        most = max(self.judge.test_seconds * self.patience, self.seconds)
        end = worker.spent + most
        try:
            for message in messages:
                left = min(self.seconds, self.left) if worker.slot == self.slot else most
                left = min(left, end - worker.spent)
                with self.charged(worker):
                    answers.append(worker.ask(message, left))
        except TimedOut:
            return answers, self.outcome(TIMED_OUT, f"{describe(cases[len(answers)])}: {ENDLESS}", public=ENDLESS)
        except Ended:
            how = worker.end(wait=1)
            what = TIMED_OUT if "CPU time" in how else CRASHED
            printed = worker.printed.decode("utf-8", errors="replace").strip()
            if what == TIMED_OUT:
                return answers, self.outcome(what, f"{describe(cases[len(answers)])}: {ENDLESS}", public=ENDLESS, printed=printed[-500:])
            outside = OUTSIDE if "SIGSEGV" in how or "SIGBUS" in how else ""
            return answers, self.outcome(what, f"{describe(cases[len(answers)])}: the program {how} before it had "
                                               f"answered{outside}", printed=printed[-500:])
        return answers, None

    def judged(self, cases: list[dict[str, Any]], answers: list[bytes]) -> Result | None:
        """What is wrong with the answers; None when all are right."""
        for case, verdict in zip(cases, self.checked(cases, answers)):
            status, message = verdict["status"], verdict["message"]
            if status == "passed":
                continue
            if status == "build error":
                return self.outcome(BUILD_ERROR, message[:4000].rstrip() + (in_opencl(message) if self.part.backend == "opencl" else ""))
            if status == "no device" and self.rung_finds_no_device():
                return self.outcome(NOT_GRADED, message)
            if ENDLESS_IN_CUDA in message:
                return self.outcome(FAILED, f"{describe(case)}: {ENDLESS}", public=ENDLESS)
            return self.outcome(FAILED, f"{describe(case)}: {message[:1000]}")
        return None

    @contextmanager
    def rung_started(self, program: Path | None = None, files: dict[str, bytes] | None = None, **how: Any) -> Iterator[Worker]:
        """A worker of the rung. @param program in place of the rung's worker. @param files in place of those of the rung"""
        own = self.slot + OF_RUNGS  # a user other than the student's, which cannot see or stop it
        folder = self.judge.sandbox.base / f"slot{own}-{secrets.token_hex(4)}-files"
        files = files or {Path(name).name: self.judge.lab.rung(name).encode() for name in self.part.files}
        self.judge.sandbox.fill(folder, files, own)
        try:
            program = program or self.judge.sandbox.installed(self.judge.worker_program(self.part))
            with self.started(program, folder, slot=own, **how) as worker:
                yield worker
        finally:
            remove(folder)

    def of_rung(self, cases: list[dict[str, Any]], program: Path | None = None, files: dict[str, bytes] | None = None,
                **how: Any) -> tuple[list[bytes], list[int | None], str]:
        """The answers of a worker of the rung, how many kernels ran for each where they are counted, and why not all are."""
        with self.rung_started(program, files, **how) as worker:
            answers, _ = self.asked(worker, cases)
            if "tool" in how:
                worker.finish(self.seconds)
        return answers, worker.kernels, worker.counter.trouble if worker.counter else ""

    def rung_finds_no_device(self) -> bool:
        """Whether not even the rung finds a device. A submission may only pretend it, to be graded by hand."""
        known = self.judge.no_device
        with self.judge.trying:
            if self.part.backend not in known:
                cases = self.cases()[:1]
                answers, _, _ = self.of_rung(cases)
                known[self.part.backend] = any(one["status"] == "no device" for one in self.checked(cases, answers))
            return known[self.part.backend]

    def values(self) -> Result:
        cases = self.cases()
        why = self.trial().why_not_counted if self.without_kernels else ""
        with self.started(self.program, self.kernels, counted=bool(self.without_kernels and not why)) as worker:
            answers, trouble = self.asked(worker, cases)
        wrong = self.judged(cases, answers)
        if wrong and wrong.outcome == FAILED and not trouble and self.compiler_is_at_fault(cases, answers):
            return self.outcome(PASSED, f"{COMPILER}. PoCL: {wrong.message}", share=1, public=COMPILER)
        return (wrong or trouble or self.computed_elsewhere(cases, answers, worker.kernels) or
                self.outcome(PASSED, f"{NOT_COUNTED}: {why}" if why else "", share=1))

    def compiler_is_at_fault(self, cases: list[dict[str, Any]], answers: list[bytes]) -> bool:
        """Whether the cases that are wrong under PoCL, which compiles some correct kernels wrongly, are right in Oclgrind, which
        finds nothing to report. What was not written is no compiler's fault. Which cases would take Oclgrind too long, the time
        of the rung says: they are left aside if a shorter one was right."""
        program = self.judge.program_of(OF_RACES)
        if self.part.backend != "opencl" or not self.judge.on_pocl or not program or self.left_out:
            return False
        verdicts = self.checked(cases, answers)
        for answer, verdict in zip(answers, verdicts):
            if verdict["status"] != PASSED and any(one in answer + verdict["message"].encode() for one in UNWRITTEN):
                return False
        wrong = [case for case, verdict in zip(cases, verdicts) if verdict["status"] != PASSED]
        tool, right, of_rung, before = [program, *OF_RACES[1:]], 0, 0.0, (self.left, self.seconds)
        try:
            for case in sorted(wrong, key=size_of):  # the first one that is wrong again is the last one asked
                took = self.seconds_of_rung(tool, case)
                of_rung += took
                if right and (took >= BESIDES or of_rung > 3 * BESIDES):
                    continue
                self.seconds = min(BESIDES, 5 + 4 * took)
                again, trouble, findings, _ = self.under(tool, [case])
                self.left = before[0]  # this is no time of the submission's
                if trouble or findings != "" or self.judged([case], again):
                    return False
                right += 1
            return right > 0
        finally:
            self.left, self.seconds = before

    def seconds_of_rung(self, tool: list[str], case: dict[str, Any]) -> float:
        """How long the rung takes for a case under a tool, BESIDES at most; in a hand-out, which has none, about as long as usual."""
        def tried() -> str:
            with self.rung_started(tool=[*tool, "/dev/null"], environment=NO_GUARDS) as worker:
                try:
                    for message in self.made([case], "cases"):
                        worker.ask(message, BESIDES)
                except (TimedOut, Ended):
                    return str(BESIDES)
            return str(worker.spent)
        return float(self.once(f"seconds {case}", tried) or BESIDES / 6)

    def trial(self) -> Trial:
        """What the rung does in this test; tried once."""
        name = (self.exercise.name, self.test.name)
        with self.judge.trying:
            if name not in self.judge.trials:
                self.judge.trials[name] = self.tried()
            return self.judge.trials[name]

    def tried(self) -> Trial:
        cases = self.cases()
        without, _, _ = self.of_rung(cases, self.judge.rung_without_kernels(self.part))
        right = [verdict["status"] == PASSED for verdict in self.checked(cases, without)]
        needs = [not one for one in right] + [True] * (len(cases) - len(right))  # it may hang without its kernels
        counts = self.emulated or (self.judge.build / "bin" / LIBRARY).is_file()
        whole, kernels, why = self.of_rung(cases, counted=counts)
        in_place: list[set[int]] = [set() for _ in cases]
        for number, (case, one, other) in enumerate(zip(cases, whole, without)):
            in_place[number] = {at for at, same in self.numbers(case, one, other) if same}
        if not counts:
            return Trial(needs, "GPU Labs was built without CUPTI", in_place)
        seen = len(kernels) == len(cases) and all(n for n, need in zip(kernels, needs) if need)
        return Trial(needs, why or ("" if seen else f"{'the emulator' if self.emulated else 'CUPTI'} does not see the kernels of the rung"), in_place)

    def numbers(self, case: dict[str, Any], whole: bytes, without: bytes) -> list[tuple[int, bool]]:
        """Places of numbers in an answer, and whether another answer has about the same number there. Zeros do not count.
        Of a large answer places are chosen that nobody else knows."""
        if len(whole) != len(without) or whole[:HEAD] != bytes(HEAD) or without[:HEAD] != bytes(HEAD):
            return []
        form = "d" if case.get("type") == "double" else "f"
        size = struct.calcsize(form)
        places: Sequence[int] = range((len(whole) - HEAD) // size)
        if len(places) > LOOKED_AT:
            places = random.Random(self.judge.secret + repr(len(places)).encode()).sample(places, LOOKED_AT)
        found = []
        for place, at in ((place, HEAD + place * size) for place in places):
            one, other = whole[at:at + size], without[at:at + size]
            if any(one):
                a, b = struct.unpack(f"<{form}", one)[0], struct.unpack(f"<{form}", other)[0]
                found.append((place, one == other or abs(a - b) <= CLOSE * abs(a) < math.inf))
        return found

    def computed_elsewhere(self, cases: list[dict[str, Any]], answers: list[bytes],
                           kernels: list[int | None] | None = None) -> Result | None:
        """A result if right answers were computed without the submission's kernels; None when all is well.

        @param cases those of the test, or others with the same problems in the same order
        @param answers the submission's, which are right
        @param kernels how many ran for each case, where they were counted
        """
        if not self.without_kernels:
            return None
        trial = self.trial()
        for case, count, need in zip(cases, kernels or [], trial.needs_kernels):
            if count is None:
                return self.outcome(FAILED, CUT_OFF)
            if need and 0 not in case.values():  # a sum of no terms may be set without a kernel
                if count == 0:
                    return self.outcome(FAILED, NO_KERNEL)
                if count < case.get("repeats", 1):
                    return self.outcome(FAILED, TOO_FEW)
        needed = [number for number, need in enumerate(trial.needs_kernels) if need]
        if not needed:
            return None
        cases = [cases[number] for number in needed]
        with self.started(self.without_kernels, self.kernels) as worker:
            without, trouble = self.asked(worker, cases)
        if not trouble and all(verdict["status"] == PASSED for verdict in self.checked(cases, without)):
            return self.outcome(FAILED, NOT_ITS_KERNELS)
        small = [0, 0]
        for number, case, other, message in zip(needed, cases, without, self.made(cases, "again")):
            same = compared = 0
            for place, right in self.numbers(case, answers[number], other):
                if place in trial.in_place[number]:
                    continue
                compared += 1
                size = 8 if case.get("type") == "double" else 4
                at = HEAD + place * size
                # A number of the input may have been copied. Few numbers are enough for a verdict.
                if right and same <= SMALL_PART * LOOKED_AT and answers[number][at:at + size] not in message:
                    same += 1
            if compared >= FEW and same > SMALL_PART * compared:
                return self.outcome(FAILED, MOSTLY_ELSEWHERE)
            if compared < FEW:
                small[0] += same
                small[1] += compared
        return self.outcome(FAILED, MOSTLY_ELSEWHERE) if small[0] > SMALL_PART * small[1] else None

    def under(self, tool: list[str], cases: list[dict[str, Any]], rung: bool = False, plugin: Path | None = None,
              files: dict[str, bytes] | None = None) -> tuple[list[bytes], Result | None, str | None, str | None]:
        """Runs the submission under a tool. Returns its answers, a result if it did not answer all or did not end, the tool's log,
        and the counts that a plugin wrote beside it. @param rung runs the rung instead. @param files in place of the rung's"""
        if tool == EMULATOR:
            return self.in_emulator(cases, rung, files)
        slot = self.slot + OF_RUNGS * rung
        folder = self.judge.sandbox.folder(f"slot{slot}-log", slot)
        log, counts = folder / "tool.log", folder / "launches"
        counting = {"OCLGRIND_PLUGINS": str(plugin), "GPULAB_EXPLAIN_FILE": str(counts)} if plugin else {}
        how: dict[str, Any] = {"tool": [*tool, str(log)], "environment": {**NO_GUARDS, **counting}, "kept": folder,
                               "more": (plugin,) if plugin else ()}
        trouble = None
        try:
            if rung:
                answers, _, _ = self.of_rung(cases, files=files, **how)
            else:
                with self.started(self.program, self.kernels, **how) as worker:
                    answers, trouble = self.asked(worker, cases)
                    with self.charged(worker):
                        if not trouble and not worker.finish(self.seconds):  # a tool says at its end what it found
                            trouble = self.outcome(TIMED_OUT, f"it did not end under {Path(tool[0]).name}")
            return answers, trouble, read_log(log), read_log(counts)
        finally:
            remove(folder)

    def in_emulator(self, cases: list[dict[str, Any]], rung: bool = False,
                    files: dict[str, bytes] | None = None) -> tuple[list[bytes], Result | None, str | None, str | None]:
        """The same in the emulator, which says on stderr what it finds, and with the exit code that it found something."""
        how: dict[str, Any] = {"tool": EMULATOR, "environment": NO_GUARDS, "counted": True}
        with self.rung_started(files=files, **how) if rung else self.started(self.program, self.kernels, **how) as worker:
            answers, trouble = self.asked(worker, cases)
            with self.charged(worker):
                if not trouble and not worker.finish(self.seconds):
                    trouble = self.outcome(TIMED_OUT, "it did not end in the emulator")
            code = worker.process.poll()
        said = worker.printed.decode("utf-8", errors="replace").strip()
        counts = worker.counter.text() if isinstance(worker.counter, Counts) else None
        return answers, trouble, "" if code == 0 else said or f"it {worker.how}", counts

    def tool_of(self, opencl: list[str]) -> tuple[list[str] | None, str]:
        """The tool that sees every access, with its path, or why it does not work here. @param opencl the one for OpenCL"""
        if self.part.backend == "cuda":
            return (EMULATOR, "") if self.judge.emulator else (None, "the CUDA emulator has not been built")
        program = self.judge.program_of(opencl)
        return ([program, *opencl[1:]], "") if program else (None, f"{opencl[0]} is not installed")

    def races(self) -> Result:
        """Runs the submission under a tool that sees every access: oclgrind, or the emulator."""
        tool, why = self.tool_of(OF_RACES)
        if not tool:
            return self.outcome(NOT_GRADED, why, public=why)
        name = Path(tool[0]).name
        cases = self.cases()
        self.take_time_of_tools()
        if why := self.found_in_rung(tool):
            return self.outcome(NOT_GRADED, f"{name} does not accept the rung: {why}", public=f"{name} does not work here")
        answers, trouble, findings, _ = self.under(tool, cases)
        trouble = self.judged(cases, answers) or trouble
        if trouble and trouble.outcome == FAILED and findings == "":
            return self.outcome(FAILED, f"{WRONG_UNDER_TOOL}: {trouble.message}", public=WRONG_UNDER_TOOL)
        if trouble and (trouble.outcome != FAILED or findings is None):
            return trouble
        if findings is None:
            return self.outcome(CRASHED, f"{name} wrote no log")
        if findings:
            exact, roughly = told(name, findings, self.texts())
            return self.outcome(FAILED, exact, public=roughly)
        return self.computed_elsewhere(cases, answers) or self.outcome(PASSED, share=1)

    def texts(self) -> dict[str, str]:
        """The files that were handed in, by their names."""
        names = [Path(file).name for file in self.part.files]
        return {name: (self.kernels / name).read_text(encoding="utf-8", errors="replace") for name in names}

    def take_time_of_tools(self) -> None:
        if self.seconds > AFTER_TIMEOUT:
            self.seconds = max(self.seconds, OF_TOOLS * (PATIENCE if self.part.backend == "cuda" else 1))

    def cost(self) -> Result:
        """Runs the submission in the emulator, or under oclgrind with the plugin that counts, case by case, and compares with
        the bounds."""
        opencl = self.part.backend == "opencl"
        plugin, why = self.judge.plugin if opencl else (None, "")
        tool, missing = self.tool_of(["oclgrind", *OCLGRIND])
        if not tool or why:
            return self.outcome(NOT_GRADED, why or missing, public=why or missing)
        self.take_time_of_tools()
        if why := self.once("cost", lambda: self.rung_costs_more(tool, plugin)):
            return self.outcome(NOT_GRADED, f"the rung is beyond the bounds: {why}", public="the counts do not work here")
        excess, all_answers = None, list[bytes]()
        of_rung = self.judge.bounds.get((self.part.rung, self.test.name), [])
        for number, case in enumerate(self.cases()):
            answers, trouble, findings, counts = self.under(tool, [case], plugin=plugin)
            all_answers += answers
            if findings:
                return self.outcome(FAILED, told(Path(tool[0]).name, findings, self.texts())[0], public=NO_RIGHT_ANSWER)
            if trouble := self.judged([case], answers) or trouble:
                trouble.public = NO_RIGHT_ANSWER if trouble.outcome == FAILED else trouble.public
                return trouble
            if not opencl and not counts:
                return self.outcome(FAILED, NO_KERNEL)
            try:
                more = {name: most for name, most in (of_rung[number] if of_rung else {}).items() if name not in self.test.bounds}
                excess = excess or self.too_much(case, counts or "", self.kernels / Path(self.part.files[0]).name, more)
            except (ValueError, LookupError, TypeError):
                return self.outcome(CRASHED, "there are no counts of its kernels")
        if excess:
            return self.outcome(FAILED, excess[0], public=excess[1])
        return self.computed_elsewhere(self.cases(), all_answers) or self.outcome(PASSED, share=1)

    def too_much(self, case: dict[str, Any], counts: str, kernel: Path, more: dict[str, str] | None = None) -> tuple[str, str] | None:
        """Which bound the counts of a case exceed: see cost.too_much(). @param more bounds beside those of the test"""
        text = kernel.read_text(encoding="utf-8", errors="replace")
        found = cost.too_much(counts, self.test.bounds | (more or {}), case, kernel.name, text, self.part.backend == "cuda")
        return found and (f"{describe(case)}: {found[0]}", found[1])

    def once(self, what: str, tried: Callable[[], str]) -> str:
        """What a tool says of the rung itself in this test, asked once; "" when nothing. In a hand-out the rung is the student's
        file."""
        name = (self.part.rung, self.test.name, what)
        with self.judge.trying:
            if HAS_ANSWERS and name not in self.judge.tools:
                self.judge.tools[name] = tried()
            return self.judge.tools.get(name, "")

    def rung_costs_more(self, tool: list[str], plugin: Path | None) -> str:
        """Which bound the rung itself exceeds; "" when none. Another version of oclgrind may count otherwise. Notes the bounds that
        follow from its counts."""
        bounds = self.judge.bounds[self.part.rung, self.test.name] = list[dict[str, str]]()
        for case in self.cases():
            counts = self.under(tool, [case], rung=True, plugin=plugin)[3]
            try:
                found = self.too_much(case, counts or "", self.judge.lab.path / self.part.files[0])
                bounds.append(cost.bounds_of_rung(counts or ""))
            except (ValueError, LookupError, TypeError):
                found = ("there are no counts", "")
            if found:
                return found[0]
        return ""

    def found_in_rung(self, tool: list[str]) -> str:
        """What a tool finds in the rung; "" when nothing. It may not work on this device, or in this sandbox."""
        def tried() -> str:
            found = self.under(tool, self.cases(), rung=True)[2]
            return "no log" if found is None else found[:500]
        return self.once(" ".join(tool), tried)

    def timed(self, program: Path, kernels: Path, cases: list[dict[str, Any]],
              slot: int) -> tuple[list[bytes], list[float], Result | None]:
        """The answers of a worker, how long each took, and a result if it did not answer all."""
        with self.started(program, kernels, slot=slot) as worker:
            load = clock.Load()
            answers, trouble = self.asked(worker, cases)
            self.by_others.append(load.of_others(worker.processor_seconds()))
        return answers, worker.times, trouble

    def unforeseen(self, cases: list[dict[str, Any]], number: int) -> list[dict[str, Any]]:
        """Cases whose input changes between the repeats of a call, which are up to an eighth fewer: no repeat can hand in what an
        earlier one has computed, or be known to be the last. @param number equal for cases that are repeated equally often"""
        chance = random.Random(f"{number} {self.judge.secret.hex()}")
        return [case | {"repeats": case["repeats"] - chance.randrange(case["repeats"] // 8 + 1), "changes": secrets.randbits(63) | 1}
                if case.get("repeats", 1) > 1 else case for case in cases]

    def speed(self) -> Result:
        """Times the submission and the rung of the lab, one after the other: neither runs while the other is timed. Every
        run has new numbers. With --board they are timed at least three times."""
        own = self.slot + OF_RUNGS  # a user other than the student's, which cannot see or stop it
        sandbox = self.judge.sandbox
        rung = sandbox.base / f"slot{own}-files"
        sandbox.fill(rung, {Path(name).name: self.judge.lab.rung(name).encode() for name in self.part.files}, own)
        installed = sandbox.installed(self.judge.worker_program(self.part))
        times: list[list[float]] = [[], []]
        asked: list[dict[str, Any]] = []
        answers: list[bytes] = []
        problems = len(self.test.problems())
        first = 0
        try:
            for number in range(TRIES):
                for one in (number % 2, 1 - number % 2):  # who is first changes
                    cases = self.unforeseen(self.cases(1 + ROUNDS, first), number)
                    first += len(cases)
                    if one == 0:
                        _, took, trouble = self.timed(installed, rung, cases, own)
                        if trouble:
                            raise Fault(f"the worker of the rung {self.part.rung}: {trouble.message}")
                    else:
                        found, took, trouble = self.timed(self.program, self.kernels, cases, self.slot)
                        asked += cases
                        answers += found
                        if trouble:
                            return self.untimed(asked, answers) or trouble
                    times[one] += took[problems:]
                ratio = ratio_of(times[1], times[0])
                if (ratio <= FULL_UP_TO and number + 1 >= self.judge.min_tries) or (ratio >= 2 * FULL_UP_TO and number > 0):  # once may be chance
                    break
        finally:
            remove(rung)
        trouble = self.untimed(asked, answers)
        if not trouble and self.without_kernels:
            some = problems * secrets.randbelow(len(asked) // problems)  # one round: it does not know which
            cases = asked[some:some + problems]
            kernels = None
            if not self.trial().why_not_counted:
                with self.started(self.program, self.kernels, counted=True) as worker:
                    again, trouble = self.asked(worker, cases)
                trouble = self.judged(cases, again) or trouble
                kernels = worker.kernels
            trouble = trouble or self.computed_elsewhere(cases, answers[some:some + problems], kernels)
        if trouble:
            return trouble
        share = share_for(ratio)
        taken, of = (sum(numbers) for numbers in zip(*self.by_others or [(0.0, 1.0)]))
        if share < 1 and taken > OF_OTHERS * of:
            why = f"{BUSY}: other programs took {100 * taken / of:.0f}% of its processors while the kernel was timed"
            return self.outcome(NOT_GRADED, why, public=why)
        words = f"{ratio:.2f} times the time of the rung"
        result = self.outcome(PASSED if share == 1 else FAILED, words, share, public=words)
        result.ratio, result.device = round(ratio, 3), self.judge.timed_on(self.part.backend)
        return result

    def work(self) -> Result:
        """Compares the work that the submission asks a GPU for with that of the rung, where there is no GPU to time them."""
        cases = self.cases()
        done: list[float] = []
        try:
            for rung in (True, False):
                how: dict[str, Any] = {"counted": True, "environment": NO_GUARDS}
                with self.rung_started(**how) if rung else self.started(self.program, self.kernels, **how) as worker:
                    answers, trouble = self.asked(worker, cases)
                if trouble and rung:
                    raise Fault(f"the worker of the rung {self.part.rung}: {trouble.message}")
                trouble = self.untimed(cases, answers) or trouble or (None if rung else
                                                                      self.computed_elsewhere(cases, answers, worker.kernels))
                if trouble:
                    return trouble
                assert isinstance(worker.counter, Counts)
                done.append(cost.work(worker.counter.text()))
        except (ValueError, LookupError, TypeError, ZeroDivisionError):
            return self.outcome(CRASHED, "there are no counts of its kernels")
        ratio = done[1] / done[0]
        words = f"{ratio:.2f} times the work of the rung, as counted without a GPU"
        share = share_for(ratio)
        result = self.outcome(PASSED if share == 1 else FAILED, words, share, public=words)
        result.ratio = round(ratio, 3)
        return result

    def untimed(self, cases: list[dict[str, Any]], answers: list[bytes]) -> Result | None:
        """What is wrong with the answers whose time was taken."""
        wrong = self.judged(cases, answers)
        if wrong and wrong.outcome == FAILED and self.miscompiled:
            return self.outcome(NOT_GRADED, f"{NO_TIME}: {wrong.message}", public=NO_TIME)
        if wrong and wrong.outcome == FAILED:
            wrong.public = NOT_TIMED
        return wrong


def bare(text: str) -> str:
    """A text without spaces and line ends."""
    return "".join(text.split())


# A comment, a string or a character in C. Each may lack its end, so a token matches wherever it begins, and a text is read in a
# time that is proportional to its length.
TOKEN = re.compile(r"""(?s)//[^\n]*|/\*.*?(?:\*/|\Z)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?""")


def bare_code(text: str) -> str:
    """The text of a kernel without comments."""
    return TOKEN.sub(lambda token: " " if token[0][0] == "/" else token[0], text)


def read_log(path: Path) -> str | None:
    """The log of a tool. None when there is none: the submission runs beside the tool, and may put anything in its place."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.close(file)
            return None
        with os.fdopen(file, "rb") as stream:
            text = stream.read(MAX_LOGGED + 1)
    except OSError:
        return None
    if len(text) > MAX_LOGGED:
        return "more than anybody reads: " + text[:2000].decode("utf-8", errors="replace")
    return text.decode("utf-8", errors="replace").strip()


def ratio_of(own: list[float], of_rung: list[float]) -> float:
    """How many times the rung's time a submission takes. The smaller of two estimates: the ratio of the best times,
    which a busy moment cannot disturb, and the median of the ratios, which a busy minute cannot."""
    return min(min(own) / min(of_rung), median(a / b for a, b in zip(own, of_rung)))


def share_for(ratio: float) -> float:
    """The share of the points for a time: all up to 1.2 times that of the rung, none from 10 times on."""
    if ratio <= FULL_UP_TO:
        return 1.0
    if ratio >= NONE_FROM:
        return 0.0
    return round(math.log(NONE_FROM / ratio) / math.log(NONE_FROM / FULL_UP_TO), 3)


def drawn(value: Any, chance: random.Random) -> Any:
    """A field of a case, with a number in place of each "{10-40}": one from 10 to 40; "{16-48:16}": 16, 32 or 48."""
    if not isinstance(value, str):
        return value
    text = re.sub(r"\{(\d+)-(\d+):?(\d*)\}", lambda ends: str(chance.randrange(int(ends[1]), int(ends[2]) + 1, int(ends[3] or 1))), value)
    return int(text) if text != value and text.isdigit() else text


def size_of(case: dict[str, Any]) -> int:
    """About how long a case takes: the product of its numbers, also of those in a text such as "laplace2d:17x23"."""
    texts = [str(value) for name, value in case.items() if name not in ("seed", "op", "type")]
    return math.prod(max(1, int(number)) for text in texts for number in re.findall(r"\d+", text))


def describe(case: dict[str, Any]) -> str:
    """A case in words: "n = 257, float"."""
    words = []
    for name, value in case.items():
        if name in ("seed", "op"):
            continue
        words.append(str(value) if name in ("type", "numbers", "scan") else f"{name} = {value}")
    return ", ".join(words)
