#!/usr/bin/env python3
"""Injects the faults of this folder, each into a test program of its own, and says which of them the tests reject.

A verdict is kept in tests/judged/ (tools/judged.py). Without names, only faults are judged that are due, because what their verdict
depends on has changed, and one in twenty of the others, chosen by a seed. Needs a finished build with Ninja, and none under way in
that folder. Files of the project stay as they are: a fault in an OpenCL kernel changes the text that the program compiles, and what
another fault changes is compiled in a scratch folder (TMPDIR says where).

Faults in the CUDA rungs of Core ladders are judged in the CUDA emulator, too, where there is no GPU or with --on emulator. Its
verdicts have lines of their own, and none of them replaces a GPU's.

    rejected          by what stands behind it
    accepted          nothing found it
    found otherwise   by something else than the row says
    broken            the program ended by an exception or a signal, and no check found anything
    not planted       no program has compiled the kernel with the mistake
    not judged        the unchanged program is not accepted, or no test case concerns the mistake
    timeout, skipped  the time was too short, a device or a tool is missing
    does not fit, does not compile

Ends with 0 when the tests reject all that they must reject; with 1 when they accept one, one cannot be planted, or a verdict is
not the one kept; with 2 when
they do not accept the unchanged program, or the run is impossible; with 3 when only time was too short; with 4 when the devices
are missing.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "tests/mistakes")]
import judged  # noqa: E402
import order  # noqa: E402
from grading.rows import rows_in  # noqa: E402

MISTAKES = Path(__file__).resolve().parent
JUDGED = ROOT / "tests/judged"
VERSION = "1"  # another one makes all verdicts due: where this file judges otherwise than before
BACKENDS = ("cpu", "opencl", "cuda")
SANITIZER = {"memcheck": ["--leak-check", "no", "--padding", "4096"], "racecheck": ["--racecheck-report", "all"],
             "synccheck": [], "initcheck": []}
# What the emulator says where compute-sanitizer has a tool for it.
EMULATED = {"memcheck": r"(?:Invalid|Misaligned) (?:read|write|atomic).*", "racecheck": r"(?:Read|Write)-write data race.*",
            "synccheck": r"(?:(?:Block|Warp) divergence|Invalid shuffle).*|No thread of the block can go on.*",
            "initcheck": r"Uninitialized value.*"}
# It knows where an array ends to the byte: what lies behind the end was never written either.
EXPECTED = {"memcheck": ["memcheck"], "racecheck": ["racecheck"], "synccheck": ["synccheck"], "initcheck": ["initcheck", "memcheck"]}
ORDERS = (0, 1, 2, 3)  # of blocks and warps: some faults show in some of them only
INSTRUCTIONS = 5_000_000  # of a warp at the tools' sizes: more is an endless loop
FINDERS = ("values", "guard bands", "schedule", "large", "order", "oclgrind", *SANITIZER)
FIELDS = {"id", "rung", "file", "text", "by", "edits", "finder", "student", "check", "cases", "accepted", "emulator"}


class Fault(Exception):
    """Why there can be no run, in one line."""


class Stopped(Exception):
    """The run ends: nothing is started any more."""


# ---------------------------------------------------------------------------------------------------------------------
# The rows


@dataclass(frozen=True)
class Mistake:
    """A row. CONTRIBUTING.md describes the fields."""

    id: str
    folder: str  # of its lab
    rungs: tuple[str, ...]
    file: str  # relative to the project's root
    edits: tuple[tuple[str, str], ...]
    finder: str
    student: str
    check: str
    accepted: str
    cases: str = ""
    emulator: str = ""
    emulated: bool = False  # a fault of CUDA that the emulator judges

    @property
    def lab(self) -> str:
        return self.folder[3:]

    @property
    def name(self) -> str:
        return f"{self.lab}: {self.id}"

    @property
    def backend(self) -> str:
        """Where it is planted. "": in what all back ends use."""
        if self.file.endswith((".cu", ".cuh")) or self.finder in SANITIZER:
            return "cuda"
        if self.file.endswith(".cl") or self.finder == "oclgrind":
            return "opencl"
        words = [rung.split("_")[0] for rung in self.rungs] + self.file.split("/")
        return next((word for word in words if word in BACKENDS), "")

    @property
    def place(self) -> str:
        """What judges it: a device or a tool."""
        if self.emulated:
            return "emulator"
        if self.finder == "order":  # the texts of its file alone
            return "cpu"
        return "oclgrind" if self.finder == "oclgrind" else self.backend or "cpu"

    def in_emulator(self) -> Mistake:
        """The same, for the emulator to judge: whichever check finds it."""
        return replace(self, emulated=True, check="", accepted=self.emulator or self.accepted)

    @property
    def entry(self) -> str:
        """The name of its line in tests/judged."""
        return f"{'emulated' if self.emulated else 'fault'} {self.id}"

    @property
    def core(self) -> bool:
        """Whether it is in a CUDA rung of the Core ladder."""
        return self.backend == "cuda" and self.finder not in ("large", "order") and bool(set(self.rungs) & core_rungs(self.folder))

    def key(self, lab: judged.Lab) -> str:
        """What its verdict depends on: not on what it is called, nor on what is told of it. In the emulator a change of what labs
        share makes none due: all of them take half an hour."""
        edits = [judged.plain(text) for edit in self.edits for text in edit]
        where = ["emulator"] if self.emulated else []
        return lab.key_of_rungs(self.rungs, VERSION, *where, self.file, self.finder, self.check, self.cases, *edits, files=[ROOT / self.file],
                                shared=not self.emulated)

    def planted(self, text: str) -> str:
        """The text of its file with the mistake. @throws Fault when it does not fit"""
        for old, new in self.edits:
            if (count := text.count(old)) != 1:
                raise Fault(f"{self.name}: {self.file} has {count} places with {old!r}")
            text = text.replace(old, new)
        return text


def mistake_of(row: dict, path: Path) -> Mistake:
    """@throws Fault when a field is missing, unknown or not as it should be"""
    name = f"{path.name}: {row['id']}"
    edits = row.get("edits", [{field: row[field] for field in ("text", "by") if field in row}])
    if unknown := row.keys() - FIELDS:
        raise Fault(f"{name}: unknown field {min(unknown)}")
    if "student" not in row:
        raise Fault(f"{name}: no student")
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", row["id"]):
        raise Fault(f"{name}: an id has lower case, digits and hyphens")
    finder = row.get("finder", FINDERS[0])
    if finder not in FINDERS:
        raise Fault(f"{name}: unknown finder {finder!r}, not one of: {', '.join(FINDERS)}")
    if ("edits" in row) == ("text" in row or "by" in row) or any(edit.keys() != {"text", "by"} for edit in edits):
        raise Fault(f"{name}: give text and by, or edits of text and by")
    if not edits or any(edit["text"] in ("", edit["by"]) for edit in edits):
        raise Fault(f"{name}: it replaces nothing, or something by itself")
    folder = path.stem
    inside = row["file"].startswith(("common/", "tests/"))
    return Mistake(id=row["id"], folder=folder, rungs=tuple(row["rung"]),
                   file=row["file"] if inside else f"labs/{folder}/{row['file']}",
                   edits=tuple((edit["text"], edit["by"]) for edit in edits), finder=finder, student=row["student"],
                   check=row.get("check", ""), accepted=row.get("accepted", ""), cases=row.get("cases", ""), emulator=row.get("emulator", ""))


def mistakes_of(path: Path) -> list[Mistake]:
    """The rows of a file. @throws Fault when one is not as it should be"""
    try:
        rows = rows_in(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise Fault(f"{path.name}: {error}") from None
    mistakes = [mistake_of(row, path) for row in rows]
    ids = [mistake.id for mistake in mistakes]
    if twice := [id for id in ids if ids.count(id) > 1]:
        raise Fault(f"{path.name}: two rows are called {twice[0]}")
    return mistakes


@cache
def core_rungs(folder: str) -> set[str]:
    """The rungs of a lab's Core ladder, as its hand-out lists them."""
    text = read(ROOT / f"labs/{folder}/README.md").partition("\n## The ladder\n")[2]
    return set(re.findall(r"(?m)^\| *`(\w+)` *\|", re.split(r"\n\*\*Further\*\*|\n## ", text)[0]))


