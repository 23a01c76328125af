"""Points for speed. Nothing else runs beside these tests. GPULAB_LAB chooses a lab."""

import dataclasses

from grading_support import changed, exercise_of, judge, saxpy, told, with_tests  # noqa: F401

GRADINGS = 3  # of which one must give all points: the machine may be busy with something else for as long as one takes
# A kernel that keeps its result in its own input, which nobody reads afterwards, and finds it there in the next repeat.
REPLAYS = {
    "opencl": ("if (i < n) c[i] = k * a[i] + b[i];", """if (i >= n) return;
    if (b[i] != 77.0f) {
        ((global float*)a)[i] = k * a[i] + b[i];
        ((global float*)b)[i] = 77.0f;
    }
    c[i] = a[i];"""),
    "cuda": ("if (i < n) c[i] = k * a[i] + b[i];", """if (i >= n) return;
    if (b[i] != 77.0f) {
        const_cast<float*>(a)[i] = k * a[i] + b[i];
        const_cast<float*>(b)[i] = 77.0f;
    }
    c[i] = a[i];"""),
}


def test_the_rung_of_an_exercise_is_as_fast_as_itself(judge):
    for exercise, part in judge.lab.parts():
        wanted = with_tests(exercise, lambda one: one.check == "speed")
        if wanted.tests and not judge.why_not(part):
            for _ in range(GRADINGS):
                rung = judge.judge(wanted, part, judge.lab.rung(part.file).encode(), 0)
                if all(one.score == one.points for one in rung):
                    break
            assert all(one.score == one.points for one in rung), f"{exercise.name}: {told(rung)}"


def repeated(exercise, **more):
    """An exercise with the small cases of its tests of values that run a kernel several times, and further fields for them."""
    tests = [dataclasses.replace(one, cases=[case | {"repeats": 9} | more for case in one.problems() if case.get("repeats", 1) > 1])
             for one in exercise.tests if one.check == "values"]
    return dataclasses.replace(exercise, tests=[one for one in tests if one.cases])


def test_an_input_that_changes_between_repeats_changes_for_a_rung_and_for_the_judge(judge):
    for exercise, part in judge.lab.parts():
        wanted = repeated(exercise, changes=5)
        if wanted.tests and not judge.why_not(part):
            rung = judge.judge(wanted, part, judge.lab.rung(part.file).encode(), 0)
            assert all(one.score == one.points for one in rung), f"{exercise.name}: {told(rung)}"


def test_a_kernel_that_hands_in_the_result_of_an_earlier_repeat_is_wrong_where_an_input_changes(saxpy):
    exercise, _ = exercise_of(saxpy, "many-blocks")
    for backend, part in exercise.parts.items():
        if saxpy.why_not(part):
            continue
        content = changed(saxpy.lab.rung(part.file), REPLAYS[backend]).encode()
        kept, wrong = (saxpy.judge(repeated(exercise, **more), part, content, 0) for more in ({}, {"changes": 5}))
        assert all(one.score == one.points for one in kept), told(kept)  # this is what it would gain time with
        assert all(one.score == 0 and "elements wrong" in one.message for one in wrong), told(wrong)


def test_repeats_and_changes_of_a_timed_case_are_not_known_before(saxpy):
    from grading.judge import Run  # noqa: PLC0415
    exercise, part = exercise_of(saxpy, "many-blocks")
    run = Run(saxpy, exercise, part, exercise.tests[0], None, None, 0)
    cases = [{"n": 1, "repeats": 100}, {"n": 1, "repeats": 5}, {"n": 1}]
    one, other, third = (run.unforeseen(cases, number) for number in (1, 1, 2))
    assert [case.get("repeats") for case in one] == [case.get("repeats") for case in other]  # of the rung and of the submission
    assert one[0]["repeats"] != third[0]["repeats"] and 88 <= one[0]["repeats"] <= 100 and one[1]["repeats"] == 5
    assert one[0]["changes"] != other[0]["changes"] and one[2] == {"n": 1}
