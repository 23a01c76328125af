"""Reads labs/NN_name/exercises: exercises.toml and the stub files beside it."""

from __future__ import annotations

import itertools
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .fault import Fault

BACKENDS = ("opencl", "cuda")
KINDS = ("write", "repair")
CHECKS = ("values", "races", "speed")

TODO = re.compile(r"(?ms)^[ \t]*// TODO\b.*?^[ \t]*// END TODO[ \t]*\n")


@dataclass(frozen=True)
class Test:
    """One test of an exercise: a number of points for all of its cases together."""

    name: str
    points: float
    visible: bool
    check: str
    cases: list[dict[str, Any]]
    hint: str

    def problems(self) -> list[dict[str, Any]]:
        """The cases one by one: a list as the value of a field stands for a case per element."""
        found = []
        for case in self.cases:
            names = list(case)
            values = [case[name] if isinstance(case[name], list) else [case[name]] for name in names]
            found += [dict(zip(names, chosen)) for chosen in itertools.product(*values)]
        return found


@dataclass(frozen=True)
class Part:
    """An exercise in one back end: the rung whose place the student's files take."""

    backend: str
    rung: str
    files: list[str]
    withhold: list[str]
    pocl_threads: int | None = None  # with which PoCL runs the rung; None: PoCL chooses


@dataclass(frozen=True)
class Exercise:
    name: str
    title: str
    kind: str
    task: str
    hints: list[str]
    parts: dict[str, Part]
    tests: list[Test]

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

    def stub(self, file: str) -> str:
        """The text of a file as it is handed out. @param file relative to the lab, such as opencl/dot.cl"""
        return (self.path / "exercises" / file).read_text(encoding="utf-8")

    def rung(self, file: str) -> str:
        """The text of the same file of the lab itself."""
        return (self.path / file).read_text(encoding="utf-8")

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
    try:
        lab = Lab(name, root, known[name], [exercise_of(entry) for entry in content["exercise"]])
    except (KeyError, TypeError) as error:
        raise Fault(f"{path}: an exercise lacks {error}") from None
    except ValueError as error:
        raise Fault(f"{path}: {error}") from None
    check(lab, path)
    return lab


def part_of(exercise: str, backend: str, entry: dict[str, Any]) -> Part:
    unknown = set(entry) - {"rung", "files", "withhold", "pocl_threads"}
    if unknown:
        raise ValueError(f"'{exercise}' has a field '{backend}.{sorted(unknown)[0]}', which means nothing")
    threads = entry.get("pocl_threads")
    if threads is not None and (type(threads) is not int or threads < 1):
        raise ValueError(f"'{exercise}': pocl_threads is a number from 1 on")
    return Part(backend, entry["rung"], entry["files"], entry.get("withhold", []), threads)


def exercise_of(entry: dict[str, Any]) -> Exercise:
    parts = {backend: part_of(entry["name"], backend, entry[backend]) for backend in BACKENDS if backend in entry}
    tests = [
        Test(test["name"], float(test["points"]), bool(test.get("visible", False)), test.get("check", "values"),
             test["cases"], test["hint"])
        for test in entry["test"]
    ]
    unknown = set(entry) - {"name", "title", "kind", "task", "hints", "test", *BACKENDS}
    if unknown:
        raise ValueError(f"'{entry['name']}' has a field '{sorted(unknown)[0]}', which means nothing")
    return Exercise(entry["name"], entry["title"], entry["kind"], entry["task"].strip(), entry["hints"], parts, tests)


def check(lab: Lab, path: Path) -> None:
    """Raises Fault for exercises that contradict each other or the files."""

    def wrong(what: str) -> Fault:
        return Fault(f"{path}: {what}")

    names = [exercise.name for exercise in lab.exercises]
    for exercise in lab.exercises:
        if names.count(exercise.name) > 1 or not re.fullmatch(r"[a-z0-9-]+", exercise.name):
            raise wrong(f"'{exercise.name}' is no name, or appears twice")
        if exercise.kind not in KINDS:
            raise wrong(f"'{exercise.name}' is of no kind '{exercise.kind}'; there are: {', '.join(KINDS)}")
        if not exercise.parts:
            raise wrong(f"'{exercise.name}' has no back end")
        titles = [test.name for test in exercise.tests]
        for test in exercise.tests:
            if test.check not in CHECKS:
                raise wrong(f"'{test.name}' has no check '{test.check}'; there are: {', '.join(CHECKS)}")
            if titles.count(test.name) > 1 or test.points <= 0 or not test.problems():
                raise wrong(f"'{test.name}' appears twice, or has no points or no cases")
        if not any(test.visible for test in exercise.tests):
            raise wrong(f"'{exercise.name}' has no test that students see")
        for part in exercise.parts.values():
            for file in part.files:
                if not (lab.path / "exercises" / file).is_file() or not (lab.path / file).is_file():
                    raise wrong(f"'{exercise.name}': there is no stub, or no rung, {file}")
    files = [file for _, part in lab.parts() for file in part.files]
    for file in files:
        if files.count(file) > 1:
            raise wrong(f"{file} belongs to two exercises")


def fixed_text(stub: str) -> list[str]:
    """What stands before, between and after the TODO blocks of a stub."""
    return TODO.split(stub)


def same_outside_todo(stub: str, text: str) -> bool:
    """Whether a text is the stub with something else in place of its TODO blocks."""
    pieces = fixed_text(stub)
    return len(pieces) > 1 and re.fullmatch(".*?".join(map(re.escape, pieces)), text, re.S) is not None


def without_blanks(text: str) -> str:
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


def is_unsolved(stub: str, text: str) -> bool:
    """Whether a file was handed in as it was handed out."""
    return without_blanks(stub) == without_blanks(text)
