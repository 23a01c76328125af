"""Judges one puzzle: runs its kernel on the OpenCL device, and in Oclgrind where that is installed. In CUDA: cuda_judge.py."""

import json
import re
import shutil
import signal
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import run
from cases import CASES, numbered
from command import Refusal
from ideas import lacking
from picture import local_array, outside, picture, unwritten
from plugin import plugin

from grading.exercises import is_unsolved
from grading.races import in_words
from grading.words import ENDLESS, in_opencl, lines_of

# Of processor time, however busy the machine is: what compiling and a small launch need a part of, and many large launches.
SECONDS, MANY_SECONDS = 5, 60
PATIENCE = 20  # times these by the clock: it ends what waits for something, and says nothing about a kernel
# sh -c THIS sh SECONDS FILE COMMAND...: what it prints goes to a file, and is lost where it is more than 16 MiB.
LIMITED = 'trap "" XFSZ; ulimit -f 32768; ulimit -S -t "$1"; printed=$2; shift 2; exec "$@" >"$printed"'
RACES = ["--data-races", "--uniform-writes"]  # of Oclgrind; the latter: also where all write the same value
CRASHED, NOT_COMPILED = "it crashed", "it does not compile"
STRAY = re.compile(r"(?:Invalid )?([Rr]ead|[Ww]rite)s? (?:of size )?\d+ (?:bytes of|at) (\w+) memory .*\n(?:(?:\t.*\n)*?\tAt line (\d+) )?")
RIGHT, OTHER_IDEA, NO_VERDICT = "right", "right, but not by this idea", "no verdict"


@dataclass
class Verdict:
    state: str  # RIGHT, wrong, unsolved, OTHER_IDEA or NO_VERDICT
    faults: list[str] = field(default_factory=list)
    picture: list[str] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)  # by the kernel


@dataclass
class Ran:
    """One run of the kernel, with several launches."""

    fault: str = ""  # why it gave no answer
    answers: list[dict] = field(default_factory=list)  # of each launch, up to the fault
    printed: list[str] = field(default_factory=list)
    reports: list[str] = field(default_factory=list)  # of the simulator, for each launch
    launches: list[dict] = field(default_factory=list)  # as the simulator notes them


