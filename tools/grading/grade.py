"""./lab grade: marks the submissions of a class."""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import itertools
import json
import math
import os
import queue
import re
import secrets
import shutil
import signal
import sys
import time
import unicodedata
from collections.abc import Collection
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

from . import board, export, report
from .behaves import Mistakes
from .exercises import Lab, load
from .fault import Fault, Parser, new_folder
from .handout import questions
from .judge import BUSY, NOT_COUNTED, NOT_GRADED, UNSOLVED, Judge, Result
from .sandbox import best, locked
from .submission import ANSWERS, OFFER, Submission, answers_of, name_of, printable, read_one, text_of


csv.field_size_limit(1 << 30)  # a table of an earlier version may have longer cells than Python reads by itself
LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")  # in a question: it leads nowhere from the results
INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
# Letters of Cyrillic and Greek that look like some of Latin.
LIKE_LATIN = str.maketrans("авеіјкмнорсԛѕтԝухһԁАВЕІЈКМНОРСЅТУХΑΒΕΖΗΙΚΜΝΟΡΤΥΧονι", "abeijkmhopcqstwyxhdABEIJKMHOPCSTYXABEZHIKMNOPTYXovi")
OLD_TESTS = "results of tests that have changed since: name the submission with --regrade"


def worth(results: list[Result]) -> tuple[float, int]:
    """Of several back ends that with the most points counts, then one that was graded, then one that was handed in."""
    outcome = results[0].outcome
    return sum(one.score for one in results), 0 if outcome == UNSOLVED else 1 if outcome == NOT_GRADED else 2


def grade_one(judge: Judge, submission: Submission, slot: int, known: dict[str, Result], mistakes: Mistakes) -> dict[str, Any]:
    """Grades all exercises of a submission. Of several back ends the best one counts."""
    begin = time.perf_counter()
    exercises: dict[str, Any] = {}
    notes = list(submission.notes)
    look = [note for note in notes if note.endswith(OFFER)]
    warnings: set[str] = set()
    for exercise in judge.lab.exercises:
        tried = []
        races = {test.name for test in exercise.tests if test.check == "races"}
        for part in exercise.parts.values():
            files = {name: submission.files[name] for name in part.files if name in submission.files}
            results = judge.judge(exercise, part, files, slot, known)
            tried.append((part, files, results))
            if files and judge.why_not(part) and results[0].outcome == NOT_GRADED:
                notes.append(f"{exercise.name}: {', '.join(files)} was not graded here: {results[0].message}")
        part, files, results = max(tried, key=lambda one: worth(one[2]))
        if len(files) == len(part.files):
            mistakes.describe(exercise, part, files, results, slot)
            if why := judge.why_look(part, files, results):
                look.append(f"{exercise.name}: {why}")
            judged = [one for one in results if one.outcome != NOT_GRADED]
            race = next((one.public for one in judged if one.test in races), "")
            score, points = sum(one.score for one in judged), sum(one.points for one in judged)
            if score <= points / 4 and (cause := "".join(one.behaves for one in judged) or race):
                look.append(f"{exercise.name}: one mistake may have taken {points - score:g} of {points:g} points: {cause}")
        warnings |= {one.message for one in results if one.message.startswith(NOT_COUNTED)}
        warnings |= {f"{exercise.name}, {one.test}: {one.message}" for one in results if one.message.startswith(BUSY)}
        exercises[exercise.name] = {"backend": part.backend, "device": judge.device(part),
                                    "score": round(sum(one.score for one in results), 2),
                                    "points": exercise.points, "tests": [one.as_dict() for one in results]}
    return {"name": submission.name, "score": round(sum(one["score"] for one in exercises.values()), 2),
            "max_score": judge.lab.points, "seconds": round(time.perf_counter() - begin, 1), "notes": notes,
            "warnings": sorted(warnings), "look": look, "exercises": exercises}


