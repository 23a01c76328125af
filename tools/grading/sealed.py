"""./lab instructor: model answers to the questions and open exercises, which the repository holds encrypted."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shlex
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .exercises import Lab, folders, load
from .fault import Fault, Parser
from .handout import numbered

PLAIN, SEALED = "answers", "docs/answers"  # the folders of what can be read, which git ignores, and of what is encrypted
SECTIONS = {"Question": "Questions", "Exercise": "Exercises"}  # a heading of an answer, and of the hand-out
NUMBER = re.compile(r"(?ms)^<!-- number (\S+)\n(.*?)\n(.*?)\n-->$")


@dataclass(frozen=True)
class Number:
    """A number of an answer that a program gives: the first group of the pattern in what the command prints.

    The command may also be a file of docs/results, which a program has written.
    """

    value: str
    command: str
    pattern: str

    @property
    def decimals(self) -> int:
        return len(self.value.partition(".")[2])


@dataclass(frozen=True)
class Answer:
    question: str  # what it answers, as the hand-out has it, in one line
    text: str
    points: int
    numbers: list[Number] = field(default_factory=list)


def toml_of(value: Any) -> str:
    """A value as TOML: JSON writes strings and numbers in the same way."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{name} = {toml_of(one)}" for name, one in value.items()) + " }"
    return f"[{', '.join(map(toml_of, value))}]" if isinstance(value, list) else json.dumps(value, ensure_ascii=False)


def name_of(heading: str, number: int) -> str:
    return f"{heading.lower()} {number}"


def questions_of(lab: Lab) -> dict[str, str]:
    """All that needs an answer, by names such as 'question 3' and 'exercise 1'; links as their text."""
    return {name_of(heading, number): re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text) for heading, section in SECTIONS.items()
            for number, text in enumerate(numbered(lab, section), 1)}


def digest(text: str | bytes) -> str:
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()


def slow_hash(value: str, salt: str) -> str:
    """Of a number, so that the index does not tell it at a glance."""
    return hashlib.scrypt(value.encode(), salt=bytes.fromhex(salt), n=2**15, r=8, p=1, maxmem=2**26, dklen=16).hex()


def read_answers(path: Path) -> dict[str, Answer]:
    """A file of answers: answers.md as it is handed out, with '## Exercise N' as well, and a rubric below each answer."""
    found = {}
    parts = re.split(r"(?m)^## (Question|Exercise) (\d+)$", path.read_text(encoding="utf-8"))[1:]
    for heading, number, body in zip(parts[::3], parts[1::3], parts[2::3]):
        name = name_of(heading, int(number))
        quote = re.match(r"\n+((?:> .*\n)+)", body)
        text, _, rubric = body[quote.end() if quote else 0:].partition("\nRubric:\n")
        points = re.findall(r"(?m)^- ([1-9]\d*): \S", rubric)
        numbers = [Number(*one) for one in NUMBER.findall(body)]
        for wrong, what in (
                (name in found, " stands there twice"), (not quote, f" does not begin with the text of the {heading.lower()}, after '> '"),
                (not re.sub(r"(?s)<!--.*?-->", "", text).strip(), " has no answer"),
                (not points, " has no rubric: a line 'Rubric:', then lines such as '- 2: for what'"),
                (len(numbers) != body.count("<!-- number"),
                 ": a number has a line with its value, one with its command, and one with a pattern")):
            if wrong:
                raise Fault(f"{path}: {name}{what}")
        assert quote
        question = " ".join(quote[1].replace("\n> ", " ").removeprefix("> ").split())
        found[name] = Answer(question, text, sum(map(int, points)), numbers)
    return found


def value_of(root: Path, build: Path, command: str, pattern: str, decimals: int) -> str | None:
    """The number that './lab run LAB ...', './lab explain LAB ...' or a file gives; None where the lab is not built."""
    words = shlex.split(command)
    if len(words) == 1 and command.startswith("docs/results/") and (root / command).is_file():
        text, printed = (root / command).read_text(encoding="utf-8"), ""
    elif words[:1] != ["./lab"] or len(words) < 3 or words[1] not in ("run", "explain") or not re.fullmatch(r"\w+", words[2]):
        raise Fault(f"'{command}' is neither './lab run LAB ...' nor './lab explain LAB ...' nor a file of docs/results")
    elif not (build / "bin" / words[2]).is_file():
        return None
    else:
        call = [build / "bin" / words[2], *words[3:]]
        if words[1] == "explain":
            call = [sys.executable, "-B", root / "tools/explain", root, build, *words[2:]]
        ran = subprocess.run(call, cwd=root, text=True, capture_output=True, stdin=subprocess.DEVNULL, check=False)
        text, printed = ran.stdout, "".join(ran.stderr.splitlines()[-1:])
    found = re.search(pattern, text, re.MULTILINE)
    if not found:
        raise Fault(f"'{command}' gives nothing that fits {pattern} {printed}".rstrip())
    return f"{float(found[1].replace(',', '')):.{decimals}f}"


