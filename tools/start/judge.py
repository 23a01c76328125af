"""Judges one puzzle: runs its kernel on the OpenCL device, and in Oclgrind where that is installed. In CUDA: cuda_judge.py."""

import json
import shutil
import signal
import subprocess
from dataclasses import dataclass, field

import run
from cases import CASES
from command import Refusal
from picture import outside, picture
from plugin import plugin

from grading.exercises import is_unsolved
from grading.races import in_words

SECONDS = 10  # for a kernel that takes none: one that does not end
# Of processor time, which compiling and a small launch need a part of, however busy the machine is. Threads that spin use it up soon.
PROCESSOR_SECONDS = 5
RACES = ["--data-races", "--uniform-writes"]  # of Oclgrind; the latter: also where all write the same value
CRASHED, NOT_COMPILED = "it crashed", "it does not compile"
OUTSIDE = {"read": "an item reads outside of an array", "write": "an item writes outside of an array"}
DIVERGENT = "some items reach a barrier, and others do not"
REPORTS = {"Invalid read": OUTSIDE["read"], "Invalid write": OUTSIDE["write"], "divergence": DIVERGENT}


@dataclass
class Verdict:
    state: str  # right, wrong or unsolved
    printed: list[str] = field(default_factory=list)
    picture: list[str] = field(default_factory=list)


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

    def judge(self, puzzle, path, stub):
        text = path.read_text(encoding="utf-8", errors="replace")
        cases = self.cases(puzzle)
        fault, answers = self.launched(path, cases)
        faults = [fault] if fault else self.values(cases, answers)
        shown = []
        if self.can_simulate(fault):
            small = [case for case in cases if is_small(case)]
            more, shown = self.simulated(puzzle, path, text, small, not faults)
            faults += more
        unsolved = is_unsolved(stub, text)
        return Verdict("unsolved" if unsolved else "wrong" if faults else "right", faults, shown)

    def cases(self, puzzle):
        return CASES[int(puzzle["file"][0])]

    def values(self, cases, answers):
        return values(cases, answers)

    def can_simulate(self, fault):
        return (not fault or CRASHED in fault) and shutil.which("oclgrind")

    def launched(self, path, cases):
        """Why the kernel did not run, or ""; and a dictionary for each case."""
        command = self.command(path, cases)
        if all(is_small(case) for case in cases):
            command = ["sh", "-c", f'ulimit -S -t {PROCESSOR_SECONDS} && exec "$@"', "sh", *command]
        try:
            ran = subprocess.run(command, capture_output=True, text=True, check=False, errors="replace", timeout=SECONDS,
                                 stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            ran = None
        if not ran or ran.returncode == -signal.SIGXCPU:
            return "it does not seem to end. Does each loop end? Do all items reach each barrier?", []
        return ended(ran)

    def command(self, path, cases):
        return [str(self.program), str(path), json.dumps([{"items": case.items, "group": case.group,
                                                           "arguments": list(case.arguments.values())} for case in cases])]

    def simulated(self, puzzle, path, text, cases, right):
        """What the simulator finds, and the picture of the first launch. @param right whether no fault has been found so far"""
        try:
            launches, ran = self.run_simulated(path, cases)
        except subprocess.TimeoutExpired:
            return [f"it did not end within {SECONDS} s in {self.simulator}"], []
        fault, answers = ended(ran)
        faults = outside(cases[0], launches[0]) if launches else []
        faults += self.reported(ran, text)
        if "data race" in ran.stderr:
            faults.append(f"a race: {self.race(path, text, cases)}")
        if right and not faults:
            faults = [f"in {self.simulator}: {one}" for one in ([fault] if fault else values(cases, answers))]
        if right and not faults and launches:
            faults = lacking(puzzle, launches[0])
        return faults, picture(cases[0], launches[0], text) if launches else []

    def run_simulated(self, path, cases, guards=True):
        """The launches as the plugin of Oclgrind notes them, and the process that has ended. @throws subprocess.TimeoutExpired"""
        environment = {} if guards else {"GPULAB_GUARD_BYTES": "0"}
        return run.simulated(self.library if guards else None, self.command(path, cases), RACES, steps=3000, seconds=SECONDS, **environment)

    def reported(self, ran, text):
        """What the simulator says beside races."""
        return [words for report, words in REPORTS.items() if report in ran.stderr]

    def race(self, path, text, cases):
        """A race in words. Without guard bands, because elements are counted from the beginning of an allocation."""
        _, ran = self.run_simulated(path, cases, guards=False)
        return in_words(ran.stderr, {path.name: text})[0] or (
            "two items use the same element, at least one of them writes, and no barrier stands between them")


def is_small(case):
    """Does it take no time, and can it be simulated?"""
    return case.items[0] < 1000


def ended(ran):
    """Why a run gave no answer, or ""; and its answers."""
    if ran.returncode == 0:
        return "", [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    lines = (ran.stderr.strip() or f"it ended with {ran.returncode}").splitlines()
    if ran.returncode == 1:
        return f"{NOT_COMPILED}: " + next((line for line in lines if "error:" in line), lines[0]).strip(), []
    if ran.returncode < 0:
        return f"{CRASHED} (signal {-ran.returncode}): an index far outside of its array, or a barrier that some items miss?", []
    return lines[-1], []


def values(cases, answers):
    """The first fault of the results."""
    for case, answer in zip(cases, answers):
        where = f"{case.words}: " if len(cases) > 1 else ""
        arrays = [name for name, one in case.arguments.items() if isinstance(one, list)]
        if "stray" in answer:
            return [f"{where}an item writes outside of {arrays[answer['stray']]}"]
        for name, got in zip(arrays, answer["buffers"]):
            wanted = case.expected.get(name, case.arguments[name])
            wrong = [i for i, pair in enumerate(zip(got, wanted)) if pair[0] != pair[1]]
            if wrong:
                i = wrong[0]
                what = "has not been written" if got[i] is None else f"is {got[i]}, and should be {wanted[i]}"
                more = f" ({len(wrong)} of {len(wanted)} elements are wrong)" if len(wanted) > 1 else ""
                return [f"{where}{name}[{i}] {what}{more}"]
    return []


def lacking(puzzle, launch):
    """What the counts show to be missing although the values are right."""
    total = lambda name: sum(site[name] for site in launch["sites"])
    needs = puzzle.get("needs")
    if needs == "local memory" and not any(site["space"] == "local" and site["kind"] == "store" for site in launch["sites"]):
        return ["the values are right, but no item writes to local memory"]
    if needs == "three barriers" and launch["barriers"] < 3:
        return [f"the value is right, but the group meets at {launch['barriers']} barriers: three steps need three"]
    if needs == "whole sectors" and total("sectors") > total("min_sectors"):
        return [f"the values are right, but {total('sectors')} sectors are moved where {total('min_sectors')} would do"]
    return []
