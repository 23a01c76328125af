"""Writes the results: results.json, JUnit, feedback.md, the gradebook and one page for the class."""

from __future__ import annotations

import csv
import html
import io
import itertools
import json
import os
import re
import statistics
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from .exercises import Exercise, Lab
from .judge import BUILD_ERROR, CRASHED, ELSEWHERE, FAILED, NOT_COUNTED, NOT_GRADED, OTHER_TESTS, PASSED, TIMED_OUT, UNSOLVED

MAX_SHOWN = 2000  # characters of the notes of a submission. Spreadsheets take 32,767 in a cell
SAID = {
    PASSED: "right",
    FAILED: "wrong",
    UNSOLVED: "not solved",
    BUILD_ERROR: "it does not compile",
    CRASHED: "the program ended before it answered",
    TIMED_OUT: "the program did not answer in time",
    NOT_GRADED: "not graded",
}


def write(path: Path, text: str) -> None:
    """Writes a file in one step, so that nobody finds half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.new")
    new.write_text(text, encoding="utf-8")
    os.replace(new, path)


def printable(text: str) -> str:
    """A text without the characters that XML and terminals take for commands."""
    return "".join(c if c.isprintable() or c in "\n\t" else "?" for c in text)


def shortened(text: str) -> str:
    """A text for a cell or a line."""
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "..."


def entries(lab: Lab, result: dict[str, Any]) -> list[tuple[Exercise, str, dict[str, Any], dict[str, Any]]]:
    """The tests that count: exercise, back end, the test as the lab has it, and its result."""
    found = []
    for exercise in lab.exercises:
        one = result["exercises"].get(exercise.name)
        if not one:
            continue
        tests = {test.name: test for test in exercise.tests}
        for outcome in one["tests"]:
            test = tests.get(outcome["test"])
            if test:
                found.append((exercise, one["backend"], {"hint": test.hint, "visible": test.visible}, outcome))
    return found


def told(test: dict[str, Any], outcome: dict[str, Any]) -> tuple[str, str, str]:
    """What a student may read about a test: the outcome, a message, and hints. It holds no input of a hidden test, not even one
    that the program printed."""
    what = outcome["outcome"]
    if outcome["message"] in ELSEWHERE:
        return f"not counted: {outcome['message']}", "", ""
    message = outcome["message"] if test["visible"] else outcome["public"]
    shown = what != UNSOLVED and not message.startswith(NOT_COUNTED)
    hinted = what in (FAILED, CRASHED) and outcome["public"] not in OTHER_TESTS
    hints = "\n".join(filter(None, [f"Hint: {test['hint']}" if hinted else "", outcome["behaves"]]))
    return SAID[what], printable(message) if shown else "", hints


def shown_to_student(test: dict[str, Any], outcome: dict[str, Any]) -> str:
    words, message, hints = told(test, outcome)
    return "\n".join(filter(None, [f"{words}: {message}" if message else words, hints]))


def gradescope(lab: Lab, result: dict[str, Any]) -> str:
    tests = [{
        "number": str(number),
        "name": f"{exercise.name} ({backend}): {outcome['test']}",
        "score": outcome["score"],
        "max_score": outcome["points"],
        "status": "passed" if outcome["outcome"] == PASSED else "failed",
        "output": shown_to_student(test, outcome),
        "visibility": "visible" if test["visible"] else "after_published",
    } for number, (exercise, backend, test, outcome) in enumerate(entries(lab, result), 1)]
    return json.dumps({
        "score": result["score"],
        "max_score": result["max_score"],
        "execution_time": round(result["seconds"]),
        "output": printable("\n".join(result["notes"])),  # no points: students see it before those of hidden tests are published
        "visibility": "visible",
        "stdout_visibility": "hidden",
        **dict.fromkeys(("output_format", "test_output_format", "test_name_format"), "text"),
        "tests": tests,
    }, indent=1) + "\n"


def junit(lab: Lab, result: dict[str, Any]) -> str:
    suite = ElementTree.Element("testsuite", name=printable(result["name"]))
    for exercise, backend, _, outcome in entries(lab, result):
        case = ElementTree.SubElement(suite, "testcase", classname=lab.name, name=f"{exercise.name} ({backend}): {outcome['test']}",
                                      time=str(outcome["seconds"]))
        what = outcome["outcome"]
        if what != PASSED:
            tag = "failure" if what in (FAILED, UNSOLVED) else "skipped" if what == NOT_GRADED else "error"
            ElementTree.SubElement(case, tag, message=what).text = printable(outcome["message"])
    for name, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(len(list(suite.iter(tag)))))
    ElementTree.indent(suite)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(suite, encoding="unicode")}\n'


def feedback(lab: Lab, result: dict[str, Any]) -> str:
    lines = [f"# Lab {lab.folder[:2]}, {lab.name}: {markdown(result['name'])}", "",
             f"{result['score']:g} of {result['max_score']:g} points", ""]
    if "pseudonym" in result:
        lines += [f"Your name on the board: {result['pseudonym']}", ""]
    if result["notes"]:
        lines += ["Your submission:", "", *(f"- {markdown(shortened(note))}" for note in result["notes"]), ""]
    for exercise, tests in itertools.groupby(entries(lab, result), key=lambda entry: entry[0]):
        one = result["exercises"][exercise.name]
        where = ", ".join(filter(None, (one["backend"], one.get("device"))))
        lines += [f"## {exercise.title} ({where}): {one['score']:g} of {exercise.points:g}", ""]
        said: set[str] = set()
        for _, _, test, outcome in tests:
            words, message, hints = told(test, outcome)
            if outcome["outcome"] == BUILD_ERROR and message:
                message = "see above" if message in said else message
                said.add(printable(outcome["message"]))
            block = "\n" in message.strip()
            lines.append(f"- {outcome['test']}: {outcome['score']:g} of {outcome['points']:g}, {words}"
                         f"{':' if block else f': {markdown(message)}' if message else ''}")
            lines += [f"  {line}" for line in [*(code(message) if block else []), *hints.splitlines()]]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def for_submission(lab: Lab, folder: Path, result: dict[str, Any]) -> None:
    """The files of one submission."""
    write(folder / "results.json", gradescope(lab, result))
    write(folder / "junit.xml", junit(lab, result))
    write(folder / "feedback.md", feedback(lab, result))


# What a spreadsheet may take for a formula: at the beginning of a cell, and behind what may be the beginning of one where it
# takes semicolons for what separates cells.
FORMULA = r'((?:^|[;\t\r\n])[\s"]*){}(?=[=+@\-\uff1d\uff0b\uff0d\uff20])'


def safe_cell(text: str) -> str:
    """A cell of which a spreadsheet takes nothing for a formula."""
    return re.sub(FORMULA.format(""), r"\1'", text)


def unsafe_name(name: str) -> bool:
    """Whether safe_cell() makes of another name what this name is."""
    return bool(re.search(FORMULA.format("'"), name))


def markdown(text: str) -> str:
    """One line of anybody's text inside a page: it shows as it is."""
    return re.sub(r"[\\`*\[\]<>~|]|^[#+\-]|(?<!\w)_|_(?!\w)|&(?=[#\w])", r"\\\g<0>", " ".join(printable(text).split()))


