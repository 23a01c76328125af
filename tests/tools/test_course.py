"""The tests of tools/course: plans of weeks, and the list of all exercises."""

import contextlib
import json
import re
import shutil
import sys
import tempfile
import tomllib
from pathlib import Path

import pytest
from conftest import LABS, ROOT, Files, passed, refused
from machine import run_here

sys.path.insert(0, str(ROOT / "tools"))
from grading.exercises import folders, load  # noqa: E402
from grading.export import CANVAS, MOODLE_IDS  # noqa: E402
from grading.report import RATES, gradebook_head  # noqa: E402

READS_ALL = True  # see judged_once.py

# A plan has every exercise of its labs.
SAXPY, REDUCTION, STREAMS = ({one.name: one.points for one in load(ROOT, lab).exercises} for lab in ("saxpy", "reduction", "streams"))
LATER = {name: points for name, points in SAXPY.items() if name != "many-blocks"}
COURSE, EXERCISES = "docs/course.md", "docs/exercises.md"
README, PATH = "labs/02_reduction/README.md", "labs/02_reduction/PATH.md"
PLAN = f"""# A course

<!-- course plan
[[week]]
lab = "saxpy"
about = "a kernel"
exercises = ["many-blocks"]
questions = [1, 3, 4, 5]
read.Book = ["1.1", "exercise 2.1"]
read."Aula 17" = ["1"]

[[week]]
lab = "saxpy"
about = "more"
exercises = {json.dumps([*LATER])}

[[week]]
lab = "reduction"
about = "trees"
exercises = {json.dumps([*REDUCTION])}
questions = [9]

[[week]]
or = true
lab = "streams"
about = "copies"
exercises = {json.dumps([*STREAMS])}
questions = [1, 2]

[[week]]
about = "a talk"
hours = [1, 2]
-->
<!-- end of course -->

The end.
"""

pytestmark = pytest.mark.skipif(len(LABS) < 9, reason="not all labs are here")


class Tree(Files):
    """A copy of what the tool reads."""

    def __init__(self, folder):
        super().__init__(folder, {COURSE: PLAN})
        self.copy("labs", "tests/mistakes", "tools/grading", "tools/explain", "tools/course", "docs/pages/repository.py", "docs/sources.toml",
                  EXERCISES, ignore=shutil.ignore_patterns("__pycache__", "*.png", "*.json"))

    @contextlib.contextmanager
    def changed(self, name, old, new):
        text = self.change(name, old, new)
        try:
            yield
        finally:
            self.write(name, text)

    def run(self, *words):
        return run_here(self.folder / "tools/course", *words)


@pytest.fixture(scope="module")
def tree():
    """One for all tests: its pages are up to date, and each test takes its change back."""
    with tempfile.TemporaryDirectory() as folder:
        made = Tree(Path(folder))
        passed(made.folder / "tools/course")
        yield made


def way_of(folder):
    """The way through a lab, and the minutes of its steps together."""
    text = (ROOT / "labs" / folder / "PATH.md").read_text(encoding="utf-8")
    return text, sum(map(int, re.findall(r"(?m)^\d+\. \*\*.*?\*\* \((\d+) min\)", text)))


def hours(number):
    return f"{round(number, 1):g}"


def rows_of(text):
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.split("\n") if line.startswith("| ")]


def test_the_pages_are_up_to_date():
    assert run_here(ROOT / "tools/course", "--check").stdout.startswith("exercises: ")


