"""Takes only the files of the exercises out of a submission, which is a folder or an archive."""

from __future__ import annotations

import base64
import io
import json
import os
import re
import stat
import subprocess
import sys
import tarfile
import unicodedata
import zipfile
import zlib
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO

from .exercises import Lab, folders, is_unsolved, load
from .handout import questions

MAX_BYTES = 1 << 20  # of one file
CHUNK_BYTES = 1 << 16
MAX_ENTRIES = 20_000
MAX_ARCHIVES, DEEPEST = 8, 2  # that are opened in one submission, and how deep they lie in one another
MAX_PACKED, MAX_UNPACKED = 16 << 20, 64 << 20  # bytes of an archive in another one, and of a tar file
MAX_NAMED = 5  # files that a note names
LONGEST_NAME = 200  # of a file that may be a copy of one of the lab's
READ_SECONDS, READ_BYTES = 5, 2 << 30  # of processor time and of memory, for reading a submission
ANSWERS = "answers.md"
OFFER = "give it this name"
ARCHIVES = (".zip", ".tar.gz", ".tgz", ".tar")


@dataclass
class Submission:
    """The files that count, by their names in the lab, and notes about the rest."""

    name: str
    files: dict[str, bytes] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Entry:
    """A file of a submission: where it lies, and how to read it. In an archive, its path begins with that of the archive."""

    name: PurePosixPath
    size: int
    kind: str  # "file", "link" or "special file"
    open: Callable[[int], IO[bytes]]  # with the most bytes that are of use
    depth: int = 0  # of the archive that it lies in


def wanted(lab: Lab) -> list[str]:
    return [*(part.file for _, part in lab.parts()), ANSWERS]


def name_of(path: Path) -> str:
    """The name of a submission: that of the folder, or of the archive. Systems write accents in one or in two characters."""
    name = Path(os.path.abspath(path)).name
    ending = "" if path.is_dir() else next((one for one in ARCHIVES if name.lower().endswith(one)), "")
    return unicodedata.normalize("NFC", name[:len(name) - len(ending)])


def read(lab: Lab, path: Path) -> Submission:
    """Reads a submission. Whatever is wrong with it becomes a note."""
    found = Submission(name_of(path))
    try:
        with ExitStack() as opened:
            if path.is_dir():
                entries = list_folder(path, found.notes)
            elif path.is_file() and (path.name.lower().endswith(ARCHIVES) or zipfile.is_zipfile(path)):  # a pipe has no end
                whole = Entry(PurePosixPath(), path.stat().st_size, "file", lambda _: open(path, "rb"))
                entries = list_archive(whole, path.name, opened, found.notes)
            else:
                found.notes.append(f"it is neither a folder nor an archive ({', '.join(ARCHIVES)})")
                return found
            archives = 0
            opened_ones = set()
            for entry in entries:  # grows
                if entry.kind == "file" and entry.depth < DEEPEST and entry.name.name.lower().endswith(ARCHIVES):
                    archives += 1
                    if archives > MAX_ARCHIVES:
                        found.notes.append(f"it has more than {MAX_ARCHIVES} archives; the rest is not opened")
                        break
                    try:
                        entries += list_archive(entry, entry.name.name, opened, found.notes)
                        opened_ones.add(entry.name)
                    except Exception as error:  # the rest of the submission counts
                        found.notes.append(f"{printable(str(entry.name))} cannot be read: {why(error)}")
            take(lab, found, [entry for entry in entries if entry.name not in opened_ones])
    except Exception as error:  # no submission may stop the others, whatever it is
        found.notes.append(f"it cannot be read: {why(error)}")
    return found