def code(text: str) -> list[str]:
    """Lines of anybody's text as a block of code, which nothing in it can end."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return [fence, *text.split("\n"), fence]


def warnings(results: list[dict[str, Any]]) -> list[str]:
    """What instructors, but not students, need to know about these results."""
    return sorted({warning for result in results for warning in result.get("warnings", [])})


def table(rows: list[list[Any]]) -> str:
    """Rows as CSV, for a spreadsheet."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows([safe_cell(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return out.getvalue()


def look_at(result: dict[str, Any]) -> list[str]:
    return [f"look at {one}" for one in result.get("look", [])]


def gradebook_head(lab: Lab, columns: list[str]) -> list[str]:
    """The columns of the gradebook. @param columns those of the roster"""
    return ["submission", *columns, "score", "max_score", *(one.name for one in lab.exercises), "answers", "total", "notes"]


def gradebook_row(lab: Lab, result: dict[str, Any]) -> dict[str, str]:
    """The line of a submission in the gradebook, without points for answers. As a table holds it: see safe_cell()."""
    points = {exercise.name: result["exercises"].get(exercise.name, {}).get("score", 0) for exercise in lab.exercises}
    person = {name: printable(str(cell)) for name, cell in result.get("person", {}).items()}
    row = {**person, "submission": printable(result["name"]), "score": f"{result['score']:g}", "max_score": f"{result['max_score']:g}",
           **{name: f"{one:g}" for name, one in points.items()},
           "notes": shortened("; ".join(map(printable, [*result["notes"], *warnings([result]), *look_at(result)])))}
    return {name: safe_cell(cell) for name, cell in row.items()}


