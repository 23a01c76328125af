"""Judges one exercise of one submission: makes the inputs, runs a worker on them, ends it, and only then compares."""

from __future__ import annotations

import hashlib
import hmac
import json
import math
import secrets
import shutil
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import Any

from . import cuda
from .exercises import Exercise, Lab, Part, Test, is_unsolved
from .fault import Fault
from .launches import LIBRARY, Counter
from .sandbox import Limits, Sandbox
from .worker import Ended, TimedOut, Worker

PASSED, FAILED, UNSOLVED, BUILD_ERROR = "passed", "failed", "unsolved", "build error"
CRASHED, TIMED_OUT, NOT_GRADED = "crashed", "timed out", "not graded"
OUTCOMES = (PASSED, FAILED, UNSOLVED, BUILD_ERROR, CRASHED, TIMED_OUT, NOT_GRADED)

FULL_UP_TO, NONE_FROM = 1.2, 10.0  # times the rung's own time
ROUNDS = (4, 8, 12)  # of timing: more of them while the result lies near the limit; the very first does not count
OF_RUNGS = 500  # added to a slot: for the rung that a submission is timed against
CASE_SECONDS, TEST_SECONDS = 15.0, 60.0
OF_TOOLS = 45.0  # for a case under a tool that interprets the kernel
AFTER_TIMEOUT = 3.0  # seconds of a case in the tests after one that timed out

# The messages for a student whose program does not use its kernels. They contain no input of a hidden test.
NO_KERNEL = "no kernel ran on the GPU"
NOT_ITS_KERNELS = "the answers are the same when its kernels do nothing, so they do not come from them"
CUT_OFF = "its kernels could not be counted, because it disturbed the counter"
ELSEWHERE = (NO_KERNEL, NOT_ITS_KERNELS, CUT_OFF)
NOT_COUNTED = "launches were not counted"


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

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Trial:
    """What the rung itself does in a test of a CUDA exercise. Submissions are compared with it."""

    needs_kernels: list[bool]  # for each case: whether the rung's answer is wrong when its launches do nothing
    why_not_counted: str  # why its kernels are not counted here; "" when they are