def read_one(lab: Lab, paths: list[Path]) -> Submission:
    """Reads a submission of which there may be several of one name: anna/ beside anna.zip. They have to hold the same. What was
    handed in is read in a process of its own, with limits: an archive or a text may be made to take long."""
    package = Path(__file__).parent
    ran = subprocess.run(["prlimit", f"--cpu={READ_SECONDS}", f"--as={READ_BYTES}", "--", sys.executable, "-B", "-P", "-m",
                          f"{package.name}.submission", str(lab.root), lab.name, *map(os.path.abspath, paths)], check=False,
                         capture_output=True, env={**os.environ, "PYTHONPATH": str(package.parent)})
    if ran.returncode != 0:
        return Submission(name_of(paths[0]), {}, [f"it cannot be read in {READ_SECONDS} seconds and {READ_BYTES >> 30} GB of memory"])
    found = json.loads(ran.stdout)
    return Submission(found["name"], {name: base64.b64decode(text) for name, text in found["files"].items()}, found["notes"])


def read_here(lab: Lab, paths: list[Path]) -> Submission:
    found = [read(lab, path) for path in paths]
    if all(one.files == found[0].files for one in found):
        return found[0]
    names = " and ".join(printable(path.name) for path in paths)
    return Submission(found[0].name, {}, [f"{names} are two submissions of one name, and neither counts: take one away"])


def list_folder(path: Path, notes: list[str]) -> list[Entry]:
    entries: list[Entry] = []
    for folder, folders, files in os.walk(path):  # does not follow links
        folders.sort()
        for name in sorted([*files, *(one for one in folders if os.path.islink(os.path.join(folder, one)))]):
            full = os.path.join(folder, name)
            status = os.lstat(full)
            kind = "link" if stat.S_ISLNK(status.st_mode) else "file" if stat.S_ISREG(status.st_mode) else "special file"
            entries.append(Entry(PurePosixPath(os.path.relpath(full, path)), status.st_size, kind,
                                 lambda _, full=full: open_file(full)))  # type: ignore[misc]
            if len(entries) >= MAX_ENTRIES:
                notes.append(f"it has more than {MAX_ENTRIES} files; the rest is not looked at")
                return entries
    return entries


def list_archive(entry: Entry, name: str, opened: ExitStack, notes: list[str]) -> list[Entry]:
    """The files in an archive, which stays open."""
    file = opened.enter_context(entry.open(MAX_PACKED))
    members: list[tuple[str, int, str, Callable[[int], IO[bytes]]]]
    if not name.lower().endswith(ARCHIVES[1:]):
        archive = opened.enter_context(zipfile.ZipFile(file))
        members = [(one.filename, one.file_size, "link" if stat.S_ISLNK(one.external_attr >> 16) else "file",
                    lambda most, one=one: open_member(archive, one, most))  # type: ignore[misc]
                   for one in archive.infolist()[:MAX_ENTRIES + 1] if not one.is_dir()]
    else:
        tar = opened.enter_context(tarfile.open(fileobj=unpacked(file), mode="r:"))
        members = []
        for one in tar:
            if len(members) > MAX_ENTRIES:
                break
            if not one.isdir():
                kind = "file" if one.isreg() and not one.issparse() else "link" if one.issym() else "special file"
                members.append((one.name, one.size, kind, lambda _, one=one: tar.extractfile(one)))  # type: ignore
    if len(members) > MAX_ENTRIES:
        notes.append(f"it has more than {MAX_ENTRIES} files; the rest is not looked at")
    outside = []
    entries = []
    for inner, size, kind, opens in members[:MAX_ENTRIES]:
        path = PurePosixPath(inner.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts:
            outside.append(str(path))
            continue
        entries.append(Entry(entry.name / path, size, kind, opens, entry.depth + 1))
    if outside:
        notes.append(f"names that lead outside are not read ({len(outside)}), such as {printable(outside[0])}")
    return entries


def unpacked(file: IO[bytes]) -> IO[bytes]:
    """The beginning of a tar file, which may be compressed by gzip."""
    content = file.read(MAX_UNPACKED)
    return io.BytesIO(zlib.decompressobj(31).decompress(content, MAX_UNPACKED) if content[:2] == b"\x1f\x8b" else content)


def printable(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)[:200]


def why(error: Exception) -> str:
    return printable(str(error)) or type(error).__name__


def open_file(path: str) -> IO[bytes]:
    return os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")


def open_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, most: int) -> IO[bytes]:
    """The beginning of a file in a zip file."""
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        # Python unpacks the other ways without a limit: some hundred bytes can fill the memory.
        raise ValueError("it is compressed in a way that is not read")
    content = bytearray()
    with archive.open(member) as file:
        while len(content) <= most and (chunk := file.read(CHUNK_BYTES)):  # whatever size the archive claims
            content += chunk
    return io.BytesIO(content)