class Judge:
    """Why nothing is counted here is in `without`, in one line; "" when it is."""

    simulator = "Oclgrind"

    def __init__(self, root, build):
        self.program, self.library, self.without = build / "bin/start", None, ""
        try:
            self.library = plugin(root, build)
        except Refusal as refusal:
            self.without = f"no pictures and no counts: {refusal}"
        if not shutil.which("oclgrind"):
            self.without += ". A race is found only where its result is wrong"

    def judge(self, puzzle, text, stub, columns=90):
        """@param text of the kernel: the file may be saved again meanwhile"""
        for _ in range(2):
            try:
                with tempfile.TemporaryDirectory(prefix="gpulab-start-") as scratch:
                    self.scratch = Path(scratch)
                    path = self.scratch / puzzle["file"]
                    path.write_text(text, encoding="utf-8")
                    one = self.judged(puzzle, path, text, columns)
                break
            except subprocess.TimeoutExpired:
                one = Verdict(NO_VERDICT, ["the machine is too busy, or the device hangs. Save the file again to try again"])
        if is_unsolved(stub, text):
            one.state = "unsolved"
        return one

    def judged(self, puzzle, path, text, columns):
        cases = CASES[numbered(puzzle)]
        small = [case for case in cases if is_small(case)]
        ran = self.launched(path, small)
        if not ran.fault and len(small) < len(cases) and not any(ran.printed):  # printing takes too long for the many
            more = self.launched(path, cases[len(small):])
            ran.fault, ran.answers = more.fault, ran.answers + more.answers
        at, fault = (len(ran.answers), ran.fault) if ran.fault else wrong(cases, ran.answers)
        faults, simulated = [fault] if fault else [], Ran()
        if self.can_simulate(ran.fault):
            simulated = self.simulated(path, small)
            found = [self.found(path, text, case, launch, report) for case, launch, report in
                     zip(small, simulated.launches + [None] * len(small), simulated.reports)]
            first = next((k for k, one in enumerate(found) if one), len(cases))
            if first < len(cases) and (not faults or first <= at):
                at, faults = first, (faults if first == at else []) + found[first]
            elif not faults and simulated.fault:
                at, faults = len(simulated.answers), [f"in {self.simulator}: {simulated.fault}"]
            elif not faults:
                at, fault = wrong(small, simulated.answers)
                faults = [f"in {self.simulator}: {fault}"] if fault else []
        state, at = "wrong" if faults else RIGHT, at if faults else 0
        if not faults and simulated.launches and (fault := lacking(puzzle, cases[0], simulated.launches[0])):
            state, faults = OTHER_IDEA, [fault]
        shown = picture(puzzle["needs"], cases[at], simulated.launches[at], text, columns) if at < len(simulated.launches) else []
        printed = next((lines for lines in map(lines_of, (ran.printed + simulated.printed)[at:at + 1]) if lines), [])
        return Verdict(state, faults, shown, printed)

    def can_simulate(self, fault):
        return (not fault or CRASHED in fault) and shutil.which("oclgrind")

    def launched(self, path, cases):
        """What the device gives."""
        seconds = SECONDS if all(map(is_small, cases)) else MANY_SECONDS
        ran = subprocess.run(self.command(path, cases, seconds), capture_output=True, text=True, check=False, errors="replace",
                             timeout=PATIENCE * seconds, stdin=subprocess.DEVNULL)
        return self.ended(ran)

    def command(self, path, cases, seconds=SECONDS):
        return ["sh", "-c", LIMITED, "sh", str(seconds), str(self.scratch / "printed"), *self.program_of(path), json.dumps(
            [{"items": case.items, "group": case.group, "arguments": list(case.arguments.values())} for case in cases]),
                str(self.scratch / "answers")]

    def program_of(self, path):
        return [str(self.program), str(path)]

    def ended(self, ran):
        """What a run has left behind."""
        texts = {}
        for name in ("answers", "printed"):
            file = self.scratch / name
            texts[name] = file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""
            file.unlink(missing_ok=True)
        return Ran(why_ended(ran), [json.loads(line) for line in texts["answers"].splitlines()], texts["printed"].split("\f")[1:],
                   ran.stderr.split("\f")[1:])

    def simulated(self, path, cases):
        """The same in the simulator."""
        launches, ran = self.run_simulated(path, cases)
        found = self.ended(ran)
        sizes = [answer.get("local", 0) for answer in found.answers]
        found.launches = [launch | {"local": size} for launch, size in zip(launches, sizes + [0] * len(launches))]
        return found

    def run_simulated(self, path, cases, guards=True):
        """The launches as the plugin of Oclgrind notes them, and the process that has ended. @throws subprocess.TimeoutExpired"""
        environment = {} if guards else {"GPULAB_GUARD_BYTES": "0"}
        return run.simulated(self.library if guards else None, self.command(path, cases), RACES, steps=3000,
                             seconds=PATIENCE * SECONDS, **environment)

    def found(self, path, text, case, launch, report):
        """What the simulator says of a launch, in words."""
        faults = outside(case, launch) if launch else []
        if not faults and (stray := STRAY.search(report)):
            name = local_array(text) or "its array in local memory" if stray[2] in ("local", "shared") else "an array"
            faults.append(f"an item {stray[1].lower()}s outside of {name}{f' at line {stray[3]}' if stray[3] else ''}")
        if "divergence" in report:
            faults.append("some items reach a barrier, and others do not")
        elif "data race" in report:
            faults.append(f"a race: {self.race(path, text, case)}")
        elif launch and not faults:
            faults += unwritten(launch, text)
        return faults

    def race(self, path, text, case):
        """A race in words. Without guard bands, because elements are counted from the beginning of an allocation."""
        _, ran = self.run_simulated(path, [case], guards=False)
        return in_words(ran.stderr.replace("\f", ""), {path.name: text})[0] or (
            "two items use the same element, at least one of them writes, and no barrier stands between them")


def is_small(case):
    """Does it take no time, and can it be simulated?"""
    return case.items[0] < 1000


def why_ended(ran):
    """Why a run gave no answer, or ""."""
    if ran.returncode == 0:
        return ""
    if ran.returncode == -signal.SIGXCPU:
        return ENDLESS
    lines = (ran.stderr.strip() or f"it ended with {ran.returncode}").splitlines()
    if ran.returncode == 1:
        error = next((line for line in lines if "error:" in line), lines[0]).strip()
        return f"{NOT_COMPILED}: {error}{in_opencl(ran.stderr)}"
    if ran.returncode < 0:
        return f"{CRASHED} (signal {-ran.returncode}): an index far outside of its array, or a barrier that some items miss?"
    return lines[-1]


def wrong(cases, answers):
    """The first launch whose results are wrong, and the first fault of them; "" where all are right."""
    for k, (case, answer) in enumerate(zip(cases, answers)):
        where = f"{case.words}: " if len(cases) > 1 else ""
        arrays = [name for name, one in case.arguments.items() if isinstance(one, list)]
        if "stray" in answer:
            return k, f"{where}an item writes outside of {arrays[answer['stray']]}"
        for name, got in zip(arrays, answer["buffers"]):
            wanted = case.expected.get(name, case.arguments[name])
            differ = [i for i, pair in enumerate(zip(got, wanted)) if pair[0] != pair[1]]
            if differ:
                i = differ[0]
                what = "has not been written" if got[i] is None else f"is {got[i]}, and should be {wanted[i]}"
                more = f" ({len(differ)} of {len(wanted)} elements are wrong)" if len(wanted) > 1 else ""
                return k, f"{where}{name}[{i}] {what}{more}"
    return len(cases), ""

