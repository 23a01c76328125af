#!/usr/bin/env python3
"""Plants the mistakes of this folder, each in a test program of its own, and says which of them the tests reject.

For a machine with a CUDA device and a finished build with Ninja; --build-only needs no device. Files of the project and of
its build stay as they are: what a mistake changes is compiled in a scratch folder (TMPDIR says where).

Ends with 0 when the tests reject all that must be rejected; with 1 when one is accepted, does not fit or does not compile;
with 2 when the unchanged program is not accepted or the run is impossible; with 3 when only time was too short for some.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import queue
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MUTANTS = Path(__file__).resolve().parent
TOOLS = {"memcheck": ["--leak-check", "no", "--padding", "4096"], "racecheck": ["--racecheck-report", "all"],
         "synccheck": [], "initcheck": []}
VERDICTS = ("rejected", "accepted", "timeout", "not run", "does not fit", "does not compile", "builds")
GENERAL = ""  # the group of the test cases that speak of no single rung


class Fault(Exception):
    """Why there can be no run, in one line."""


class Stopped(Exception):
    """The run ends: nothing is started any more."""


# ---------------------------------------------------------------------------------------------------------------------
# What is to be planted


@dataclass(frozen=True)
class Mistake:
    """A line of the manifest."""

    id: str
    lab: str
    file: str
    text: str
    harmless: str  # "no", "no: ..." or why it may be accepted

    @property
    def shows_in_large_only(self) -> bool:
        """Whether only the test cases [large] can see it."""
        return "large only" in self.text or "[large]" in self.text

    @property
    def harms(self) -> bool:
        return self.harmless == "no" or self.harmless.startswith("no:")

    @property
    def may_hang(self) -> bool:
        return re.search(r"\b(hang|wait|barrier)", self.text) is not None

    @property
    def shows_under_tools(self) -> bool:
        """Whether compute-sanitizer probably sees it sooner than a wrong answer does."""
        return re.search(r"\b(race|races|barriers?|syncwarp|stray|unset|never written|reads (a|one|two|four))\b",
                         f"{self.text} {self.harmless}") is not None

    @property
    def patch(self) -> Path:
        return MUTANTS / f"{self.id}.patch"


def apply_command(patch: Path) -> list[str]:
    """Applies a patch to the files below the current folder, also where lines before it have come or gone."""
    return ["git", "apply", str(patch)] if shutil.which("git") else ["patch", "-p1", "--fuzz=0", "-i", str(patch)]


def manifest() -> list[Mistake]:
    lines = (MUTANTS / "manifest.tsv").read_text(encoding="utf-8").splitlines()[1:]
    return [Mistake(*line.split("\t")) for line in lines]


@dataclass(frozen=True)
class Plan:
    """What a mistake changes in the test program of its lab."""

    mistake: Mistake
    objects: list[str]  # to be compiled again
    rungs: list[str]    # that these objects define


# ---------------------------------------------------------------------------------------------------------------------
# What the build knows


def grouped(names: list[str]) -> dict[str, list[str]]:
    """Test cases by the rung that they name. Those that name none, or speak of several "rungs", are a group of their own."""
    groups: dict[str, list[str]] = {}
    for name in names:
        rungs = set(re.findall(r"\bcuda_\w+", name))
        for group in sorted(rungs) if rungs and not re.search(r"\brungs\b", name) else [GENERAL]:
            groups.setdefault(group, []).append(name)
    return groups


class Build:
    """A finished build: how its test programs are compiled and linked, and what their test cases are."""

    def __init__(self, folder: Path, labs: list[str], large: bool = False):
        """@param large the test cases [large] judge, and no tool: it would take hours"""
        self.large = large
        self.folder = folder.resolve()
        try:
            text = (self.folder / "CMakeCache.txt").read_text(encoding="utf-8")
        except OSError:
            raise Fault(f"there is no build in {folder}") from None
        self.cache = dict(re.findall(r"(?m)^(\w+):\w+=(.*)$", text))
        self.sanitizer = self.cache.get("GPULAB_COMPUTE_SANITIZER", "")
        self.tools = TOOLS if os.access(self.sanitizer, os.X_OK) else {}
        self.programs = {lab: f"bin/test_{lab}" for lab in labs}
        self.commands: dict[str, str] = {}         # by the file that they make
        self.archives: dict[str, list[str]] = {}   # the objects of each library
        for line in self.ninja("-t", "commands", *self.programs.values()).splitlines():
            if archived := re.search(r"&& \S*\bar \w+ (\S+\.a) +(.*?) &&", line):
                self.archives[archived[1]] = archived[2].split()
            elif made := re.search(r" -o (\S+)", line):
                self.commands[made[1]] = line
        self.files = self.files_of_objects()
        self.linked = {lab: self.objects_of(lab) for lab in labs}
        self.cases = {lab: grouped(self.names(lab, "[cuda][large]" if large else "[cuda]~[large]")) for lab in labs}
        self.tool_cases = {lab: {} if large else grouped(self.names(lab, "[.sanitizer]")) for lab in labs}

    def must_reject(self, mistake: Mistake) -> bool:
        """Whether its test cases must reject a mistake."""
        return mistake.harms and mistake.shows_in_large_only == self.large

    def ninja(self, *words: str) -> str:
        ran = subprocess.run([self.cache.get("CMAKE_MAKE_PROGRAM", "ninja"), "-C", str(self.folder), *words],
                             capture_output=True, text=True, check=False)
        if ran.returncode != 0:
            raise Fault(f"ninja {shlex.join(words)[:60]}: {(ran.stderr + ran.stdout).strip()[-200:]}")
        return ran.stdout

    def must_be_finished(self) -> None:
        """What the build made must be newer than what it was made from. Ninja's own answer would be that CMake is to run first,
        to look for new files."""
        times: dict[str, float] = {}

        def time_of(path: Path) -> float:
            return times.setdefault(str(path), path.stat().st_mtime if path.is_file() else float("inf"))

        for lab, objects in self.linked.items():
            program = self.folder / self.programs[lab]
            for object in objects:
                newest = max(time_of(ROOT / file) for file in self.files[object])
                if not newest <= time_of(self.folder / object) <= time_of(program) < float("inf"):
                    raise Fault(f"{program} is missing or older than its sources: cmake --build {self.folder}")

    def inside(self, path: str) -> str | None:
        """A file of the project, relative to its root. None: it lies elsewhere, or the build made it."""
        full = os.path.normpath(self.folder / path)
        if not full.startswith(f"{ROOT}/") or full.startswith(f"{self.folder}/"):
            return None
        return full.removeprefix(f"{ROOT}/")

    def files_of_objects(self) -> dict[str, set[str]]:
        """The project's files that each object was made from."""
        files: dict[str, set[str]] = {}
        current: set[str] = set()
        for line in self.ninja("-t", "deps").splitlines():
            if line.startswith("    "):
                if path := self.inside(line.strip()):
                    current.add(path)
            elif line:
                current = files.setdefault(line.split(": #deps")[0], set())
        return files

    def link_words(self, lab: str) -> list[str]:
        """The command that links the test program of a lab, without the file in which a newer CMake lets it note what it
        reads."""
        line = self.commands[self.programs[lab]].removeprefix(": && ").removesuffix(" && :")
        return [word for word in shlex.split(line) if not re.match("-Wl,--dependency-file|-Xlinker=--dependency-file", word)]

    def objects_of(self, lab: str) -> list[str]:
        objects = []
        for word in self.link_words(lab):
            objects += self.archives.get(word, [word] if word in self.files else [])
        return objects

    def names(self, lab: str, tags: str) -> list[str]:
        """The test cases of a lab with these tags."""
        ran = subprocess.run([self.folder / self.programs[lab], tags, "--list-tests", "--verbosity", "quiet"],
                             capture_output=True, text=True, check=False)
        return [line.strip() for line in ran.stdout.splitlines() if line.strip()]

    def rungs_of(self, lab: str, objects: list[str]) -> list[str]:
        """The rungs that some objects define, among those that the test cases name."""
        rungs = (self.cases[lab].keys() | self.tool_cases[lab].keys()) - {GENERAL}
        return sorted(rung for rung in rungs if any(rung in self.names_in(object) for object in objects))

    @cache
    def names_in(self, object: str) -> frozenset[str]:
        """What an object defines and calls like a CUDA rung."""
        symbols = subprocess.run(["nm", "-gC", "--defined-only", object], cwd=self.folder, capture_output=True, text=True,
                                 check=True).stdout
        return frozenset(re.findall(r"\bcuda_\w+", symbols))

    def plan(self, mistake: Mistake) -> Plan:
        objects = [object for object in self.linked[mistake.lab] if mistake.file in self.files[object]]
        return Plan(mistake, objects, self.rungs_of(mistake.lab, objects) if objects else [])

    def moved(self, word: str, tree: Path) -> str:
        """A word of a command with the project's files in another folder. What the build made stays where it is."""
        if word.startswith("-D"):
            return word
        parts = word.split(f"{self.folder}/")
        return f"{self.folder}/".join(part.replace(f"{ROOT}/", f"{tree}/") for part in parts)

    def compile_words(self, object: str, tree: Path, target: Path) -> list[str]:
        """The command that compiles an object from the files in `tree`. Warnings are no errors: a mistake may cause some."""
        words = shlex.split(self.commands[object])
        if Path(words[0]).name in ("ccache", "sccache"):
            words = words[1:]
        words = [self.moved(word, tree) for word in words if not re.fullmatch(r"(-Xcompiler=)?-Werror(=.*)?", word)]
        words[words.index("-o") + 1] = str(target)
        if "-MF" not in words:
            raise Fault(f"the command that makes {object} notes no dependencies")
        words[words.index("-MF") + 1] = f"{target}.d"
        return words

    def relink_words(self, lab: str, replaced: dict[str, Path], target: Path) -> list[str]:
        """The command that links a test program with some objects replaced. A library that holds one of them is taken apart,
        so that the linker cannot choose the old one."""
        words: list[str] = []
        taken_apart = set()
        for word in self.link_words(lab):
            objects = self.archives.get(word, [])
            if not replaced.keys() & set(objects):
                words.append(str(replaced.get(word, word)))
            elif word not in taken_apart:
                taken_apart.add(word)
                words += [str(replaced.get(object, object)) for object in objects]
        words[words.index("-o") + 1] = str(target)
        return words


