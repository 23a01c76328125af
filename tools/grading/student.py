"""./lab in a hand-out: tests a student's exercises with the tests that students can see."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import textwrap
import time
import zipfile
from pathlib import Path

from .exercises import Exercise, Lab, Part, folders, is_unsolved, load
from .fault import Fault, exit_code
from .judge import BUILD_ERROR, NOT_GRADED, PASSED, WRONG_UNDER_TOOL, Judge, Result
from .sandbox import best

COLOURS = {"right": "32", "wrong": "31", "unsolved": "33"}


def painted(word: str) -> str:
    code = COLOURS.get(word)
    return f"\033[{code}m{word}\033[0m" if code and sys.stdout.isatty() and "NO_COLOR" not in os.environ else word


def labs_of(root: Path) -> list[Lab]:
    return [load(root, name) for name in folders(root)]


def chosen(labs: list[Lab], names: list[str]) -> list[tuple[Lab, Exercise]]:
    pairs = [(lab, exercise) for lab in labs for exercise in lab.exercises]
    known = [exercise.name for _, exercise in pairs]
    for name in names:
        if name not in known:
            raise Fault(f"no exercise is named '{name}'; there are: {' '.join(known)}")
    return [(lab, exercise) for lab, exercise in pairs if not names or exercise.name in names]


def built(root: Path, lab: Lab, part: Part | None) -> str:
    """Builds the judge of a lab, or the worker of a part. Returns what the compiler said when it failed."""
    target = f"worker_{lab.name}_{part.rung}" if part else f"judge_{lab.name}"
    said = ""
    with subprocess.Popen(["cmake", "--build", str(root / "build/default"), "--target", target], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as building:
        assert building.stdout
        for line in building.stdout:
            said += line
            show_progress(line.rstrip())
    show_progress("")
    return "" if building.returncode == 0 else said[-4000:]


def show_progress(line: str) -> None:
    """Shows a line in place of the one before. On a terminal only."""
    if sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb":
        width = shutil.get_terminal_size().columns
        print(f"\r\033[K{line[:width - 1]}", end="", file=sys.stderr, flush=True)


def state_of(lab: Lab, part: Part) -> str:
    for file in part.files:
        path = lab.path / file
        if not path.is_file():
            return "missing"
        if not is_unsolved(lab.stub(file), path.read_text(encoding="utf-8", errors="replace")):
            return "begun"
    return "unsolved"


def test_part(root: Path, judge: Judge, exercise: Exercise, part: Part) -> tuple[str, list[Result], str]:
    """The state of one back end of an exercise: right, wrong, unsolved, missing, not tested; its results; further text."""
    lab = judge.lab
    state = state_of(lab, part)
    if state != "begun":
        return state, [], ""
    why = judge.why_not(part)
    if why:
        return "not tested", [], f"{why} here"
    trouble = built(root, lab, part)
    if trouble:
        return "wrong", [], f"it does not compile:\n{trouble}"
    files = {file: (lab.path / file).read_bytes() for file in part.files}
    results = judge.judge(exercise, part, files, slot=0, built=judge.worker_program(part))
    outcomes = {one.outcome for one in results}
    return "right" if outcomes == {PASSED} else "not tested" if outcomes <= {PASSED, NOT_GRADED} else "wrong", results, ""


def show(exercise: Exercise, part: Part, state: str, results: list[Result], more: str) -> None:
    score = sum(one.score for one in results)
    print(f"{painted(state)}  {exercise.name} in {part.backend}: {exercise.title}"
          f" ({score:g} of {sum(test.points for test in exercise.tests_in(part.backend)):g} points in these tests)")
    if more:
        print(textwrap.indent(more, "    "))
    if state == "right" and exercise.hidden.get(part.backend):
        print(f"    visible tests passed, {exercise.hidden[part.backend]} hidden ones not run: they run when it is graded")
    hints = {test.name: test.hint for test in exercise.tests}
    for result in results:
        if result.outcome == PASSED:
            print(f"    {painted('right')}  {result.test} ({result.points:g})")
            continue
        points = f"({result.score:g} of {result.points:g})"
        if result.outcome == NOT_GRADED:
            print(f"    not tested  {result.test} {points}")
        else:
            print(f"    {painted('wrong')}  {result.test} {points}: {result.outcome}")
        if result.message:
            print(textwrap.indent(result.message, "           "))
        if result.outcome == BUILD_ERROR:
            break
        if result.outcome != NOT_GRADED and result.public != WRONG_UNDER_TOOL:
            print(f"           Hint: {hints[result.test]}")


def test(root: Path, names: list[str]) -> bool:
    """Tests exercises and shows the results. Returns whether none is wrong, unsolved or missing."""
    fine = True
    points = most = 0.0
    judges: dict[str, Judge] = {}
    sandbox = best("none")
    try:
        for lab, exercise in chosen(labs_of(root), names):
            if lab.name not in judges:
                if not (root / "build/default/bin" / f"judge_{lab.name}").exists():
                    print(f"lab: building the tests of {lab.name} (the first time takes some minutes)", file=sys.stderr)
                trouble = built(root, lab, None)
                if trouble:
                    raise Fault(f"the tests do not build:\n{trouble}")
                judges[lab.name] = Judge(lab, root / "build/default", sandbox, b"visible")
            parts = list(exercise.parts.values())
            shown = [part for part in parts if state_of(lab, part) != "unsolved"]
            best_of_parts = 0.0
            for part in shown or parts[:1]:
                state, results, more = test_part(root, judges[lab.name], exercise, part)
                fine = fine and state in ("right", "not tested")
                best_of_parts = max(best_of_parts, sum(one.score for one in results))
                show(exercise, part, state, results, more)
                sys.stdout.flush()  # also when it goes to a file or a pipe
            points += best_of_parts
            most += exercise.points
    finally:
        sandbox.close()
    print(f"{points:g} of {most:g} points in the tests that you can see")
    if "GITHUB_ACTIONS" in os.environ:  # where GitHub Classroom finds the points
        print(f"::notice title=Autograding report::{json.dumps({'totalPoints': points, 'maxPoints': most})}")
        print(f"::notice title=Autograding complete::Points {points:g}/{most:g}")
    return fine


def times(root: Path, names: list[str]) -> dict[str, float]:
    """When the files of the exercises were last saved."""
    found = {}
    for lab, exercise in chosen(labs_of(root), names):
        for part in exercise.parts.values():
            for file in part.files:
                path = lab.path / file
                found[exercise.name + " " + file] = path.stat().st_mtime if path.is_file() else 0.0
    return found


def watch(root: Path, names: list[str], rounds: int = -1) -> None:
    """Tests exercises again when their files are saved. @param rounds the changes after which it ends; -1: never"""
    test(root, names)
    known = times(root, names)
    while rounds != 0:
        print("waiting for a file to be saved (Ctrl-C ends)", file=sys.stderr, flush=True)
        now = known
        while now == known:
            time.sleep(0.3)
            now = times(root, names)
        changed = sorted({name.split()[0] for name, when in now.items() if known.get(name) != when})
        known = now
        test(root, changed)
        rounds -= 1


def pack(root: Path) -> Path:
    """Makes hand-in.zip."""
    target = root / "hand-in.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for lab in labs_of(root):
            files = [f"labs/{lab.folder}/{file}" for _, part in lab.parts() for file in part.files]
            for name in [*files, f"labs/{lab.folder}/answers.md"]:
                if (root / name).is_file():
                    archive.writestr(zipfile.ZipInfo(name), (root / name).read_bytes())
    return target


def main(words: list[str]) -> int:
    root, command, names = Path(words[0]), words[1], words[2:]
    if command in ("list", "zip") and names:
        raise Fault(f"{command} takes no arguments")
    if command == "list":
        for lab in labs_of(root):
            print(f"{lab.name}: {', '.join(exercise.name for exercise in lab.exercises)}")
    elif command == "zip":
        print(pack(root))
    elif command == "watch":
        watch(root, names)
    else:
        return 0 if test(root, names) else 1
    return 0


if __name__ == "__main__":
    sys.exit(exit_code(lambda: main(sys.argv[1:])))
