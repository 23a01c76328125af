"""What a judge looks at, and what it tells."""

import argparse
import dataclasses
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from grading_kept import Kept
from grading_support import (HAS_OCLGRIND, ROOT, TAMPERING, VARIABLES, exercise_of, hidden_races, judge_of, needs_oclgrind, of_values,
                             results_of, saxpy, told, why_not_compiled, with_tests)

from grading import clock, grade, judge as judging, report
from grading.exercises import load
from grading.fault import Fault
from grading.judge import BUILD_ERROR, FAILED, NOT_GRADED, PASSED, TIMED_OUT
from grading.sandbox import Sandbox
from grading.submission import Submission


HONEST = """
#if __OPENCL_C_VERSION__ >= 120 && defined(cl_khr_fp64)
#define WAIT(kind) barrier(CLK_##kind##_MEM_FENCE)
#else
#error "this is older than OpenCL C 1.2"
#endif
#define TEXT(x) #x
#define LOG(x) if (n == 0) printf("%s\\n", TEXT(x))
static __inline__ float same(const global float* __restrict__ p) { return *p; }
"""


@needs_oclgrind
def test_all_compilers_get_the_same_text_and_a_macro_costs_nobody_points():
    with judge_of("reduction") as judge:
        rung = judge.lab.rung("opencl/02_tree_sequential.cl")
        first, wait = "    x[me] = i < n", "barrier(CLK_LOCAL_MEM_FENCE);"
        assert rung.count(first) == 1 and rung.count(wait) == 2
        racy = f"%:ifndef __SPIR\\\n__\n#define RACY\n#endif\n{rung}".replace(wait, f"\n#ifndef RACY\n{wait}\n#endif\n")
        [one] = results_of(judge, "tree", text=racy, tests=hidden_races)
        assert one.outcome == FAILED and "barrier" in one.message, "a text without barriers, which only Oclgrind would have: " + told([one])
        honest = HONEST + rung.replace(wait, "WAIT(LOCAL);").replace(first, f"    LOG(me + 1);\n{first}")
        results = results_of(judge, "tree", text=honest, tests=lambda one: one.check in ("races", "cost") or one.visible and one.check == "values")
        assert {one.outcome for one in results} == {PASSED}, told(results)
        first_test = exercise_of(judge, "tree")[0].tests[0].name
        for text, words in ((f"#if __has_include(\"/proc/1/comm\")\n#endif\n{rung}", "__has_include"),
                            (f"#include \"/proc/self/comm\"\n{rung}", "#include names no file here")):
            [one] = results_of(judge, "tree", text=text, tests=lambda one: one.name == first_test)
            assert one.outcome == BUILD_ERROR and words in one.message, told([one])


@needs_oclgrind
def test_what_was_not_written_or_takes_only_the_submission_long_in_oclgrind_is_no_fault_of_the_compiler(monkeypatch):
    monkeypatch.setattr(judging, "BESIDES", 8.0)
    with judge_of("reduction") as judge:
        if not judge.on_pocl:
            pytest.skip("OpenCL does not run on PoCL here")
        rung = judge.lab.rung("opencl/02_tree_sequential.cl")
        begin = "    x[me] = i < n"

        def of_kernel(line, tests):
            return results_of(judge, "tree", (begin, line + begin), tests=tests)
        other = "    if (((ulong)a >> 48) == 0) { if (me == 0) sums[get_group_id(0)] = 1; return; }\n"
        assert begin in rung
        for one in of_kernel(other, lambda one: one.check == "speed"):
            assert one.score == 0, "a wrong answer is not timed: " + told([one])
        endless = other + "    if (n > 300) { volatile uint w = 1; while (w) {} }\n"
        results = of_kernel(endless, lambda one: one.check == "values")
        assert sum(one.score for one in results) < sum(one.points for one in results), told(results)
    with judge_of("saxpy") as judge:
        name = judge.lab.exercises[0].name
        results = results_of(judge, name, ("if (i < n) c", "if (i < n && ((ulong)a >> 48) != 0) c"), tests=of_values)
        assert not any(one.score for one in results), "nothing was written: " + told(results)