def failed(lab: Lab, name: str, why: str) -> dict[str, Any]:
    """The result where grading itself went wrong: nothing is counted as passed."""
    exercises = {}
    for exercise in lab.exercises:
        tests = [Result(test.name, NOT_GRADED, 0, test.points, why).as_dict() for test in exercise.tests]
        exercises[exercise.name] = {"backend": next(iter(exercise.parts)), "score": 0, "points": exercise.points,
                                    "tests": tests}
    return {"name": name, "score": 0, "max_score": lab.points, "seconds": 0, "notes": [f"grading failed: {why}"],
            "exercises": exercises, "again": True}


def description_of(result: dict[str, Any]) -> str:
    """A result in one line, for the person at the terminal."""
    if result.get("again"):
        return f"{result['notes'][0]}; the same command grades it again"
    left = report.not_graded(result)
    return f"{result['score']:g} of {result['max_score']:g}{f', not graded: ' + ', '.join(left) if left else ''}"


def rows_of(text: str, path: Path) -> tuple[list[str], list[tuple[int, dict[str, str]]]]:
    """The columns of a table, and its lines with their numbers. Spreadsheets of some countries save it with semicolons or tabs."""
    try:
        reader = csv.DictReader(io.StringIO(text, newline=""), restval="", delimiter=max(",;\t", key=text.partition("\n")[0].count))
        columns = [column.strip() for column in reader.fieldnames or []]
        reader.fieldnames = columns
        rows = [(reader.line_num, row) for row in reader]
    except csv.Error as error:
        raise Fault(f"cannot read {path}: {error}") from None
    if twice := [column for column in columns if column and columns.count(column) > 1]:
        raise Fault(f"{path} has a column '{printable(twice[0])}' twice: name it otherwise")
    for number, row in rows:
        if any(cell.strip() for cell in row.pop(None, [])):  # type: ignore[call-overload]
            raise Fault(f"{path}, line {number}, has more cells than the first line: a cell with a comma needs quotes")
    return columns, rows


def read_roster(text: str, path: Path, taken: list[str]) -> tuple[list[str], dict[str, dict[str, str]]]:
    """The columns of a roster, and its lines by the name of the submission.

    @param taken names of columns that the gradebook has itself
    """
    columns, rows = rows_of(text, path)
    names = {column: column.lower() if column.lower() in ("submission", "id") else column for column in columns if column}
    if "submission" not in names.values():
        raise Fault(f"{path} has no column 'submission', the name of the folder or archive; it may also have id, name, "
                    f"late_days; its first line says '{printable(','.join(columns))}'")
    if own := [name for name in names.values() if name in taken]:
        raise Fault(f"{path} has a column '{printable(own[0])}' as the gradebook has: name it otherwise")
    people: dict[str, dict[str, str]] = {}
    ids: set[str] = set()
    for number, row in rows:
        person = {name: row[column].strip() for column, name in names.items()}
        if person.get("Student") == "Points Possible":  # the second line of a gradebook of Canvas
            continue
        name = person["submission"] = unicodedata.normalize("NFC", person["submission"])
        if not name:
            raise Fault(f"{path}, line {number}, names no submission")
        if name in people:
            raise Fault(f"{path} has two lines for '{printable(name)}'")
        if person.get("id") in ids:
            raise Fault(f"{path}, line {number}: the id '{printable(person['id'])}' appears twice")
        if person.get("id"):
            ids.add(person["id"])
        people[name] = person
    return [name for name in names.values() if name != "submission"], people


def named(paths: list[str]) -> dict[str, list[Path]]:
    """The submissions by name. A folder of submissions may be given as FOLDER/*."""
    found: dict[str, list[Path]] = {}
    for text in paths:
        path = Path(text)
        if not path.exists():
            raise Fault(f"there is no submission {printable(text)}")
        name = name_of(path)
        # Two names must be two in a table, and to whoever reads it; and none an option or a formula.
        if not name.isprintable() or name != name.strip() or name[:1] in ("", ".", "-") or report.unsafe_name(name) or INVISIBLE.search(name):
            raise Fault(f"'{printable(name)}' cannot be the name of a submission: rename it")
        if path.is_symlink():
            raise Fault(f"{printable(text)} is a link: name what it leads to")
        found.setdefault(name, []).append(path)
    looks: dict[str, str] = {}
    for name in found:
        if (other := looks.setdefault(unicodedata.normalize("NFKC", name).translate(LIKE_LATIN), name)) != name:
            raise Fault(f"'{printable(other)}' and '{printable(name)}' look alike, and are two names: rename one")
    return found


