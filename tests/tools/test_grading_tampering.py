"""Submissions that try to get points without solving the exercise, or to do harm: tampering/*."""

import dataclasses
import hashlib
import os
import re

import pytest
from grading_support import (BUILD, PROGRAMS, ROOT, TAMPERING, closed_repository, compiles, files_of, hand_out_of, judge_of,
                             told, why_not_compiled, with_tests)

from grading.judge import OUTCOMES, PASSED


def headers(text):
    return dict(re.findall(r"(?m)^// (most|outcome|tests|seconds|repeats): (.*)$", text))


def with_repeats(test, repeats):
    """A test of speed that runs a kernel less often."""
    assert all(case["repeats"] > repeats for case in test.cases)
    return dataclasses.replace(test, cases=[{**case, "repeats": repeats} for case in test.cases])


def tampering(request, name, kind, backend="opencl"):
    text = (TAMPERING / f"{name}.{'cl' if backend == 'opencl' else 'cu'}").read_text(encoding="utf-8")
    about = headers(text)
    if kind == "" and "@ROOT@" in text: # it reads the repository
        request.getfixturevalue("closed_repository")
    text = text.replace("@ROOT@", str(ROOT)).replace("@BUILD@", str(BUILD))
    if backend == "opencl":
        text = (TAMPERING / "syscalls.txt").read_text(encoding="utf-8") + text
    names = about["tests"].split(", ")
    before = hashlib.sha256((PROGRAMS / "judge_saxpy").read_bytes()).hexdigest()
    with judge_of("saxpy", kind, seconds=float(about.get("seconds", 6 if backend == "opencl" else 20))) as judge:
        exercise = next(one for one in judge.lab.exercises if one.name == "many-blocks")
        assert all(any(one.name == name for one in exercise.tests) for name in names), f"a test of {names} is unknown"
        wanted = with_tests(exercise, lambda one: one.name in names)
        if "repeats" in about:  # of a kernel that is far slower than the rung
            wanted.tests[:] = [with_repeats(one, int(about["repeats"])) if one.check == "speed" else one for one in wanted.tests]
        part = exercise.parts[backend]
        if judge.why_not(part):
            if judge.worker_program(part).is_file():
                source = request.getfixturevalue("scratch") / f"{name}.cu"
                source.write_text(text)
                compiles(source, request.getfixturevalue("hand_out_of")("saxpy"), judge.lab.path / part.files[0])
            pytest.skip(judge.why_not(part))
        judge.keeps = False
        results = judge.judge(wanted, part, {part.files[0]: text.encode()}, 7)
        score = sum(one.score for one in results)
        print(told(results))
        assert score <= float(about["most"]), f"{score} points: {told(results)}"
        assert all(one.outcome in OUTCOMES for one in results), told(results)
        too_much = why_not_compiled(results)
        if "outcome" in about and not too_much:
            assert {one.outcome for one in results} == {about["outcome"]}, told(results)
        honest = files_of(part, judge.lab.rung)
        judge.keeps = True
        after = judge.judge(with_tests(exercise, lambda one: one.name == "one block"), part, honest, 7)
        assert after[0].outcome == PASSED, f"an honest submission afterwards: {told(after)}"
    assert hashlib.sha256((PROGRAMS / "judge_saxpy").read_bytes()).hexdigest() == before, "the judge"
    assert not (PROGRAMS / "forged").exists(), "a file beside the judge"
    if too_much:
        pytest.skip(too_much)


@pytest.mark.parametrize("name", sorted(path.stem for path in TAMPERING.glob("*.cl")))
def test_a_submission_that_tampers_scores_no_more_than_its_honest_part(request, name):
    tampering(request, name, "")


@pytest.mark.parametrize("name", sorted(path.stem for path in TAMPERING.glob("*.cu")))
def test_a_submission_in_cuda_that_does_not_use_its_kernels_scores_nothing(request, name):
    tampering(request, name, "", "cuda")


@pytest.mark.parametrize("name", ["writes_the_judge", "kills_parent", "forks", "reads_its_parent", "stops_the_rung",
                                  "finds_its_files", "fills_disk_with_files"])
def test_without_bubblewrap_as_a_user_who_owns_nothing_it_scores_no_more_either(request, name):
    if os.geteuid() != 0:
        pytest.skip("only root can run programs as another user")
    tampering(request, name, "user")


def test_without_a_sandbox_tampering_would_succeed():
    for name in ("opens_the_rung", "includes_the_rung", "reads_its_parent"):
        text = (TAMPERING / f"{name}.cl").read_text(encoding="utf-8").replace("@ROOT@", str(ROOT))
        text = (TAMPERING / "syscalls.txt").read_text(encoding="utf-8") + text
        with judge_of("saxpy", "none") as judge:
            judge.keeps = False
            exercise = next(one for one in judge.lab.exercises if one.name == "many-blocks")
            part = exercise.parts["opencl"]
            wanted = with_tests(exercise, lambda one: one.name == "one block")
            results = judge.judge(wanted, part, {part.files[0]: text.encode()}, 0)
            if why_not_compiled(results):
                pytest.skip(why_not_compiled(results))
            assert results[0].outcome == PASSED, f"{name}: {told(results)}"