def all_mistakes() -> list[Mistake]:
    return [mistake for path in sorted(MISTAKES.glob("*.toml")) for mistake in mistakes_of(path)]


# ---------------------------------------------------------------------------------------------------------------------
# What the build knows


@cache
def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


class Build:
    """A finished build: how its test programs are compiled and linked, and what their test cases are."""

    def __init__(self, folder: Path, labs: list[str]):
        self.folder = folder.resolve()
        try:
            text = (self.folder / "CMakeCache.txt").read_text(encoding="utf-8")
        except OSError:
            raise Fault(f"there is no build in {folder}") from None
        self.cache = dict(re.findall(r"(?m)^(\w+):\w+=(.*)$", text))
        late = [f"{lab}_perturbed" for lab in labs if (self.folder / f"bin/test_{lab}_perturbed").is_file()]
        self.programs = {name: f"bin/test_{name}" for name in [*labs, *late]}
        self.commands: dict[str, str] = {}         # by the file that they make
        self.archives: dict[str, list[str]] = {}   # the objects of each library
        for line in self.ninja("-t", "commands", *self.programs.values()).splitlines():
            if archived := re.search(r"&& \S*\bar \w+ (\S+\.a) +(.*?) &&", line):
                self.archives[archived[1]] = archived[2].split()
            elif made := re.search(r" -o (\S+)", line):
                self.commands[made[1]] = line
        self.files = self.files_of_objects()
        # What is precompiled is in no list of what an object was made from.
        self.precompiled = set().union(*(self.files[made] for made in self.files if made.endswith((".gch", ".pch"))))
        self.linked = {name: self.objects_of(name) for name in self.programs}

    def program_for(self, mistake: Mistake) -> str:
        """The test program that judges it, without its test_: a lab may have one of its own for late commands."""
        late = f"{mistake.lab}_perturbed"
        return late if mistake.finder == "schedule" and late in self.programs else mistake.lab

    def tool(self, finder: str) -> str:
        """The program under which the test cases of a finder run; "" where it is not installed."""
        path = self.cache.get("GPULAB_OCLGRIND" if finder == "oclgrind" else "GPULAB_COMPUTE_SANITIZER", "")
        return path if os.access(path, os.X_OK) else ""

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
                newest = max((time_of(ROOT / file) for file in self.files[object]), default=float("inf"))
                if not newest <= time_of(self.folder / object) <= time_of(program) < float("inf"):
                    raise Fault(f"{program} is missing or older than its sources: cmake --build {self.folder}")

    @cache
    def inside(self, path: str) -> str | None:
        """A file of the project, relative to its root. None: it lies elsewhere, or the build made it."""
        full = os.path.normpath(os.path.join(self.folder, path))
        if not full.startswith(f"{ROOT}/") or full.startswith(f"{self.folder}/"):
            return None
        return full.removeprefix(f"{ROOT}/")

    def files_of_objects(self) -> dict[str, set[str]]:
        """The project's files that each object was made from."""
        files: dict[str, set[str]] = defaultdict(set)  # empty: it was never made
        current: set[str] = set()
        for line in self.ninja("-t", "deps").splitlines():
            if line.startswith("    "):
                if path := self.inside(line.strip()):
                    current.add(path)
            elif line:
                current = files.setdefault(line.split(": #deps")[0], set())
        for object in files:  # the texts of kernels, of which the build makes C++
            if text := re.fullmatch(r"(.*)/CMakeFiles/.*/(\w+\.cl)\.cpp\.o", object):
                files[object] |= {str(path.relative_to(ROOT)) for path in (ROOT / text[1]).rglob(text[2])}
        return files

    def link_words(self, lab: str) -> list[str]:
        """The command that links the test program of a lab, without the file in which a newer CMake lets it note what it
        reads."""
        line = self.commands[self.programs[lab]].removeprefix(": && ").removesuffix(" && :")
        return [word for word in shlex.split(line) if not re.match("-Wl,--dependency-file|-Xlinker=--dependency-file", word)]

    def objects_of(self, lab: str) -> list[str]:
        # A newer CMake lets the linker note what it reads, so that Ninja knows files of the program, too.
        objects = []
        for word in self.link_words(lab):
            objects += self.archives.get(word, [word] if word in self.files and word != self.programs[lab] else [])
        return objects

    def objects_for(self, mistake: Mistake) -> list[str]:
        """The objects to compile again: those that read the file of the mistake, without those of other rungs. In CUDA with
        them: a kernel that several objects have is one of them, and nobody knows which."""
        objects = [object for object in self.linked[self.program_for(mistake)] if mistake.file in self.files[object]]

        def of_another_rung(object: str) -> bool:
            folder = re.match(rf"labs/\w+/CMakeFiles/\w+\.dir/((?:{'|'.join(BACKENDS)})/.*)\.o$", object)
            source = ROOT / object[:object.index("/CMakeFiles")] / folder[1] if folder else None
            return source is not None and source.is_file() and not any(rung in read(source) for rung in mistake.rungs)

        own = [object for object in objects if not of_another_rung(object)]
        return own if own and mistake.rungs and mistake.backend != "cuda" else objects

    @cache
    def names(self, lab: str, tags: str) -> list[str]:
        """The test cases of a lab with these tags."""
        ran = subprocess.run([self.folder / self.programs[lab], tags, "--list-tests", "--verbosity", "quiet"],
                             capture_output=True, text=True, check=False)
        return [line.strip() for line in ran.stdout.splitlines() if line.strip()]

    def groups(self, mistake: Mistake) -> list[list[str]]:
        """The test cases that may reject a mistake, in groups that run one after the other: those that it names, or those of
        its rungs. A mistake without a rung: those that speak of no single rung, then all others. Late commands and large
        arrays are the business of both."""
        if mistake.emulated and not mistake.cases:
            named = {tag: [name for name in self.names(self.program_for(mistake), tag) if set(judged.NAMES.findall(name)) & set(mistake.rungs)]
                     for tag in ("[.sanitizer]", "[cuda]~[large]~[program]~[.]")}
            tiny, usual = named.values()
            return [group for group in (tiny, [] if mistake.finder in SANITIZER else usual) if group]
        if mistake.cases:
            return [group for group in [self.names(self.program_for(mistake), mistake.cases)] if group]
        tag = f"[{mistake.backend}]" if mistake.backend else ""
        tags = {"large": f"{tag}[large]", "oclgrind": "[.oclgrind]",
                **dict.fromkeys(SANITIZER, "[.sanitizer]")}.get(mistake.finder, f"{tag}~[large]~[.]")
        own, general, others = [], [], []
        for name in self.names(self.program_for(mistake), tags):
            named = set(re.findall(rf"\b(?:{'|'.join(BACKENDS)})_\w+", name))
            if not named or re.search(r"\brungs\b", name):
                general.append(name)
            else:
                (own if named & set(mistake.rungs) else others).append(name)
        if not mistake.rungs:
            groups = [general, others]
        else:
            groups = [own, general] if mistake.finder in ("schedule", "large") else [own]
        return [group for group in groups if group]

    def moved(self, word: str, tree: Path) -> str:
        """A word of a command with the project's files in another folder. What the build made stays where it is."""
        if word.startswith("-D"):
            return word
        parts = word.split(f"{self.folder}/")
        return f"{self.folder}/".join(part.replace(f"{ROOT}/", f"{tree}/") for part in parts)

    def compile_words(self, object: str, tree: Path, target: Path, emulated: bool = False) -> list[str]:
        """The command that compiles an object from the files in `tree`. Warnings are no errors: a mistake may cause some."""
        words = shlex.split(self.commands[object])
        if Path(words[0]).name in ("ccache", "sccache"):
            words = words[1:]
        words = [self.moved(word, tree) for word in words if not re.fullmatch(r"(-Xcompiler=)?-Werror(=.*)?|all-warnings", word)]
        # The emulator takes PTX: ptxas would take as long as all else.
        if emulated:
            words = [re.sub(r"(arch=(compute_\w+),code=)\[.*\]", r"\1[\2]", word) for word in words]
        words = ["-O1" if word == "-O3" else word for word in words]  # it compiles in two thirds of the time; nvcc's: host code only
        words[words.index("-o") + 1] = str(target)
        if "-MF" not in words:
            raise Fault(f"the command that makes {object} notes no dependencies")
        words[words.index("-MF") + 1] = f"{target}.d"
        return words

    def relink_words(self, lab: str, replaced: dict[str, Path], target: Path) -> list[str]:
        """The command that links a test program with some objects replaced. They come first: of an inline function that others
        have too, the linker takes the first. A library that holds one of them is taken apart, so that it cannot choose the old
        one."""
        words: list[str] = []
        taken_apart = set()
        for word in self.link_words(lab):
            objects = self.archives.get(word, [])
            if not replaced.keys() & set(objects):
                words += [word] if word not in replaced else []
            elif word not in taken_apart:
                taken_apart.add(word)
                words += [object for object in objects if object not in replaced]
        words[words.index("-o") + 1] = str(target)
        first = next((at for at, word in enumerate(words) if word.endswith((".o", ".a"))), len(words))
        return words[:first] + [str(path) for path in replaced.values()] + words[first:]