def digest_of(submission: Submission) -> str:
    return hashlib.sha256(repr((sorted(submission.files.items()), submission.notes)).encode()).hexdigest()


def lines_of(path: Path, complaints: list[str], *needed: str) -> list[dict[str, str]]:
    """The lines of a table that an earlier run wrote, and in which somebody may have written; none if there is no such file.
    A table that is not understood is kept under another name, and told: it must not keep the class from being graded.

    @param needed the columns without which it is not understood
    """
    try:
        return read_table(path, *needed)
    except Fault as fault:
        kept = next(one for number in itertools.count(1)
                    if not (one := path.with_name(f"{path.stem}-unread-{number}.csv")).exists())
        os.replace(path, kept)
        complaints.append(f"{fault}; its points do not count. It is now {kept.name}: mend it, name it {path.name}, and start the "
                          "same command again")
        return []


def read_table(path: Path, *needed: str) -> list[dict[str, str]]:
    try:
        columns, rows = rows_of(text_of(path.read_bytes()), path)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise Fault(f"cannot read {path}: {error}") from None
    if missing := [column for column in needed if column not in columns]:
        raise Fault(f"cannot read {path}: it has no column '{missing[0]}'")
    return [row for _, row in rows]


def points_by_hand(out: Path, complaints: list[str]) -> dict[tuple[str, str], str]:
    """What somebody has written into answers.csv, by submission and question."""
    lines = lines_of(out / "answers.csv", complaints, "submission", "question", "points")
    return {(line["submission"], line["question"]): line["points"].strip() for line in lines if line["points"].strip()}


def number_of(text: str) -> float | None:
    """A number that somebody wrote, with a point or a comma. None if it is none."""
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def sums_of(points: dict[tuple[str, str], str], complaints: list[str]) -> dict[str, str]:
    """The points of answers.csv by submission, added up."""
    sums: dict[str, float] = {}
    for (name, question), written in points.items():
        number = number_of(written)
        if number is None:
            complaints.append(f"answers.csv: '{printable(written)}' for {printable(name)}, question {printable(question)}, is no "
                              "number and does not count")
        sums[name] = sums.get(name, 0) + (number or 0)
    return {name: f"{total:g}" for name, total in sums.items()}