# ---------------------------------------------------------------------------------------------------------------------
# Programs


@dataclass(frozen=True)
class Ran:
    code: int | None  # None: it was ended after the time limit
    output: str
    seconds: float


class Processes:
    """Starts programs, each as a process group that is ended as a whole."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.running: set[subprocess.Popen[str]] = set()
        self.stopped = False

    def run(self, command: list[str], folder: Path, timeout: float | None = None,
            environment: dict[str, str] | None = None) -> Ran:
        begin = time.monotonic()
        with self.lock:
            if self.stopped:
                raise Stopped
            process = subprocess.Popen(command, cwd=folder, env={**os.environ, **(environment or {})}, text=True,
                                       errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT, start_new_session=True)
            self.running.add(process)
        try:
            output, _ = process.communicate(timeout=timeout)
            code: int | None = process.returncode
        except subprocess.TimeoutExpired:
            self.end(process)
            output, code = "", None
            process.wait()
            if process.stdout:
                process.stdout.close()
        with self.lock:
            self.running.remove(process)
            if self.stopped:
                raise Stopped
        return Ran(code, output, time.monotonic() - begin)

    @staticmethod
    def end(process: subprocess.Popen[str]) -> None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def stop(self) -> None:
        with self.lock:
            self.stopped = True
            for process in self.running:
                self.end(process)


def escaped(name: str) -> str:
    """The name of a test case as Catch2 takes it."""
    return re.sub(r"([\\,\[\]*])", r"\\\1", name)


def failed_case(output: str, names: list[str]) -> str:
    """The test case that failed: the last one that Catch2 names, between two lines of dashes, before it says so."""
    text = " ".join(output.split())
    end = text.find("FAILED:")
    places = {name: text.rfind(f"--- {' '.join(name.split())} ---", 0, end) for name in names}
    last = max(names, key=lambda name: places[name])
    return last if places[last] >= 0 else names[0] if len(names) == 1 else f"one of {len(names)} test cases"


@dataclass(frozen=True)
class Outcome:
    """What became of the test cases of a group."""

    accepted: bool
    by: str            # the test case, or the tool and the test case
    seconds: float
    in_time: bool = True


class Tests:
    """Runs the test cases of a group, without a tool or under one of compute-sanitizer's."""

    def __init__(self, build: Build, processes: Processes, scratch: Path, timeout: float, end: float, known_good: bool):
        self.build = build
        self.known_good = known_good  # the unchanged programs
        self.processes = processes
        self.scratch = scratch
        self.timeout = timeout
        self.end = end  # of the time for all, on time.monotonic()'s clock
        self.lock = threading.Lock()
        self.unchanged_outcomes: dict[tuple[str, str, str], Future[Outcome]] = {}

    def run(self, program: Path, lab: str, group: str, tool: str, turns: bool = True) -> Outcome:
        """@param turns whether programs take turns on the device: tests/support/gpulab_testing/testing.hpp"""
        names = (self.build.tool_cases if tool else self.build.cases)[lab][group]
        cases = ",".join(escaped(name) for name in names)
        left = self.end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        folder = Path(tempfile.mkdtemp(dir=self.scratch))
        try:
            command, environment = [str(program), cases, "--abort"], {"GPULAB_REQUIRE_DEVICES": "1"}
            if not turns:
                environment["GPULAB_TEST_TURNS"] = "0"
            log = folder / "log"
            if self.build.large:  # as in cmake/HiddenTests.cmake
                environment["GLIBC_TUNABLES"] = "glibc.malloc.hugetlb=1"
            if tool:  # as in cmake/RunSanitizer.cmake and cmake/AddLabTest.cmake
                command = [self.build.sanitizer, "--tool", tool, *TOOLS[tool], "--log-file", str(log), *command]
                # No turns: under a tool a run takes long, and the others would wait.
                environment |= {"GPULAB_GUARD_BYTES": "0", "GPULAB_POISON": "0", "GPULAB_TEST_UNDER_TOOL": "1",
                                "GPULAB_TEST_TURNS": "0"}
                if tool == "initcheck":
                    environment["CUDA_LAUNCH_BLOCKING"] = "1"
            ran = self.processes.run(command, folder, min(self.timeout, left), environment)
            findings = log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        by = f"{tool}: " if tool else ""
        if ran.code is None:
            if left < self.timeout:
                raise TimeoutError
            return Outcome(False, f"{by}no end after {self.timeout:.0f} s: {group or names[0]}", ran.seconds, in_time=False)
        if ran.code == 4 and self.build.large:
            raise Fault("the large test cases are skipped here: the GPU or the host has too little memory")
        # 4: all were skipped. Where devices are required, this says only that there are too few for several.
        good = ran.code == 0 or (ran.code == 4 and group == GENERAL)
        if not good:
            return Outcome(False, by + failed_case(ran.output, names), ran.seconds)
        clean = "RACECHECK SUMMARY: 0 hazards displayed" if tool == "racecheck" else "ERROR SUMMARY: 0 errors"
        if tool and clean not in findings:
            return Outcome(False, by + (group or names[0]), ran.seconds)
        return Outcome(True, "", ran.seconds)

    def unchanged(self, lab: str, group: str, tool: str) -> Outcome:
        """The same with the program as the build has it, run once."""
        key = (lab, group, tool)
        with self.lock:
            first = key not in self.unchanged_outcomes
            outcome = self.unchanged_outcomes.setdefault(key, Future())
        if first:
            try:
                outcome.set_result(self.run(self.build.folder / self.build.programs[lab], lab, group, tool))
            except BaseException as error:
                outcome.set_exception(error)
        return outcome.result()