# The index: what may be known without the key.


def read_index(root: Path) -> dict[str, Any]:
    path = root / SEALED / "index.toml"
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise Fault(f"{path}: {error}") from None


def sealed_number(number: Number) -> dict[str, Any]:
    salt = secrets.token_hex(8)
    return {"command": number.command, "pattern": number.pattern, "decimals": number.decimals, "salt": salt,
            "hash": slow_hash(number.value, salt)}


def index_lines(name: str, answers: dict[str, Answer], plain: bytes, sealed: bytes, old: dict[str, Any]) -> list[str]:
    """The entries of a lab. @param old those of the same answers, whose salts stay, or none"""
    lines = ["", f"[{name}]", f"plain = {toml_of(digest(plain))}", f"sealed = {toml_of(digest(sealed))}"]
    for key, answer in answers.items():
        entry: dict[str, Any] = {"text": digest(answer.question), "points": answer.points}
        if answer.numbers:
            entry["numbers"] = old.get(key, {}).get("numbers") or [sealed_number(number) for number in answer.numbers]
        lines.append(f"{toml_of(key)} = {toml_of(entry)}")
    return lines


def faults_of_questions(root: Path) -> list[str]:
    """Questions that the index does not know, or that have changed; without the key."""
    index, faults = read_index(root), []
    labs = [load(root, name) for name in folders(root)]
    for lab in labs:
        known = {key: entry for key, entry in index.pop(lab.name, {}).items() if isinstance(entry, dict)}
        for key, text in questions_of(lab).items():
            entry = known.pop(key, None)
            if not entry:
                faults.append(f"{key} of lab {lab.folder[:2]} has no answer")
            elif entry["text"] != digest(text):
                faults.append(f"{key} of lab {lab.folder[:2]} changed since its answer was written")
        faults += [f"{key} of lab {lab.folder[:2]} has an answer, but is not in the hand-out" for key in known]
    return faults + [f"there are answers to a lab {name}, which is not there" for name in index]


def faults_of_numbers(root: Path, build: Path) -> tuple[list[str], int, int]:
    """Answers that name another number than the program gives, without the key; and how many were and were not compared."""
    faults, compared, left = [], 0, 0
    for name, entries in read_index(root).items():
        for key, entry in entries.items():
            for number in entry.get("numbers", []) if isinstance(entry, dict) else []:
                value = value_of(root, build, number["command"], number["pattern"], number["decimals"])
                if value is None:
                    left += 1
                    continue
                compared += 1
                if slow_hash(value, number["salt"]) != number["hash"]:
                    faults.append(f"{key} of {name}: the answer names another number than {value}, which "
                                  f"'{number['command']}' gives")
    return faults, compared, left


# What the key opens.


def age(words: list[str], text: bytes | None = None, program: str = "age") -> subprocess.CompletedProcess[bytes]:
    if not shutil.which(program):
        raise Fault(f"{program} is not installed: on Debian and Ubuntu the package age")
    return subprocess.run([program, *words], input=text, capture_output=True, check=False)


def opened(key: Path, path: Path) -> bytes:
    ran = age(["--decrypt", "--identity", str(key), str(path)])
    if ran.returncode == 0:
        return ran.stdout
    why = ran.stderr.decode(errors="replace")
    if "no identity matched" in why:
        raise Fault(f"{key} is not the key of {path}")
    if "identity file" in why or "identity" in why and str(key) in why:
        raise Fault(f"{key} holds no key of age")
    raise Fault(f"{path} is damaged: {why.splitlines()[0].removeprefix('age: error: ')}")


def unlock(root: Path, key: str) -> int:
    if not Path(key).is_file():
        raise Fault(f"{key}: there is no such file; the key is a file that the authors give out")
    index, new = read_index(root), {}
    for name in index:
        file = f"{folders(root)[name]}.md"
        sealed = root / SEALED / f"{file}.age"
        plain = opened(Path(key), sealed)
        if digest(plain) != index[name]["plain"]:
            raise Fault(f"{sealed} is not what {SEALED}/index.toml is about: take both from the same version")
        new[root / PLAIN / file] = plain
    for path, plain in new.items():
        if path.exists() and path.read_bytes() != plain:
            raise Fault(f"{path} differs from what is sealed: seal it, or move it away")
    (root / PLAIN).mkdir(mode=0o700, exist_ok=True)
    for path, plain in new.items():
        path.write_bytes(plain)
    print(root / PLAIN)
    return 0


