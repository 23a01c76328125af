"""The points of a class as the gradebooks of Canvas and Moodle import them: canvas.csv and moodle.csv.

Canvas reads Student, ID, SIS User ID, SIS Login ID and Section, in this order, then a column for each assignment; its second line
has the points possible. Moodle reads a column that identifies the student, and others that the teacher maps. Both stop, or make a
student of their own, where an identifier is wrong. So lines without one are left out, and told.
"""

from __future__ import annotations

import math

from . import report
from .exercises import Lab
from .fault import Fault

CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
CANVAS_IDS = CANVAS[1:4]
MOODLE_IDS = ("ID number", "idnumber", "Email address", "email", "Username", "id")
FORMS = ("canvas", "moodle")


def cell(person: dict[str, str], *names: str) -> str:
    """The first of these columns of a roster that is not empty, whether its name has capitals or not."""
    lower = {column.lower(): text for column, text in person.items()}
    return next((text for name in names if (text := lower.get(name.lower(), "").strip())), "")


def check(form: str, columns: list[str], title: str) -> None:
    """Raises Fault where a roster has no column that identifies students for this form."""
    needed = CANVAS_IDS if form == "canvas" else MOODLE_IDS
    if not title.strip():
        raise Fault(f"--{form}: what is the column called there?")
    if not {name.lower() for name in needed} & {column.lower() for column in columns}:
        raise Fault(f"--{form} needs a roster with one of the columns {', '.join(needed)}")


def table(form: str, title: str, lab: Lab, book: dict[str, dict[str, str]], roster: dict[str, dict[str, str]],
          complaints: list[str]) -> str:
    """The file for everybody in the roster.

    @param title of the column with the points: in Canvas the assignment's, also with its number in brackets
    @param book the lines of the gradebook, by submission as the roster names it
    """
    rows: list[list[str]] = []
    identifier = max(MOODLE_IDS, key=lambda one: sum(bool(cell(person, one)) for person in roster.values()))
    for name, person in sorted(roster.items()):
        line = book.get(name, {})
        points = line.get("total", "")
        ids = [cell(person, one) for one in (CANVAS_IDS if form == "canvas" else [identifier])]
        formula = next((one for one in ids if report.safe_cell(one) != one), "")
        why = ("the roster has no identifier of theirs" if not any(ids) else
               f"the identifier {formula} is a formula to a spreadsheet" if formula else
               "" if is_number(points) or (form == "canvas" and points == "EX") else f"'{points}' is no number of points")
        if why:
            complaints.append(f"{form}.csv lacks {report.printable(name)}: {report.printable(why)}")
        elif form == "canvas":
            rows.append([cell(person, "Student", "name") or name, *ids, cell(person, "Section"), points])
        else:
            rows.append([*ids, points, per_exercise(lab, line)])
    if form == "canvas":
        return report.table([[*CANVAS, title], ["    Points Possible", "", "", "", "", f"{lab.points:g}"], *rows])
    return report.table([[identifier, title, "Feedback"], *rows])


def is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def per_exercise(lab: Lab, line: dict[str, str]) -> str:
    """The points of each exercise in one cell, which students read."""
    parts = [f"{one.name}: {line[one.name]} of {one.points:g}" for one in lab.exercises if line.get(one.name, "").strip()]
    return "; ".join([*parts, *([f"answers: {line['answers']}"] if line.get("answers", "").strip() else [])])