def judge(plan: Plan, program: Path, tests: Tests) -> tuple[str, str]:
    """The verdict on a mistake, and by what: the test cases of its rungs, then the general ones, then the tools; the tools
    first where they probably see it."""
    lab = plan.mistake.lab
    cases, tool_cases = tests.build.cases[lab], tests.build.tool_cases[lab]
    left_out = ""
    groups = []
    for group in [*plan.rungs, GENERAL]:
        if group in cases and not tests.known_good and not tests.unchanged(lab, group, "").accepted:
            left_out = unchanged_fault(lab, group, tests.unchanged(lab, group, ""))
        elif group in cases or group in tool_cases:
            groups.append(group)
    if not groups:
        return "not run", left_out or "no test case concerns it"
    steps = [(group, "") for group in groups if group in cases]
    under_tools = [(group, tool) for group in groups if group in tool_cases for tool in tests.build.tools]
    for group, tool in under_tools + steps if plan.mistake.shows_under_tools else steps + under_tools:
        outcome = tests.run(program, lab, group, tool)
        if not outcome.in_time and not tool:  # perhaps another, which hangs, did not pass on its turn
            outcome = tests.run(program, lab, group, tool, turns=False)
        if outcome.accepted:
            continue
        if tests.known_good and outcome.in_time:
            return "rejected", outcome.by
        # Under a tool, which takes long, the unchanged program runs only when its answer is needed.
        unchanged = tests.unchanged(lab, group, tool)
        if not unchanged.accepted:
            left_out = unchanged_fault(lab, group, unchanged)
        elif outcome.in_time or unchanged.seconds < tests.timeout / 4:
            return "rejected", outcome.by
        else:
            return "timeout", outcome.by
    if left_out:
        return "not run", left_out
    return "accepted", "" if tests.build.tools or tests.build.large else "without compute-sanitizer"


