"""Takes only the files of the exercises out of a submission, which is a folder or a zip file."""

from __future__ import annotations

import os
import stat
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO

from .exercises import Lab

MOST_BYTES = 1 << 20  # of one file
CHUNK_BYTES = 1 << 16
MOST_ENTRIES = 20_000
ANSWERS = "answers.md"


@dataclass
class Submission:
    """The files that count, by their names in the lab, and notes about the rest."""

    name: str
    files: dict[str, bytes] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Entry:
    """A file of a submission: where it lies, and how to read it."""

    name: PurePosixPath
    size: int
    kind: str  # "file", "link" or "special file"
    member: zipfile.ZipInfo | None = None  # of a zip file


def wanted(lab: Lab) -> list[str]:
    return [*(file for _, part in lab.parts() for file in part.files), ANSWERS]


def name_of(path: Path) -> str:
    """The name of a submission: that of the folder, or of the zip file."""
    return path.stem if path.suffix.lower() == ".zip" else path.resolve().name


def read(lab: Lab, path: Path) -> Submission:
    """Reads a submission. Whatever is wrong with it becomes a note."""
    found = Submission(name_of(path))
    try:
        if path.is_dir():
            entries = list_folder(path, found.notes)
            packed = [entry for entry in entries if entry.name.suffix.lower() == ".zip" and entry.kind == "file"]
            own = {PurePosixPath(name).name for name in wanted(lab)}
            if len(packed) == 1 and not any(entry.name.name in own for entry in entries):
                # As learning platforms give it: a folder per student, with the zip file in it.
                with open_file(path, packed[0]) as file:
                    take_zip(lab, found, file)
            else:
                take(lab, found, entries, lambda entry: read_file(path, entry))
        elif path.is_file() and zipfile.is_zipfile(path):  # a pipe or a device might have no end
            with open(path, "rb") as file:
                take_zip(lab, found, file)
        else:
            found.notes.append("it is neither a folder nor a zip file")
    except Exception as error:  # no submission may stop the others, whatever it is
        found.notes.append(f"it cannot be read: {why(error)}")
    return found


def list_folder(path: Path, notes: list[str]) -> list[Entry]:
    entries: list[Entry] = []
    for folder, folders, files in os.walk(path):  # does not follow links
        folders.sort()
        for name in sorted([*files, *(one for one in folders if os.path.islink(os.path.join(folder, one)))]):
            full = os.path.join(folder, name)
            status = os.lstat(full)
            kind = "link" if stat.S_ISLNK(status.st_mode) else "file" if stat.S_ISREG(status.st_mode) else "special file"
            entries.append(Entry(PurePosixPath(os.path.relpath(full, path)), status.st_size, kind))
            if len(entries) >= MOST_ENTRIES:
                notes.append(f"it has more than {MOST_ENTRIES} files; the rest is not looked at")
                return entries
    return entries


def list_zip(archive: zipfile.ZipFile, notes: list[str]) -> list[Entry]:
    entries = []
    outside = []
    members = archive.infolist()
    if len(members) > MOST_ENTRIES:
        notes.append(f"it has more than {MOST_ENTRIES} files; the rest is not looked at")
    for member in members[:MOST_ENTRIES]:
        name = PurePosixPath(member.filename.replace("\\", "/"))
        if member.is_dir():
            continue
        if name.is_absolute() or ".." in name.parts:
            outside.append(str(name))
            continue
        kind = "link" if stat.S_ISLNK(member.external_attr >> 16) else "file"
        entries.append(Entry(name, member.file_size, kind, member))
    if outside:
        notes.append(f"names that lead outside are not read ({len(outside)}), such as {printable(outside[0])}")
    return entries


def printable(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)[:200]


def why(error: Exception) -> str:
    return printable(str(error)) or type(error).__name__


def open_file(folder: Path, entry: Entry) -> IO[bytes]:
    return os.fdopen(os.open(folder / entry.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")


def read_file(folder: Path, entry: Entry) -> bytes:
    with open_file(folder, entry) as file:
        return file.read(MOST_BYTES + 1)


def read_member(archive: zipfile.ZipFile, entry: Entry) -> bytes:
    assert entry.member
    if entry.member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        # Python unpacks the other ways without a limit: some hundred bytes can fill the memory.
        raise ValueError("it is compressed in a way that is not read")
    content = b""
    with archive.open(entry.member) as file:
        while len(content) <= MOST_BYTES and (chunk := file.read(CHUNK_BYTES)):  # whatever size the archive claims
            content += chunk
    return content


def take_zip(lab: Lab, found: Submission, file: IO[bytes]) -> None:
    with zipfile.ZipFile(file) as archive:
        entries = list_zip(archive, found.notes)
        take(lab, found, entries, lambda entry: read_member(archive, entry))


def take(lab: Lab, found: Submission, entries: list[Entry], content_of: Callable[[Entry], bytes]) -> None:
    """Finds each file of the exercises among the entries: by the end of its path, or by its name alone."""
    used: set[PurePosixPath] = set()
    missing: set[str] = set()
    names = wanted(lab)
    alone = {PurePosixPath(name).name for name in names}
    for name in names:
        parts = PurePosixPath(name).parts
        fitting = [entry for entry in entries if entry.name.parts[-len(parts):] == parts]
        in_lab = [entry for entry in fitting if lab.folder in entry.name.parts]
        if name == ANSWERS and in_lab:
            fitting = in_lab
        elif len(fitting) > 1:  # stubs lie in exercises/, beside the file that counts
            fitting = [entry for entry in in_lab or fitting if "exercises" not in entry.name.parts] or fitting
        if not fitting:
            fitting = [entry for entry in entries if len(entry.name.parts) == 1 and entry.name.name == parts[-1]]
        if len(fitting) > 1:
            found.notes.append(f"{name} appears {len(fitting)} times; none of them counts")
            used.update(entry.name for entry in fitting)
            continue
        if not fitting:
            missing.add(name)
            continue
        entry = fitting[0]
        used.add(entry.name)
        if entry.kind != "file":
            found.notes.append(f"{name} is no file but a {entry.kind}, and is not read")
            continue
        try:
            content = content_of(entry) if entry.size <= MOST_BYTES else None
        except Exception as error:  # each way of compressing has errors of its own
            found.notes.append(f"{name} cannot be read: {why(error)}")
            continue
        if content is None or len(content) > MOST_BYTES:
            found.notes.append(f"{name} has more than {MOST_BYTES >> 20} MB and is not read")
            continue
        found.files[name] = content
    for exercise in lab.exercises:  # one back end is enough
        parts_of = list(exercise.parts.values())
        begun = [part for part in parts_of if not missing.issuperset(part.files)]
        if not begun:
            found.notes.append(f"{exercise.name}: {' or '.join(', '.join(part.files) for part in parts_of)} is missing")
        found.notes += [f"{name} is missing" for part in begun for name in part.files if name in missing]
    links = [entry for entry in entries if entry.kind != "file" and entry.name not in used]
    others = [entry for entry in entries if entry.name not in used and entry.kind == "file" and
              entry.name.name not in alone]
    if links:
        found.notes.append(f"links and special files are not read ({len(links)})")
    if others:
        found.notes.append(f"other files are not read ({len(others)})")
