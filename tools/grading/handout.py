"""./lab handout: makes the folder that students receive."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import zlib
from functools import cache
from pathlib import Path

from . import marks
from .exercises import SUFFIXES, Lab, folders, load
from .fault import Fault, Parser, make_folder, new_folder

WITHHELD = "withheld, because it tells the answer of an exercise"
COMES_FREE = ("Once the visible tests of the exercises that a rung answers pass, `./lab test` restores it, and the lines that are left "
              "out of studies and pages.")
# The options for a small problem of a lab, for who prints from a kernel.
SMALL = {"saxpy": " --n 4", "reduction": " --n 8", "matmul": " --n 4", "spmv": " --generate lecture", "tridiagonal": " --n 4 --systems 1",
         "lu": " --n 4", "fdtd": " --nx 8 --ny 6 --steps 1", "cg": " --generate laplace2d:3", "streams": " --width 8 --height 4"}
TOOLS = ("__init__.py", "fault.py", "clock.py", "memory.py", "marks.py", "cost.py", "rows.py", "exercises.py", "sandbox.py", "worker.py", "judge.py", "cuda.py",
         "launches.py", "races.py", "student.py", "words.py")
STUDENT = Path(__file__).parent / "student"


def opening_comment(text: str) -> list[str]:
    """The // lines at the top of a rung's file, which say what changed and what limits it; an empty one at the end."""
    lines = re.match(r"(?://.*\n)*", text)[0].splitlines()  # type: ignore[index]
    return [*lines, "//"] if lines else []


def without_anonymous_namespaces(text: str) -> str:
    """A file without what only it can call. In each namespace of a lab all braces are in pairs, also in comments."""
    while found := re.search(r"(?m)^namespace \{", text):
        depth, end = 1, found.end()
        while depth > 0:
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        text = text[:found.start()] + text[end:]
    return text