class Turns:
    """Tests run side by side; a measurement of time runs alone."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.shared = 0
        self.alone = False
        self.waiting = 0

    @contextmanager
    def beside_others(self) -> Iterator[None]:
        with self.changed:
            self.changed.wait_for(lambda: not self.alone and self.waiting == 0)
            self.shared += 1
        try:
            yield
        finally:
            with self.changed:
                self.shared -= 1
                self.changed.notify_all()

    @contextmanager
    def by_itself(self) -> Iterator[None]:
        with self.changed:
            self.waiting += 1
            self.changed.wait_for(lambda: not self.alone and self.shared == 0)
            self.waiting -= 1
            self.alone = True
        try:
            yield
        finally:
            with self.changed:
                self.alone = False
                self.changed.notify_all()


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
        self.trials: dict[tuple[str, str], Trial] = {}  # by exercise and test
        self.trying = threading.Lock()
        self.program = build / "bin" / f"judge_{lab.name}"
        if not self.program.is_file():
            raise Fault(f"{self.program} has not been built")

    def call(self, *arguments: str) -> str:
        ran = subprocess.run([str(self.program), *arguments], capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            raise Fault(f"the judge of {self.lab.name} failed: {ran.stderr.strip()}")
        return ran.stdout

    @cached_property
    def devices(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.call("devices"))
        return found

    def why_not(self, part: Part) -> str:
        """Why a back end cannot be graded here; "" when it can."""
        found = self.devices[part.backend]
        if found["names"]:
            return ""
        return "no GPU" if part.backend == "cuda" else str(found["why"])

    @cached_property
    def fingerprint(self) -> str:
        """A digest that changes with the programs that judge."""
        digest = hashlib.sha256()
        workers = [self.worker_program(part) for _, part in self.lab.parts()]
        libraries = [self.build / "bin" / library for library in (LIBRARY, cuda.NO_LAUNCHES)]
        sources = [Path(__file__).with_name(name)
                   for name in ("judge.py", "worker.py", "sandbox.py", "cuda.py", "launches.py")]
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
        return digest.hexdigest()[:32]

    def seed(self, exercise: Exercise, test: Test, number: int) -> str:
        text = f"{self.lab.name}/{exercise.name}/{test.name}/{number}"
        if test.visible:  # the same for everybody, so that a student can repeat what the feedback says
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
                           key=self.key(part, t, files)) for t in exercise.tests]

        missing = [name for name in part.files if name not in files]
        texts = {name: files[name].decode("utf-8", errors="replace") for name in part.files if name not in missing}
        if missing or all(is_unsolved(self.lab.stub(name), text) for name, text in texts.items()):
            return all_of(UNSOLVED, f"{' '.join(missing)} was not handed in" if missing else "")
        why = self.why_not(part)
        if why:
            return all_of(NOT_GRADED, why)
        folder = self.sandbox.folder(f"slot{slot}-{exercise.name}-{part.backend}", slot)
        kernels = self.sandbox.base / f"slot{slot}-{exercise.name}-{part.backend}-files"
        self.sandbox.fill(kernels, {Path(name).name: files[name] for name in part.files}, slot)
        try:
            program = self.sandbox.installed(built or self.worker_program(part))
            without_kernels = None
            if part.backend == "cuda" and not built:
                try:
                    programs = cuda.build(self.lab, self.build, part, kernels, self.sandbox, slot)
                    program, without_kernels = programs.whole, programs.without_kernels
                except cuda.DoesNotCompile as error:
                    return all_of(BUILD_ERROR, str(error))
            results = []
            for test in exercise.tests:
                key = self.key(part, test, files)
                if known and key in known and known[key].outcome != NOT_GRADED:
                    results.append(known[key])
                    continue
                begin = time.perf_counter()
                run = Run(self, exercise, part, test, program, kernels, folder, slot, without_kernels)
                if results and results[0].outcome == BUILD_ERROR:  # nothing else was tried, and nothing can run
                    result = run.outcome(BUILD_ERROR, results[0].message)
                else:
                    if any(one.outcome == TIMED_OUT for one in results):
                        run.seconds = min(run.seconds, AFTER_TIMEOUT)
                    result = run.result()
                result.key = key
                result.seconds = round(time.perf_counter() - begin, 2)
                results.append(result)
            return results
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            shutil.rmtree(kernels, ignore_errors=True)


class Run:
    """One test of one exercise of one submission."""

    def __init__(self, judge: Judge, exercise: Exercise, part: Part, test: Test, program: Path, kernels: Path,
                 folder: Path, slot: int, without_kernels: Path | None = None) -> None:
        self.judge = judge
        self.exercise = exercise
        self.part = part
        self.test = test
        self.program = program
        self.kernels = kernels
        self.folder = folder
        self.slot = slot
        self.without_kernels = without_kernels  # only of a CUDA submission
        self.seconds = judge.case_seconds

    def outcome(self, outcome: str, message: str = "", share: float = 0.0, public: str = "") -> Result:
        return Result(self.test.name, outcome, round(share * self.test.points, 2), self.test.points, message, public)

    def result(self) -> Result:
        if self.test.check == "speed":
            with self.judge.turns.by_itself():
                return self.speed()
        with self.judge.turns.beside_others():
            return self.races() if self.test.check == "races" else self.values()

    def start(self, program: Path, kernels: Path, folder: Path, tool: list[str] | None = None,
              environment: dict[str, str] | None = None, slot: int | None = None, counted: bool = False) -> Worker:
        sandbox = self.judge.sandbox
        slot = self.slot if slot is None else slot
        readable = [program, kernels]
        counter = Counter() if counted else None
        if counter:
            library = sandbox.installed(self.judge.build / "bin" / LIBRARY)
            readable.append(library)
            tool = [*(tool or []), *counter.command(library)]
        threads = {"POCL_MAX_PTHREAD_COUNT": str(self.part.pocl_threads)} if self.part.pocl_threads else {}
        process = sandbox.start([*(tool or []), str(program)], slot=slot, scratch=folder, readable=readable,
                                environment={"GPULAB_KERNELS": str(kernels), **threads, **(environment or {})},
                                limits=Limits(), gpu=self.part.backend == "cuda",
                                inherited=(counter.other.fileno(),) if counter else ())
        if counter:
            counter.other.close()
        return Worker(sandbox, process, slot, counter)

    def cases(self, rounds: int = 1, first: int = 0) -> list[dict[str, Any]]:
        problems = self.test.problems() * rounds
        return [{**problem, "seed": self.judge.seed(self.exercise, self.test, first + number)}
                for number, problem in enumerate(problems)]

    def made(self, cases: list[dict[str, Any]], name: str) -> Iterator[bytes]:
        """The messages for a worker, made by the judge."""
        spec, file = self.private(name + ".json"), self.private(name + ".cases")
        spec.write_text(json.dumps(cases), encoding="utf-8")
        self.judge.call("make", str(spec), str(file))
        with open(file, "rb") as stream:
            while length := stream.read(8):
                yield stream.read(struct.unpack("<Q", length)[0])
        file.unlink()

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
        """The answers to the cases, and a result if the worker did not answer all. Ends the worker."""
        answers: list[bytes] = []
        end = time.perf_counter() + self.judge.test_seconds
        try:
            for message in self.made(cases, "cases"):
                left = min(self.seconds, end - time.perf_counter())
                answers.append(worker.ask(message, left)[0])
        except TimedOut:
            worker.end()
            return answers, self.outcome(TIMED_OUT, f"{describe(cases[len(answers)])}: no answer in time")
        except Ended:
            how = worker.end(wait=1)
            what = TIMED_OUT if "CPU time" in how else CRASHED
            printed = worker.printed.decode("utf-8", errors="replace").strip()
            return answers, self.outcome(what, f"{describe(cases[len(answers)])}: the program {how} before it had "
                                               f"answered{': ' + printed[-500:] if printed else ''}")
        worker.end()
        return answers, None

    def judged(self, cases: list[dict[str, Any]], answers: list[bytes]) -> Result | None:
        """What is wrong with the answers; None when all are right."""
        for case, verdict in zip(cases, self.checked(cases, answers)):
            status, message = verdict["status"], verdict["message"]
            if status == "passed":
                continue
            if status == "build error":
                return self.outcome(BUILD_ERROR, message[:4000])
            if status == "no device":
                return self.outcome(NOT_GRADED, message)
            return self.outcome(FAILED, f"{describe(case)}: {message[:1000]}")
        return None

    def values(self) -> Result:
        cases = self.cases()
        why = self.trial().why_not_counted if self.without_kernels else ""
        worker = self.start(self.program, self.kernels, self.folder, counted=bool(self.without_kernels and not why))
        answers, trouble = self.asked(worker, cases)
        return (self.judged(cases, answers) or trouble or self.computed_elsewhere(worker.kernels) or
                self.outcome(PASSED, f"{NOT_COUNTED}: {why}" if why else "", share=1))

    def trial(self) -> Trial:
        """What the rung does in this test; tried once."""
        name = (self.exercise.name, self.test.name)
        with self.judge.trying:
            if name not in self.judge.trials:
                self.judge.trials[name] = self.tried()
            return self.judge.trials[name]

    def tried(self) -> Trial:
        own = self.slot + OF_RUNGS
        folder = self.judge.sandbox.folder(f"slot{own}-trial", own)
        cases = self.cases()
        try:
            answers, _ = self.asked(self.start(self.judge.rung_without_kernels(self.part), folder, folder, slot=own), cases)
            right = [verdict["status"] == PASSED for verdict in self.checked(cases, answers)]
            needs = [not one for one in right] + [True] * (len(cases) - len(right))  # it may hang without its kernels
            if not (self.judge.build / "bin" / LIBRARY).is_file():
                return Trial(needs, "GPU Labs was built without CUPTI")
            rung = self.judge.sandbox.installed(self.judge.worker_program(self.part))
            worker = self.start(rung, folder, folder, slot=own, counted=True)
            self.asked(worker, cases)
            assert worker.counter
            seen = len(worker.kernels) == len(cases) and all(n for n, need in zip(worker.kernels, needs) if need)
            return Trial(needs, worker.counter.trouble or ("" if seen else "CUPTI does not see the kernels of the rung"))
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def computed_elsewhere(self, kernels: list[int | None] | None = None) -> Result | None:
        """A result if right answers were computed without the submission's kernels; None when all is well.

        @param kernels how many ran for each case of the test, where they were counted
        """
        if not self.without_kernels:
            return None
        needs = self.trial().needs_kernels
        for case, count, need in zip(self.cases(), kernels or [], needs):
            if count is None:
                return self.outcome(FAILED, CUT_OFF)
            if count == 0 and need and 0 not in case.values():  # a sum of no terms may be set without a kernel
                return self.outcome(FAILED, NO_KERNEL)
        cases = [case for case, need in zip(self.cases(), needs) if need]
        if not cases:
            return None
        # A folder of its own, in which the program cannot see that it runs for the second time.
        folder = self.judge.sandbox.folder(f"slot{self.slot}-{secrets.token_hex(4)}", self.slot)
        try:
            answers, trouble = self.asked(self.start(self.without_kernels, self.kernels, folder), cases)
            verdicts = self.checked(cases, answers)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        right = not trouble and all(verdict["status"] == PASSED for verdict in verdicts)
        return self.outcome(FAILED, NOT_ITS_KERNELS) if right else None

    def races(self) -> Result:
        """Runs the submission under a tool that sees every access: oclgrind, or compute-sanitizer."""
        opencl = self.part.backend == "opencl"
        tools = [["oclgrind", "--data-races", "--uninitialized", "--check-api", "--max-errors", "5",
                  "--build-options", "-cl-opt-disable", "--log"]] if opencl else [
            ["compute-sanitizer", "--tool", tool, "--log-file"] for tool in ("memcheck", "racecheck", "initcheck")]
        for tool in tools:
            program = shutil.which(tool[0], path="/usr/bin:/usr/local/bin:/usr/local/cuda/bin")
            if not program:
                why = f"{tool[0]} is not installed"
                return self.outcome(NOT_GRADED, why, public=why)
            log = self.folder / "tool.log"
            log.unlink(missing_ok=True)
            cases = self.cases()
            self.seconds = max(self.seconds, OF_TOOLS) if self.seconds > AFTER_TIMEOUT else self.seconds
            worker = self.start(self.program, self.kernels, self.folder, [program, *tool[1:], str(log)],
                                {"GPULAB_GUARD_BYTES": "0", "GPULAB_POISON": "0"})
            answers, trouble = self.asked(worker, cases)
            trouble = self.judged(cases, answers) or trouble
            if trouble:
                return trouble
            try:
                findings = log.read_text(encoding="utf-8", errors="replace").strip()
            except OSError:
                return self.outcome(CRASHED, f"{tool[0]} wrote no log")
            clean = not findings if opencl else "ERROR SUMMARY: 0 errors" in findings or "0 hazards" in findings
            if not clean:
                return self.outcome(FAILED, f"{tool[0]} found: {findings[:1500]}")
        return self.computed_elsewhere() or self.outcome(PASSED, share=1)

    def speed(self) -> Result:
        """Times the submission and the rung of the lab in turn, each time on new numbers."""
        own = self.slot + OF_RUNGS  # a user other than the student's, which cannot see or stop it
        sandbox = self.judge.sandbox
        folder = sandbox.folder(f"slot{own}-scratch", own)
        rung = sandbox.base / f"slot{own}-files"
        sandbox.fill(rung, {Path(name).name: self.judge.lab.rung(name).encode() for name in self.part.files}, own)
        workers = [self.start(sandbox.installed(self.judge.worker_program(self.part)), rung, folder, slot=own),
                   self.start(self.program, self.kernels, self.folder)]
        times: list[list[float]] = [[], []]
        one = 0
        asked: list[dict[str, Any]] = []
        answers: list[bytes] = []
        try:
            for rounds in ROUNDS:
                first = 2 * len(asked)
                cases = self.cases(2 * rounds, first)
                for number, message in enumerate(self.made(cases, "speed")):
                    one = (number + number // 2) % 2  # who is first changes from round to round
                    answer, took = workers[one].ask(message, TEST_SECONDS if one == 0 else self.seconds)
                    times[one].append(took)
                    if one == 1:
                        asked.append(cases[number])
                        answers.append(answer)
                ratio = ratio_of(times[1][1:], times[0][1:])
                if ratio <= FULL_UP_TO or ratio >= 2 * FULL_UP_TO:
                    break
        except (TimedOut, Ended) as error:
            if one == 0:
                how = workers[0].end(wait=0.5)
                printed = workers[0].printed.decode("utf-8", errors="replace").strip()
                raise Fault(f"the worker of the rung {self.part.rung} {how}: {printed[-300:]}") from None
            what = TIMED_OUT if isinstance(error, TimedOut) else CRASHED
            how = workers[1].end(wait=0.5)
            return self.judged(asked, answers) or self.outcome(
                what, "no answer in time" if what == TIMED_OUT else f"the program {how} before it had answered")
        finally:
            for worker in workers:
                worker.end()
            shutil.rmtree(folder, ignore_errors=True)
            shutil.rmtree(rung, ignore_errors=True)
        trouble = self.judged(asked, answers) or self.computed_elsewhere()
        if trouble:
            return trouble
        share = share_for(ratio)
        words = f"{ratio:.2f} times the time of the rung"
        return self.outcome(PASSED if share == 1 else FAILED, words, share, public=words)


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


def describe(case: dict[str, Any]) -> str:
    """A case in words: "n = 257, float"."""
    words = []
    for name, value in case.items():
        if name in ("seed", "op"):
            continue
        words.append(str(value) if name in ("type", "numbers", "scan") else f"{name} = {value}")
    return ", ".join(words)