class Gradebook:
    """gradebook.csv. Somebody may write into it: a cell that was changed stays as it is, and so do further columns and lines.

    A second file has what this program wrote itself, so that a later run knows what was changed."""

    def __init__(self, out: Path, head: list[str], complaints: list[str]) -> None:
        self.path, self.own_path = out / "gradebook.csv", out / ".gradebook.csv"
        self.head = head
        lines = lines_of(self.path, complaints, "submission", "answers")
        try:
            wrote = read_table(self.own_path, "submission")
        except Fault:
            wrote = []
        before = {column for line in wrote[:1] for column in line}
        self.more = [column for line in lines[:1] for column in line if column and column not in {*head, *before}]
        self.lines = {line["submission"]: line for line in lines}
        self.wrote = {line["submission"]: line for line in wrote}
        self.changed: dict[str, dict[str, str]] = {}
        for name, line in self.lines.items():
            own = self.wrote.get(name, {}) if wrote else {**line, "answers": ""}  # earlier versions had no second file
            self.changed[name] = {column: line[column] for column in [*head[1:], *self.more] if line.get(column, "").strip() and
                                  (column in self.more or not same(line[column], own.get(column, "")))}

    def write(self, rows: list[dict[str, str]], sums: dict[str, str]) -> list[dict[str, str]]:
        """Returns the lines as they are written.

        @param rows what was graded. @param sums the points for answers in answers.csv, by submission"""
        exercises = self.head[self.head.index("max_score") + 1:self.head.index("answers")]
        book, own = [], []
        for row in rows:
            name = row["submission"]
            if name in sums:
                row = {**row, "answers": sums[name]}
            changed = {column: cell for column, cell in self.changed.get(name, {}).items()
                       if column != "answers" or name not in sums}
            new = {**row, **changed}
            if "score" not in changed and any(one in changed for one in exercises):
                new["score"] = f"{sum(number_of(new[one]) or 0 for one in exercises):g}"
            points = [number_of(new.get(one) or "0") for one in ("score", "answers")]
            if "total" not in changed and None not in points:
                new["total"] = f"{sum(points):g}"  # type: ignore[arg-type]
            told = [f"{column} was {row.get(column)}" for column in changed if column in ("score", "max_score", *exercises)]
            if told and "notes" not in changed:
                new["notes"] = "; ".join([*filter(None, [new["notes"]]), f"changed by hand: {', '.join(told)}"])
            book.append(new)
            own.append({**new, **{column: row.get(column, "") for column in changed}})
        known = {row["submission"] for row in rows}
        for name, line in self.lines.items():  # whose results are lost, or who never had any
            if name not in known and (self.changed[name] or line["answers"].strip()):
                book.append(line)
                own.append(self.wrote.get(name, {"submission": name}))
        for path, head, lines in ((self.path, [*self.head, *self.more], book), (self.own_path, self.head, own)):
            report.write(path, report.table([head, *([line.get(column, "") for column in head] for line in lines)]))
        return book


def same(one: str, other: str) -> bool:
    """Whether two cells say the same: a spreadsheet may write a number in another way."""
    return one.strip() == other.strip() or (number_of(one) is not None and number_of(one) == number_of(other))


def quoted(text: str) -> str:
    """A student's text inside a page: it can be taken for no other part of it, and holds no HTML, links or pictures."""
    safe = report.printable(text).replace("&", "&amp;").replace("<", "&lt;")
    safe = re.sub(r"\](?=[(:])", r"]\\", safe)  # a[i][j] stays as it is
    return "\n".join(f"> {line}".rstrip() for line in safe.split("\n"))


def collect_answers(lab: Lab, submissions: dict[str, dict[str, Any]], out: Path, complaints: list[str]) -> None:
    """All answers to the questions in one file for each question, and a table for their points. Points that are there stay."""
    asked = dict(enumerate((LINK.sub(r"\1", text) for text in questions(lab)), 1))
    given_points = points_by_hand(out, complaints)
    folder = out / "answers"
    rows: list[list[Any]] = [["submission", "question", "answered", "points"]]
    texts: dict[int, list[str]] = {number: [] for number in asked}
    without: dict[int, list[str]] = {number: [] for number in asked}  # who gave no answer
    others: list[str] = []
    for name, one in sorted(submissions.items()):
        given, rest = answers_of(lab, one.get("answers", ""))
        if rest:
            others.append(f"## {report.markdown(name)}\n\n{quoted(rest)}\n")
        for number in texts:
            answer = given.get(number, "")
            if answer:
                texts[number].append(f"## {report.markdown(name)}\n\n{quoted(answer)}\n")
            else:
                without[number].append(report.markdown(name))
            points = given_points.pop((report.safe_cell(report.printable(name)), str(number)), "")
            rows.append([report.printable(name), number, "yes" if answer else "no", points])
    rows += [[name, number, "", points] for (name, number), points in given_points.items()]  # whose results are lost
    for number, answers in texts.items():
        last = [f"No answer: {', '.join(without[number])}\n"] if without[number] else []
        report.write(folder / f"question-{number:02}.md", "\n".join([f"# Question {number}\n", f"{asked[number]}\n", *answers, *last]))
    report.write(folder / "no-question.md", "# Text that belongs to no question\n\n" + "\n".join(others))
    report.write(out / "answers.csv", report.table(rows))