def unchanged_fault(lab: str, group: str, outcome: Outcome) -> str:
    return f"the unchanged {group or 'program'} of {lab} is not accepted: {outcome.by}"


# ---------------------------------------------------------------------------------------------------------------------
# Compiling


@dataclass(frozen=True)
class Result:
    plan: Plan
    verdict: str
    by: str
    seconds: float


class Maker:
    """Makes the test program of a mistake, each step in a thread of `compilers`."""

    def __init__(self, run: Run, plan: Plan):
        self.run = run
        self.plan = plan
        self.folder = run.scratch / plan.mistake.id
        self.tree = self.folder / "tree"
        self.program = self.folder / f"test_{plan.mistake.lab}"
        self.objects = {object: self.folder / f"{number}-{Path(object).name}" for number, object in enumerate(plan.objects)}
        self.lock = threading.Lock()
        self.to_compile = len(plan.objects)
        self.ended = False
        self.seconds = 0.0

    def end(self, verdict: str, by: str) -> None:
        """The first verdict counts: of several objects each may be at fault."""
        with self.lock:
            if self.ended:
                return
            self.ended = True
        self.run.results.put(Result(self.plan, verdict, by, self.seconds))

    def started(self, command: list[str], folder: Path, verdict: str) -> bool:
        """Whether a compiler or linker ended well; the verdict if not."""
        left = self.run.end - time.monotonic()
        if left <= 0:
            self.end("not run", "no time left")
            return False
        # A compiler that is ended leaves its temporary files behind: they go with the folder.
        ran = self.run.processes.run(command, folder, left, {"GIT_CEILING_DIRECTORIES": str(self.folder),
                                                             "TMPDIR": str(self.folder)})
        with self.lock:
            self.seconds += ran.seconds
        if ran.code is None:
            self.end("not run", "no time left")
        elif ran.code != 0:
            output = ran.output.splitlines() or ["no reason"]
            lines = [line for line in output if "error" in line and not line.startswith("collect2:")] or output
            self.end(verdict, lines[0].replace(f"{self.tree}/", "")[:200])
        return ran.code == 0

    def prepare(self) -> None:
        """Copies what the objects are made from, and plants the mistake there."""
        if not self.plan.objects:
            return self.end("does not fit", f"no object of test_{self.plan.mistake.lab} depends on {self.plan.mistake.file}")
        for file in sorted(set().union(*(self.run.build.files[object] for object in self.plan.objects))):
            copy = self.tree / file
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / file, copy)
        if self.started(apply_command(self.plan.mistake.patch), self.tree, "does not fit"):
            for object in self.plan.objects:
                self.run.start(self.run.compilers, lambda object=object: self.compile(object))

    def compile(self, object: str) -> None:
        if self.ended:
            return
        build, target = self.run.build, self.objects[object]
        kept = self.run.objects / f"{self.key(object)}.o" if self.run.objects else None
        if kept and kept.is_file():
            shutil.copy(kept, target)
        else:
            if not self.started(build.compile_words(object, self.tree, target), build.folder, "does not compile"):
                return
            self.check_files(object)
            if kept:
                whole = kept.with_suffix(f".{self.plan.mistake.id}")  # a run that is interrupted leaves no half object
                shutil.copy(target, whole)
                whole.rename(kept)
        with self.lock:
            self.to_compile -= 1
            if self.to_compile > 0:
                return
        if not self.started(build.relink_words(self.plan.mistake.lab, self.objects, self.program), build.folder,
                            "does not compile"):
            return
        shutil.rmtree(self.tree)
        for path in self.objects.values():
            path.unlink()
        if self.run.build_only:
            self.program.unlink()
            self.end("builds", f"{len(self.objects)} changed: {', '.join(self.plan.rungs) or 'no rung'}")
        else:
            self.run.start(self.run.testers, self.test)

    def key(self, object: str) -> str:
        """What an object is made from: the command and, of the project, the files with the mistake."""
        words = self.run.build.compile_words(object, Path("/tree"), Path("/object"))
        digest = hashlib.sha256(shlex.join(words).encode())
        for file in sorted(self.run.build.files[object]):
            text = (self.tree / file).read_bytes()
            digest.update(f"\n{file} {len(text)}\n".encode() + text)
        return digest.hexdigest()[:32]

    def check_files(self, object: str) -> None:
        """The compiler must have read the file with the mistake, and none of the project's own."""
        words = Path(f"{self.objects[object]}.d").read_text(encoding="utf-8").replace("\\\n", " ").split()
        files = {os.path.normpath(self.run.build.folder / word) for word in words}
        if str(self.tree / self.plan.mistake.file) not in files:
            raise Fault(f"{self.plan.mistake.id}: {object} was compiled without {self.plan.mistake.file}")
        if own := sorted(file for file in files if self.run.build.inside(file)):
            raise Fault(f"{self.plan.mistake.id}: {object} was compiled with {own[0]}, which has no mistake")

    def test(self) -> None:
        if self.ended:
            return
        begin = time.monotonic()
        try:
            verdict, by = judge(self.plan, self.program, self.run.tests)
        except TimeoutError:
            verdict, by = "not run", "no time left"
        self.seconds += time.monotonic() - begin
        self.program.unlink()
        self.end(verdict, by)


