"""Submissions that try to get points without solving the exercise, or to do harm: tampering/*."""

import dataclasses
import hashlib
import re

import pytest
from grading_support import (BUILD, PROGRAMS, ROOT, TAMPERING, closed_repository, compiles, hand_out_of, judge_of,
                             needs_root, told, why_not_compiled, with_tests)

from grading.judge import BUSY, FAILED, PASSED
from grading.report import SAID


def submissions(file, before=""):
    """By name: what is known of a submission, and its text, after what is put before each."""
    first, *texts = re.split(r"(?m)^// (?=\w+: most )", (TAMPERING / file).read_text(encoding="utf-8"))
    return {text.partition(":")[0]: (dict(re.findall(r"(\w+) ([^;]+)", text.partition("\n")[0].partition(": ")[2])), f"{before}{first}// {text}")
            for text in texts}


KERNELS = submissions("saxpy.cl", (TAMPERING / "syscalls.txt").read_text(encoding="utf-8"))
CUDA = submissions("saxpy.cu")


def tampering(request, name, kind, backend="opencl"):
    about, text = (KERNELS if backend == "opencl" else CUDA)[name]
    if kind == "" and "@ROOT@" in text: # it reads the repository
        request.getfixturevalue("closed_repository")
    text = text.replace("@ROOT@", str(ROOT)).replace("@BUILD@", str(BUILD))
    names = about["tests"].split(", ")  # or values, all with this check
    before = hashlib.sha256((PROGRAMS / "judge_saxpy").read_bytes()).hexdigest()
    with judge_of("saxpy", kind, seconds=float(about.get("seconds", 6 if backend == "opencl" else 20))) as judge:
        exercise = judge.lab.exercises[0]
        wanted = with_tests(exercise, lambda one: one.name in names or (one.check == "values" and "values" in names))
        assert set(names) <= {word for one in wanted.tests for word in (one.name, one.check)}, f"a test of {names} is unknown"
        if "repeats" in about:
            wanted.tests[:] = [dataclasses.replace(one, cases=[{**case, "repeats": int(about["repeats"])} for case in one.cases])
                               if one.check == "speed" else one for one in wanted.tests]
        part = exercise.parts[backend]
        if judge.why_not(part):
            if judge.worker_program(part).is_file():
                source = request.getfixturevalue("scratch") / f"{name}.cu"
                source.write_text(text)
                compiles(source, request.getfixturevalue("hand_out_of")("saxpy"), judge.lab.path / part.file)
            pytest.skip(judge.why_not(part))
        judge.keeps = False
        results = judge.judge(wanted, part, text.encode(), 7)
        assert sum(one.score for one in results) <= float(about["most"]), told(results)
        assert all(one.outcome in SAID for one in results), told(results)
        too_much = why_not_compiled(results)
        if "outcome" in about and not too_much:  # a tool that is not installed gives another one
            outcomes = {FAILED if one.message.startswith(BUSY) else one.outcome for one, test in zip(results, wanted.tests) if test.check != "races"}
            assert outcomes == {about["outcome"]}, told(results)
        judge.keeps = True
        after = judge.judge(with_tests(exercise, lambda one: one.name == "one block"), part, judge.lab.rung(part.file).encode(), 7)
        assert after[0].outcome == PASSED, f"an honest submission afterwards: {told(after)}"
    assert hashlib.sha256((PROGRAMS / "judge_saxpy").read_bytes()).hexdigest() == before, "the judge"
    assert not (PROGRAMS / "forged").exists(), "a file beside the judge"
    if too_much:
        pytest.skip(too_much)


@pytest.mark.parametrize("name", KERNELS)
def test_a_submission_that_tampers_scores_no_more_than_its_honest_part(request, name):
    tampering(request, name, "")


@pytest.mark.parametrize("name", CUDA)
def test_a_submission_in_cuda_that_does_not_use_its_kernels_scores_nothing(request, name):
    tampering(request, name, "", "cuda")


@pytest.mark.parametrize("name", ["writes_the_judge", "kills_parent", "forks", "reads_its_parent", "stops_the_rung",
                                  "finds_its_files", "fills_disk_with_files"])
@needs_root
def test_without_bubblewrap_as_a_user_who_owns_nothing_it_scores_no_more_either(request, name):
    with judge_of("saxpy") as judge:
        if judge.sandbox.kind == "user":
            pytest.skip("without bubblewrap the tests above ran so")
    tampering(request, name, "user")


def test_without_a_sandbox_tampering_would_succeed():
    for name in ("opens_our_files", "reads_its_parent"):
        with judge_of("saxpy", "none") as judge:
            judge.keeps = False
            exercise = judge.lab.exercises[0]
            part = exercise.parts["opencl"]
            text = KERNELS[name][1].replace("@ROOT@", str(ROOT))
            results = judge.judge(with_tests(exercise, lambda one: one.name == "one block"), part, text.encode(), 0)
            if why_not_compiled(results):
                pytest.skip(why_not_compiled(results))
            assert results[0].outcome == PASSED, f"{name}: {told(results)}"