def content_of(entry: Entry) -> bytes | str:
    """The content of a file, or why it is not read."""
    if entry.kind != "file":
        return f"is no file but a {entry.kind}, and is not read"
    try:
        with entry.open(MAX_BYTES) as file:
            content = file.read(MAX_BYTES + 1) if entry.size <= MAX_BYTES else None
    except Exception as error:  # each way of compressing has errors of its own
        return f"cannot be read: {why(error)}"
    if content is None or len(content) > MAX_BYTES:
        return f"has more than {MAX_BYTES >> 20} MB and is not read"
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):  # as some editors on Windows save it
        return text_of(content).encode()
    return content.removeprefix(b"\xef\xbb\xbf")


def text_of(content: bytes) -> str:
    """A text file, in whatever way the programs of some system write it: in UTF-8, UTF-16 or Windows-1252."""
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return content.decode("utf-16", errors="replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace")


def tidy(name: str) -> str:
    """The name of a file without what browsers, desktops and learning platforms add to the name of a copy."""
    if len(name) > LONGEST_NAME:
        return name
    stem, dot, ending = name.rpartition(".")
    return re.sub(r"(?: ?\(\d+\)| - Copy|[ _]copy|-\d{1,2})+$", "", stem) + dot + ending


def take(lab: Lab, found: Submission, entries: list[Entry]) -> None:
    """Finds each file of the exercises among the entries. Of several that fit, a file that was handed in as it was handed out
    does not count. Then comes first what lies at its place, what lies somewhere else, what is a copy by its name; and of these
    what lies in no archive, and in the folder of the lab."""
    others = set(folders(lab.root).values()) - {lab.folder}
    by_name: dict[str, list[Entry]] = {}
    for entry in entries:
        if not others.intersection(entry.name.parts) and "__MACOSX" not in entry.name.parts:
            by_name.setdefault(tidy(entry.name.name), []).append(entry)
    used: set[PurePosixPath] = set()
    missing: set[str] = set()
    for name in wanted(lab):
        parts = PurePosixPath(name).parts

        def rank(entry: Entry) -> tuple[bool, bool, bool, int, bool]:
            path = entry.name.parts
            return (path[-1] != parts[-1], path[-len(parts):] != parts, "exercises" in path, entry.depth,
                    lab.folder not in path and entry.depth == 0)  # which of two archives is meant, nobody knows

        fitting = by_name.get(parts[-1], [])
        used.update(entry.name for entry in fitting)
        contents = {entry.name: content_of(entry) for entry in fitting[:MAX_NAMED * 2]}
        fitting = [entry for entry in fitting if entry.name in contents]
        if len(fitting) > 1:
            begun = [entry for entry in fitting if isinstance(content := contents[entry.name], bytes) and
                     (name == ANSWERS or not is_unsolved(lab.stub(name), content.decode(errors="replace")))]
            fitting = begun or fitting
        least = min(map(rank, fitting), default=None)
        best = [entry for entry in fitting if rank(entry) == least]
        if len({contents[entry.name] for entry in best}) > 1:
            found.notes.append(f"{name} appears {len(best)} times, and each is another one; none of them counts: "
                               f"{listed([entry.name for entry in best])}")
            continue
        if not best:
            missing.add(name)
            continue
        content = contents[best[0].name]
        if isinstance(content, str):
            found.notes.append(f"{name} {content}")
            continue
        found.files[name] = content
        if best[0].name.name != parts[-1]:
            found.notes.append(f"{printable(str(best[0].name))} counts as {name}")
    for exercise in lab.exercises:  # one back end is enough
        files = [part.file for part in exercise.parts.values()]
        if missing.issuperset(files):
            found.notes.append(f"{exercise.name}: {' or '.join(files)} is missing")
    links = [entry for entry in entries if entry.kind != "file" and entry.name not in used]
    unread = [entry.name for entry in entries if entry.name not in used and entry.kind == "file"]
    for name in sorted(missing - {ANSWERS}):  # which may have another name
        kernels = kernels_of(lab.stub(name))
        like = [entry for entry in entries if entry.kind == "file" and entry.name in unread and entry.name.suffix == PurePosixPath(name).suffix]
        for entry in like[:MAX_NAMED * 2]:
            content = content_of(entry)
            if kernels and isinstance(content, bytes) and kernels <= kernels_of(text_of(content)):
                found.notes.append(f"{printable(str(entry.name))} may be {name}: {OFFER}")
    if links:
        found.notes.append(f"links and special files are not read ({len(links)})")
    if unread:
        found.notes.append(f"other files are not read ({len(unread)}): {listed(unread)}")
    if ANSWERS in found.files and answers_of(lab, text_of(found.files[ANSWERS]))[1]:
        found.notes.append(f"{ANSWERS} has text that belongs to no question: a line '## Question 1' begins the first answer")