# ---------------------------------------------------------------------------------------------------------------------
# All of them


@dataclass(frozen=True)
class Unchanged:
    """What the tests say of a group of the unchanged program."""

    lab: str
    group: str
    outcome: Outcome | None  # None: no time was left


class Run:
    """Compilers and tests side by side."""

    def __init__(self, build: Build, plans: list[Plan], scratch: Path, arguments: argparse.Namespace):
        self.build = build
        self.scratch = scratch
        self.build_only = arguments.build_only
        self.objects: Path | None = arguments.objects
        if self.objects:
            self.objects.mkdir(parents=True, exist_ok=True)
        self.end = time.monotonic() + arguments.budget
        self.processes = Processes()
        self.tests = Tests(build, self.processes, scratch, arguments.timeout, self.end,
                           arguments.known_good)
        self.compilers = ThreadPoolExecutor(arguments.jobs)
        self.testers = ThreadPoolExecutor(arguments.tests)
        self.results: queue.Queue[Result | Unchanged | BaseException] = queue.Queue()
        # Those of one object first, so that the tests have something to do early; those that may hang last.
        self.makers = [Maker(self, plan) for plan in
                       sorted(plans, key=lambda plan: (plan.mistake.may_hang, len(plan.objects)))]
        self.groups: list[tuple[str, str]] = []
        if not self.build_only and not arguments.known_good:
            self.groups = sorted({(plan.mistake.lab, group) for plan in plans for group in [*plan.rungs, GENERAL]
                                  if group in build.cases[plan.mistake.lab]})

    def start(self, threads: ThreadPoolExecutor, task: Callable[[], None]) -> None:
        def guarded() -> None:
            try:
                task()
            except Stopped:
                pass
            except BaseException as error:  # the main thread says what happened
                self.results.put(error)
        try:
            threads.submit(guarded)
        except RuntimeError:  # the run ends
            pass

    def run_unchanged(self, lab: str, group: str) -> None:
        try:
            outcome = self.tests.unchanged(lab, group, "")
        except TimeoutError:
            outcome = None
        self.results.put(Unchanged(lab, group, outcome))

    def __iter__(self) -> Iterator[Result | Unchanged]:
        """Starts everything, and yields what comes out."""
        try:
            for lab, group in self.groups:
                self.start(self.testers, lambda lab=lab, group=group: self.run_unchanged(lab, group))
            for maker in self.makers:
                self.start(self.compilers, maker.prepare)
            for _ in range(len(self.makers) + len(self.groups)):
                result = self.results.get()
                if isinstance(result, BaseException):
                    raise result
                yield result
        finally:
            self.processes.stop()
            self.compilers.shutdown(cancel_futures=True)
            self.testers.shutdown(cancel_futures=True)


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number from 1 on")
    return int(text)


