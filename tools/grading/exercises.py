"""Reads labs/NN_name/exercises/exercises.toml, and the marks in the files of the lab."""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from . import marks
from .cost import check_bounds
from .fault import Fault
from .rows import rows_in

BACKENDS = ("opencl", "cuda")
KINDS = ("write", "repair")
CHECKS = ("values", "races", "cost", "speed")
SUFFIXES = (".cl", ".cu", ".cuh", ".cpp", ".hpp", ".md")  # of files that may have marks


@dataclass(frozen=True)
class Test:
    """One test of an exercise: a number of points for all of its cases together."""

    name: str
    points: float
    visible: bool
    check: str
    cases: list[dict[str, Any]]
    hint: str
    bounds: dict[str, str] = field(default_factory=dict)  # of the check 'cost': see cost.py

    def problems(self) -> list[dict[str, Any]]:
        """The cases one by one: a list as the value of a field stands for a case per element."""
        return [dict(zip(case, chosen)) for case in self.cases
                for chosen in itertools.product(*(one if isinstance(one, list) else [one] for one in case.values()))]


@dataclass(frozen=True)
class Part:
    """An exercise in one back end: the rung whose place the student's file takes."""

    backend: str
    rung: str
    file: str  # with the EXERCISE mark, relative to the lab
    mistake: str = ""  # of a repair exercise: the row of tests/mistakes/NN_name.toml
    pocl_threads: int | None = None  # with which PoCL runs the rung; None: PoCL chooses
    also: dict[str, str] = field(default_factory=dict)  # a further rung in this file, by the `type` that a case names it


@dataclass(frozen=True)
class Exercise:
    name: str
    title: str
    kind: str
    problem: str  # the structure of tasks.hpp
    types: list[str]  # of its elements, where it is a template
    task: str
    hints: list[str]
    parts: dict[str, Part]
    tests: list[Test]
    hidden: dict[str, int] = field(default_factory=dict)  # in a hand-out: by back end, how many tests it does not have

    @property
    def points(self) -> float:
        return sum(test.points for test in self.tests)


@dataclass(frozen=True)
class Lab:
    """A lab that has exercises."""

    name: str
    root: Path
    folder: str
    exercises: list[Exercise] = field(default_factory=list)

    @property
    def path(self) -> Path:
        return self.root / "labs" / self.folder

    @property
    def handed_out(self) -> bool:
        """Whether this is a hand-out. It keeps the files of the exercises as they were, and has no rungs for them."""
        return any((self.path / "exercises" / backend).is_dir() for backend in BACKENDS)

    def rung(self, file: str) -> str:
        """The text of a file of the lab. @param file relative to the lab, such as opencl/dot.cl"""
        return (self.path / file).read_text(encoding="utf-8")

    def stub(self, file: str) -> str:
        """The text of the same file as students receive it."""
        if self.handed_out:
            return (self.path / "exercises" / file).read_text(encoding="utf-8")
        exercise, part = next(pair for pair in self.parts() if file == pair[1].file)
        text = self.rung(file)
        for row in self.mistakes() if part.mistake else []:
            if row["id"] == part.mistake:
                text = marks.planted(text, row, f"{self.folder}/{file}")
        return marks.stub(text, file, exercise.kind == "repair")

    def mistakes(self) -> list[dict[str, Any]]:
        """The mistakes that the tests know: tests/mistakes/NN_name.toml."""
        path = self.root / "tests" / "mistakes" / f"{self.folder}.toml"
        return rows_in(path.read_text(encoding="utf-8")) if path.is_file() else []

    def marked(self) -> dict[str, list[marks.Region]]:
        """The files of the lab that have marks, and what is marked in them."""
        home = self.path / "exercises" if self.handed_out else self.path
        paths = [path for folder in ("", "cpu", *BACKENDS, "mpi", "devices") for path in sorted((home / folder).glob("*.*"))
                 if path.suffix in SUFFIXES]
        found = {str(path.relative_to(home)): marks.regions(path.read_text(encoding="utf-8"), str(path.relative_to(self.root)))
                 for path in paths}
        return {file: regions for file, regions in found.items() if regions}

    def parts(self) -> Iterator[tuple[Exercise, Part]]:
        for exercise in self.exercises:
            for part in exercise.parts.values():
                yield exercise, part

    @property
    def points(self) -> float:
        return sum(exercise.points for exercise in self.exercises)


def folders(root: Path) -> dict[str, str]:
    """The labs that have exercises: name and folder."""
    found = sorted(path.parent.parent.name for path in root.glob("labs/[0-9][0-9]_*/exercises/exercises.toml"))
    return {folder[3:]: folder for folder in found}


def load(root: Path, name: str) -> Lab:
    """The exercises of a lab. Raises Fault for what is wrong with them."""
    known = folders(root)
    if name not in known:
        raise Fault(f"no lab with exercises is named '{name}'; there are: {' '.join(known) or 'none'}")
    path = root / "labs" / known[name] / "exercises" / "exercises.toml"
    try:
        with open(path, "rb") as file:
            content = tomllib.load(file)
    except tomllib.TOMLDecodeError as error:
        raise Fault(f"{path}: {error}") from None
    lab = Lab(name, root, known[name])
    marked = lab.marked()
    try:
        lab = replace(lab, exercises=[exercise_of(entry, marked) for entry in content["exercise"]])
    except (KeyError, TypeError) as error:
        raise Fault(f"{path}: an exercise lacks {error}") from None
    except ValueError as error:
        raise Fault(f"{path}: {error}") from None
    check(lab, path, marked)
    return lab


