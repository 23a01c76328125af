"""Which known mistake a wrong kernel behaves like: both get the same cases, and their answers are wrong in the same way.

The known mistakes are those of tests/mistakes/ that stand in the file of the exercise, and that values or guard bands show. Each is
planted in the rung, and run as the rung is. The answers of a mistake to a test are looked at once for all submissions, and only if
it agreed with one in the tests before.
"""

from __future__ import annotations

import math
import struct
import threading
from array import array
from dataclasses import dataclass, field
from typing import Any

from . import marks
from .exercises import Exercise, Lab, Part
from .judge import FAILED, HEAD, PASSED, Judge, Result, Run

FINDERS = ("values", "guard bands")  # of mistakes that show each time, and on every device
MAX_KEPT = 256  # wrong numbers of an answer; of more, those are kept whose place is chosen
NOISE = {"f": 1e-5, "d": 1e-11}  # relative: a sum in another order is no other answer
NEAR = 0.01  # of the error: two answers with errors that differ by more are wrong in two ways
MAX_ODD = 0.02  # of the wrong numbers may be wrong in another way
ORDINARY = (1e-12, 1e12)  # numbers outside are mostly no floating-point numbers, but integers or bytes


@dataclass(frozen=True)
class Answer:
    """What is wrong with the answer to a case."""

    passed: bool
    printed: bytes = b""  # in place of numbers: the message of a stray write
    exact: bool = False  # whether another answer must have the same bits to be wrong in the same way
    count: int = 0  # of the wrong numbers
    size: int = 0  # of the answer, in numbers
    wrong: dict[int, tuple[int, float, float]] = field(default_factory=dict)  # by place: bits, the number, the right one


class Mistakes:
    """The known mistakes of a lab, and how they answer the tests of a class."""

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self.known: dict[tuple[str, str, str], list[Answer] | None] = {}  # by exercise, test and mistake
        self.running = threading.Lock()

    def describe(self, exercise: Exercise, part: Part, content: bytes, results: list[Result], slot: int) -> None:
        """Writes into the result of the first test in which values are wrong which known mistakes fail in the same way, if any does.

        @param results of all tests of the exercise
        """
        for one in results:  # of an earlier run, perhaps
            one.behaves = ""
        outcome = {one.test: one.outcome for one in results}
        tests = [test for test in exercise.tests if test.check == "values"]
        tests.sort(key=lambda test: outcome[test.name] == PASSED)  # the telling ones first
        if part.backend != "opencl" or {outcome[test.name] for test in tests} not in ({FAILED}, {FAILED, PASSED}):
            return
        rows = rows_of(self.judge.lab, part)
        judge = self.judge
        with judge.handed_in(exercise, part, content, slot) as kernels:
            program = judge.sandbox.installed(judge.worker_program(part))
            runs = [Run(judge, exercise, part, test, program, kernels, slot, left=judge.exercise_seconds) for test in tests]
            own = self.looked_at(runs, "")
            if not own or any(all(one.passed for one in own[name]) != (outcome[name] == PASSED) for name in own):
                return  # it is another one each time
            for some in (runs[:1], runs[1:]):  # most mistakes differ in the first test
                rows = [row for row in rows if self.agrees(row, some, own)]
        next(one for one in results if one.test == tests[0].name).behaves = sentence(rows)

    def agrees(self, row: dict[str, Any], runs: list[Run], own: dict[str, list[Answer]]) -> bool:
        """Whether a mistake answers these tests as a submission does."""
        names = {run.test.name: (run.exercise.name, run.test.name, row["id"]) for run in runs}
        with self.running:
            new = [run for run in runs if names[run.test.name] not in self.known]
            if new:
                text = marks.planted(self.judge.lab.rung(new[0].part.file), row, row["file"])
                found = self.looked_at(new, text) or {}
                self.known.update({names[run.test.name]: found.get(run.test.name) for run in new})
        return all(agree(own[test], self.known[name]) for test, name in names.items())

    def looked_at(self, runs: list[Run], text: str) -> dict[str, list[Answer]] | None:
        """What is wrong with the answers to the cases of these tests, by test; None when not all are answered.

        @param text in place of that of the rung; "": what was handed in, which runs as its student's user
        """
        cases = [(run, case) for run in runs for case in run.cases()]
        run, asked = runs[0], [case for _, case in cases]
        with self.judge.turns.beside_others():
            if text:
                answers, _, _ = run.of_rung(asked, run.program, text)
            else:
                with run.started(run.program, run.kernels) as worker:
                    answers, _ = run.asked(worker, asked)
            if len(answers) < len(cases):
                return None
            right: list[bytes] = sum((self.judge.once(("right", one.exercise.name, one.test.name),
                                                      lambda: one.of_rung(one.cases(), one.program)[0]) for one in runs), [])
            if len(right) < len(cases):  # the rung does not answer all in time
                return None
            verdicts = run.checked(asked, answers)
        found: dict[str, list[Answer]] = {one.test.name: [] for one in runs}
        for (one, case), answer, expected, verdict in zip(cases, answers, right, verdicts):
            found[one.test.name].append(answer_of(case, answer, expected, verdict["status"] == PASSED))
        return found