def parsed(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests/mutants/run.py", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help="only mistakes with one of these parts in their ids")
    parser.add_argument("--build", type=Path, default=ROOT / "build/default", metavar="FOLDER")
    parser.add_argument("--large", action="store_true",
                        help="only mistakes that only the test cases [large] can see, judged by these: one program at a time, "
                             "with tens of GB of memory")
    parser.add_argument("--build-only", action="store_true", help="compile and link, and test nothing: needs no device")
    parser.add_argument("--objects", type=Path, metavar="FOLDER",
                        help="keep the compiled objects in this folder, and compile none that it has")
    parser.add_argument("--jobs", type=positive, default=len(os.sched_getaffinity(0)), metavar="N", help="compilers at a time")
    parser.add_argument("--tests", type=positive, metavar="N",
                        help="programs that use the GPU at a time (4, with --large 1)")
    parser.add_argument("--timeout", type=positive, metavar="SECONDS", help="for each program (120, with --large 1800)")
    parser.add_argument("--budget", type=positive, default=86400, metavar="SECONDS", help="for all; what is left is not run")
    parser.add_argument("--known-good", action="store_true",
                        help="do not run the unchanged programs: all tests of this build (with --large: those of ctest --preset "
                             "gpu-large) have just passed on this machine")
    parser.add_argument("--out", type=Path, metavar="FILE.tsv", help="the verdicts, written one by one")
    arguments = parser.parse_args(words)
    arguments.tests = arguments.tests or (1 if arguments.large else 4)
    arguments.timeout = arguments.timeout or (1800 if arguments.large else 120)
    return arguments


def chosen(parts: list[str], large: bool) -> list[Mistake]:
    mistakes = [mistake for mistake in manifest() if not parts or any(part in mistake.id for part in parts)]
    if not mistakes:
        raise Fault(f"no mistake has one of these in its id: {', '.join(parts)}")
    if large:
        mistakes = [mistake for mistake in mistakes if mistake.shows_in_large_only]
        if not mistakes:
            raise Fault("none of these mistakes needs --large to be seen")
    return mistakes


def exit_code(build: Build, results: list[Result], unchanged_accepted: bool) -> int:
    if not unchanged_accepted or any(result.by.startswith("the unchanged") for result in results):
        return 2
    for result in results:
        accepted = result.verdict == "accepted" and build.must_reject(result.plan.mistake)
        if accepted or result.verdict.startswith("does not"):
            return 1
    return 3 if any(result.verdict in ("timeout", "not run") for result in results) else 0


def main(words: list[str]) -> int:
    arguments = parsed(words)
    mistakes = chosen(arguments.parts, arguments.large)
    build = Build(arguments.build, sorted({mistake.lab for mistake in mistakes}), arguments.large)
    build.must_be_finished()
    if not arguments.build_only and not build.tools and not arguments.large:
        print("run.py: the build found no compute-sanitizer, so the test cases judge alone", file=sys.stderr)
    results: list[Result] = []
    bad: list[Unchanged] = []
    with tempfile.TemporaryDirectory(prefix="gpulab-mutants-") as scratch:
        run = Run(build, [build.plan(mistake) for mistake in mistakes], Path(scratch).resolve(), arguments)
        with open(arguments.out or os.devnull, "w", encoding="utf-8") as out:
            print("id", "verdict", "by", "seconds", sep="\t", file=out, flush=True)
            for result in run:
                if isinstance(result, Result):
                    results.append(result)
                    mistake = result.plan.mistake
                    expected = "" if build.must_reject(mistake) else f" [{mistake.harmless if not mistake.harms else 'large'}]"
                    print(f"{mistake.id:<50} {result.verdict}{expected} ({result.seconds:.0f} s) {result.by}", flush=True)
                    print(mistake.id, result.verdict, result.by, f"{result.seconds:.1f}", sep="\t", file=out, flush=True)
                elif result.outcome and not result.outcome.accepted:
                    bad.append(result)
                    print(unchanged_fault(result.lab, result.group, result.outcome), file=sys.stderr, flush=True)
                    if len(bad) == len(run.groups):
                        raise Fault("nothing is accepted here without a mistake either")
    counts = {verdict: sum(result.verdict == verdict for result in results) for verdict in VERDICTS}
    print(f"{len(results)} mistakes: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count))
    for result in results:
        if result.verdict == "accepted" and build.must_reject(result.plan.mistake):
            print(f"accepted, and must not be: {result.plan.mistake.id}: {result.plan.mistake.text}")
    return exit_code(build, results, not bad)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(main(sys.argv[1:]))
    except Fault as fault:
        print(f"run.py: {fault}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
