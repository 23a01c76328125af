"""./lab in a hand-out: tests a student's exercises with the tests that students can see."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
import time
import zipfile
import zlib
from pathlib import Path

from .exercises import Exercise, Lab, Part, folders, is_unsolved, load
from .fault import Fault, exit_code
from .judge import BUILD_ERROR, NOT_GRADED, OTHER_TESTS, PASSED, Judge, Result, plugin_of
from .races import BARRIER, STRAY
from .sandbox import best
from .words import ENDLESS, lines_of

COLOURS = {"right": "32", "wrong": "31", "unsolved": "33", "right, but not by this idea": "33", "no verdict": "33"}


def painted(word: str) -> str:
    code = COLOURS.get(word)
    return f"\033[{code}m{word}\033[0m" if code and sys.stdout.isatty() and "NO_COLOR" not in os.environ else word


def labs_of(root: Path) -> list[Lab]:
    return [load(root, name) for name in folders(root)]


def chosen(labs: list[Lab], names: list[str]) -> list[tuple[Lab, Exercise]]:
    """The exercises with these names; the name of a lab stands for all of its exercises, no name for all there are."""
    pairs = [(lab, exercise) for lab in labs for exercise in lab.exercises]
    known = [exercise.name for _, exercise in pairs]
    for name in names:
        if name not in known and name not in [lab.name for lab in labs]:
            raise Fault(f"no exercise is named '{name}'; there are: {' '.join(known)}")
    return [(lab, exercise) for lab, exercise in pairs if not names or exercise.name in names or lab.name in names]


def target_of(lab: Lab, part: Part | None) -> str:
    """The program that is built: the worker of a part, or the judge of a lab."""
    return f"worker_{lab.name}_{part.rung}" if part else f"judge_{lab.name}"


def built(root: Path, targets: list[str]) -> str:
    """Builds programs, and shows the present line of the build on a terminal, elsewhere one a minute. Returns what the compiler said when it failed."""
    printed, due = "", time.monotonic() + 60
    shown = sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    width = shutil.get_terminal_size().columns - 1
    with subprocess.Popen(["cmake", "--build", str(root / "build/default"), "--target", *targets], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as building:
        assert building.stdout
        for line in building.stdout:
            printed += line
            if shown:
                print(f"\r\033[K{line.rstrip()[:width]}", end="", file=sys.stderr, flush=True)
            elif line.startswith("[") and time.monotonic() >= due:  # a line a minute
                print(line, end="", file=sys.stderr, flush=True)
                due = time.monotonic() + 60
    if shown:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    return "" if building.returncode == 0 else printed[-4000:]


def state_of(lab: Lab, part: Part) -> str:
    path = lab.path / part.file
    if not path.is_file():
        return "missing"
    return "unsolved" if is_unsolved(lab.stub(part.file), path.read_text(encoding="utf-8", errors="replace")) else "begun"


def place(lab: Lab, part: Part) -> str:
    """The file that is the student's, from the root of the hand-out on."""
    return f"labs/{lab.folder}/{part.file}"


def not_theirs(part: Part, printed: str) -> str:
    """A sentence where the first error of a compiler stands in a file that is not the student's; else nothing."""
    lines = [line for line in printed.splitlines() if re.search(r"\berror\b", line)]  # before or behind the place
    found = next(filter(None, (re.search(r"([^\s:(]+\.(?:cl|cu|cuh|cpp|hpp|h))[:(]\d+", line) for line in lines)), None)
    if not found or Path(found[1]).name == Path(part.file).name:
        return ""
    return (f"The first error stands in {found[1]}, which is not your file: {part.file}. If you changed it, take it "
            "from the hand-out again; it may also use what your file should define.\n")


def compiled(root: Path, lab: Lab, part: Part) -> str:
    """Builds the worker of a part. Returns what the compiler said, and whose file it said it of; "" when it compiles."""
    trouble = built(root, [target_of(lab, part)])
    return trouble and f"it does not compile:\n{not_theirs(part, trouble)}{trouble}"


def test_part(root: Path, judge: Judge, exercise: Exercise, part: Part) -> tuple[str, list[Result], str]:
    """The state of one back end of an exercise that has been begun: right, wrong, not tested; its results; further text."""
    lab = judge.lab
    if why := judge.why_not(part):
        if part.backend == "opencl":
            return "not tested", [], f"{why} here"
        if not knows(root, target_of(lab, part)):
            return "not tested", [], f"{why} here; ./lab cuda on compiles it all the same, where nvcc is installed"
        return "not tested", [], f"{why} here; {compiled(root, lab, part) or 'it compiles'}"
    if trouble := compiled(root, lab, part):
        return "wrong", [], trouble
    results = judge.judge(exercise, part, (lab.path / part.file).read_bytes(), slot=0, built=judge.worker_program(part))
    for one in results:
        if one.outcome == BUILD_ERROR:
            one.message = not_theirs(part, one.message) + one.message
    outcomes = {one.outcome for one in results}
    return "right" if outcomes == {PASSED} else "not tested" if outcomes <= {PASSED, NOT_GRADED} else "wrong", results, ""


