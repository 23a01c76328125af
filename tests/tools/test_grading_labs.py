"""The exercises of each lab: what is handed out, and what is graded. GPULAB_LAB chooses a lab."""

import math
import os
import re
import subprocess

import pytest
from grading_kept import Kept
from grading_support import (BUILD, HAS_OCLGRIND, HAS_TOOL, PROGRAMS, ROOT, compiles, hand_out_of, handed_out, judge, lab, leaks,
                             told, tree_of, with_tests)

from grading import behaves, cuda, handout, marks, student
from grading.exercises import is_unsolved, load
from grading.judge import CRASHED, FAILED, NOT_GRADED, PASSED, TIMED_OUT, UNSOLVED

# Mistakes that are graded for one exercise: the tests of the labs judge them all. A submission in CUDA takes a compiler.
MAX_ROWS = {"opencl": 6, "cuda": 2}

# Mistakes of a lab's first exercise for which it is tested that grading names them; GPULAB_EVERY_MISTAKE=1 takes all of all exercises.
MAX_NAMED = 2
# What they compute is another thing each time, so that nothing behaves like them.
BY_CHANCE = {"reduction": {"opencl-tree-one-place-for-all"}, "lu": {"opencl-past-the-edge"}}

# Mistakes that no case of their exercise shows. Lab 01: a distance to NaN, and sums that are denormal. Lab 02: a prefix
# sum of numbers with NaN, or of 33 tiles and one element. Lab 03: NaN at the edge of a tile. Lab 04: rows that are not
# sorted, of 2^16 columns, or with NaN. Lab 07: pivots below 5.6e-309. Lab 08: groups whose last row or column is the
# first one beyond the cells without a border. Lab 09: weights of Jacobi that differ within the rows of one item.
UNSEEN = {"saxpy": {"opencl-distance-nan-is-zero", "cuda-distance-nan-is-zero", "denormals-flushed"},
          "reduction": {"opencl-scan-subtracts", "opencl-scan-last-tile-of-one"},
          "matmul": {"opencl-reads-on"},
          "spmv": {"opencl-assumes-sorted", "opencl-nan-left-over-lost", "opencl-zeros-skipped", "opencl-columns-in-16-bits",
                   "ell-zeros-skipped"},
          "lu": {"opencl-solve-reciprocal"},
          "fdtd": {"opencl-one-row-beyond-the-region", "opencl-one-column-beyond-the-region", "opencl-one-row-below-the-region"},
          "cg": {"opencl-dot-weight-of-the-first-row-of-an-item"}}


def test_a_hand_out_holds_its_stubs_and_no_answer_hidden_test_or_mistake(lab, scratch, hand_out_of):
    tree = tree_of(hand_out_of(lab.name))
    for exercise, part in lab.parts():
        stub = lab.stub(part.file)
        for place in ("", "exercises/"):
            assert tree[f"labs/{lab.folder}/{place}{part.file}"].decode() == stub, f"{place}{part.file}"
        assert not is_unsolved(stub, lab.rung(part.file)), f"{part.file}: the stub is the rung"
        for words in (exercise.title, *exercise.hints, f"labs/{lab.folder}/answers.md"):
            assert words in tree["README.md"].decode(), f"'{words}' is not in README.md"
    assert re.search(r"\]\(([^)]+)\)", tree["README.md"].decode())[1] == f"labs/{lab.folder}/PATH.md", "the first link"
    assert leaks(lab, tree) == []
    whole = dict(tree)
    part = next(part for exercise, part in lab.parts() if exercise.kind == "write")
    whole["labs/again.cl"] = lab.rung(part.file).encode()
    whole["tests/exercises.toml"] = (lab.path / "exercises/exercises.toml").read_bytes()
    assert len(leaks(lab, whole)) >= 3, "a leak is not found"
    handed = load(hand_out_of(lab.name), lab.name)  # the tool reads its own hand-out
    assert [(one.name, {part.backend: part.file for part in one.parts.values()}) for one in handed.exercises] == \
        [(one.name, {part.backend: part.file for part in one.parts.values()}) for one in lab.exercises]
    assert all(test.visible for one in handed.exercises for test in one.tests), "hidden tests in the hand-out"
    assert len(re.findall("(?m)^## Question", tree[f"labs/{lab.folder}/answers.md"].decode())) == len(handout.questions(lab)) > 0
    handout.main(ROOT, [lab.name, str(scratch / "two")])
    assert tree_of(scratch / "two") == tree, "the same hand-out made again"