def test_oclgrind_that_lab_setup_has_put_beside_the_labs_is_used_at_a_place_that_every_user_can_read(saxpy, monkeypatch, scratch):
    monkeypatch.setattr(judging, "TOOLS", "/nowhere")
    own = scratch / "labs/.oclgrind/bin/oclgrind"
    own.parent.mkdir(parents=True)
    own.touch(0o700)
    (scratch / "base").mkdir()
    for kind in ("none", "user"):
        judge = judging.Judge(dataclasses.replace(saxpy.lab, root=scratch / "labs"), saxpy.build, Sandbox(kind, scratch / "base"), b"")
        found = Path(judge.program_of(["oclgrind"]))
        assert found == (own if kind == "none" else scratch / "base/bin/.oclgrind/bin/oclgrind")
    assert all(path.stat().st_mode & 0o5 == 0o5 for path in (found, *found.parents[:3]))


def test_a_size_under_a_tool_is_chosen_by_chance_for_each_class(saxpy):
    part = saxpy.lab.exercises[0].parts["opencl"]
    test = dataclasses.replace(saxpy.lab.exercises[0].tests[-3], cases=[{"op": "saxpy", "n": [9, "{10-40}"], "matrix": "random:{5-9}x{20-30}", "m": "{16-48:16}"}])
    found = set()
    for secret in range(20):
        saxpy.secret = str(secret).encode()
        one, other = judging.Run(saxpy, saxpy.lab.exercises[0], part, test, None, None, None, 0).cases()
        assert one["n"] == 9 and 10 <= other["n"] <= 40 and re.fullmatch("random:[5-9]x(2[0-9]|30)", other["matrix"])
        assert other["m"] in (16, 32, 48)
        found.add(other["n"])
    assert len(found) > 5, found


def test_what_a_program_prints_and_lines_of_solutions_do_not_reach_the_student(saxpy):
    secret = sorted(saxpy.answers)[0]
    message = f"file.hpp:3: error:\n    {secret}\n    ^"
    assert secret not in saxpy.redacted(message, "") and "error:" in saxpy.redacted(message, ""), \
        "a line of a solution is shown"
    assert saxpy.redacted(message, f"x {secret[:8]} {secret[8:]}\n") == message, \
        "a line that the student wrote"
    text = (TAMPERING / "syscalls.txt").read_text() + 'KERNEL { char w[] = "found: a line"; call(1, 2, (long)w, 13); call(231, 1, 0, 0); }'
    results = results_of(saxpy, "many-blocks", text=text, tests=lambda one: one.name == "one block")
    if why_not_compiled(results):
        pytest.skip(why_not_compiled(results))
    assert "found" not in results[0].message + results[0].public, f"what was printed is shown: {results[0].message}"
    assert "found: a line" in results[0].printed, f"the instructor does not see what was printed: {results[0]}"


def test_when_the_time_of_an_exercise_is_used_up_the_rest_of_its_tests_is_timed_out(saxpy):
    saxpy.exercise_seconds = 0.0001
    results = results_of(saxpy, "many-blocks", tests=lambda one: one.check == "values")
    assert {one.outcome for one in results} == {TIMED_OUT}, told(results)
    assert results[-1].message == judging.OUT_OF_TIME, "what is told"


def test_a_judge_that_does_not_end_is_given_up_and_the_message_says_so(scratch, saxpy):
    sleeping = scratch / "judge_saxpy"
    sleeping.write_text("#!/bin/sh\nexec sleep 600\n")
    sleeping.chmod(0o755)
    saxpy.program, saxpy.judge_seconds = sleeping, 0.3
    begin = time.monotonic()
    with pytest.raises(Fault) as caught:
        saxpy.call("make", "spec", "file")
    assert str(caught.value) == "the judge of saxpy did not end in 0.3 s: make", "what is told"
    assert time.monotonic() - begin < 30, "it was waited for"


STOPPED = """
import sys
from pathlib import Path
from grading.sandbox import Sandbox
from grading.worker import Worker
sandbox = Sandbox("none", Path(sys.argv[1]))
answers = "import sys, time\\nwhile sys.stdin.buffer.read(8): time.sleep({}); sys.stdout.buffer.write(bytes(8)); sys.stdout.flush()"
for takes, most in ((0.6, 0.7), (1.9, 1.6)):
    command = ["python3", "-c", answers.format(takes)]
    process = sandbox.start(command, slot=0, scratch=Path(sys.argv[1]), readable=[], environment={})
    worker = Worker(sandbox, process, 0, [Path(sys.argv[1])])
    worker.ask(b"", 10)  # it has started
    print("asks", flush=True)
    print(worker.ask(b"", most) == b"", flush=True)
    worker.end()
"""