def not_graded(result: dict[str, Any]) -> list[str]:
    """The exercises of which this machine could run no test: their 0 points say nothing about what was handed in."""
    return [name for name, one in result["exercises"].items()
            if one["tests"] and all(test["outcome"] == NOT_GRADED for test in one["tests"])]


def all_not_graded(results: list[dict[str, Any]]) -> list[str]:
    """One line about all of them, or none."""
    found = [f"{printable(one['name'])} ({', '.join(names)})" for one in results if (names := not_graded(one))]
    return [f"not graded, and 0 points in the tables: {', '.join(found)}"] if found else []


def worst(one: dict[str, Any]) -> str:
    """One word for an exercise."""
    order = (NOT_GRADED, UNSOLVED, BUILD_ERROR, CRASHED, TIMED_OUT, FAILED, PASSED)
    return min((test["outcome"] for test in one["tests"]), key=order.index, default=PASSED)


PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title><style>
summary, pre, td:first-child {{ overflow-wrap: anywhere }} td {{ overflow-wrap: break-word; max-width: 40em }}
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 76em; padding: 0 1em; color: #222; background: #fff }}
table {{ border-collapse: collapse }} th, td {{ padding: .3em .8em; border-bottom: 1px solid #ccc; text-align: left }}
td.number {{ text-align: right; white-space: nowrap }} pre {{ white-space: pre-wrap; background: #f4f4f4; padding: 1em }}
.passed {{ color: #14632a }} .other {{ color: #9a1c1c }} .none {{ color: #6b4e00 }}
summary {{ cursor: pointer }}
</style></head><body><h1>{title}</h1><p>{summary}</p>
{table}
{rates}<h2>Feedback</h2>
{texts}<script>addEventListener('hashchange',open_it);function open_it(){{
const d=document.querySelector(location.hash||'#none');if(d)d.open=true}}open_it()</script>
</body></html>
"""


RATES = ["exercise", "what", "name", "seen", "submissions", "of", "percent"]
LIKE = re.compile(r"Your kernel behaves like one that (.*)\.")


def rates(lab: Lab, results: list[dict[str, Any]]) -> list[tuple[str, str, str, str, int, int, str]]:
    """How many submissions passed which test, and behave like which known mistake; see RATES. What was not graded does not
    count. A submission that several known mistakes explain counts for each."""
    passed: Counter[tuple[str, str]] = Counter()
    graded: Counter[tuple[str, str]] = Counter()
    like: Counter[tuple[str, str]] = Counter()
    for result in results:
        for exercise, _, _, outcome in entries(lab, result):
            test = exercise.name, outcome["test"]
            graded[test] += outcome["outcome"] != NOT_GRADED
            passed[test] += outcome["outcome"] == PASSED
            if found := LIKE.fullmatch(outcome["behaves"]):
                like.update((exercise.name, one) for one in found[1].split("; or like one that "))
    rows = []
    for exercise in lab.exercises:
        for test in exercise.tests:
            key = exercise.name, test.name
            if graded[key]:
                rows.append((*key, "visible" if test.visible else "hidden", passed[key], graded[key]))
        most = max((graded[exercise.name, test.name] for test in exercise.tests), default=0)
        rows += [(*key, "", count, most) for key, count in sorted(like.items(), key=lambda one: (-one[1], one[0]))
                 if key[0] == exercise.name]
    return [(name, "test" if seen else "mistake", what, seen, count, of, f"{100 * count / of:.0f}")
            for name, what, seen, count, of in rows]


class Cell(str):
    """A cell as HTML. Any other text is escaped."""


def grid(head: list[str], rows: list[list[str]]) -> str:
    """A table of HTML."""
    lines = ["".join(cell if isinstance(cell, Cell) else f"<td>{html.escape(printable(cell))}</td>" for cell in row) for row in rows]
    return "\n".join([f"<table><thead><tr>{''.join(f'<th>{html.escape(printable(word))}</th>' for word in head)}</tr></thead><tbody>",
                      *(f"<tr>{line}</tr>" for line in lines), "</tbody></table>"])


def rates_page(lab: Lab, results: list[dict[str, Any]]) -> str:
    """The rates as a part of the page."""
    parts = []
    for kind, title, what, more in (
            ("mistake", "What wrong kernels behave like", "a kernel that",
             "<p>A submission that several known mistakes explain counts for each.</p>"), ("test", "Tests passed", "test", "")):
        rows = [[name, text, seen, Cell(f'<td class="number">{count} of {of}</td>'),
                 Cell(f'<td class="number">{percent} %</td>')]
                for name, of_kind, text, seen, count, of, percent in rates(lab, results) if of_kind == kind]
        if rows:
            parts += [f"<h2>{title}</h2>", grid(["exercise", what, "", "submissions", ""], rows), more]
    return "\n".join([*parts, ""])


def page(lab: Lab, results: list[dict[str, Any]], expected: int, columns: list[str]) -> str:
    """The class on one page. @param columns those of the roster that are passed on"""
    names = [exercise.name for exercise in lab.exercises]
    rows, texts = [], []
    for number, result in enumerate(results):
        name = html.escape(printable(result["name"]))
        look = "".join(f"<br>{html.escape(printable(one))}" for one in look_at(result))
        row = [Cell(f'<td><a href="#s{number}">{name}</a>{look}</td>'), *(str(result.get("person", {}).get(column, "")) for column in columns),
               Cell(f'<td class="number">{result["score"]:g} of {result["max_score"]:g}</td>')]
        for one in (result["exercises"].get(exercise) for exercise in names):
            word, score = (worst(one), one["score"]) if one else (UNSOLVED, 0)
            kind = "passed" if word == PASSED else "none" if word in (UNSOLVED, NOT_GRADED) else "other"
            row.append(Cell(f'<td class="{kind}">{score:g} {html.escape(word)}</td>'))
        rows.append(row)
        texts.append(f'<details id="s{number}"><summary>{name}</summary><pre>{html.escape(feedback(lab, result))}</pre></details>')
    summary = f"{len(results)} of {expected} submissions graded."
    if scores := [result["score"] for result in results]:
        summary += f" Points: lowest {min(scores):g}, median {statistics.median(scores):g}, highest {max(scores):g}."
    summary += "".join(f" {warning[0].upper()}{warning[1:]}." for warning in [*all_not_graded(results), *warnings(results)])
    return PAGE.format(title=f"Lab {lab.folder[:2]}, {html.escape(lab.name)}", summary=html.escape(summary),
                       table=grid(["submission", *columns, "points", *names], rows), rates=rates_page(lab, results), texts="\n".join(texts))