def backend_of(file: str) -> str:
    """The back end that a file of a lab belongs to: by its folder, or where a folder serves several, by its kind. "": none."""
    folder, kind = Path(file).parts[0], Path(file).suffix
    return folder if folder in BACKENDS else {".cu": "cuda", ".cuh": "cuda", ".cl": "opencl"}.get(kind, "")


def known_fields(entry: dict[str, Any], names: set[str], of: str, prefix: str = "") -> dict[str, Any]:
    if unknown := sorted(set(entry) - names):
        raise ValueError(f"'{of}' has a field '{prefix}{unknown[0]}', which means nothing")
    return entry


def part_of(exercise: str, backend: str, entry: dict[str, Any], marked: dict[str, list[marks.Region]]) -> Part:
    known_fields(entry, {"rung", "mistake", "pocl_threads", "also"}, exercise, f"{backend}.")
    threads = entry.get("pocl_threads")
    if threads is not None and (type(threads) is not int or threads < 1):
        raise ValueError(f"'{exercise}': pocl_threads is a number from 1 on")
    file = next((file for file, regions in marked.items() if backend_of(file) == backend and
                 any(one.kind == "EXERCISE" and one.names == [exercise] for one in regions)), "")
    return Part(backend, entry.pop("rung"), file, **entry)


def exercise_of(entry: dict[str, Any], marked: dict[str, list[marks.Region]]) -> Exercise:
    name = entry["name"]
    known_fields(entry, {"name", "title", "kind", "problem", "types", "task", "hints", "test", "hidden", *BACKENDS}, name)
    parts = {backend: part_of(name, backend, entry[backend], marked) for backend in BACKENDS if backend in entry}
    tests = [Test(test["name"], float(test["points"]), bool(test.get("visible", False)), test.get("check", "values"),
                  test["cases"], test["hint"], test.get("bounds", {})) for test in entry["test"]]
    return Exercise(name, entry["title"], entry["kind"], entry["problem"], entry.get("types", []),
                    entry["task"].strip(), entry["hints"], parts, tests, entry.get("hidden", {}))


def check(lab: Lab, path: Path, marked: dict[str, list[marks.Region]]) -> None:
    """Raises Fault for exercises that contradict each other or the files."""

    def need(right: Any, what: str) -> None:
        if not right:
            raise Fault(f"{path}: {what}")

    names = [exercise.name for exercise in lab.exercises]
    for exercise in lab.exercises:
        name, titles = exercise.name, [test.name for test in exercise.tests]
        need(names.count(name) == 1 and re.fullmatch(r"[a-z0-9-]+", name), f"'{name}' is no name, or appears twice")
        need(exercise.kind in KINDS, f"'{name}' is of no kind '{exercise.kind}'; there are: {', '.join(KINDS)}")
        need(exercise.parts, f"'{name}' has no back end")
        for test in exercise.tests:
            need(test.check in CHECKS, f"'{test.name}' has no check '{test.check}'; there are: {', '.join(CHECKS)}")
            need(titles.count(test.name) == 1 and test.points > 0 and test.problems(),
                 f"'{test.name}' appears twice, or has no points or no cases")
            need(test.check == "cost" or not test.bounds, f"'{test.name}' of '{name}' has bounds, which belong to the check 'cost'")
            need(test.check != "cost" or all(any("{" in str(value) for value in case.values()) for case in test.cases),
                 f"'{test.name}' of '{name}' draws no size")
            try:
                check_bounds(test.bounds, test.problems()) if test.check == "cost" else None
            except ValueError as error:
                need(False, f"'{test.name}' of '{name}': {error}")
        need(exercise.tests[0].visible, f"the first test of '{name}' is hidden: what a kernel says when it is built is shown there")
        for part in exercise.parts.values():
            need(part.file, f"no file in {part.backend}/ has the mark '// EXERCISE {name}'")
            # A repair exercise, and no other one, has a mistake, which changes lines that students may change.
            rows = [] if lab.handed_out else [row for row in lab.mistakes() if row["id"] == part.mistake and row["file"] == part.file]
            need(lab.handed_out or len(rows) == (exercise.kind == "repair"), f"'{name}' in {part.backend}: {len(rows)} mistakes of "
                 f"tests/mistakes/{lab.folder}.toml are named '{part.mistake}'")
            for row in rows:
                marks.planted(lab.rung(row["file"]), row, str(lab.path / row["file"]))
                need(all(any(edit["text"] in "\n".join(one.lines) for one in marked[row["file"]]) for edit in row.get("edits", [row])),
                     f"the text of the mistake '{part.mistake}' does not stand between the marks of '{name}'")
    for file, regions in marked.items():
        own = {one.names[0] for one in regions if one.kind == "EXERCISE"}
        need(lab.handed_out or all(one.kind != "EXERCISE" or one.instead for one in regions),
             f"{file} has a mark without //| lines: what do students receive?")
        unknown = sorted({name for one in regions for name in one.names} - set(names))
        need(not unknown, f"{file} has a mark of '{unknown and unknown[0]}', which is no exercise")
        need(len(own) < 2, f"{file} belongs to two exercises")
        for name in own:
            need(any(file == part.file for part in lab.exercises[names.index(name)].parts.values()),
                 f"{file} has a mark of '{name}', which has no such back end, or another file")


def without_blanks(text: str) -> str:
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


def is_unsolved(stub: str, text: str) -> bool:
    """Whether a file was handed in as it was handed out."""
    return without_blanks(stub) == without_blanks(text)
