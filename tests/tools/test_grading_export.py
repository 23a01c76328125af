"""What a class did test by test, its points as Canvas and Moodle import them, and what a student is told of hidden tests."""

import csv
import io

import pytest
from grading_support import ROOT, hand_out_of, result_with

from grading import export, report
from grading.exercises import load
from grading.fault import Fault
from grading.judge import FAILED, NOT_GRADED, PASSED, UNSOLVED, Result
from grading.student import show

LAB = load(ROOT, "saxpy")
EXERCISE = LAB.exercises[0]
RAGGED = "Your kernel behaves like one that <leaves> out the ragged block."
TWO = "Your kernel behaves like one that <leaves> out the ragged block; or like one that reads outside."


def class_of_30():
    some = len(EXERCISE.tests)
    wrong = [PASSED, *[FAILED] * (some - 1)]
    return [*(result_with(wrong, f"a{i}", RAGGED) for i in range(17)), result_with(wrong, "b", TWO),
            *(result_with([PASSED] * some, f"c{i}") for i in range(10)), result_with([UNSOLVED] * some, "d"),
            result_with([PASSED, NOT_GRADED, *[PASSED] * (some - 2)], "e")]


def test_how_many_passed_each_test_and_behave_like_each_mistake_is_counted():
    rows = [dict(zip(report.RATES, row)) for row in report.rates(LAB, class_of_30())]
    first, second = rows[:2]
    assert (first["name"], first["seen"], first["submissions"], first["of"], first["percent"]) == (EXERCISE.tests[0].name, "visible", 29, 30, "97")
    assert (second["submissions"], second["of"], second["percent"]) == (10, 29, "34"), "what was not graded does not count"
    assert {row["seen"] for row in rows if row["what"] == "test"} == {"visible", "hidden"}
    assert [row["name"] for row in rows if row["what"] == "test"] == [test.name for test in EXERCISE.tests], "each test, in order"
    mistakes = [(row["name"], row["submissions"], row["of"]) for row in rows if row["what"] == "mistake"]
    assert mistakes == [("<leaves> out the ragged block", 18, 30), ("reads outside", 1, 30)]
    page = report.page(LAB, class_of_30(), 30, [])
    assert "<td>&lt;leaves&gt; out the ragged block</td><td></td><td class=\"number\">18 of 30</td>" in page
    assert page.index("<h2>What wrong kernels behave like") < page.index("<h2>Tests passed") < page.index("<h2>Feedback")
    assert f"  {TWO}\n" in report.feedback(LAB, class_of_30()[17]) and report.gradescope(LAB, class_of_30()[17]).count(TWO) == 1
    assert report.rates(LAB, []) == [] and "<h2>Tests passed" not in report.page(LAB, [], 3, [])
    right = [result_with([PASSED] * len(EXERCISE.tests))]
    assert "What wrong kernels" not in report.page(LAB, right, 1, []) and "behaves like" not in report.feedback(LAB, right[0])


COLUMNS = ("submission", "Student", "id", "SIS User ID", "SIS Login ID", "Section", "Email address")
ROSTER = {line[0]: dict(zip(COLUMNS, line)) for line in (
    ("ada", "Lovelace, Ada", "101", "S1", "ada", "A", "ada@example.org"), ("eve", "=1+1", "", "", "eve", "", "eve@example.org"),
    ("bob", "+Bob", "", "", "", "B", ""), ("cy", "Cy", "@103", "", "cy", "B", "-cy@example.org"),
    ("dan", "Dan", "104", "", "", "B", "dan@example.org"))}
BOOK = {"ada": {"total": "28.5", "many-blocks": "10", "distances": "8.5", "answers": "3"}, "eve": {"total": "0"},
        "bob": {"total": "5"}, "cy": {"total": "6"}, "dan": {"total": "late"}}


def written(form, book=BOOK, roster=ROSTER):
    complaints = []
    text = export.table(form, "Lab 01 (77)", LAB, book, roster, complaints)
    return list(csv.reader(io.StringIO(text, newline=""))), complaints