def rows_of(lab: Lab, part: Part) -> list[dict[str, Any]]:
    """The known mistakes that a submission is compared with: not those whose rung somebody has changed since."""
    return [row for row in lab.mistakes() if row["file"] == part.file and row.get("finder", "values") in FINDERS and
            marks.fits(lab.rung(part.file), row)]


def sentence(rows: list[dict[str, Any]]) -> str:
    """What these mistakes do, in words. Several cannot be told apart by the tests."""
    if not rows:
        return ""
    return f"Your kernel behaves like one that {'; or like one that '.join(row['student'] for row in rows)}."


def answer_of(case: dict[str, Any], answer: bytes, right: bytes, passed: bool) -> Answer:
    """What is wrong with an answer. @param right what the rung answers"""
    if passed:
        return Answer(True)
    if answer[:HEAD] != bytes(HEAD) or len(answer) != len(right):
        return Answer(False, answer[:1000])
    form = "d" if case.get("type") == "double" else "f"
    one, other = (array(form, padded(text[HEAD:])) for text in (answer, right))
    bits, right_bits = (array({"d": "Q", "f": "I"}[form], numbers.tobytes()) for numbers in (one, other))
    sizes = [abs(x) for x in other[1:1000] if x and math.isfinite(x)]
    exact = sum(ORDINARY[0] < size < ORDINARY[1] for size in sizes) <= len(sizes) // 2
    other_bits = [at for at, (x, y) in enumerate(zip(bits, right_bits)) if x != y]
    wrong = [at for at in other_bits if not abs(one[at] - other[at]) <= NOISE[form] * abs(other[at])] if not exact else []
    if not wrong:  # the last digits
        exact, wrong = True, other_bits
    kept = wrong if len(wrong) <= MAX_KEPT else [at for at in wrong if chosen(at, len(one))]
    return Answer(False, b"", exact, len(wrong), len(one), {at: (bits[at], one[at], other[at]) for at in kept})


def padded(text: bytes) -> bytes:
    return text + bytes(-len(text) % 8)


def chosen(at: int, size: int) -> bool:
    """Whether a place is one of about MAX_KEPT that are looked at in an answer with many wrong numbers."""
    return at * 2654435761 % (1 << 32) * size < (1 << 32) * MAX_KEPT


def agree(own: list[Answer], other: list[Answer] | None) -> bool:
    """Whether the same cases are right, and the others wrong in the same way."""
    return other is not None and all(map(same, own, other))


def same(one: Answer, other: Answer) -> bool:
    if (one.passed, one.printed, one.exact, one.size) != (other.passed, other.printed, other.exact, other.size):
        return False
    if abs(one.count - other.count) > MAX_ODD * max(one.count, other.count):
        return False
    places = one.wrong.keys() | other.wrong.keys()
    if max(one.count, other.count) > MAX_KEPT:
        places = {at for at in places if chosen(at, one.size)}
    odd = sum(at not in one.wrong or at not in other.wrong or not near(one.wrong[at], other.wrong[at], one.exact) for at in places)
    return odd <= MAX_ODD * len(places)


def near(one: tuple[int, float, float], other: tuple[int, float, float], exact: bool) -> bool:
    """Whether two wrong numbers are about the same. What nobody has written is a NaN of its own, and no result."""
    if exact or one[0] == other[0]:
        return one[0] == other[0]
    if not math.isfinite(one[1]) or not math.isfinite(other[1]):
        return math.isnan(one[1]) and math.isnan(other[1]) and computed(one[1]) and computed(other[1])
    sizes = [abs(number[1] - number[2] if math.isfinite(number[2]) else number[1]) for number in (one, other)]
    return abs(one[1] - other[1]) <= NEAR * min(sizes)


def computed(number: float) -> bool:
    """Whether a NaN is one that comes from a calculation, such as 0/0: its other bits are zeros."""
    return struct.pack(">d", abs(number))[2:] == bytes(6)