def test_in_a_hand_out_all_links_and_pictures_lead_to_a_file(lab, hand_out_of):
    folder = hand_out_of(lab.name)
    found = 0
    for page in sorted(folder.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        for link in re.findall(r"\]\(\s*([^)\s]+)[^)]*\)|(?:src|href)=\"([^\"]+)\"", text):
            target = "".join(link).split("#")[0]
            if target and not re.match(r"\w+:", target):
                found += 1
                assert (page.parent / target).exists(), f"{page.relative_to(folder)} refers to {target}"
    assert found >= 10
    assert (folder / "docs/figures/kernel-words.svg").is_file(), "a picture of docs/kernels.md is missing"


# A hand-out has the files of the tree, which the build has compiled, but for some: these are compiled here.


@pytest.fixture
def changed(lab, hand_out_of):
    """The files of the lab that its hand-out changes, and the objects of the build that depend on them."""
    if not (PROGRAMS / lab.name).is_file() or not (BUILD / "build.ninja").is_file():
        pytest.skip(f"{lab.name} has not been built with Ninja")
    folder = hand_out_of(lab.name)
    for part in ("common", "cmake"):
        assert tree_of(folder / part).items() <= tree_of(ROOT / part).items()
    return {file for file, text in tree_of(lab.path).items() if file.endswith((".cu", ".cuh", ".cpp", ".hpp")) and
            not file.startswith("exercises/") and (folder / "labs" / lab.folder / file).read_bytes() != text}


def includes_of(lab):
    """For each object of a lab in the build its source file and the files of the lab that this includes."""
    printed = subprocess.run(["ninja", "-C", BUILD, "-t", "deps"], capture_output=True, text=True, check=True).stdout
    found = {}
    for entry in printed.split("\n\n"):
        head, *paths = entry.splitlines() or [""]
        source = re.sub(rf"labs/{lab.folder}/CMakeFiles/{lab.name}_(?:lab|host)\.dir/(.*)\.o: .*", r"\1", head)
        if source != head and (lab.path / source).is_file():  # else it is of another program, or the file has gone
            found[source] = {path.strip().removeprefix(f"{lab.path}/") for path in paths if path.strip().startswith(f"{lab.path}/")}
    return found


def object_of(lab, file):
    """The object of a file of a lab in the build: those of problems and references have a target of their own."""
    command = cuda.compile_command(BUILD, lab.path / file)
    return command[command.index("-o") + 1]


def others_in(library, folders):
    """The objects of a library of the build that are not compiled in one of these folders, and the texts of kernels."""
    printed = subprocess.run(["ninja", "-C", BUILD, "-t", "commands", library], capture_output=True, text=True, check=True).stdout
    archived = printed.splitlines()[-1].split()
    assert library in archived
    return [word for word in archived if word.endswith(".cl.cpp.o") or
            (word.endswith(".o") and not any(f"/{folder}/" in word for folder in folders))]


def test_what_a_hand_out_changes_compiles_and_its_program_runs(lab, changed, scratch, hand_out_of):
    tree = hand_out_of(lab.name)
    folder = tree / "labs" / lab.folder
    withheld = set(handout.withheld_files(lab))
    includes = includes_of(lab)
    own = [file for file in includes if file not in withheld]
    objects = [object_of(lab, file) for file in own]
    # What is withheld has functions that refuse, and nothing that clashes: one file with all of them for each compiler.
    for suffix in (".cpp", ".cu"):
        sources = sorted(file for file in includes if file in withheld and file.endswith(suffix))
        if sources:
            together = scratch / f"withheld{suffix}"
            together.write_text("".join(f'#include "{folder / file}"\n' for file in sources))
            objects.append(f"{together}.o")
            compiles(together, tree, lab.path / sources[0], objects[-1])
    left = {file for file in changed - withheld if any(file in files for files in includes.values())}
    for file in sorted(own, key=lambda file: file not in changed):
        if file.endswith((".cpp", ".cu")) and includes[file] & left:
            compiles(folder / file, tree, lab.path / file)
            left -= includes[file]
    link = cuda.link_command(BUILD, lab.name)
    at = next(at for at, word in enumerate(link) if word.endswith(f"lib{lab.name}_lab.a"))
    link[at:at + 1] = objects + others_in(link[at], (f"{lab.name}_lab.dir", f"{lab.name}_host.dir"))
    link[link.index("-o") + 1] = str(scratch / lab.name)
    ran = subprocess.run(link, cwd=BUILD, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    listed = subprocess.run([scratch / lab.name, "--list"], capture_output=True, text=True, check=True).stdout
    assert all(part.rung in listed for _, part in lab.parts())


def test_lab_test_in_a_hand_out_says_unsolved_for_each_exercise(lab, scratch, monkeypatch, capsys):
    if not (PROGRAMS / f"judge_{lab.name}").is_file():
        pytest.skip(f"judge_{lab.name} has not been built")
    out = handed_out(scratch, lab.name, monkeypatch)
    capsys.readouterr()
    assert student.main([str(out), "test"]) == 1
    *printed, total = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"0 of [1-9][\d.]* points in the tests that you can see", total)
    assert [line.split()[:2] for line in printed[::2]] == [["unsolved", exercise.name] for exercise in lab.exercises]
    for line, exercise in zip(printed[1::2], lab.exercises, strict=True):
        part = next(iter(exercise.parts.values()))
        assert f" labs/{lab.folder}/{part.file} " in line and line.startswith("    Open "), line


# Grading


def test_the_stub_of_an_exercise_scores_nothing_and_the_rung_everything(judge):
    parts = {f"whole {part.backend} {exercise.name}": (exercise, part) for exercise, part in judge.lab.parts()}

    def graded(name):
        exercise, part = parts[name]
        wanted = with_tests(exercise, lambda one: one.check == "values" or (one.check == "races" and HAS_TOOL[part.backend]) or
                            (one.check == "cost" and judge.plugin[0]))
        stub = judge.judge(wanted, part, judge.lab.stub(part.file).encode(), 0)
        assert (sum(one.score for one in stub), {one.outcome for one in stub}) == (0, {UNSOLVED})
        rung = judge.judge(wanted, part, judge.lab.rung(part.file).encode(), 0)
        if judge.why_not(part):
            assert (sum(one.score for one in rung), {one.outcome for one in rung}) == (0, {NOT_GRADED})
        else:
            assert {one.outcome for one in rung} == {PASSED}, f"the rung of {exercise.name} in {part.backend}: {told(rung)}"
        for what, *of in judge.tried:
            assert what != "trial" or any(judge.tried[what, *of].needs_kernels), f"{of} is right without a kernel"
        if part.backend == "opencl":  # begun, but not solved
            todo = judge.lab.stub(part.file) + "\n// my own line\n"
            begun = judge.judge(with_tests(wanted, lambda one: one.visible), part, todo.encode(), 0)
            assert FAILED in {one.outcome for one in begun} <= {PASSED, FAILED}, f"the stub of {exercise.name}: {told(begun)}"
        return "passed", ""

    here = {name: one for name, one in parts.items() if not judge.why_not(one[1])}
    for name in parts.keys() - here.keys():  # what cannot be graded here: the rung and the stub all the same
        graded(name)
    kept = Kept(judge, {name: (exercise, part, judge.lab.stub(part.file).encode()) for name, (exercise, part) in here.items()})
    assert kept.judged_by(graded).keys() == here.keys()


WRONG = (FAILED, CRASHED, TIMED_OUT)


def until_wrong(judge, exercise, tests, part, content):
    """The results of these tests, one after the other, up to the first one that a submission does not pass."""
    results = []
    for test in tests:
        results += judge.judge(with_tests(exercise, [test].__contains__), part, content, 0)
        if results[-1].outcome in WRONG:
            break
    return results


def test_each_TODO_alone_left_as_handed_out_fails_a_visible_test(judge):
    """Of exercises with several: the stub of those with one is judged above."""
    submissions, without = {}, {}
    for exercise, part in judge.lab.parts():
        if exercise.kind != "write" or part.backend != "opencl" or judge.why_not(part):
            continue
        pieces = marks.read(judge.lab.rung(part.file), part.file)
        todos = [one for one in pieces if isinstance(one, marks.Region) and one.kind == "EXERCISE"]
        for number, todo in enumerate(todos if len(todos) > 1 else []):
            lines = [[one] if isinstance(one, str) else one.instead if one is todo else one.lines for one in pieces]
            submissions[f"todo opencl {exercise.name} {number}"] = exercise, part, marks.joined(sum(lines, [])).encode()
            without[f"todo opencl {exercise.name} {number}"] = todo.instead

    def graded(name):
        exercise, part, content = submissions[name]
        values = with_tests(exercise, lambda one: one.visible and one.check == "values")
        results = until_wrong(judge, exercise, values.tests, part, content)
        assert results[-1].outcome in WRONG, f"{exercise.name} without {without[name]}: {told(results)}"
        return "rejected", results[-1].test

    if not submissions:
        pytest.skip(f"{judge.lab.name} has no exercise with several TODOs that can be graded here")
    assert Kept(judge, submissions).judged_by(graded).keys() == submissions.keys()


def test_a_rung_in_cuda_can_be_handed_in(judge, scratch):
    """Without a GPU it is linked at least, with the object of the build: a submission's file is the same, and so are the files
    that it includes, unless one is withheld."""
    withheld = set(handout.withheld_files(judge.lab))
    for _, part in judge.lab.parts():
        if part.backend == "cuda" and judge.worker_program(part).is_file():
            source = f"cuda/{cuda.source_of(judge.lab, part)}"
            assert not includes_of(judge.lab)[source] & withheld
            link = cuda.with_object(cuda.link_command(BUILD, f"worker_{judge.lab.name}_{part.rung}"), judge.lab,
                                    f"labs/{judge.lab.folder}/CMakeFiles/{judge.lab.name}_lab.dir/{source}.o")
            link[link.index("-o") + 1] = str(scratch / part.rung)
            ran = subprocess.run(link, cwd=BUILD, capture_output=True, text=True, check=False)
            assert ran.returncode == 0, f"{part.rung}: {ran.stderr}"


def rows_of(lab, part):
    """The mistakes in an exercise's file and rung that its tests should find: evenly spaced ones where there are many."""
    finders = ("values", "guard bands", "oclgrind") if part.backend == "opencl" else ("values", "guard bands")
    rows = [row for row in lab.mistakes() if row["file"] == part.file and row["rung"] in ([part.rung], []) and row.get("finder", "values") in finders
            and "accepted" not in row]
    return rows[::max(1, math.ceil(len(rows) / MAX_ROWS[part.backend]))]


def with_mistake(lab, part, row):
    """The file of a rung with a mistake. If that is what was handed out, it has a line more, so that it is not unsolved."""
    text = marks.planted(lab.rung(part.file), row, part.file)
    return (text + ("\n// mine\n" if is_unsolved(lab.stub(part.file), text) else "")).encode()


def test_a_mistake_in_the_rung_of_an_exercise_loses_points(judge):
    if not judge.lab.mistakes():
        pytest.skip(f"tests/mistakes/ has nothing about {judge.lab.name}")
    rows = {f"loses {part.backend} {exercise.name} {row['id']}": (exercise, part, row) for exercise, part in judge.lab.parts()
            if not judge.why_not(part) for row in rows_of(judge.lab, part) if HAS_OCLGRIND or row.get("finder") != "oclgrind"}

    def graded(name):
        exercise, part, row = rows[name]
        tests = [one for one in exercise.tests if one.check == "values" or (one.check == "races" and HAS_TOOL[part.backend])]
        # The likely ones first. Oclgrind tells wrong values, too, and compiles in a tenth of the time of PoCL.
        tests.sort(key=lambda one: one.check != "races" or not (one.visible or row.get("finder") == "oclgrind"))
        content = with_mistake(judge.lab, part, row)
        results = until_wrong(judge, exercise, tests, part, content) if part.backend == "opencl" else \
            judge.judge(with_tests(exercise, tests.__contains__), part, content, 0)
        by = [one.test for one in results if one.outcome in WRONG and one.score < one.points]
        return ("rejected", by[0]) if by else ("accepted", "")

    verdicts = Kept(judge, {name: (exercise, part, with_mistake(judge.lab, part, row))
                            for name, (exercise, part, row) in rows.items()}).judged_by(graded)
    accepted = {rows[name][2]["id"] for name, one in verdicts.items() if one == "accepted"}
    unseen = {row["id"] for _, _, row in rows.values()} & UNSEEN.get(judge.lab.name, set())
    assert accepted == unseen, f"mistakes that keep all points: {accepted}; expected: {unseen}"
    assert verdicts.keys() == rows.keys() and "rejected" in verdicts.values()


def test_a_known_mistake_is_named(judge, monkeypatch):
    every = "GPULAB_EVERY_MISTAKE" in os.environ
    mistakes = behaves.Mistakes(judge)
    parts = [(exercise, part) for exercise, part in judge.lab.parts() if part.backend == "opencl" and behaves.rows_of(judge.lab, part)]
    submissions, rows_beside = {}, {}
    for exercise, part in parts if every else parts[:1]:
        rows = behaves.rows_of(judge.lab, part)
        rows = rows if every else rows[::math.ceil(len(rows) / MAX_NAMED)]
        for row in rows:
            name = f"named opencl {exercise.name} {row['id']}"
            submissions[name] = (exercise, part, with_mistake(judge.lab, part, row), repr(rows))
            rows_beside[name] = (row, rows)

    def graded(name):
        exercise, part, content, _ = submissions[name]
        row, rows = rows_beside[name]
        values = with_tests(exercise, lambda one: one.check == "values")
        results = judge.judge(values, part, content, 0)
        with monkeypatch.context() as some:
            some.setattr(behaves, "rows_of", lambda *_: rows)
            mistakes.describe(values, part, content, results, 0)
        printed = "".join(one.behaves for one in results)
        if {one.outcome for one in results} == {PASSED}:  # no case shows it
            assert printed == "", f"{row}: {printed}"
            return "no case", ""
        if row["id"] in BY_CHANCE.get(judge.lab.name, set()):
            return "accepted", ""
        assert row["student"] in printed, f"{row['id']}: '{printed}'; {told(results)}"
        return "passed", ""

    verdicts = Kept(judge, submissions).judged_by(graded)
    assert verdicts.keys() == submissions.keys() and "passed" in verdicts.values()