def test_a_grader_that_was_stopped_finds_the_answer_afterwards_and_does_not_count_the_time(scratch):
    grader = subprocess.Popen([sys.executable, "-c", STOPPED, scratch], stdout=subprocess.PIPE, text=True, env=VARIABLES)
    for seconds in (0.9, 1.8):  # too short to be noticed, when the answer is there; and longer
        assert grader.stdout.readline() == "asks\n"
        time.sleep(0.3)  # it has asked
        grader.send_signal(signal.SIGSTOP)
        time.sleep(seconds)
        grader.send_signal(signal.SIGCONT)
        assert grader.stdout.readline() == "True\n", f"an answer after a stop of {seconds} s"
    grader.communicate()


def test_the_clock_leaves_out_a_stop_but_for_the_tick_that_it_takes_to_see_it(monkeypatch):
    moment = 100.0
    monkeypatch.setattr(clock, "time", argparse.Namespace(monotonic=lambda: moment, sleep=time.sleep))
    for name, value in (("_ticking", True), ("_last", moment), ("_stopped", 0.0)):
        monkeypatch.setattr(clock, name, value)
    for moment, now in ((100.2, 100.2), (101.1, 101.1), (106.1, 101.3), (106.4, 101.6), (109.4, 101.8)):
        assert clock.now() == pytest.approx(now)


def test_where_only_values_are_wrong_tests_of_races_and_speed_say_so_and_a_nul_byte_is_named(saxpy):
    [nul] = results_of(saxpy, "many-blocks", text=saxpy.lab.rung("opencl/02_one_item.cl") + "\n\0", tests=lambda one: one.name == "one block")
    assert (nul.outcome, nul.message) == (BUILD_ERROR, "opencl/02_one_item.cl, line 10, holds a NUL byte: it is no text file"), nul
    for old, new, tests, message in (
            ("k * a[i]", "a[i]", lambda one: one.check == "speed", "wrong: a kernel that gives wrong answers is not timed: see the other tests"),
            ("k * a[i]", "a[i]", hidden_races, "wrong: the tool found nothing, but values are wrong: see the other tests"),
            ("i < n", "i <= n", hidden_races, "wrong: a work-item reads at line 6 outside of a\nHint: hint")):
        if tests is not hidden_races or HAS_OCLGRIND:
            [one] = results_of(saxpy, "many-blocks", (old, new), tests=tests)
            assert (one.outcome, report.shown_to_student({"visible": False, "hint": "hint"}, one.as_dict())) == (FAILED, message), told([one])
            assert "not timed" not in message or "expected " in one.message, told([one])


def test_a_submission_that_may_be_another_algorithm_is_marked_for_the_instructor():
    lab = load(ROOT, "reduction")
    part = next(one for one in lab.exercises if one.name == "tree").parts["opencl"]
    judge = argparse.Namespace(lab=lab)
    rung, serial = lab.rung(part.file), "kernel void f() { if (get_local_id(0) == 0) {} } // barrier(CLK_LOCAL_MEM_FENCE);"
    for text, ratio, score, why in ((rung, 1.0, 5, ""), (rung, 0.15, 5, "0.15 times the time of the rung"), (serial, 1.0, 5, "no barrier"),
                                    (serial, 1.0, 0, ""), (rung, 0.0, 5, ""), (rung.replace("barrier(", "work_group_barrier("), 0.9, 1, "")):
        results = [judging.Result("values", "passed", score, 5), judging.Result("speed", "passed", 0, 5, ratio=ratio)]
        assert judging.Judge.why_look(judge, part, text.encode(), results).startswith(why) and \
            bool(judging.Judge.why_look(judge, part, text.encode(), results)) == bool(why), (ratio, why)