def test_a_plan_has_the_points_and_sums_of_its_weeks(tree):
    page = tree.read(COURSE)
    assert page.startswith("# A course\n\n<!-- course plan\n[[week]]\n") and page.endswith("<!-- end of course -->\n\nThe end.\n")
    link = "[01 saxpy](../labs/01_saxpy/README.md)"
    one, two, five = (way_of(lab)[1] / 60 for lab in ("01_saxpy", "02_reduction", "05_streams"))

    def cell(exercises):
        return ", ".join(f"`{name}` ({points:g})" for name, points in exercises.items())

    assert rows_of(page)[1:] == [
        ["1", link, "a kernel", "`many-blocks` (10)", "1, 3 to 5",
         "[Book](concordance.md#book) 1.1, exercise 2.1; [Aula 17](concordance.md#aula-17) 1", hours(one / 2)],
        ["2", link, "more", cell(LATER), "", "", hours(one / 2)],
        ["3", "[02 reduction](../labs/02_reduction/README.md)", "trees", cell(REDUCTION), "9", "", hours(two)],
        ["or", "[05 streams](../labs/05_streams/README.md)", "copies", cell(STREAMS), "1, 2", "", hours(five)],
        ["4", "project", "a talk", "", "", "", "1 to 2"]]
    sums = [f"{len(SAXPY) + len(other)} exercises with {sum(SAXPY.values()) + sum(other.values()):g} points" for other in (REDUCTION, STREAMS)]
    assert (f"In all: {sums[0]}, 5 questions, {one + two + 1:.0f} to {one + two + 2:.0f} hours. "
            f"With lab 05: {sums[1]}, 6 questions, {one + five + 1:.0f} to {one + five + 2:.0f} hours.\n") in page
    passed(tree.folder / "tools/course", "--check")


def test_every_exercise_is_listed_with_the_points_of_its_tests():
    rows = rows_of((ROOT / EXERCISES).read_text(encoding="utf-8"))
    listed = {(row[0], row[2]) for row in rows if row[0].startswith("`")}
    points, wanted = 0, set()
    for path in sorted(ROOT.glob("labs/*/exercises/exercises.toml")):
        for one in tomllib.loads(path.read_text(encoding="utf-8"))["exercise"]:
            own = sum(test["points"] for test in one["test"])
            points += own
            wanted.add((f"`{one['name']}`: {one['title']}", f"{own:g}"))
    assert wanted and listed == wanted
    total = next(row for row in rows if row[0] == "all")
    assert total[1:3] == [str(len([row for row in rows if row[0].startswith("`")])), f"{points:g}"]
    assert sum(map(float, total[3:8])) == points, "the checks together"
    questions = [len(re.findall(r"(?m)^\d+\. ", re.search(r"(?ms)^## Questions$(.*?)^## ", path.read_text(encoding="utf-8"))[1]))
                 for path in ROOT.glob("labs/*/README.md")]
    assert total[8].partition(":")[0] == str(sum(questions))


@pytest.mark.parametrize(("file", "old", "new", "told_of"), [
    (COURSE, '"many-blocks"', '"many-block"', "week 1: saxpy has no exercise 'many-block'"),
    (COURSE, '"many-blocks"', "", "saxpy: exercise 'many-blocks' is in no week"),
    (COURSE, '"distances"', '"distances", "many-blocks"', "week 2: exercise 'many-blocks' of saxpy is in two weeks"),
    (COURSE, "[1, 3, 4, 5]", "[1, 11]", "week 1: saxpy has no question '11'"),
    (COURSE, "[1, 3, 4, 5]", "[1, 3, 3]", "week 1: question '3' of saxpy is in two weeks"),
    (COURSE, '"1.1"', '"1.7"', "week 1: docs/sources.toml lists no '1.7' of 'Book'"),
    (COURSE, "read.Book", "read.Novel", "lists no '1.1' of 'Novel'"),
    (COURSE, 'lab = "reduction"', 'lab = "matmul"', "week 3: matmul comes before lab 02, which it demands"),
    (COURSE, 'lab = "reduction"', 'lab = "reductions"', "week 3: there is no lab 'reductions'"),
    (COURSE, "hours = [1, 2]", "hours = [1, 2", "a table 'plan': "),
    (COURSE, "hours = [1, 2]", "", "a table 'plan': 'hours'"),
    (COURSE, "<!-- course plan", "<!-- course plans", "a table 'plans'"),
    (COURSE, "<!-- course plan", "<!-- curse plan", "a table has no beginning or no end"),
    ("labs/01_saxpy/exercises/exercises.toml", 'name = "many lengths"\npoints = 2', 'name = "many lengths"\npoints = 4',
     f"{EXERCISES}: it is not up to date: run tools/course"),
    (README, "Time: about ", "Time: nearly ", f"{README}: it is not up to date"),
    (README, "Time: about ", "Takes about ", f"{README}: it lacks 'Time: ...'"),
    (PATH, "(35 min). A tree", "(30 min). A tree", f"{EXERCISES}: it is not up to date"),
    (PATH, "(35 min). A tree", "(45 min). A tree", f"{PATH}: 'Sitting 1: a tree' has 130 minutes: at most 120"),
    (PATH, "(35 min). A tree", "A tree", f"{PATH}: '**Write `tree`: 10 points**"),
    (PATH, "`tree`: 10 points", "`tree`: 11 points", f"{PATH}: it is not up to date: run tools/course"),
    (PATH, "Write `tree`", "Write `trees`", f"{PATH}: exercise tree is 0 times in the sittings: once"),
    (PATH, "Write `dot`", "Write `tree`", f"{PATH}: exercise tree is 2 times in the sittings: once"),
    (PATH, "**Question 2**", "**Question 4**", f"{PATH}: question 4 is 2 times in the sittings: once"),
    (PATH, "**Question 2**", "**Question 11**", f"{PATH}: question 2 is 0 times in the sittings: once"),
    (PATH, "(cpu/02_kahan.cpp)", "(cpu/series.cpp)", f"{PATH}: it does not read cpu/02_kahan.cpp, a rung of the Core ladder"),
    (PATH, "(cpu/02_kahan.cpp)", "(opencl/03_grid_stride.cl)", f"{PATH}: it reads opencl/03_grid_stride.cl, which is withheld, before 'dot'"),
    (PATH, "(120 min)", "", f"{PATH}: it lacks '## Further"),
    (PATH, "<!-- course way -->", "<!-- course plan -->", "a table 'plan'"),
    ("labs/09_cg/PATH.md", "**Questions 3 and 4**", "**Questions 3, 4 and 6**", "labs/09_cg/PATH.md: question 6 is 1 times"),
    ("labs/08_fdtd/README.md", "*(GPU)*", "*(paper)*", f"{EXERCISES}: it is not up to date"),
    ("labs/08_fdtd/README.md", "*(GPU)*", "*(moon)*", "labs/08_fdtd/README.md: question 7 does not say where it can be answered"),
])
def test_what_does_not_fit_is_told(tree, file, old, new, told_of):
    with tree.changed(file, old, new):
        found = tree.run("--check")
        assert found.returncode == 1 and told_of in found.stderr and not found.stdout, found


