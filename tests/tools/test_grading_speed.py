"""Points for speed. Nothing else runs beside these tests. GPULAB_LAB chooses a lab."""

from grading_support import judge, told, with_tests

GRADINGS = 3  # of which one must give all points: the machine may be busy with something else for as long as one takes


def test_the_rung_of_an_exercise_is_as_fast_as_itself(judge):
    for exercise, part in judge.lab.parts():
        wanted = with_tests(exercise, lambda one: one.check == "speed")
        if wanted.tests and not judge.why_not(part):
            for _ in range(GRADINGS):
                rung = judge.judge(wanted, part, judge.lab.rung(part.file).encode(), 0)
                if all(one.score == one.points for one in rung):
                    break
            assert all(one.score == one.points for one in rung), f"{exercise.name}: {told(rung)}"