def checked(root: Path, build: Path) -> dict[str, tuple[Lab, dict[str, Answer]]]:
    """The answers in the folder 'answers', which fit the hand-outs and the programs.

    Where a lab is not built, answers with numbers must be those that are sealed.
    """
    found = {}
    index = read_index(root) if (root / SEALED / "index.toml").is_file() else {}
    if not (root / PLAIN).is_dir():
        raise Fault(f"there is no folder {root / PLAIN}: ./lab instructor unlock KEY makes it")
    for name in folders(root):
        lab = load(root, name)
        path = root / PLAIN / f"{lab.folder}.md"
        if not path.is_file():
            raise Fault(f"there is no file {path}")
        answers, questions = read_answers(path), questions_of(lab)
        as_sealed = index.get(name, {}).get("plain") == digest(path.read_bytes())
        for key in [*questions, *answers]:
            if key not in answers:
                raise Fault(f"{path}: {key} has no answer")
            if key not in questions:
                raise Fault(f"{path}: {key} is not in the hand-out")
            if answers[key].question != questions[key]:
                raise Fault(f"{path}: {key} of lab {lab.folder[:2]} changed since its answer was written")
            for number in answers[key].numbers:
                value = value_of(root, build, number.command, number.pattern, number.decimals)
                if value is None and as_sealed:
                    continue
                if value is None:
                    raise Fault(f"{name} is not built: ./lab run {name} --list builds it")
                if value != number.value or value not in re.sub(r"(?s)<!--.*?-->", "", answers[key].text).replace(",", ""):
                    raise Fault(f"{path}: {key} does not name {value}, which '{number.command}' gives")
        found[lab.name] = (lab, answers)
    return found


def seal(root: Path, build: Path) -> int:
    index_file = root / SEALED / "index.toml"
    old = read_index(root) if index_file.is_file() else {}
    public = root / SEALED / "authors.pub"
    lines, new = ["# Written by ./lab instructor seal: for each answer the digest of its question, its points, and how a",
                  "# program gives its numbers. docs/grading.md says more."], {}
    for lab, answers in checked(root, build).values():
        plain = (root / PLAIN / f"{lab.folder}.md").read_bytes()
        path = root / SEALED / f"{lab.folder}.md.age"
        before = old.get(lab.name, {}) if old.get(lab.name, {}).get("plain") == digest(plain) else {}
        if before and path.is_file() and before["sealed"] == digest(path.read_bytes()):
            sealed = path.read_bytes()  # encrypted anew it would have other bytes
        else:
            ran = age(["--encrypt", "--armor", "--recipients-file", str(public)], plain)
            if ran.returncode != 0:
                raise Fault(f"{public}: {ran.stderr.decode(errors='replace').splitlines()[0].removeprefix('age: error: ')}")
            new[path] = sealed = ran.stdout
        lines += index_lines(lab.name, answers, plain, sealed, before)
    for path, sealed in new.items():
        path.write_bytes(sealed)
    index_file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"sealed anew: {', '.join(path.name for path in new) or 'nothing'}")
    return 0


def check(root: Path, build: Path) -> int:
    """Without the key; where the answers are unlocked, these as well."""
    faults = faults_of_questions(root)
    more, compared, left = faults_of_numbers(root, build)
    if (root / PLAIN).is_dir():
        checked(root, build)
    for fault in faults + more:
        print(f"lab: {fault}", file=sys.stderr)
    print(f"numbers that programs give: {compared} compared, {left} of labs that are not built")
    return 1 if faults + more else 0


def main(root: Path, words: list[str]) -> int:
    parser = Parser(prog="./lab instructor", description="Model answers to the questions and open exercises of all labs.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=Parser)
    commands.add_parser("unlock", help=f"write them into the folder {PLAIN}/, which git ignores").add_argument(
        "key", metavar="KEY", help="the file with the key, which the authors give out")
    commands.add_parser("check", help="compare them with the questions and with what programs give; needs no key")
    commands.add_parser("seal", help=f"check the folder {PLAIN}/ and encrypt it into {SEALED}/; needs no key")
    options = parser.parse_args(words)
    build = Path(os.environ.get("GPULAB_BUILD", root / "build/default"))
    if options.command == "unlock":
        return unlock(root, options.key)
    return {"seal": seal, "check": check}[options.command](root, build)