def withheld_source(lab: Lab, path: Path) -> str:
    """The replacement for a file: its opening comment, and the same functions, which refuse to run; a header's own includes."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".cl":
        return f"// This kernel is {WITHHELD}.\n"
    if path.suffix in (".hpp", ".cuh"):
        return "\n".join([f"// This header is {WITHHELD}.", "#pragma once", *re.findall(r"(?m)^#include .*", text), ""])
    includes = [name for name in re.findall(r'(?m)^#include "([^"]+)"', text)
                if (lab.path / name).is_file() or (path.parent / name).is_file()]
    namespace = re.search(r"(?m)^namespace (\w+) \{", text)
    if not namespace:
        raise Fault(f"{path} has no namespace")
    lines = [*opening_comment(text), f"// The code of this rung is {WITHHELD}.", '#include "gpulab/error.hpp"',
             *(f'#include "{name}"' for name in includes), "", f"namespace {namespace[1]} {{", ""]
    visible = without_anonymous_namespaces(text)
    instances = re.findall(r"(?m)^(?:template (?!<)[^;{]*|INSTANTIATE_RUNG\(\w+\));", visible)
    heads = re.findall(r"(?m)^((?:template <[^<>]*> )?)void (\w+)\(([^)]*)\) \{", visible)
    for template, name, arguments in heads:
        own = [one for one in instances if re.search(rf"\b{name}[<()]", one)]
        if template and not own:
            continue  # called in this file only
        kinds = [re.sub(r"\b\w+$", "", " ".join(one.split())).strip() for one in arguments.split(",")]
        lines += [f"{template}void {name}({', '.join(kinds)}) {{", f'    throw gpulab::Unsupported("{WITHHELD}");', "}"]
        lines += [*own, ""]
    return "\n".join([*lines, f"}} // namespace {namespace[1]}", ""])


def withheld_files(lab: Lab) -> dict[str, str]:
    """The files that give an answer away, relative to the lab, and their replacements."""
    own = {part.file for _, part in lab.parts()}
    withheld = {file for file, regions in lab.marked().items() if any(one.kind == "ANSWER" and not one.instead for one in regions)}
    users = users_of(lab)
    while True:  # whoever includes one of these files, and what only such files include
        more = {user for file in withheld for user in users[file]}
        more |= {file for file, by in users.items() if file not in own and by and by <= withheld}
        if more <= withheld:
            break
        withheld |= more
    if withheld & own:
        raise Fault(f"{lab.folder}/{sorted(withheld & own)[0]} is an exercise, and tells the answer of another one")
    return {file: withheld_source(lab, lab.path / file) for file in sorted(withheld)}


def users_of(lab: Lab) -> dict[str, set[str]]:
    """For each source file of a lab the files that include it. x.cl is included as x.cl.hpp."""
    paths = [path for path in sorted(lab.path.rglob("*"))
             if path.suffix in SUFFIXES and "exercises" not in path.relative_to(lab.path).parts]
    users: dict[str, set[str]] = {str(path.relative_to(lab.path)): set() for path in paths}
    for path in paths:
        user = str(path.relative_to(lab.path))
        for name in re.findall(r'(?m)^#include "([^"]+)"', path.read_text(encoding="utf-8")):
            for folder in (os.path.dirname(user), ""):
                file = os.path.normpath(os.path.join(folder, name.removesuffix(".hpp") if name.endswith(".cl.hpp") else name))
                if file in users:
                    users[file].add(user)
    return users


def leave_out_answers(labs: list[Lab], target: Path) -> dict[str, tuple[set[str], str]]:
    """Puts what stands beside the marks in place of the answers in pages and studies, which are not withheld as a whole.
    Returns for each of these files the exercises whose answers it told, and its text."""
    left_out: dict[str, tuple[set[str], str]] = {}
    names = {exercise.name for lab in labs for exercise in lab.exercises}
    own = {target / "labs" / lab.folder / place / part.file for lab in labs for _, part in lab.parts() for place in ("", "exercises")}
    for path in sorted(target.rglob("*")):
        if path.suffix in SUFFIXES and path not in own:
            text = path.read_text(encoding="utf-8")
            where = str(path.relative_to(target))
            new = marks.without_answers(text, where, names)
            if new != text:
                path.write_text(new, encoding="utf-8")
                told = {name for one in marks.regions(text, where) for name in one.names} & names
                if told:
                    left_out[where] = (told, marks.without_answers(text, where, set()))
    return left_out


def visible_exercises(lab: Lab) -> str:
    """exercises.toml without the hidden tests, of which it has the number, and without what tells answers: mistakes and comments."""
    text = (lab.path / "exercises/exercises.toml").read_text(encoding="utf-8")
    text = re.sub(r"(?m)^(#|mistake = ).*\n", "", text)
    text = re.sub(r"(?ms)^\[\[exercise\.test\]\]\n(?:(?!^\[).*?\n)*?(?=^\[|\Z)",
                  lambda test: test[0] if re.search("(?m)^visible = true", test[0]) else "", text)
    for exercise in lab.exercises:
        hidden = ", ".join(f"{backend} = {sum(not test.visible for test in exercise.tests)}" for backend in exercise.parts)
        name = f'name = "{exercise.name}"\n'
        text = text.replace(name, f"{name}hidden = {{ {hidden} }}\n", 1)
    return f"# The exercises of lab {lab.folder[:2]}, with the tests that you can run.\n\n{text.lstrip()}"


def numbered(lab: Lab, heading: str) -> list[str]:
    """The numbered items of a section of the hand-out ("Questions", "Exercises"), each in one line."""
    text = (lab.path / "README.md").read_text(encoding="utf-8")
    section = re.search(rf"(?ms)^## {heading}$(.*?)(?=^## |\Z)", text)
    return [" ".join(one.split()) for one in re.split(r"(?m)^\d+\. ", section[1])[1:]] if section else []


def questions(lab: Lab) -> list[str]:
    return numbered(lab, "Questions")


def answers(lab: Lab) -> str:
    """answers.md as it is handed out."""
    lines = [f"# Answers to the questions of lab {lab.folder[:2]}", ""]
    for number, question in enumerate(questions(lab), 1):
        lines += [f"## Question {number}", "", f"> {question}", "", ""]
    return "\n".join(lines)


def exercise_list(lab: Lab) -> str:
    """The exercises for the student's README."""
    lines = []
    for number, exercise in enumerate(lab.exercises, 1):
        files = " or ".join(f"`labs/{lab.folder}/{part.file}`" for part in exercise.parts.values())
        lines += [f"### {number}. {exercise.title} (`{exercise.name}`)", "", exercise.task, "",
                  f"{exercise.points:g} points; {'find and repair the mistake in' if exercise.kind == 'repair' else 'write'}"
                  f" {files}. One back end is enough; with several, the best counts.", ""]
        if exercise.hints:
            lines += ["<details><summary>Hints</summary>", "", *(f"- {hint}" for hint in exercise.hints), "", "</details>", ""]
    return "\n".join(lines)


@cache
def unknown_to_git(root: Path) -> frozenset[str]:
    """The files of a checkout that git does not know: notes, say, or solutions. Elsewhere than in a checkout: none."""
    ran = subprocess.run(["git", "-C", str(root), "ls-files", "--others", "-z"], capture_output=True, check=False)
    top = subprocess.run(["git", "-C", str(root), "rev-parse", "--show-prefix"], capture_output=True, check=False)
    if ran.returncode != 0 or top.stdout.strip():  # the project may be a folder in a checkout of something else
        return frozenset()
    return frozenset(str(root / os.fsdecode(name)) for name in ran.stdout.split(b"\0") if name)