def knows(root: Path, target: str) -> bool:
    """Whether the build has a program: those in CUDA may be left out."""
    ran = subprocess.run(["ninja", "-C", str(root / "build/default"), "-t", "query", target], capture_output=True, check=False)
    return ran.returncode == 0


def show(exercise: Exercise, part: Part, state: str, results: list[Result], more: str, device: str = "") -> None:
    score = sum(one.score for one in results)
    print(f"{painted(state)}  {exercise.name} in {part.backend}{device and f', {device}'}: {exercise.title}"
          f" ({score:g} of {sum(test.points for test in exercise.tests):g} points in these tests)")
    if more:
        print(textwrap.indent(more, "    "))
    if state == "right" and exercise.hidden.get(part.backend):
        print(f"    visible tests passed, {exercise.hidden[part.backend]} hidden ones not run: they run when it is graded")
    tests = {test.name: test for test in exercise.tests}
    barrier = next((one.test for one in results if BARRIER in one.message), "")
    for result in results:
        what = {PASSED: "right", NOT_GRADED: "not tested"}.get(result.outcome, "wrong")
        points = f"{result.points:g}" if what == "right" else f"{result.score:g} of {result.points:g}"
        print(f"    {painted(what)}  {result.test} ({points}){f': {result.outcome}' if what == 'wrong' else ''}")
        if result.message:
            print(textwrap.indent(result.message, "           "))
        if result.outcome == BUILD_ERROR:
            break
        if barrier and what == "wrong" and BARRIER not in result.message:
            print(f"           This may follow from the barrier that not all reach: see '{barrier}'")
        elif what == "wrong" and result.public not in OTHER_TESTS and not any(words in result.message for words in (BARRIER, STRAY, ENDLESS)):
            print(f"           Hint: {tests[result.test].hint}")
    values = [one for one in results if tests[one.test].check == "values" and one.outcome != BUILD_ERROR]
    for one in sorted(values, key=lambda one: one.outcome == PASSED):
        if printed := re.sub(r"(?m)^CUDA emulator: .*\n?", "", one.printed).strip("\n"):
            print(textwrap.indent("\n".join([f"printed in '{one.test}':", *(f"  {line}" for line in lines_of(printed))]), "    "))
            break
    sys.stdout.flush()  # also when it goes to a file or a pipe


def what_to_do(lab: Lab, exercise: Exercise, part: Part, state: str) -> str:
    """The next step for an exercise that has not been begun, or that is right."""
    if state == "unsolved":
        do = "find and repair the mistake" if exercise.kind == "repair" else "write what its TODO asks for"
        others = "".join(f" (or, in CUDA, {place(lab, one)})" for one in exercise.parts.values() if one is not part)
        return f"Open {place(lab, part)}{others} and {do}."
    if state == "missing":
        return f"./lab reset {exercise.name} puts {place(lab, part)} back as handed out."
    does = "measures it at full size" if part.backend == "opencl" else "runs it in the lab's program"
    return f"Next: ./lab run {lab.name} --variant {part.rung} {does}." if state == "right" else ""