def test_a_mistake_that_takes_most_points_of_an_exercise_is_marked_for_the_instructor(saxpy, monkeypatch):
    exercise = saxpy.lab.exercises[0]
    monkeypatch.setattr(saxpy, "lab", dataclasses.replace(saxpy.lab, exercises=[exercise]))
    race = "a thread reads what another one writes"
    handed_in = Submission("ada", {part.file: b"" for part in exercise.parts.values()})
    for score, outcome, behaves, printed in ((2, "failed", "", [f"may have taken 6 of 8 points: {race}"]), (0, "failed", "Like x.", ["8 of 8 points: Like x."]),
                                             (3, "failed", "Like x.", []), (0, NOT_GRADED, "", [])):
        races = judging.Result("no access outside the arrays", outcome, 0, 4, public=race, behaves=behaves)
        monkeypatch.setattr(saxpy, "judge", lambda *_, one=judging.Result("values", "failed", score, 4), races=races: [one, races])
        told_of = grade.grade_one(saxpy, handed_in, 0, {}, argparse.Namespace(describe=lambda *_: None))["look"]
        assert len(told_of) == len(printed) and all(words in one for words, one in zip(printed, told_of)), (score, told_of)


def test_a_time_that_is_long_once_is_measured_again(saxpy, monkeypatch):
    for ratios, score, tries, others in (([3.4, 1.0], 1, 2, 0.0), ([1.0], 1, 1, 0.9), ([3.4, 3.3], 0.52, 2, 0.05), ([2.0] * 9 + [1.1], 1, 10, 0.0),
                                         ([3.4, 3.3], 0, 2, 0.5)):
        left = list(ratios)

        def timed(self, cases, rung, left=left, others=others):
            self.by_others.append((others, 1.0))
            return [], [1.0 if rung else left.pop(0)] * len(cases), None

        with monkeypatch.context() as patched:
            patched.setattr(judging.Run, "timed", timed)
            patched.setattr(judging.Run, "judged", lambda *_: None)
            [one] = results_of(saxpy, "many-blocks", tests=lambda one: one.check == "speed")
        assert (one.score, len(ratios) - len(left)) == (score, tries), told([one])
        assert (one.outcome == NOT_GRADED) == (score == 0) == ("other programs took 50% of its processors" in one.public), "a busy machine"


def test_a_verdict_that_is_kept_is_due_again_when_the_submission_its_test_or_its_rung_changes(saxpy, scratch, monkeypatch):
    exercise = saxpy.lab.exercises[0]
    part = exercise.parts["opencl"]
    own = saxpy.lab.rung(part.file).encode()
    monkeypatch.delenv("GPULAB_MISTAKES", raising=False)

    def kept(*names, of=exercise, content=own):
        return Kept(saxpy, {f"loses opencl {name}": (of, part, content) for name in names or ["a"]}, scratch)

    def judged(one, verdict="rejected"):
        graded = []
        all_of = one.judged_by(lambda name: graded.append(name) or (verdict, "a test"))
        assert len(all_of) == len(one.keys)
        return graded

    def lines():
        return [line.split("\t")[0] for line in (scratch / "grading_saxpy.txt").read_text().splitlines()]

    assert judged(kept()) == ["loses opencl a"] == list(kept().known)
    assert kept(content=b"// mine\n" + own).known, "a comment makes nothing due"
    for other in (kept(content=own + b"int a;"),
                  kept(of=with_tests(exercise, lambda one: one.visible)), kept("z")):
        assert not other.known
    several = ("a", *range(399))
    monkeypatch.setenv("GPULAB_MISTAKES_SEED", "1")
    assert len(judged(kept(*several))) in (399, 400), "all but one are due"
    again = judged(kept(*several))
    assert 10 <= len(again) <= 30 and judged(kept(*several)) == again, "one in twenty"
    monkeypatch.setenv("GPULAB_MISTAKES_SEED", "2")
    assert judged(kept(*several)) != again
    monkeypatch.setenv("GPULAB_MISTAKES", "all")
    assert len(judged(kept(*several))) == 400
    with pytest.raises(AssertionError, match="loses opencl a: accepted; grading_saxpy.txt has rejected"):
        judged(kept(), "accepted")
    judged(kept())
    assert len(lines()) == 400, "nothing was due, so nothing is written"
    judged(kept("z"))
    assert lines() == ["loses opencl z"], "lines that go"