def copy_tree(root: Path, source: Path, target: Path) -> None:
    """Copies a folder without what git does not know, and says what it left out."""
    usual = shutil.ignore_patterns("__pycache__", "*.pyc", ".*")

    def left_out(folder: str, names: list[str]) -> set[str]:
        ignored = usual(folder, names)
        unknown = {name for name in names if os.path.join(folder, name) in unknown_to_git(root)} - ignored
        for name in sorted(unknown):
            print(f"left out, because git does not know it: {Path(folder, name).relative_to(root)}", file=sys.stderr)
        return ignored | unknown

    shutil.copytree(source, target, ignore=left_out)


def folder_for(root: Path, name: str) -> Path:
    """The folder of a hand-out: new, and outside the folders that are copied into it: that copy would never end."""
    path = new_folder(name)
    for copied in ("cmake", "common", "emulator", "labs"):
        if Path(os.path.realpath(path)).is_relative_to((root / copied).resolve()):
            raise Fault(f"{path} lies in {copied}/, which is copied into the hand-out: name a folder elsewhere")
    return path


def write_tree(labs: list[Lab], target: Path, comes_free: bool = True) -> None:
    """Writes a hand-out into a folder that does not exist or is empty.

    @param comes_free whether what is withheld lies in it, packed, and `./lab test` puts it back when its exercises are right
    """
    root = labs[0].root
    target.mkdir(parents=True, exist_ok=True)
    copy_tree(root, root / "cmake", target / "cmake")
    copy_tree(root, root / "common", target / "common")
    copy_tree(root, root / "emulator", target / "emulator")
    shutil.rmtree(target / "emulator/tests")
    for name in ("LICENSE", ".clang-format"):
        if (root / name).is_file():
            shutil.copy(root / name, target / name)
    grading = target / "tools" / "grading"
    grading.mkdir(parents=True)
    for name in TOOLS:
        shutil.copy(Path(__file__).parent / name, grading / name)
    for name in ("setup.sh", "plot", "results.py", "fetch-matrix"):
        shutil.copy(root / "tools" / name, target / "tools" / name)
    copy_tree(root, root / "tools" / "explain", target / "tools" / "explain")
    shutil.copy(STUDENT / "lab", target / "lab")
    (target / "lab").chmod(0o755)
    shutil.copy(STUDENT / "gitignore", target / ".gitignore")
    shutil.copy(STUDENT / "CMakeLists.txt", target / "CMakeLists.txt")
    words = {"LABS": "\n".join(f"- [Your path through lab {lab.folder[:2]}](labs/{lab.folder}/PATH.md), and its page: "
                               f"[{lab.name}](labs/{lab.folder}/README.md)" for lab in labs),
             "ANSWERS": f"`labs/{labs[0].folder}/answers.md`" if len(labs) == 1 else "`answers.md`, beside that page",
             "EXERCISES": "\n".join(exercise_list(lab) for lab in labs), "LAB": labs[0].name,
             "VARIANT": next(part.rung for _, part in labs[0].parts()), "SMALL": SMALL.get(labs[0].name, ""),
             "WITHHELD": COMES_FREE if comes_free else "They are handed out later."}
    text = (STUDENT / "README.md").read_text(encoding="utf-8")
    for name, value in words.items():
        text = text.replace(f"@{name}@", value)
    (target / "README.md").write_text(text, encoding="utf-8")
    for lab in labs:
        write_lab(lab, target)
    unlink_absent(target)
    withheld = {lab.folder: withheld_with(lab) for lab in labs} if comes_free else {}
    texts = leave_out_answers(labs, target)
    if comes_free:
        (grading / "withheld.json").write_text(packed(target, withheld, texts), encoding="utf-8")


def withheld_with(lab: Lab) -> list[tuple[set[str], dict[str, str]]]:
    """What is withheld, in pieces that come free together: the exercises whose answers a piece tells, and its files."""
    files, users = set(withheld_files(lab)), users_of(lab)
    own = {file: {name for one in regions if one.kind == "ANSWER" and not one.instead for name in one.names}
           for file, regions in lab.marked().items() if file in files}
    pieces = []
    for file in sorted(files):
        inside = {file}  # with the withheld files that it includes
        while more := {one for one in files - inside if users[one] & inside}:
            inside |= more
        names = {name for one in inside for name in own.get(one, ())}
        if names:
            pieces.append((names, {one: marks.without_answers((lab.path / one).read_text(encoding="utf-8"), one, set())
                                   for one in sorted(inside)}))
    return pieces