def test(root: Path, names: list[str]) -> bool:
    """Tests exercises and shows the results. Returns whether none is wrong, unsolved or missing."""
    points = most = 0.0
    judges: dict[str, Judge] = {}
    seen: dict[str, list[str]] = {}  # by exercise: the states of its back ends
    sandbox = best("none")
    asked = chosen(labs_of(root), names)
    begun = [(lab, part) for lab, exercise in asked for part in exercise.parts.values() if state_of(lab, part) == "begun"]
    try:
        if begun:
            prebuild(root, [lab for lab, _ in begun], [(lab, part) for lab, part in begun if part.backend == "opencl"])
        for lab, exercise in asked:
            parts = list(exercise.parts.values())
            best_of_parts = 0.0
            for part in [part for part in parts if state_of(lab, part) != "unsolved"] or parts[:1]:
                state, results, more = state_of(lab, part), [], ""
                if state == "begun":
                    if lab.name not in judges:
                        if trouble := built(root, [target_of(lab, None)]):
                            raise Fault(f"the tests do not build:\n{trouble}")
                        judges[lab.name] = Judge(lab, root / "build/default", sandbox, b"visible")
                    state, results, more = test_part(root, judges[lab.name], exercise, part)
                seen.setdefault(exercise.name, []).append(state)
                best_of_parts = max(best_of_parts, sum(one.score for one in results))
                show(exercise, part, state, results, more, judges[lab.name].device(part) if results else "")
                if step := what_to_do(lab, exercise, part, state):
                    print(f"    {step}", flush=True)
            points += best_of_parts
            most += exercise.points
    finally:
        sandbox.close()
    right = {name for name, states in seen.items() if "right" in states}
    open_ones = [name for name, states in seen.items() if not {"right", "not tested"} & set(states)]
    print(f"{points:g} of {most:g} points in the tests that you can see")
    if "GITHUB_ACTIONS" in os.environ:  # where GitHub Classroom finds the points
        print(f"::notice title=Autograding report::{json.dumps({'totalPoints': points, 'maxPoints': most})}")
        print(f"::notice title=Autograding complete::Points {points:g}/{most:g}")
    release(root, right)
    if right and open_ones:
        print(f"Next exercise: {open_ones[0]}")
    elif right and not names:
        print(f"Next: the questions ({' '.join(f'labs/{lab.folder}/answers.md' for lab in labs_of(root))}), then ./lab zip")
    sys.stdout.flush()
    if "GITHUB_ACTIONS" not in os.environ:  # what the first edit needs, so that its verdict takes seconds
        later = [(lab, part) for lab, exercise in asked for part in exercise.parts.values()
                 if part.backend == "opencl" and (lab, part) not in begun]
        prebuild(root, [lab for lab, _ in later], later)
    return all(state in ("right", "not tested") for states in seen.values() for state in states)


def prebuild(root: Path, labs: list[Lab], parts: list[tuple[Lab, Part]]) -> None:
    """Builds judges and workers side by side. What does not compile is told later, by whoever needs it."""
    targets = list(dict.fromkeys([*(target_of(lab, None) for lab in labs), *(target_of(lab, part) for lab, part in parts)]))
    targets = [target for target in targets if not (root / "build/default/bin" / target).exists() and knows(root, target)]
    if targets:
        print("lab: building the tests (once, about a minute; you can open your files meanwhile)", file=sys.stderr, flush=True)
        built(root, targets)
        if any(test.check == "cost" for lab in labs for exercise in lab.exercises for test in exercise.tests):
            plugin_of(root, root / "build/default")  # what counts


# What is withheld, and comes free


def release(root: Path, right: set[str]) -> None:
    """Puts the withheld rungs in their places whose exercises are right, now or in an earlier run."""
    known, packed = root / "build/right", root / "tools/grading/withheld.json"
    if not right or not packed.is_file():
        return
    solved = right | set(known.read_text(encoding="utf-8").split() if known.is_file() else ())
    known.parent.mkdir(exist_ok=True)
    known.write_text("\n".join(sorted(solved)) + "\n", encoding="utf-8")
    free = []
    for entry in json.loads(packed.read_text(encoding="utf-8")):
        if not set(entry["exercises"]) <= solved:
            continue
        for file, content in json.loads(zlib.decompress(base64.b64decode(entry["packed"]))).items():
            path = root / file
            if path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == content["instead"]:  # as it was handed out
                path.write_text(content["text"], encoding="utf-8")
                free.append(file)
    if free:
        print("No longer withheld, because you have solved it:\n" + "\n".join(f"    {file}" for file in sorted(free)))


def times(root: Path, names: list[str]) -> dict[str, float]:
    """When the files of the exercises were last saved."""
    found = {}
    for lab, exercise in chosen(labs_of(root), names):
        for part in exercise.parts.values():
            path = lab.path / part.file
            found[exercise.name + " " + part.file] = path.stat().st_mtime if path.is_file() else 0.0
    return found


def watch(root: Path, names: list[str], rounds: int = -1) -> None:
    """Tests exercises again when their files are saved. @param rounds the changes after which it ends; -1: never"""
    known = times(root, names)  # before the tests: a file may be saved while they run
    test(root, names)
    while rounds != 0:
        now = times(root, names)
        if now == known:
            print("waiting for a file to be saved (Ctrl-C ends)", file=sys.stderr, flush=True)
        while now == known:
            time.sleep(0.3)
            now = times(root, names)
        changed = sorted({name.split()[0] for name, when in now.items() if known.get(name) != when})
        known = now
        test(root, changed)
        rounds -= 1