def export_sources(lab: Lab, submissions: list[Submission], target: Path) -> None:
    """One folder per submission with its sources side by side, as JPlag and MOSS take them. An earlier run may have made them."""
    if not target.is_dir() or not {path.name for path in target.iterdir()} <= {one.name for one in submissions}:
        new_folder(str(target))
    for submission in submissions:
        folder = target / submission.name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for name, content in submission.files.items():
            if name != ANSWERS:
                (folder / name.replace("/", "_")).write_bytes(content)
    stubs = target.with_name(target.name + "-base")
    stubs.mkdir(exist_ok=True)
    for _, part in lab.parts():
        for name in part.files:
            (stubs / name.replace("/", "_")).write_text(lab.stub(name), encoding="utf-8")


class Stopped(Exception):
    """A submission whose grading was broken off."""


def end_by_signal(number: int, _: Any) -> NoReturn:
    """Leaves as Ctrl-C does, so that the folders of the sandbox are removed."""
    signal.signal(number, signal.SIG_IGN)
    raise SystemExit(128 + number)


class Grading:
    """The grading of a class, in an output folder."""

    def __init__(self, lab: Lab, judge: Judge, out: Path, options: argparse.Namespace, tests: str,
                 roster: tuple[list[str], dict[str, dict[str, str]]]) -> None:
        self.lab = lab
        self.judge = judge
        self.mistakes = Mistakes(judge)
        self.out = out
        self.regrade = options.regrade
        self.late = lateness(options.metadata)
        self.jobs = options.jobs
        self.slots: queue.Queue[int] = queue.Queue()
        for slot in range(options.jobs):
            self.slots.put(slot)
        self.columns, self.roster = roster
        self.tests = tests
        self.complaints: list[str] = []  # about what was given
        self.sums = sums_of(points_by_hand(out, self.complaints), self.complaints)
        self.done = self.earlier_ones()
        self.stopping = False
        self.book: list[dict[str, str]] = []

    def to_look_at(self) -> list[str]:
        return [f"look at {report.printable(name)}, {one}" for name, result in sorted(self.done.items())
                for one in result.get("look", [])]

    def not_in_both(self) -> list[str]:
        """Names that are only in the roster, or only among the submissions: one may be misspelt."""
        names = {name.strip() for name in self.done}
        absent = sorted(set(self.roster) - names)
        strangers = sorted(names - set(self.roster)) if self.roster else []
        return [f"{what}: {', '.join(map(report.printable, names))}" for what, names in (
            ("in the roster, but without a submission", absent), ("not in the roster", strangers)) if names]

    def folder(self, name: str) -> Path:
        return self.out / "submissions" / name

    def earlier(self, name: str) -> dict[str, Any] | None:
        path = self.folder(name) / "graded.json"
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
            for one in found["exercises"].values():
                one["tests"] = [Result(**test).as_dict() for test in one["tests"]]
            report.gradebook_row(self.lab, found), report.page(self.lab, [found], 1, [])
            return found if found["name"] == name else None
        except Exception:  # nobody knows what is in a damaged file; the submission is graded again
            return None

    def earlier_ones(self) -> dict[str, dict[str, Any]]:
        """What earlier runs graded: it stays in the tables, whichever submissions are named now."""
        folder = self.out / "submissions"
        names = sorted(os.listdir(folder)) if folder.is_dir() else []
        found = {name: result for name in names if (result := self.earlier(name))}
        for result in found.values():
            if result.get("tests") != self.tests:
                result["warnings"] = [*result.get("warnings", []), OLD_TESTS]
        return found

    def grade(self, name: str, paths: list[Path]) -> dict[str, Any]:
        slot = self.slots.get()
        try:
            submission = read_one(self.lab, paths)
            digest = digest_of(submission)
            before = self.earlier(name)
            known: dict[str, Result] = {}
            if before and before.get("digest") == digest and not before.get("again"):
                if not self.regrade and before.get("tests") == self.tests:
                    return before
                for one in before["exercises"].values():
                    known.update({test["key"]: Result(**test) for test in one["tests"] if test["key"]})
            try:
                result = grade_one(self.judge, submission, slot, known, self.mistakes)
            except Exception as error:  # one submission must not stop the others; it is reported and not counted
                result = failed(self.lab, name, f"{type(error).__name__}: {error}")
            if self.stopping:  # its programs may have been ended, which is no fault of theirs
                raise Stopped
            result["notes"] = [*self.late, *result["notes"]]
            result["digest"] = digest
            result["tests"] = self.tests
            result["answers"] = text_of(submission.files.get(ANSWERS, b""))
            result["person"] = self.roster.get(name.strip(), {})
            try:
                report.for_submission(self.lab, self.folder(name), result)
                report.write(self.folder(name) / "graded.json", json.dumps(result, indent=1) + "\n")
            except OSError as error:
                result |= failed(self.lab, name, f"{error.filename or self.folder(name)}: {error.strerror}")
            return result
        finally:
            self.slots.put(slot)

    def write_class(self, expected: int) -> None:
        results = [self.done[name] for name in sorted(self.done)]
        for result in results:
            result["person"] = self.roster.get(result["name"].strip(), {})
        names = {result["name"].strip() for result in results}
        absent = [{"name": name, "score": 0, "max_score": self.lab.points, "exercises": {}, "notes": ["no submission"],
                   "person": person} for name, person in sorted(self.roster.items()) if name not in names]
        book = Gradebook(self.out, report.gradebook_head(self.lab, self.columns), self.complaints)  # read now: somebody may write
        self.book = book.write([report.gradebook_row(self.lab, result) for result in [*results, *absent]], self.sums)
        report.write(self.out / "class.html", report.page(self.lab, results, expected, self.columns))
        report.write(self.out / "rates.csv", report.table([report.RATES, *map(list, report.rates(self.lab, results))]))

    def export(self, form: str, title: str) -> None:
        """Writes the points as another gradebook imports them."""
        lines = {line["submission"].strip(): line for line in self.book}
        book = {name: lines.get(report.safe_cell(report.printable(name)), {}) for name in self.roster}
        report.write(self.out / f"{form}.csv", export.table(form, title, self.lab, book, self.roster, self.complaints))

    def stop(self, running: Collection[Future[dict[str, Any]]]) -> None:
        """Ends the programs of submissions and lets none start, so that nobody has to wait for them."""
        self.stopping = True

        def refuse(*_: Any, **__: Any) -> NoReturn:
            raise Stopped

        setattr(self.judge.sandbox, "start", refuse)
        while any(one.running() for one in running):
            self.judge.sandbox.end_all()
            time.sleep(0.1)

    def all(self, submissions: dict[str, list[Path]]) -> None:
        begin = time.perf_counter()
        # Before there are threads: a program cannot run while a process that another thread starts holds it open.
        for _, part in self.lab.parts():
            if self.judge.worker_program(part).is_file():
                self.judge.sandbox.installed(self.judge.worker_program(part))
        if any(test.check == "cost" for exercise in self.lab.exercises for test in exercise.tests):
            _ = self.judge.plugin, self.judge.emulator  # before there are threads
        expected = len(set(self.done) | set(submissions))
        with ThreadPoolExecutor(self.jobs) as pool:
            waiting = {pool.submit(self.grade, name, paths): name for name, paths in sorted(submissions.items())}
            try:
                for number, future in enumerate(as_completed(waiting), 1):
                    name = waiting[future]
                    result = future.result()
                    self.done[name] = result
                    took = time.perf_counter() - begin
                    print(report.printable(f"[{number}/{len(waiting)}] {name}: {description_of(result)} ({took:.0f} s)"), file=sys.stderr, flush=True)
                    self.write_class(expected)
            except BaseException:
                print("stopping: what was not graded yet is graded when the same command is started again", file=sys.stderr,
                      flush=True)
                pool.shutdown(wait=False, cancel_futures=True)
                self.stop(waiting)
                raise
            finally:
                self.write_class(expected)
        collect_answers(self.lab, self.done, self.out, self.complaints)