def test_with_a_fault_no_page_is_written(tree):
    with tree.changed(PATH, "`tree`: 10 points", "`tree`: 11 points"), tree.changed(COURSE, "[1, 3, 4, 5]", "[1, 11]"):
        before = {path: path.read_text(encoding="utf-8") for path in tree.folder.rglob("*.md")}
        assert tree.run().returncode == 1
        assert {path: path.read_text(encoding="utf-8") for path in before} == before


def test_a_wrong_option_is_one_line():
    refused(run_here(ROOT / "tools/course", "--chek"), "--check")


def test_the_class_that_is_shown_has_the_exercises_and_tests_of_the_lab():
    lab, page = load(ROOT, "saxpy"), (ROOT / EXERCISES).read_text(encoding="utf-8").split("## A class of four")[1]
    shown = [line[4:] for line in page.split("\n") if line.startswith("    ")]
    head = gradebook_head(lab, ["id", "name", "Email address"])
    assert shown.count(",".join(head)) == 1
    assert {",".join([*CANVAS, "Lab 01"]), f"{MOODLE_IDS[2]},Lab 01,Feedback", ",".join(RATES)} <= set(shown)
    rows = [line.split(",") for line in shown[shown.index(",".join(head)) + 1:][:4]]
    for row in rows:
        points = dict(zip(head, row))
        assert len(row) == len(head) and float(points["max_score"]) == lab.points
        assert round(sum(float(points[one.name]) for one in lab.exercises), 2) == float(points["score"])
        assert float(points["total"]) == float(points["score"]) + float(points["answers"] or 0)
    first = lab.exercises[0]
    begin = shown.index(f"## {first.title} (opencl): 1 of {first.points:g}")
    listed = [line for line in shown[begin:] if line.startswith("- ")][:len(first.tests)]
    for test, line in zip(first.tests, listed, strict=True):
        assert re.match(rf"- {re.escape(test.name)}: [\d.]+ of {test.points:g}, ", line), line
    assert f"  Hint: {first.tests[1].hint}" in shown
    told = re.findall(r"Your kernel behaves like one that (.*)\.", page)
    assert told and all(one in {row["student"] for row in lab.mistakes()} for one in told)
    assert set(folders(ROOT)) == set(LABS), "every lab has exercises"
