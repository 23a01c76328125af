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
from grading_support import (HAS_OCLGRIND, ROOT, TAMPERING, VARIABLES, files_of, hidden_races, judge_of, results_of, saxpy, told,
                             why_not_compiled, with_tests)

from grading import judge as judging, report
from grading.exercises import load
from grading.fault import Fault
from grading.judge import BUILD_ERROR, FAILED, TIMED_OUT, names_to_compare as names_of
from grading.sandbox import Sandbox
from grading.submission import MAX_BYTES


def test_a_kernel_that_shows_the_tool_for_races_another_face_loses_the_points_of_that_test():
    for text, found in (("#if defined(__SPIR__) || !defined(__x86_64__)\n#endif", {"__SPIR__", "__x86_64__"}),
                        ("#define A __SPIR\\\n__\n#if A\n#endif", {"__SPIR__"}), ("%:ifdef POCL_VERSION", {"POCL_VERSION"}),
                        ("int a = __ENDIAN_LITTLE__;", {"__ENDIAN_LITTLE__"}), ("#define A(x) HALF_##x", {"##"}), ("# include <x>", {"# include"}), ("int a = sizeof(__FILE__);", {"__FILE__"}),
                        ("#ifdef cl_khr_fp64\n#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n#endif // __SPIR__", set()),
                        ('constant char s[] = "/* //";\nint a = __SPIR__;', {"__SPIR__"}), ("// a\r__SPIR__\r\n", {"__SPIR__"}),
                        ("#warning /*\n__SPIR__\n#error */", {"warning"}), ("// a??/\n__SPIR__", {"??/", "__SPIR__"}),
                        ("/* don't */ /* \"__SPIR__ */ // __SPIR__", set()),
                        ("__kernel __attribute__((x)) void f(__global REAL* a) {}\n#ifdef DEBUG\n#endif", set())):
        assert judging.target_macros(text) == found, text
    begin = time.process_time()
    for part in ("/* ", "\\ ", '"\\', "'", "#/*", "#if ", "_POCL", "__a", "\\\n", "#error ", "@", "//", "(a ", "#define A(x"):  # repeated in a long text
        for text in (part * (MAX_BYTES // 4 // len(part)), f'constant char s[] = "{part * (MAX_BYTES // 4 // len(part))}"'):
            judging.target_macros(text)
            names_of(text)
    names_of("#if A0\n#endif\n" + "".join(f"#define A{number} A{number + 1}\n" for number in range(MAX_BYTES // 80)))
    assert time.process_time() - begin < 20, f"reading it took {time.process_time() - begin:.1f} s"
    for name in [path.name for path in sorted((ROOT / "labs").iterdir()) if (path / "exercises/exercises.toml").is_file()]:
        lab = load(ROOT, re.sub("^[0-9]+_", "", name))
        for _, part in lab.parts():
            assert part.backend != "opencl" or not any(judging.target_macros(lab.rung(file)) for file in part.files), \
                name
    if not HAS_OCLGRIND:
        pytest.skip("oclgrind is not installed")
    with judge_of("reduction") as judge:
        rung = judge.lab.rung("opencl/02_tree_sequential.cl")
        racy = rung.replace("barrier(CLK_LOCAL_MEM_FENCE);", "")
        text = f"#if defined(__SPIR__) || defined(__SPIR64__) || !defined(__x86_64__)\n{rung}\n#else\n{racy}\n#endif\n"
        for one in results_of(judge, "tree", text=text, tests=lambda one: hidden_races(one) or one.check == "cost" and judge.plugin[0]):
            assert (one.outcome, one.score) == (FAILED, 0) and "__SPIR__" in one.public, told([one])


HOSTILE = """
#ifdef M_PI_H
#endif
#if !defined(HALF_MAX) || BOTH
#endif
#define BOTH SOME
#define SOME (CLK_NULL_QUEUE + 1)
#ifndef ATOMIC_FLAG_INIT
#define ATOMIC_FLAG_INIT 0
#endif
#ifdef fma
#undef vload4
#endif
int (ATOMIC_VAR_INIT)(int x) { return 5; }
#if defined(max) || FLT_DIG > 3
#endif
"""
HONEST = """
#if defined(cl_khr_fp64)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#elif defined(cl_amd_fp64)
#pragma OPENCL EXTENSION cl_amd_fp64 : enable
#endif
#ifndef TILE
#define TILE 16
#endif
#if TILE > 8 && !defined(DEBUG)
#define SQUARE(x) fma(x, x, 0.0f)
#endif
float f(float x) { return max((float)(x), SQUARE(sqrt(x))) + FLT_MAX * M_PI_F + vload4(0, &x).x + INFINITY; }
"""


def test_names_that_only_one_compiler_defines_are_found_and_what_both_define_costs_nobody_points(saxpy, scratch):
    if not HAS_OCLGRIND:
        pytest.skip("oclgrind is not installed")
    exercise = saxpy.lab.exercises[0]
    part = exercise.parts["opencl"]
    run = judging.Run(saxpy, exercise, part, exercise.tests[0], scratch, scratch, scratch, 0)
    for text, found in ((HOSTILE, {"M_PI_H", "HALF_MAX", "fma", "max", "vload4"}),
                        (HONEST, set()), ("#define STR(x) #x\n#define S(x) STR(x)\nint f() { return S(cl_khr_spir)[0] + S(fma)[0]; }",
                                          {"cl_khr_spir", "fma"})):
        (scratch / "02_one_item.cl").write_text(text)
        asked = run.two_faced(["oclgrind", "--log"])
        assert found <= asked if found else not asked, (asked, found)
    assert names_of("int a = M_PI_H; // HALF_MAX\nfloat b = sin(x);") == ({"M_PI_H"}, set())


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
    test = dataclasses.replace(saxpy.lab.exercises[0].tests[-3], cases=[{"op": "saxpy", "n": [9, "{10-40}"], "matrix": "random:{5-9}x{20-30}"}])
    found = set()
    for secret in range(20):
        saxpy.secret = str(secret).encode()
        one, other = judging.Run(saxpy, saxpy.lab.exercises[0], part, test, None, None, None, 0).cases()
        assert one["n"] == 9 and 10 <= other["n"] <= 40 and re.fullmatch("random:[5-9]x(2[0-9]|30)", other["matrix"])
        found.add(other["n"])
    assert len(found) > 5, found


def test_what_a_program_prints_and_lines_of_solutions_do_not_reach_the_student(saxpy):
    secret = sorted(saxpy.answers)[0]
    message = f"file.hpp:3: error:\n    {secret}\n    ^"
    assert secret not in saxpy.redacted(message, {}) and "error:" in saxpy.redacted(message, {}), \
        "a line of a solution is shown"
    assert saxpy.redacted(message, {"mine.cl": f"x {secret[:8]} {secret[8:]}\n"}) == message, \
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
    [name] = part.files
    rung, serial = lab.rung(name), "kernel void f() { if (get_local_id(0) == 0) {} } // barrier(CLK_LOCAL_MEM_FENCE);"
    for text, ratio, score, why in ((rung, 1.0, 5, ""), (rung, 0.15, 5, "0.15 times the time of the rung"), (serial, 1.0, 5, "no barrier"),
                                    (serial, 1.0, 0, ""), (rung, 0.0, 5, ""), (rung.replace("barrier(", "work_group_barrier("), 0.9, 1, "")):
        results = [judging.Result("values", "passed", score, 5), judging.Result("speed", "passed", 0, 5, ratio=ratio)]
        assert judging.Judge.why_look(judge, part, {name: text.encode()}, results).startswith(why) and \
            bool(judging.Judge.why_look(judge, part, {name: text.encode()}, results)) == bool(why), (ratio, why)


def test_a_time_that_is_long_once_is_measured_again(saxpy, monkeypatch):
    for ratios, score, tries in (([3.4, 1.0], 1, 2), ([1.0], 1, 1), ([3.4, 3.3], 0.52, 2), ([2.0] * 9 + [1.1], 1, 10)):
        left = list(ratios)

        def timed(self, program, kernels, cases, slot, left=left):
            return [], [1.0 if slot != self.slot else left.pop(0)] * len(cases), None

        with monkeypatch.context() as patched:
            patched.setattr(judging.Run, "timed", timed)
            patched.setattr(judging.Run, "judged", lambda *_: None)
            [one] = results_of(saxpy, "many-blocks", tests=lambda one: one.check == "speed")
        assert (one.score, len(ratios) - len(left)) == (score, tries), told([one])


def test_a_verdict_that_is_kept_is_due_again_when_the_submission_its_test_or_its_rung_changes(saxpy, scratch, monkeypatch):
    exercise = saxpy.lab.exercises[0]
    part = exercise.parts["opencl"]
    own = files_of(part, saxpy.lab.rung)
    monkeypatch.delenv("GPULAB_MISTAKES", raising=False)

    def kept(*names, of=exercise, files=own):
        return Kept(saxpy, {f"loses opencl {name}": (of, part, files) for name in names or ["a"]}, scratch)

    def judged(one, verdict="rejected"):
        graded = []
        all_of = one.judged_by(lambda name: graded.append(name) or (verdict, "a test"))
        assert len(all_of) == len(one.keys)
        return graded

    def lines():
        return [line.split("\t")[0] for line in (scratch / "grading_saxpy.txt").read_text().splitlines()]

    assert judged(kept()) == ["loses opencl a"] == list(kept().known)
    assert kept(files={file: b"// mine\n" + text for file, text in own.items()}).known, "a comment makes nothing due"
    for other in (kept(files={file: text + b"int a;" for file, text in own.items()}),
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