def packed(target: Path, withheld: dict[str, list[tuple[set[str], dict[str, str]]]], texts: dict[str, tuple[set[str], str]]) -> str:
    """What comes free, as JSON: the exercises that have to be right, and files with their texts, which nobody reads by chance.

    @param texts by file, those from which lines were left out
    """
    pieces = [(names, {f"labs/{folder}/{file}": text for file, text in files.items()})
              for folder, found in withheld.items() for names, files in found]
    pieces += [(names, {file: text}) for file, (names, text) in texts.items()]
    lines = []
    for names, files in pieces:
        content = {file: {"instead": hashlib.sha256((target / file).read_bytes()).hexdigest(), "text": text}
                   for file, text in files.items()}
        lines.append(json.dumps({"exercises": sorted(names), "packed":
                                 base64.b64encode(zlib.compress(json.dumps(content).encode(), 9)).decode()}))
    return "[\n" + ",\n".join(lines) + "\n]\n"


def write_lab(lab: Lab, target: Path) -> None:
    folder = target / "labs" / lab.folder
    copy_tree(lab.root, lab.path, folder)
    shutil.rmtree(folder / "exercises")
    for name, text in withheld_files(lab).items():
        (folder / name).write_text(text, encoding="utf-8")
    stubs = folder / "exercises"
    stubs.mkdir()
    for name in ("tasks.hpp", "judge.cpp", "CMakeLists.txt"):
        shutil.copy(lab.path / "exercises" / name, stubs / name)
    (stubs / "exercises.toml").write_text(visible_exercises(lab), encoding="utf-8")
    for _, part in lab.parts():
        (stubs / part.file).parent.mkdir(exist_ok=True)
        for place in (stubs, folder):
            (place / part.file).write_text(lab.stub(part.file), encoding="utf-8")
    (folder / "answers.md").write_text(answers(lab), encoding="utf-8")
    for page in (folder / "README.md", folder / "PATH.md", folder / "MEASURED.md"):
        if page.is_file():  # with the figures that it shows, and the list of words
            copy_linked(lab.root, target, page, pages=True)
    copy_recorded(lab, target)


def copy_recorded(lab: Lab, target: Path) -> None:
    """Copies the stored results of a lab on GPUs, which its option --recorded shows."""
    for device in ("h100", "h200"):
        for path in sorted((lab.root / "docs/results" / device).glob(f"{lab.name}*.json")):
            if re.fullmatch(rf"{lab.name}(-.*)?\.json", path.name):
                copy = target / path.relative_to(lab.root)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, copy)


def copy_linked(root: Path, target: Path, page: Path, pages: bool) -> None:
    """Copies what a page of a hand-out shows from docs/: pictures and, if wanted, pages with their pictures."""
    docs = Path(os.path.realpath(target)) / "docs"
    for link in re.findall(r"\]\((?!\w+:)([^)#\s]+)", page.read_text(encoding="utf-8")):
        copy = Path(os.path.realpath(page.parent / link))
        source = root / "docs" / copy.relative_to(docs) if copy.is_relative_to(docs) else None
        if source is None or not source.is_file() or copy.exists() or (copy.suffix == ".md" and not pages):
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, copy)
        if copy.suffix == ".md":
            copy_linked(root, target, copy, pages=False)


def unlink_absent(target: Path) -> None:
    """Makes plain text of the links that lead to no file of the hand-out."""
    for page in sorted(target.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        new = re.sub(r"(?<!!)\[([^\]]*)\]\((?!\w+:)([^)#\s]+)(?:#[^)\s]*)?\)",
                     lambda link: link[0] if (page.parent / link[2]).exists() else link[1], text)
        if new != text:
            page.write_text(new, encoding="utf-8")


def main(root: Path, words: list[str]) -> int:
    parser = Parser(prog="./lab handout", description="Makes the folder that students receive.")
    parser.add_argument("lab", nargs="?", help="a lab; left out with --all")
    parser.add_argument("folder", metavar="DIR", help="the folder to make; an existing one must be empty")
    parser.add_argument("--all", action="store_true", help="one folder for all labs that have exercises")
    parser.add_argument("--keep-withheld", action="store_true", help="what is withheld does not come free when it is solved")
    if "--all" in words and len([word for word in words if not word.startswith("-")]) == 2:
        raise Fault("--all takes no lab: ./lab handout --all DIR")
    options = parser.parse_args(words)
    if options.all == bool(options.lab):
        raise Fault("hand out one lab, or all: ./lab handout LAB DIR, or ./lab handout --all DIR")
    labs = [load(root, name) for name in (folders(root) if options.all else [options.lab])]
    target = folder_for(root, options.folder)
    make_folder(target, lambda new: write_tree(labs, new, not options.keep_withheld))
    print(target)
    return 0