def pack(root: Path) -> Path:
    """Makes hand-in.zip, and says what is not in it. Refuses where nothing has been solved or answered."""
    target, new = root / "hand-in.zip", root / ".hand-in.zip.new"
    empty: list[str] = []
    found: dict[str, bytes] = {}
    for lab in labs_of(root):
        for exercise in lab.exercises:
            states = [state_of(lab, part) for part in exercise.parts.values()]
            if "begun" not in states:
                empty.append(f"{exercise.name} ({'missing' if 'missing' in states else 'unsolved'})")
        own = [place(lab, part) for _, part in lab.parts()]
        found |= {name: (root / name).read_bytes() for name in [*own, f"labs/{lab.folder}/answers.md"] if (root / name).is_file()}
        text = found.get(f"labs/{lab.folder}/answers.md", b"").decode("utf-8", errors="replace")
        heads = re.split(r"(?m)^## Question (\d+).*$", text)
        unanswered = [number for number, answer in zip(heads[1::2], heads[2::2])
                      if not re.sub(r"(?m)^\s*>.*$", "", answer).strip()]
        if unanswered or len(heads) == 1:
            empty.append(f"labs/{lab.folder}/answers.md, " + (f"questions {', '.join(unanswered)}" if unanswered else "which is empty"))
    if not found:
        raise Fault("there is no file to hand in: hand-in.zip is not made" + (", the one that is there stays" if target.exists() else ""))
    try:
        with zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in found.items():
                archive.writestr(zipfile.ZipInfo(name), content)
        new.replace(target)
    finally:
        new.unlink(missing_ok=True)
    if empty:
        print(f"lab: not solved or answered in it: {'; '.join(empty)}", file=sys.stderr)
    return target


def reset(root: Path, names: list[str]) -> None:
    """Puts the files of exercises back as they were handed out. What was there is kept beside them."""
    if not names:
        raise Fault("reset which exercise? ./lab list")
    for lab, exercise in chosen(labs_of(root), names):
        for part in exercise.parts.values():
            if state_of(lab, part) == "unsolved":
                continue
            path, kept, stub = lab.path / part.file, "", lab.stub(part.file)
            if path.is_file() and path.read_text(encoding="utf-8", errors="replace") != stub:
                number = next(n for n in range(1, 1000) if not path.with_name(f"{path.name}.before-{n}").exists())
                kept = f"{path.name}.before-{number}"
                path.replace(path.with_name(kept))
            path.write_text(stub, encoding="utf-8")
            print(f"{place(lab, part)} is as it was handed out" + (f"; yours is {kept} beside it" if kept else ""))


def unsolved(root: Path, name: str) -> str:
    """For a run of a lab: the rungs that stand in files which nobody has begun, as RUNG=EXERCISE. Raises Fault where a file is
    missing, without which the lab does not compile."""
    found = []
    lab = next(one for one in labs_of(root) if one.name == name)
    for exercise, part in lab.parts():
        state = state_of(lab, part)
        if state == "missing":
            raise Fault(f"{place(lab, part)} is missing: {what_to_do(lab, exercise, part, state)}")
        if state == "unsolved" and exercise.kind == "write":  # a repair exercise is seen to be wrong
            found += [f"{rung}={exercise.name}" for rung in rungs_in(lab, part)]
    return " ".join(dict.fromkeys(found))


def rungs_in(lab: Lab, part: Part) -> list[str]:
    """The rungs whose own file is that of a part, or embeds or includes it."""
    name = Path(part.file).name
    rungs = [part.rung]
    for path in sorted((lab.path / part.backend).glob("*.c*")):
        text = path.read_text(encoding="utf-8", errors="replace") if path.suffix in (".cpp", ".cu") else ""
        used = {Path(one).name.removesuffix(".hpp") if one.endswith(".cl.hpp") else Path(one).name
                for one in re.findall(r'(?m)^#include "([^"]+)"', text)}
        if name in (path.name, *used):
            rungs += re.findall(rf"(?m)^void ({part.backend}_\w+)\(", text)
    return rungs


def main(words: list[str]) -> int:
    root, command, names = Path(words[0]), words[1], words[2:]
    if command in ("list", "zip") and names:
        raise Fault(f"{command} takes no arguments")
    match command:
        case "unsolved":
            print(unsolved(root, names[0]))
        case "reset":
            reset(root, names)
        case "list":
            for lab in labs_of(root):
                print(f"{lab.name}: {', '.join(exercise.name for exercise in lab.exercises)}")
        case "zip":
            print(pack(root))
        case "watch":
            watch(root, names)
        case _:
            return 0 if test(root, names) else 1
    return 0


if __name__ == "__main__":
    sys.exit(exit_code(lambda: main(sys.argv[1:])))