# ---------------------------------------------------------------------------------------------------------------------
# Programs


@dataclass(frozen=True)
class Ran:
    code: int | None  # None: it was ended after the time limit
    output: str
    seconds: float  # of processor time, as last seen; by the clock, if it runs on a GPU or was ended


class Processes:
    """Starts programs, each as a process group that is ended as a whole."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.running: set[subprocess.Popen[str]] = set()
        self.stopped = False

    def run(self, command: list[str], folder: Path, timeout: float, environment: dict[str, str],
            enough: Callable[[], bool] = lambda: False, on_gpu: bool = False) -> Ran:
        """@param timeout of its processor time; on the clock five times as long for a tenth of it, when it waits for ever
        @param on_gpu whether it waits for a GPU, of whose time nobody knows: then the limit is one of the clock
        @param enough asked again and again: whether the program may be ended, because its answer is known"""
        begin = tenth = time.monotonic()  # when the last tenth of its processor time was seen
        used = until = 0.0
        with self.lock:
            if self.stopped:
                raise Stopped
            process = subprocess.Popen(command, cwd=folder, env={**os.environ, **environment}, text=True, errors="replace",
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                       start_new_session=True)
            self.running.add(process)
        while True:
            try:
                output, _ = process.communicate(timeout=0.2)
                code: int | None = process.returncode
                break
            except subprocess.TimeoutExpired:
                if enough():
                    self.end(process)
                    continue
                used = processor_seconds(process.pid)
                if used >= until + timeout / 10:
                    until, tenth = used, time.monotonic()
                if used > timeout or time.monotonic() > (begin + timeout if on_gpu else tenth + 5 * timeout):
                    self.end(process)
                    process.communicate()
                    output, code = "", None
                    break
        with self.lock:
            self.running.remove(process)
            if self.stopped:
                raise Stopped
        return Ran(code, output, time.monotonic() - begin if on_gpu or code is None else used)

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


def processor_seconds(pid: int) -> float:
    try:
        words = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return 0
    return sum(map(int, words[11:15])) / os.sysconf("SC_CLK_TCK")


def escaped(name: str) -> str:
    """The name of a test case as Catch2 takes it."""
    return re.sub(r"([\\,\[\]*])", r"\\\1", name)


# ---------------------------------------------------------------------------------------------------------------------
# Verdicts


@dataclass(frozen=True)
class Verdict:
    """What became of a mistake, or of the unchanged program."""

    word: str  # rejected, accepted, skipped, timeout, or why there is none
    by: str = ""
    seconds: float = 0
    checks: int = 0  # how many checks of VariantCases had begun when it ended


STRAY = re.compile(r"the kernel wrote (before the start|past the end) of a buffer")


def fault_in(output: str) -> str:
    """What the tests found first: the line of a check of VariantCases, or the assertion that failed. "" if nothing."""
    if line := re.search(r"(?m)^\w+ on \S+ \(.*\) is wrong\n  (.*)", output):
        return line[1]
    failed = re.search(r"FAILED:\n(.*(?:\n.+)*)", output)
    return " ".join(failed[1].split())[:200] if failed else ""


def verdict_of(mistake: Mistake, ran: Ran, log: str | None) -> Verdict:
    """What a run of test cases says. @param log of the tool under which they ran"""
    if ran.code is None:
        return Verdict("timeout", f"no end after {ran.seconds:.0f} s", ran.seconds)
    if unknown := re.search(r"kernel does not compile for .*\n *(.*)", ran.output):
        return Verdict("does not compile", unknown[1], ran.seconds)
    if log is not None and (finding := finding_in(mistake, log)):
        return Verdict("rejected", f"{mistake.finder}: {finding}", ran.seconds)
    by_tool = mistake.finder in SANITIZER
    if mistake.emulated and (by_tool or ran.code == 0):  # its checks are always on
        for finder in EXPECTED.get(mistake.finder, EMULATED):
            if finding := re.search(rf"(?m)^(?:{EMULATED[finder]})$", ran.output):
                return Verdict("rejected", f"{finder}: {finding[0][:200]}", ran.seconds)
    if ran.code == 0:
        return Verdict("accepted", "", ran.seconds)
    if ran.code == 4:
        reason = re.search(r"skipped: (.*)", ran.output)
        return Verdict("skipped", reason[1] if reason else "", ran.seconds)
    fault = fault_in(ran.output)
    if not fault or ran.code < 0:
        return Verdict("broken", f"ended with {ran.code}, and no check found it: {ran.output[-200:]}", ran.seconds)
    # What a device cannot do ends in an exception. It is a finding of CUDA, which looks for it; elsewhere it is luck.
    threw = re.search(r": it threw: |due to unexpected exception|due to a fatal error", fault)
    if threw and mistake.backend != "cuda" and "it threw" not in mistake.check:
        return Verdict("broken", fault, ran.seconds)
    as_told = log is None and not by_tool and fault.startswith(mistake.check) and (mistake.finder != "guard bands" or STRAY.search(fault))
    return Verdict("rejected" if as_told else "found otherwise", fault, ran.seconds)


def finding_in(mistake: Mistake, log: str) -> str:
    """What a tool's log says about a mistake, in a line. "" if nothing, or not what the row wants."""
    if mistake.finder == "oclgrind":
        lines = [] if "BUILD_PROGRAM_FAILURE" in log else [line for line in log.splitlines() if line.strip()]
    else:
        clean = "RACECHECK SUMMARY: 0 hazards displayed" if mistake.finder == "racecheck" else "ERROR SUMMARY: 0 errors"
        lines = [] if clean in log else [line for line in log.splitlines() if "=========" in line]
    lines = [line for line in lines if mistake.check.lower() in line.lower()]
    return lines[0].strip()[:200] if lines else ""