def state_of(out: Path, lab: Lab, fingerprint: str, regrade: bool, seed: str) -> bytes:
    """The secret from which the hidden inputs of this class are made. The output folder keeps it."""
    path = out / "state.json"
    known: dict[str, str] = {}
    if path.exists() or (out / "submissions").is_dir():
        try:
            known = json.loads(path.read_text(encoding="utf-8"))
            known = {name: str(known[name]) for name in ("lab", "seed", "tests")}
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            if not any((out / "submissions").glob("*/graded.json")):
                raise Fault(f"{path} is not a file of this program; name another --out") from None
            print(f"{path} cannot be read: what is graded now has other hidden inputs", file=sys.stderr)
            known = {}
    elif out.exists() and os.listdir(out):
        raise Fault(f"{out} is not empty and holds no results; name another --out")
    if known and known["lab"] != lab.name:
        raise Fault(f"{out} holds results of lab {known['lab']}; name another --out")
    if known and seed and known["seed"] != seed:
        raise Fault(f"{out} holds results with another seed; name another --out")
    if known and known["tests"] != fingerprint and not regrade:
        raise Fault(f"the tests have changed since {out} was made: --regrade does again what changed")
    secret = known.get("seed") or seed or secrets.token_hex(16)
    report.write(path, json.dumps({"lab": lab.name, "seed": secret, "tests": fingerprint}) + "\n")
    path.chmod(0o600)
    return secret.encode()