def kernels_of(text: str) -> set[str]:
    """The names of the kernels in a file of an exercise, and of its other functions without a result."""
    return set(re.findall(r"\bvoid\s+(\w+)\s*\(", text))


def listed(names: list[PurePosixPath]) -> str:
    return ", ".join(printable(str(name)) for name in names[:MAX_NAMED]) + (", ..." if len(names) > MAX_NAMED else "")


HEADING = re.compile(r"(?i)(?:#{1,6}[ \t]*(?:(?=[^ \t])[*_]*(?:question|q)?\.?[ \t]*)?|[*_]*question[ \t]+)([0-9]{1,4})(?![0-9])(.*)")


def answers_of(lab: Lab, text: str) -> tuple[dict[int, str], str]:
    """The answers to the questions of a lab, by number, and the text that belongs to none. Headings may have been edited:
    "### Question 2: bandwidth", "## 2.", "**Question 2**". Of the quoted lines those of the question are left out."""
    asked = questions(lab)
    found: dict[int, list[str]] = {0: []}
    number = 0
    for line in text.splitlines():
        heading = HEADING.fullmatch(line.strip())
        # Without # it is a heading only if it is nothing else: "Question 2 asks ..." is part of an answer.
        if heading and (line.lstrip()[0] == "#" or not heading[2].strip(" \t*_:.)")) and 1 <= int(heading[1]) <= len(asked):
            number = int(heading[1])
        elif not (number == 0 and line.lstrip().startswith("#")) and not is_quoted(line, asked):
            found.setdefault(number, []).append(line)
    texts = {one: "\n".join(lines).strip() for one, lines in found.items()}
    return texts, texts.pop(0)


def is_quoted(line: str, asked: list[str]) -> bool:
    """Whether a line is a part of a question as answers.md quotes it."""
    words = " ".join(line.lstrip(" >").split())
    return line.lstrip().startswith(">") and any(words in question for question in asked)


if __name__ == "__main__":
    one = read_here(load(Path(sys.argv[1]), sys.argv[2]), list(map(Path, sys.argv[3:])))
    print(json.dumps({"name": one.name, "notes": one.notes,
                      "files": {name: base64.b64encode(content).decode() for name, content in one.files.items()}}))