def accepted_or_skipped(verdicts: list[Verdict]) -> Verdict:
    """What several say that found nothing: skipped where none of them could run."""
    return next((verdict for verdict in verdicts if verdict.word == "accepted"), verdicts[0])


class Judge:
    """Compiles what a mistake changes, and lets the test cases judge it."""

    def __init__(self, build: Build, scratch: Path, arguments: argparse.Namespace):
        self.build = build
        self.scratch = scratch
        self.timeout = arguments.timeout
        self.processes = Processes()
        self.compilers = threading.Semaphore(arguments.jobs)
        self.testers = threading.Semaphore(arguments.tests)
        self.lock = threading.Lock()
        self.locks: dict[tuple, threading.Lock] = {}
        self.controls: dict[tuple, Verdict] = {}

    def verdict(self, mistake: Mistake) -> Verdict:
        folder = self.scratch / mistake.lab / mistake.entry.replace(" ", "-")
        folder.mkdir(parents=True)
        try:
            text = mistake.planted((ROOT / mistake.file).read_text(encoding="utf-8"))
        except (OSError, Fault) as fault:
            return Verdict("does not fit", str(fault))
        if mistake.finder == "order":
            fault = order.fault(mistake.file, text)
            return Verdict("rejected" if fault else "accepted", fault)
        if mistake.file.endswith(".cl"):
            program = self.build.folder / self.build.programs[self.build.program_for(mistake)]
            copy = folder / Path(mistake.file).name
            copy.write_text(text, encoding="utf-8")
            return self.judged(mistake, program, copy)
        program = folder / f"test_{mistake.lab}"
        return self.compiled(mistake, text, folder, program) or self.judged(mistake, program, None)

    def judged(self, mistake: Mistake, program: Path, copy: Path | None) -> Verdict:
        """The verdict of the groups of test cases, one after the other until one rejects the mistake."""
        if mistake.emulated and not (self.build.folder / "emulator/run").is_file():
            return Verdict("skipped", "the build has no CUDA emulator")
        if mistake.finder in ("oclgrind", *SANITIZER) and not mistake.emulated and not self.build.tool(mistake.finder):
            return Verdict("skipped", f"{mistake.finder} is not installed")
        groups = self.build.groups(mistake)
        if not groups:
            what = mistake.cases or f"{' or '.join(mistake.rungs) or mistake.lab} for {mistake.finder}"
            return Verdict("not judged", f"no test case of {what}")
        verdicts = []
        for group in groups:
            found = None  # by a check of the emulator, where results should show it: perhaps they do in another order
            for order in ORDERS if mistake.emulated and group is groups[0] else ORDERS[:1]:
                # The cases at usual sizes come last, and judge results only: a check of each access takes them too long.
                unchecked = mistake.emulated and group is not groups[0]
                settings = {"CUDA_EMULATOR_ORDER": str(order), "CUDA_EMULATOR_CHECK": "off" if unchecked else "report",
                            "CUDA_EMULATOR_INSTRUCTIONS": "" if unchecked else str(INSTRUCTIONS)} if mistake.emulated else {}
                verdict = self.run(mistake, program, group, copy, settings=settings)
                # Perhaps another, which hangs, kept the turn.
                if verdict.word == "timeout" and mistake.place == "cuda" and os.environ.get("GPULAB_TEST_TURNS") != "0":
                    verdict = self.run(mistake, program, group, copy, turns=False)
                if unchecked and verdict.word == "timeout":
                    verdict = Verdict("accepted", f"by the checks of {verdict.seconds:.0f} s", verdict.seconds)
                verdicts.append(verdict)
                if mistake.finder not in SANITIZER and verdict.by.startswith(tuple(EMULATED)):
                    found = found or (verdict, settings)
                elif verdict.word in ("rejected", "timeout", "found otherwise", "broken"):
                    return self.compared(mistake, verdict, self.control(mistake, group, copy, verdict.checks, settings))
                elif verdict.word not in ("accepted", "skipped"):
                    return verdict
            if found:
                return self.compared(mistake, found[0], self.control(mistake, group, copy, found[0].checks, found[1]))
        return accepted_or_skipped(verdicts)

    def compared(self, mistake: Mistake, verdict: Verdict, control: Verdict) -> Verdict:
        """The verdict on a mistake, when that on the unchanged program is known."""
        if control.word == "timeout" or (verdict.word == "timeout" and control.seconds > self.timeout / 4):
            return replace(verdict, word="timeout")
        if control.word != "accepted":
            return Verdict("not judged", f"the unchanged program is {control.word}: {control.by}")
        if verdict.word == "timeout" and mistake.backend == "cuda":
            return replace(verdict, word="rejected",
                           by=f"it does not end: {verdict.by}, and the unchanged program takes {control.seconds:.0f} s")
        return verdict

    def control(self, mistake: Mistake, group: list[str], copy: Path | None, checks: int, settings: dict[str, str]) -> Verdict:
        """What the same test cases say of the unchanged program, in the same harness, up to the check that found the mistake."""
        key = (self.build.program_for(mistake), tuple(group), mistake.finder if mistake.finder in ("oclgrind", *SANITIZER) else "",
               mistake.file if copy else "", *settings.values())
        with self.lock:
            lock = self.locks.setdefault(key, threading.Lock())
        with lock:
            known = self.controls.get(key)
            if known and (checks <= known.checks or known.word != "accepted"):
                return known
            unchanged = None
            if copy:
                unchanged = copy.with_suffix(".unchanged.cl")
                shutil.copy(ROOT / mistake.file, unchanged)
            program = self.build.folder / self.build.programs[self.build.program_for(mistake)]
            verdict = self.run(mistake, program, group, unchanged, checks, settings=settings)
            if verdict.word != "timeout":  # which may be the machine's fault, and says nothing about the next mistake
                self.controls[key] = verdict
            return verdict

    def run(self, mistake: Mistake, program: Path, group: list[str], copy: Path | None, max_checks: int = 0,
            turns: bool = True, settings: dict[str, str] | None = None) -> Verdict:
        """Runs test cases.
        @param copy the OpenCL kernels that take the place of those of the mistake's file
        @param max_checks of VariantCases; 0: all
        @param turns whether programs take turns on a GPU: tests/support/gpulab_testing/testing.hpp
        @param settings of the emulator, where it runs the kernels"""
        finder = mistake.finder
        folder = Path(tempfile.mkdtemp(dir=self.scratch))
        log, checks = folder / "log", folder / "checks"
        environment = {"GPULAB_TEST_CHECKS": str(checks), "GPULAB_CPU_THREADS": "3"}  # mistakes between threads show
        if not turns:
            environment["GPULAB_TEST_TURNS"] = "0"
        if max_checks:
            environment["GPULAB_TEST_MOST_CHECKS"] = str(max_checks)
        if mistake.emulated:
            environment |= {"LD_LIBRARY_PATH": f"{self.build.folder}/emulator", "GPULAB_EMULATOR": "always", "GPULAB_TEST_TURNS": "0",
                            "CUDA_EMULATOR_THREADS": "1", **(settings or {})}
        if copy:
            environment["GPULAB_TEST_PLANT"] = f"{mistake.file}={copy}"
        command = [str(program), ",".join(escaped(name) for name in group), "--abort"]
        if finder == "large":  # as in cmake/HiddenTests.cmake
            environment["GLIBC_TUNABLES"] = "glibc.malloc.hugetlb=1"
        elif finder == "oclgrind":  # as in cmake/RunUnderTool.cmake
            command = [self.build.tool(finder), "--data-races", "--uninitialized", "--check-api", "--max-errors", "5",
                       "--build-options", "-cl-opt-disable", "--log", str(log), *command]
            environment |= {"GPULAB_GUARD_BYTES": "0", "GPULAB_EXPECT_PLATFORM": "Oclgrind"}
        elif finder in SANITIZER:  # as in cmake/RunUnderTool.cmake and cmake/AddLabTest.cmake
            environment |= {"GPULAB_GUARD_BYTES": "0", "GPULAB_POISON": "0", "GPULAB_TEST_UNDER_TOOL": "1", "GPULAB_TEST_TURNS": "0"}
            if not mistake.emulated:
                command = [self.build.tool(finder), "--tool", finder, *SANITIZER[finder], "--log-file", str(log), *command]
            if finder == "initcheck":
                environment["CUDA_LAUNCH_BLOCKING"] = "1"

        def read() -> str | None:
            if finder not in ("oclgrind", *SANITIZER) or mistake.emulated:
                return None
            return log.read_text(encoding="utf-8", errors="replace") if log.is_file() else ""

        with self.testers:
            ran = self.processes.run(command, folder, self.timeout, environment,
                                     lambda: finder == "oclgrind" and finding_in(mistake, read()) != "", mistake.place == "cuda")
        verdict = replace(verdict_of(mistake, ran, read()), checks=checks.stat().st_size if checks.is_file() else 0)
        shutil.rmtree(folder, ignore_errors=True)
        if copy and verdict.word != "skipped" and not Path(f"{copy}.planted").is_file():
            return Verdict("not planted", f"no program compiled {mistake.file}; {verdict.word}: {verdict.by}")
        return verdict

    def compiled(self, mistake: Mistake, text: str, folder: Path, program: Path) -> Verdict | None:
        """Compiles the objects that a mistake changes and links the program with them. @return why that was not possible"""
        build, tree = self.build, folder / "tree"
        objects = build.objects_for(mistake)
        if not objects:
            return Verdict("does not fit", f"no object of test_{mistake.lab} depends on {mistake.file}")
        for file in sorted(build.precompiled.union(*(build.files[object] for object in objects))):
            copy = tree / file
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / file, copy)  # with its time: #pragma once takes it for the same as in a precompiled header
        (tree / mistake.file).write_text(text, encoding="utf-8")
        replaced = {object: folder / f"{number}.o" for number, object in enumerate(objects)}

        def compile(object: str) -> Verdict | None:
            with self.compilers:
                if wrong := self.failed(build.compile_words(object, tree, replaced[object], mistake.emulated), tree, folder):
                    return wrong
            self.check_files(mistake, replaced[object], tree)
            return None

        with ThreadPoolExecutor(len(objects)) as pool:
            for wrong in pool.map(compile, objects):
                if wrong:
                    return wrong
        if wrong := self.failed(build.relink_words(build.program_for(mistake), replaced, program), tree, folder):
            return wrong
        shutil.rmtree(tree)
        for made in replaced.values():
            made.unlink()
        return None

    def failed(self, command: list[str], tree: Path, folder: Path) -> Verdict | None:
        # A compiler that is ended leaves its temporary files behind: they go with the folder.
        ran = self.processes.run(command, self.build.folder, 600, {"TMPDIR": str(folder)})
        if ran.code == 0:
            return None
        output = ran.output.splitlines() or ["no reason"]
        lines = [line for line in output if "error" in line and not line.startswith("collect2:")] or output
        return Verdict("does not compile", lines[0].replace(f"{tree}/", "")[:200], ran.seconds)

    def check_files(self, mistake: Mistake, object: Path, tree: Path) -> None:
        """The compiler must have read the file with the mistake, and of the project's own none that is not precompiled."""
        words = Path(f"{object}.d").read_text(encoding="utf-8").replace("\\\n", " ").split()
        files = {os.path.normpath(self.build.folder / word) for word in words}
        if str(tree / mistake.file) not in files:
            raise Fault(f"{mistake.name}: an object was compiled without {mistake.file}")
        if own := {self.build.inside(file) for file in files} - {None} - self.build.precompiled:
            raise Fault(f"{mistake.name}: an object was compiled with {min(own)}, which has no mistake")