def test_canvas_finds_its_columns_its_second_line_and_each_student():
    (head, points, *lines), complaints = written("canvas")
    # What Canvas asks of a header: the name first, ID second, Section last before the assignments.
    assert head == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "Lab 01 (77)"]
    assert "Points Possible" in points[0] and points[1:] == ["", "", "", "", f"{LAB.points:g}"]
    assert lines == [["Lovelace, Ada", "101", "S1", "ada", "A", "28.5"], ["'=1+1", "", "", "eve", "", "0"]]
    assert complaints == ["canvas.csv lacks bob: the roster has no identifier of theirs",
                          "canvas.csv lacks cy: the identifier @103 is a formula to a spreadsheet",
                          "canvas.csv lacks dan: 'late' is no number of points"]
    for points in ("nan", "inf"):
        assert written("canvas", {**BOOK, "dan": {"total": points}})[1][-1] == f"canvas.csv lacks dan: '{points}' is no number of points"
    excused, _ = written("canvas", {**BOOK, "dan": {"total": "EX"}})
    assert ["Dan", "104", "", "", "B", "EX"] in excused
    (_, _, named), _ = written("canvas", {"s1": {"total": "2"}}, {"s1": {"submission": "s1", "Name": "Lovelace, Ada", "ID": "7"}})
    assert named == ["Lovelace, Ada", "7", "", "", "", "2"], "a roster of this project's own has a column name"


def test_moodle_finds_an_identifier_points_and_feedback_and_no_line_that_would_end_the_import():
    (head, *lines), complaints = written("moodle")
    assert head == ["Email address", "Lab 01 (77)", "Feedback"]
    assert lines == [["ada@example.org", "28.5", "many-blocks: 10 of 10; distances: 8.5 of 10; answers: 3"], ["eve@example.org", "0", ""]]
    assert [one.split(":")[0] for one in complaints] == ["moodle.csv lacks bob", "moodle.csv lacks cy", "moodle.csv lacks dan"]
    by_number = {name: {**person, "ID number": f"n{name}"} for name, person in ROSTER.items()}
    (head, first, *_), _ = written("moodle", roster=by_number)
    assert (head[0], first[0]) == ("ID number", "nada")


def test_one_kind_of_identifier_stands_in_a_column_and_whoever_has_nothing_in_the_gradebook_is_told():
    mixed = {"ada": {"submission": "ada", "ID number": "7", "email": ""}, "eve": {"submission": "eve", "ID number": "", "email": "e@b"}}
    (head, *lines), complaints = written("moodle", {"ada": {"total": "1"}, "eve": {"total": "2"}}, mixed)
    assert head[0] == "ID number" and [line[0] for line in lines] == ["7"] and "moodle.csv lacks eve" in complaints[0]
    assert written("moodle", {}, {"ada": ROSTER["ada"]})[1] == ["moodle.csv lacks ada: '' is no number of points"]


@pytest.mark.parametrize(("form", "columns", "title", "words"), [
    ("canvas", ["name", "Email address"], "Lab 01", "one of the columns ID, SIS User ID, SIS Login ID"),
    ("moodle", ["name", "SIS User ID"], "Lab 01", "ID number, idnumber, Email address, email, Username, id"),
    ("canvas", ["id"], " ", "what is the column called"), ("moodle", [], "Lab 01", "needs a roster")])
def test_a_roster_that_identifies_nobody_is_refused_before_anything_is_graded(form, columns, title, words):
    with pytest.raises(Fault, match=words):
        export.check(form, columns, title)
    export.check(form, ["id"], "Lab 01")  # which the guide's roster has


def test_a_student_reads_how_many_hidden_tests_have_not_run(hand_out_of, capsys):
    lab = load(hand_out_of("saxpy"), "saxpy")
    for exercise, whole in zip(lab.exercises, LAB.exercises, strict=True):
        for backend, part in exercise.parts.items():
            hidden = sum(not test.visible for test in whole.tests)
            assert exercise.hidden[backend] == hidden > 0
            tests = [Result(test.name, PASSED, test.points, test.points) for test in exercise.tests]
            show(exercise, part, "right", tests, "")
            assert f"visible tests passed, {hidden} hidden ones not run" in capsys.readouterr().out
            show(exercise, part, "wrong", tests, "")
            assert "hidden" not in capsys.readouterr().out
