"""Which known mistakes a wrong kernel behaves like. That each names itself: see test_grading_labs.py."""

import re
import struct

import pytest
from grading_support import LABS, ROOT, exercise_of, judge_of, saxpy, told, with_tests

from grading import marks
from grading.behaves import MAX_KEPT, Mistakes, agree, answer_of, rows_of, sentence
from grading.exercises import load
from grading.judge import FAILED, HEAD, PASSED, TIMED_OUT


def rows():
    for name in LABS:
        lab = load(ROOT, name)
        for exercise, part in lab.parts():
            if part.backend == "opencl":
                for row in rows_of(lab, part):
                    yield exercise, row


def test_what_a_mistake_does_is_a_sentence_that_tells_no_hidden_size():
    found = 0
    for exercise, row in rows():
        printed = row["student"]
        found += 1
        assert re.match(r"[a-z]+s(-| )", printed) and not printed.endswith("."), f"{row['id']}: 'one that {printed}' is no sentence"
        assert not re.search(r"[<>=`]|\bexercise\b|\bprinted\b|\(here", printed), f"{row['id']}: this is no behaviour: {printed}"
        hidden = {number for test in exercise.tests if not test.visible for number in re.findall(r"\d+", repr(test.cases))}
        sizes = {number for number in re.findall(r"\d+", printed) if int(number) > 9 and number in hidden}
        assert not sizes - {"16", "32"}, f"{row['id']} tells a hidden size: {printed}"  # of vectors and warps
    assert found >= 10


# Answers to one case: what is wrong with them is the same or not.


def answer(numbers, form="f"):
    return bytes(HEAD) + struct.pack("<Q", len(numbers)) + struct.pack(f"<{len(numbers)}{form}", *numbers)


def same(one, other, right, form="f"):
    case = {"type": {"f": "float", "d": "double", "i": "int"}[form]}
    looked = [answer_of(case, answer(numbers, form), answer(right, form), numbers == right) for numbers in (one, other)]
    assert agree(looked[:1], looked[1:]) == agree(looked[1:], looked[:1])
    return agree(looked[:1], looked[1:])


NAN, POISON = float("nan"), struct.unpack("<f", b"\xff" * 4)[0]
RIGHT = [float(i % 97 + 1) for i in range(1000)]


def but(numbers, changes):
    return [changes.get(at, number) for at, number in enumerate(numbers)]


@pytest.mark.parametrize("one, other, agrees", [
    (RIGHT, RIGHT, True),
    (RIGHT, but(RIGHT, {7: 0.0}), False),
    (but(RIGHT, {7: 0.0}), but(RIGHT, {7: 0.0}), True),
    (but(RIGHT, {7: 0.0}), but(RIGHT, {8: 0.0}), False),
    (but(RIGHT, {7: 0.0}), but(RIGHT, {7: 1.0}), False),
    (but(RIGHT, {7: 0.0}), but(RIGHT, {7: 0.0, 9: 0.0}), False),
    (but(RIGHT, {7: 0.0}), but(RIGHT, {7: 1e-3}), True),
    (but(RIGHT, {7: 0.0}), but(RIGHT, {7: 0.0, 9: RIGHT[9] * (1 + 1e-6)}), True),
    (but(RIGHT, {7: NAN}), but(RIGHT, {7: -NAN}), True),
    (but(RIGHT, {7: NAN}), but(RIGHT, {7: POISON}), False),
    (but(RIGHT, {7: POISON}), but(RIGHT, {7: POISON}), True),
    (but(RIGHT, {7: POISON}), but(RIGHT, {7: 0.0}), False),
    (but(RIGHT, {7: float("inf")}), but(RIGHT, {7: 0.0}), False),
    ([2 * x for x in RIGHT], [2 * x for x in RIGHT], True),
    ([2 * x for x in RIGHT], [3 * x for x in RIGHT], False),
    ([2 * x for x in RIGHT], [2 * x for x in RIGHT[:-40]] + RIGHT[-40:], False),
    (RIGHT[:-300] + [0.0] * 300, RIGHT[:-400] + [0.0] * 400, False),
    # Wrong in their last digits only: the same bits are needed.
    ([x * (1 + 2e-7) for x in RIGHT], [x * (1 + 2e-7) for x in RIGHT], True),
    ([x * (1 + 2e-7) for x in RIGHT], [x * (1 + 4e-7) for x in RIGHT], False),
])
def test_answers_are_wrong_in_the_same_way_or_not(one, other, agrees):
    assert same(one, other, RIGHT) == agrees
    assert same(one * 300, other * 300, RIGHT * 300) == agrees, "the same in a large answer"


def test_answers_without_ordinary_numbers_need_the_same_bits():
    right = list(range(1000))
    assert same([x + 1 for x in right], [x + 1 for x in right], right, "i")
    assert not same([x + 100 for x in right], [x + 101 for x in right], right, "i")
    assert same([x + 1.0 for x in right], [x + 1.0 + 1e-4 for x in right], [float(x) for x in right], "d")