# ---------------------------------------------------------------------------------------------------------------------
# All of them


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number from 1 on")
    return int(text)


def parsed(words: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="tests/mistakes/plant.py", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("ids", nargs="*", metavar="ID", help="only these mistakes")
    parser.add_argument("--build", type=Path, default=ROOT / "build/default", metavar="FOLDER")
    parser.add_argument("--lab", metavar="NAME", help="only the mistakes of this lab")
    parser.add_argument("--on", action="append", choices=(*BACKENDS, "oclgrind", "emulator"),
                        help="only the mistakes that are judged there; may be given several times (all but cuda; with IDs or --large all). "
                        "emulator: those in CUDA rungs, where there is no GPU unless it is given; without IDs those of Core ladders")
    parser.add_argument("--large", action="store_true",
                        help="only mistakes that only the test cases [large] can see: one program at a time, with tens of GB of memory")
    parser.add_argument("--mistakes", choices=("due", "all"), default=os.environ.get("GPULAB_MISTAKES", "due"),
                        help="all: also those that are not due (as does GPULAB_MISTAKES=all in the environment)")
    parser.add_argument("--seed", type=int, metavar="N", help="choose the same again of those that are not due")
    parser.add_argument("--table", action="store_true", help="only write docs/emulated.md")
    parser.add_argument("--jobs", type=positive, default=len(os.sched_getaffinity(0)), metavar="N", help="compilers at a time")
    parser.add_argument("--tests", type=positive, metavar="N", help="test programs at a time")
    parser.add_argument("--timeout", type=positive, metavar="SECONDS", help="for each program (120, with --large 1800)")
    arguments = parser.parse_args(words)
    if not arguments.on:
        gpu = bool(judged.tool("cuda"))
        arguments.on = ["cpu", "opencl", "oclgrind"] + (["cuda"] if arguments.large or (arguments.ids and gpu) else []) + \
            (["emulator"] if not (gpu or arguments.large) else [])
    arguments.tests = 1 if arguments.large else arguments.tests or min(arguments.jobs, 4)
    arguments.timeout = arguments.timeout or (1800 if arguments.large else 120)
    return arguments


def chosen(arguments: argparse.Namespace) -> list[Mistake]:
    def wanted(mistake: Mistake) -> bool:
        return (mistake.place in arguments.on and (mistake.finder == "large") == arguments.large
                and arguments.lab in (None, mistake.lab)
                and (not arguments.ids or mistake.id in arguments.ids))

    mistakes = all_mistakes()
    mistakes += [mistake.in_emulator() for mistake in mistakes if mistake.core or (mistake.backend == "cuda" and mistake.id in arguments.ids)]
    mistakes = [mistake for mistake in mistakes if wanted(mistake)]
    if unknown := set(arguments.ids) - {mistake.id for mistake in mistakes}:
        raise Fault(f"there is no such mistake here: {', '.join(sorted(unknown))}")
    if not mistakes:
        raise Fault("there is no such mistake")
    return mistakes


class Kept:
    """The verdicts in tests/judged."""

    def __init__(self, mistakes: list[Mistake]):
        sources = judged.Sources(ROOT)
        self.keys: dict[tuple[str, str], str] = {}
        self.entries: dict[str, dict[str, judged.Entry]] = {}
        for folder in {mistake.folder for mistake in mistakes}:
            lab = judged.Lab(sources, folder)
            self.keys |= {(folder, mistake.entry): mistake.key(lab) for mistake in mistakes if mistake.folder == folder}
            self.entries[folder] = judged.read(JUDGED / f"{folder}.txt")

    def known(self, mistake: Mistake) -> judged.Entry | None:
        """The verdict on what is there today, by the tool that this machine has."""
        entry = self.entries[mistake.folder].get(mistake.entry)
        same_tool = mistake.place not in ("opencl", "oclgrind") or not entry or judged.tool(mistake.place) in ("", entry.tool)
        return entry if entry and entry.key == self.keys[mistake.folder, mistake.entry] and same_tool else None

    def due(self, mistake: Mistake) -> bool:
        entry = self.known(mistake)
        return not entry or entry.verdict not in (("rejected", "accepted") if mistake.accepted else ("rejected",))

    def chosen(self, mistakes: list[Mistake], seed: int) -> list[Mistake]:
        """Those that are due, and one in twenty of the others."""
        due = [mistake for mistake in mistakes if self.due(mistake)]
        others = [mistake for mistake in mistakes if mistake not in due]
        again = random.Random(seed).sample(others, math.ceil(len(others) / 20))
        print(f"{len(due)} of {len(mistakes)} faults are due, and {len(again)} of the others are judged again (--seed {seed})", flush=True)
        return due + again

    def add(self, mistake: Mistake, verdict: Verdict) -> str:
        """Keeps a verdict. @return what it differs from, if it does"""
        if verdict.word in ("skipped", "timeout", "not judged"):
            return ""
        before = "" if self.due(mistake) or mistake.accepted else self.entries[mistake.folder][mistake.entry].verdict
        place = mistake.place
        entry = judged.made(self.keys[mistake.folder, mistake.entry], verdict.word, verdict.by.partition(":")[0], judged.tool(place), verdict.seconds)
        ids = {f"{kind} {one.id}" for one in mistakes_of(MISTAKES / f"{mistake.folder}.toml") for kind in ("fault", "emulated")}
        judged.write(JUDGED / f"{mistake.folder}.txt", {mistake.entry: entry},
                     lambda name: name in ids or not name.startswith(("fault ", "emulated ")))
        return f"{before}, as tests/judged/{mistake.folder}.txt has it" if before not in ("", verdict.word) else ""


PAGE = """# What the CUDA emulator runs and finds

[Its README](../emulator/README.md) says how it works and what it cannot show. `tests/mistakes/plant.py --table` writes this page.

## Rungs

`./lab test` runs these without a GPU, at the sizes at which compute-sanitizer checks them on one, against the CPU's results. Of some an
H100's counters are stored (`docs/results/counts/ncu`); requests, sectors and passes in the emulator are the same.

| lab | CUDA rungs | run | counted as an H100 does | need a GPU |
|---|---:|---:|---|---|
{rungs}

## Faults

The faults [injected](../CONTRIBUTING.md#add-a-fault) into CUDA rungs that the emulator has judged, and what a GPU said of the same fault.
Words such as *every size* name the check of the tests that found it; a race, an access outside an array, a barrier that some
threads miss and a read of what nobody wrote are what the emulator reports. With a star: the rung or its tests have changed since.

{counts} It lets through:

{missed}

| lab | fault | expected by | emulator | GPU |
|---|---|---|---|---|
{rows}
"""
REPORTED = {"memcheck": "access outside or misaligned", "racecheck": "race", "synccheck": "barrier or shuffle", "initcheck": "nobody wrote it"}


def rungs_in_emulator(folder: str) -> str:
    """The row of a lab: its CUDA rungs."""
    reasons: dict[str, list[str]] = {}
    for inc in sorted((ROOT / "labs" / folder).glob("rungs*.inc")):
        for backend, name, rest in judged.RUNG.findall(inc.read_text(encoding="utf-8")):
            if backend.startswith("CUDA"):
                lacks = "instructions that it lacks" if ".gpu = true" in rest else "the vendor's library" if ".baseline" in rest else ""
                reasons.setdefault(lacks, []).append(f"`{name}`")
    counted = ROOT / f"docs/results/counts/ncu/{folder[3:]}.json"
    twins = [f"`{row['twin']}`" for row in json.loads(counted.read_text(encoding="utf-8"))["variants"]] if counted.is_file() else []
    runs = len(reasons.pop("", []))
    needing = [f"{', '.join(names)}: {reason}" for reason, names in sorted(reasons.items())]
    count = runs + sum(map(len, reasons.values()))
    return f"| {folder[3:]} | {count} | {runs} | {', '.join(dict.fromkeys(twins))} | {'; '.join(needing)} |"


def page() -> str:
    """What the emulator runs, and what it and a GPU say of the same faults."""
    rows, missed, found = [], [], []
    for folder in judged.folders(ROOT):
        mistakes = [mistake for mistake in mistakes_of(MISTAKES / f"{folder}.toml") if mistake.backend == "cuda"]
        kept = Kept([one for mistake in mistakes for one in (mistake, mistake.in_emulator())])

        def said(mistake: Mistake) -> str:
            if not (entry := kept.entries[folder].get(mistake.entry)):
                return "due"
            star = "" if kept.known(mistake) else "*"
            return f"{entry.verdict}: {REPORTED.get(entry.by, entry.by)}".removesuffix(": ") + star

        for mistake in mistakes:
            if not (emulated := kept.entries[folder].get(mistake.in_emulator().entry)):
                continue
            rows.append(f"| {mistake.lab} | `{mistake.id}` | {mistake.finder} | {said(mistake.in_emulator())} | {said(mistake)} |")
            found += [REPORTED.get(emulated.by, "results")] if emulated.verdict == "rejected" else []
            if emulated.verdict == "accepted":
                missed.append(f"- `{mistake.id}` of {mistake.lab}, which {mistake.student}: {mistake.emulator or mistake.accepted or 'not explained'}")
    counts = ", ".join(f"{word} {found.count(word)}" for word in ("results", *REPORTED.values()))
    return PAGE.format(rungs="\n".join(map(rungs_in_emulator, judged.folders(ROOT))), rows="\n".join(rows), missed="\n".join(missed) or "None of these.",
                       counts=f"{len(rows)} faults judged, {len(found)} rejected, {len(missed)} accepted. What rejected them: {counts}.")


def exit_code(verdicts: list[tuple[Mistake, Verdict]]) -> int:
    words = {verdict.word for mistake, verdict in verdicts if not (mistake.accepted and verdict.word == "accepted")}
    if "not judged" in words:
        return 2
    if words - {"rejected", "skipped", "timeout"}:
        return 1
    if "timeout" in words:
        return 3
    return 4 if words == {"skipped"} else 0


def main(words: list[str]) -> int:
    arguments = parsed(words)
    if arguments.table:
        (ROOT / "docs/emulated.md").write_text(page(), encoding="utf-8")
        return 0
    mistakes = chosen(arguments)
    kept = Kept(mistakes)
    if not (arguments.ids or arguments.mistakes == "all"):
        mistakes = kept.chosen(mistakes, random.randrange(10**6) if arguments.seed is None else arguments.seed)
    build = Build(arguments.build, sorted({mistake.lab for mistake in mistakes}))
    build.must_be_finished()
    verdicts, differing = [], []
    with tempfile.TemporaryDirectory(prefix="gpulab-mistakes-") as scratch:
        judge = Judge(build, Path(scratch).resolve(), arguments)
        pool = ThreadPoolExecutor(arguments.jobs + arguments.tests)
        try:
            futures = {pool.submit(judge.verdict, mistake): mistake for mistake in mistakes}
            for future in as_completed(futures):
                mistake, verdict = futures[future], future.result()
                verdicts.append((mistake, verdict))
                if before := kept.add(mistake, verdict):
                    differing.append(f"another verdict than before: {mistake.name}: {verdict.word}, not {before}")
                if mistake.accepted and verdict.word == "rejected":
                    verdict = Verdict("rejected", f"although the row says why not; {verdict.by}", verdict.seconds)
                where = " in the emulator" if mistake.emulated else ""
                print(f"{mistake.name + where:<50} {verdict.word} ({verdict.seconds:.0f} s) {verdict.by}", flush=True)
        finally:
            judge.processes.stop()
            pool.shutdown(cancel_futures=True)
    counts = {word: sum(verdict.word == word for _, verdict in verdicts) for word in sorted({v.word for _, v in verdicts})}
    print(f"{len(verdicts)} mistakes: " + ", ".join(f"{count} {word}" for word, count in counts.items()))
    for mistake, verdict in verdicts:
        if verdict.word == "accepted" and not mistake.accepted:
            print(f"accepted, and must not be: {mistake.name}: {mistake.student}")
    for line in differing:
        print(line)
    code = exit_code(verdicts) or (1 if differing else 0)
    if code == 4:
        print(f"skipped: {verdicts[0][1].by}")  # for cmake/SummariseTests.cmake
    return code


def program() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        sys.exit(main(sys.argv[1:]))
    except Fault as fault:
        print(f"plant.py: {fault}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    program()