def lateness(path: str) -> list[str]:
    """A note if a submission is late, from Gradescope's submission_metadata.json. A due date of the student's own counts."""
    try:
        about = json.loads(Path(path).read_text(encoding="utf-8"))
        places = [about["assignment"], *(user.get("assignment") or {} for user in about["users"])]
        dues = [place.get("due_date") for place in places]
        due = max(datetime.fromisoformat(one) for one in dues if one)
        late = (datetime.fromisoformat(about["created_at"]) - due).total_seconds()
    except (OSError, ValueError, TypeError, KeyError, AttributeError):  # not on Gradescope, or there is no due date
        return []
    return [f"handed in late: late days: {math.ceil(late / 86400)}"] if late > 0 else []


def refuse_several_in_one(lab: Lab, path: Path) -> None:
    """Raises Fault for a folder of submissions that is named in place of its content."""
    if path.is_dir() and (several := [note for note in read_one(lab, [path]).notes if "none of them counts" in note]):
        raise Fault(f"{printable(str(path))} holds several submissions: name {printable(str(path))}/* ({several[0]})")


def fingerprint_of(lab: Lab, judge: Judge) -> str:
    return hashlib.sha256((judge.fingerprint + repr(lab.exercises)).encode()).hexdigest()


def main(root: Path, words: list[str]) -> int:
    parser = Parser(
        prog="./lab grade", description="Marks submissions, folders or zip files, of one lab. A run that was interrupted "
        "goes on where it stopped when it is started again.")
    parser.add_argument("lab")
    parser.add_argument("submissions", nargs="+", metavar="SUBMISSION", help="a folder or zip file")
    parser.add_argument("--out", required=True, metavar="DIR", help="the folder for the results")
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) // 2), help="submissions at a time")
    parser.add_argument("--roster", metavar="FILE.csv", help="a column 'submission'; its other columns go to the gradebook")
    parser.add_argument("--canvas", metavar="TITLE", help="write canvas.csv for import, with the points in a column of this title")
    parser.add_argument("--moodle", metavar="TITLE", help="the same for Moodle: moodle.csv")
    parser.add_argument("--board", action="store_true", help="also write board.html: times as multiples of the rung's, under pseudonyms")
    parser.add_argument("--regrade", action="store_true", help="do again what changed since the last run and what was not graded, and only that")
    parser.add_argument("--seed", default="", help="the secret of the hidden inputs; random for each --out unless given")
    parser.add_argument("--export-sources", metavar="DIR", help="lay the sources out for JPlag or MOSS")
    parser.add_argument("--metadata", default="", metavar="FILE.json",
                        help="Gradescope's file about the one submission: says whether it is late")
    parser.add_argument("--sandbox", choices=["bubblewrap", "user", "none"], default="",
                        help="how submissions are kept apart; the strongest that works unless given")
    if option := next((word for word in words if word.startswith("-") and os.path.lexists(word)), ""):
        raise Fault(f"{printable(option)} is an option, and a file here: name submissions as ./*")
    options = parser.parse_args(words)
    if not 1 <= options.jobs <= 64:
        raise Fault("--jobs is a number from 1 to 64")
    lab = load(root, options.lab)
    submissions = named(options.submissions)
    out = Path(options.out)
    for path in itertools.chain(*submissions.values()):
        if Path(os.path.realpath(out)).is_relative_to(os.path.realpath(path)):
            raise Fault(f"--out {out} lies in the submission {printable(str(path))}: name a folder elsewhere")
    if len(options.submissions) == 1 and not options.metadata:
        refuse_several_in_one(lab, Path(options.submissions[0]))
    roster_file = Path(options.roster or out / "roster.csv")  # without the option, that of the run before
    roster_text = text_of(roster_file.read_bytes()) if options.roster or roster_file.is_file() else ""
    roster: tuple[list[str], dict[str, dict[str, str]]] = ([], {})
    if roster_text or options.roster:
        roster = read_roster(roster_text, roster_file, report.gradebook_head(lab, [])[1:])
    forms = {form: title for form in export.FORMS if (title := getattr(options, form)) is not None}
    for form, title in forms.items():
        export.check(form, roster[0], title)
    if options.export_sources:
        export_sources(lab, [read_one(lab, paths) for paths in submissions.values()], Path(options.export_sources))
    signal.signal(signal.SIGTERM, end_by_signal)
    out.mkdir(parents=True, exist_ok=True)
    lock = locked(out)
    if lock < 0:
        raise Fault(f"another run is working on {out}: wait for its end, or name another --out")
    sandbox = best(options.sandbox)
    try:
        print(f"sandbox: {sandbox.kind}", file=sys.stderr)
        if sandbox.kind == "user":  # others could fill the disk, and take the processors
            options.jobs = 1
        out.chmod(0o700)
        secret = [lab.path / "exercises/exercises.toml", out, *map(os.path.abspath, itertools.chain(*submissions.values(), [roster_file]))]
        if sandbox.kind != "none" and (open_to_all := sandbox.can_read(*map(Path, secret))):
            what = "the hidden tests" if open_to_all == str(secret[0]) else open_to_all
            closed = root if open_to_all == str(secret[0]) else Path(open_to_all).parent
            raise Fault(f"submissions could read {printable(what)}: install bubblewrap, or chmod 700 {printable(str(closed))}")
        judge = Judge(lab, root / "build/default", sandbox, b"")
        judge.min_tries = 3 if options.board else 1
        tests = fingerprint_of(lab, judge)
        judge.secret = state_of(out, lab, tests, options.regrade, options.seed)
        if options.roster:
            report.write(out / "roster.csv", roster_text)
        grading = Grading(lab, judge, out, options, tests, roster)
        grading.all(submissions)
        for form, title in forms.items():
            grading.export(form, title)
        results = [grading.done[name] for name in sorted(grading.done)]
        if options.board:
            grading.complaints += board.write(lab, judge, results, out)
        warnings = [*report.all_not_graded(results), *report.warnings(results)]
        for warning in [*warnings, *grading.to_look_at(), *grading.not_in_both(), *grading.complaints]:
            print(warning, file=sys.stderr)
    finally:
        sandbox.close()
        os.close(lock)
    print(out / "class.html")
    return 1 if grading.complaints else 0