def test_messages_and_lengths_are_compared_and_what_is_not_answered_agrees_with_nothing():
    right = answer(RIGHT)
    for one, other, agrees in ((b"\1past", b"\1past", True), (b"\1past", b"\1before", False), (b"\1past", answer([0.0] * 1000), False),
                               (answer([0.0]), answer([0.0]), True), (answer([0.0]), answer([0.0] * 1000), False)):
        assert agree([answer_of({}, one, right, False)], [answer_of({}, other, right, False)]) == agrees
    assert not agree([answer_of({}, right, right, True)], None)
    assert not agree([answer_of({}, right, right, True)], [answer_of({}, right, right, False)])
    assert len(answer_of({}, answer([0.0] * 10**5), answer(RIGHT * 100), False).wrong) <= 2 * MAX_KEPT


# Kernels


REWRITTEN = {  # a mistake in other words, and the mistake
    "another way to count": ("saxpy", "many-blocks", "opencl-first-group-only", """
kernel void saxpy(float factor, global const float* x, global const float* y, global float* out, ulong count) {
    // this is mine
    const size_t mine = get_global_id(0) - get_group_id(0) * get_local_size(0);
    if (mine >= count) return;
    const float product = factor * x[mine];
    out[mine] = product + y[mine];
}"""),
    "another loop": ("reduction", "tree", "opencl-sum-stops-early", """
#ifdef REAL_IS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
kernel void tree_sequential(global const REAL* a, ulong n, local REAL* s, global REAL* sums) {
    const uint item = get_local_id(0);
    s[item] = 0;
    if (get_global_id(0) < n) s[item] = a[get_global_id(0)];
    uint half_of_it = get_local_size(0) >> 1;
    while (half_of_it >= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < half_of_it) s[item] = s[item + half_of_it] + s[item];
        half_of_it >>= 1;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0) sums[get_group_id(0)] = s[item];
}"""),
    "another order of the sum": ("matmul", "one-thread-per-element", "opencl-last-product-lost", """
#if defined(REAL_IS_DOUBLE)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
kernel void multiply(global const REAL* a, global const REAL* b, global REAL* c, int m, int k, int n) {
    const int column = get_global_id(0), row = get_global_id(1);
    if (row >= m || column >= n) return;
    REAL total = 0;
    for (int l = k - 2; l >= 0; --l) total += b[(size_t)l * n + column] * a[(size_t)row * k + l];
    c[(size_t)row * n + column] = total;
}"""),
}


def behaviour_of(judge, title, text, mistakes=None):
    """What a submission is told of the mistakes that it behaves like, and the outcomes of its tests."""
    exercise, part = exercise_of(judge, title)
    values = with_tests(exercise, lambda one: one.check == "values")
    results = judge.judge(values, part, text.encode(), 0)
    (mistakes or Mistakes(judge)).describe(values, part, text.encode(), results, 0)
    printed = [one for one in results if one.behaves]
    assert len(printed) <= 1 and all(one.outcome == FAILED for one in printed), told(results)
    return printed[0].behaves if printed else "", {one.outcome for one in results}


@pytest.mark.parametrize("name", REWRITTEN)
def test_a_mistake_in_other_words_is_the_same_mistake(name, monkeypatch):
    lab, title, wanted, text = REWRITTEN[name]
    with judge_of(lab) as judge:
        rows = rows_of(judge.lab, exercise_of(judge, title)[1])
        row = next(row for row in rows if row["id"] == wanted)
        monkeypatch.setattr(type(judge.lab), "mistakes", lambda _: [row, *(one for one in rows[:4] if one is not row)])
        assert behaviour_of(judge, title, text)[0] == sentence([row])


def test_what_fails_as_no_known_mistake_and_what_is_right_gets_no_sentence(saxpy, monkeypatch):
    some = rows_of(saxpy.lab, exercise_of(saxpy, "many-blocks")[1])[2::3]
    monkeypatch.setattr(type(saxpy.lab), "mistakes", lambda _: some)
    rung, mistakes = saxpy.lab.rung("opencl/02_one_item.cl"), Mistakes(saxpy)
    for old, new, outcomes in (("+ b[i]", "+ b[i]", {PASSED}), ("+ b[i]", "+ 3 * b[i]", {FAILED}),
                               ("k * a[i]", "(k < 0 ? 1.1f * k : k) * a[i]", {FAILED, PASSED}),
                               ("    if (i < n)", "    for (volatile int on = 1; n == 256 && on;) {}\n    if (i < n)", {TIMED_OUT})):
        assert old in rung
        saxpy.case_seconds = 2 if TIMED_OUT in outcomes else saxpy.case_seconds
        printed, found = behaviour_of(saxpy, "many-blocks", rung.replace(old, new) + "// mine\n", mistakes)
        assert printed == "" and outcomes <= found, (new, printed, found)  # behind a test that timed out, others may time out, too


def test_mistakes_that_the_tests_cannot_tell_apart_are_all_named_and_one_that_fits_no_more_is_left_out(saxpy, monkeypatch):
    rows = {row["id"]: row for row in rows_of(saxpy.lab, exercise_of(saxpy, "many-blocks")[1])}
    gone = {"id": "gone", "file": "opencl/02_one_item.cl", "text": "no such text", "by": "", "student": "does nothing"}
    two = [rows[name] for name in rows if name in ("opencl-no-bounds-check", "opencl-less-or-equal")]
    monkeypatch.setattr(type(saxpy.lab), "mistakes", lambda _: [gone, *two])
    printed, _ = behaviour_of(saxpy, "many-blocks", marks.planted(saxpy.lab.rung("opencl/02_one_item.cl"), two[1], ""))
    assert printed == f"Your kernel behaves like one that {two[0]['student']}; or like one that {two[1]['student']}."
