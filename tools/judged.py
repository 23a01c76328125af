"""Verdicts kept by contents: tests/judged/NN_lab.txt has a line for each thing that was judged once, and tools.txt
one for each test of grading and of the puzzles that passed (tests/judged_once.py).

A line has tabs between: what, key, verdict, by what, device or tool, day, seconds. The key follows from the texts that the verdict
depends on, without comments and superfluous blanks: it is the same on every machine, and needs neither a build nor a compiler. What
is not in the file under today's key is due.
"""

from __future__ import annotations

import ctypes
import fcntl
import hashlib
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

GOOD = ("passed", "rejected", "accepted", "no case")
BACKENDS = ("cpu", "opencl", "cuda")
SOURCES = (".cpp", ".cu", ".cuh", ".cl", ".hpp", ".inc")
# A comment, a string, a number with its marks of thousands, or a character. One set of first characters makes it ten times as fast.
TOKEN = re.compile(r"""[/R"'0-9](?:(?<=/)/[^\n]*|(?<=/)\*.*?\*/|(?<=R)"([^(\s]*)\(.*?\)\1"|(?<=")(?:\\.|[^"\\\n])*"|"""
                   r"""(?<=[0-9])[\w'.]*|(?<=')(?:\\.|[^'\\\n])+')""", re.DOTALL)
INCLUDE = re.compile(r'^#\s*include\s*[<"]([^>"]+\.(?:hpp|cuh|inc|cl|cpp|cu))[>"]', re.MULTILINE)
RUNG = re.compile(r'^([A-Z]+)_[A-Z_]*RUNG\((\w+),(.*?)\)$', re.MULTILINE | re.DOTALL)
NAMES = re.compile(rf"\b(?:{'|'.join(BACKENDS)})_\w+")
DEFINED = re.compile(r"^(?:template <[^>]*>\s+)?void (\w+)\(", re.MULTILINE)
# What the programs do with results, which judges no rung.
NO_JUDGES = ("test_program.cpp", "studies.cpp", "main.cpp", "report.cpp", "table.cpp", "terminal.cpp", "options.cpp", "jobs.cpp",
             "recorded.cpp", "results_file.cpp", "stdout_for_results.cpp")


def judges(path: Path) -> bool:
    return path.name not in NO_JUDGES and not path.match("rungs*.inc")  # of which each rung has its own line


def plain(text: str) -> str:
    """A source text without comments and superfluous blanks. Strings and the lines of the preprocessor stay as they are."""
    text = TOKEN.sub(lambda found: " " if found[0].startswith(("//", "/*")) else found[0], text)
    lines = [" ".join(line.split()) for line in text.splitlines()]
    return "\n".join(line for line in lines if line)


def digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Entry:
    """A line of the file."""

    key: str
    verdict: str
    by: str
    tool: str
    day: str
    seconds: float

    @property
    def good(self) -> bool:
        return self.verdict in GOOD


def read(path: Path) -> dict[str, Entry]:
    """What was judged, by name. A line that a merge has left broken counts as not judged."""
    entries = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else []:
        words = line.split("\t")
        if len(words) == 7 and re.fullmatch(r"\d+(\.\d+)?", words[6]):
            entries[words[0]] = Entry(*words[1:6], float(words[6]))
    return entries


def write(path: Path, new: dict[str, Entry], keep: Callable[[str], bool] = lambda name: True) -> None:
    """Adds verdicts to the file of a lab. Other processes may do so at the same time.
    @param keep whether there is such a thing today: other lines go"""
    path.parent.mkdir(exist_ok=True)
    lock = os.open(path.parent, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        entries = {**read(path), **new}
        lines = ["\t".join([name, one.key, one.verdict, " ".join(one.by.split())[:60], one.tool, one.day, f"{one.seconds:.1f}"])
                 for name, one in sorted(entries.items()) if keep(name)]
        beside = path.with_suffix(f".{os.getpid()}")
        beside.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        beside.replace(path)
    finally:
        os.close(lock)


def made(key: str, verdict: str, by: str, tool: str, seconds: float) -> Entry:
    return Entry(key, verdict, by, tool, time.strftime("%Y-%m-%d", time.gmtime()), seconds)


class Sources:
    """The texts of the repository, each read once."""

    def __init__(self, root: Path):
        self.root = root
        self.texts: dict[Path, str] = {}
        self.digests: dict[Path, str] = {}
        self.reads: dict[tuple[Path, Path], set[Path]] = {}

    def text(self, path: Path) -> str:
        if path not in self.texts:
            self.texts[path] = plain(path.read_text(encoding="utf-8"))
        return self.texts[path]

    def digest(self, path: Path) -> str:
        if path not in self.digests:
            self.digests[path] = digest(self.text(path))
        return self.digests[path]

    @cached_property
    def common(self) -> dict[str, list[Path]]:
        """The files of common/src by their stems."""
        files: dict[str, list[Path]] = {}
        for path in sorted((self.root / "common/src").rglob("*.c*")):
            files.setdefault(path.stem, []).append(path)
        return files

    def read_by(self, path: Path, lab: Path) -> set[Path]:
        """The files that a file includes, and those that define what its header declares."""
        if (path, lab) not in self.reads:
            tests = self.root / "tests"
            places = (path.parent, lab, tests / "labs" / lab.name, self.root / "common/include", self.root / "common/src",
                      tests, tests / "support")
            found = set()
            for name in INCLUDE.findall(self.text(path)):
                name = name.removesuffix(".hpp") if name.endswith(".cl.hpp") else name
                exact = (place / name for place in places)
                below = lab.rglob(name) if name.endswith(".cl") else ()
                if file := next((file for file in (*exact, *below) if file.is_file()), None):
                    found.add(file.resolve())
            if path.suffix in (".hpp", ".cuh"):
                own = (path.with_suffix(end) for end in (".cpp", ".cu"))
                found |= {file for file in own if file.is_file()}
                if path.is_relative_to(self.root / "common/include"):
                    found.update(self.common.get(path.stem, []), self.common.get(f"{path.parent.name}_{path.stem}", []))
                if path.parent == tests / "support/gpulab_testing" and (file := tests / f"support/{path.stem}.cpp").is_file():
                    found.add(file)
            self.reads[path, lab] = set(filter(judges, found))
        return self.reads[path, lab]

    def closure(self, paths: Iterable[Path], lab: Path, rungs: bool = True) -> set[Path]:
        """All files that these are made of. @param rungs whether those of single rungs count"""
        found: set[Path] = set()
        waiting = list(paths)
        while waiting:
            path = waiting.pop()
            if path in found or not (rungs or path.parent.parent != lab or path.parent.name not in BACKENDS):
                continue
            found.add(path)
            waiting += self.read_by(path, lab)
        return found

    def key(self, paths: Iterable[Path], *more: str) -> str:
        return digest(*more, *sorted(self.digest(path) for path in paths))


class Lab:
    """A lab's rungs, and the keys of what is judged in it."""

    def __init__(self, sources: Sources, folder: str):
        self.sources, self.folder, self.path = sources, folder, sources.root / "labs" / folder
        self.name = folder[3:]
        self.tests = sources.root / "tests/labs" / folder
        self.lines: dict[str, str] = {}  # of each rung, without its summary
        self.operations: dict[str, str] = {}  # of each rung: "scan" of one in rungs_scan.inc
        for inc in sorted(self.path.glob("rungs*.inc")):
            for backend, name, rest in RUNG.findall(sources.text(inc)):
                self.operations[name] = inc.stem.removeprefix("rungs").removeprefix("_")
                self.lines[name] = f"{backend} {self.lines.get(name, '')}" + re.sub(r'"(?:\\.|[^"\\])*"', "", rest)
        self.defining: dict[str, set[Path]] = {}
        for path in sorted(self.path.glob("*/*.c*")):
            for name in set(DEFINED.findall(sources.text(path))) & self.lines.keys():
                self.defining.setdefault(name, set()).add(path)

    def rungs(self, backend: str) -> list[str]:
        return [name for name in self.lines if name.startswith(f"{backend}_")]

    def all_of(self, folder: Path) -> Iterator[Path]:
        return (path for path in folder.rglob("*") if path.suffix in SOURCES and judges(path))

    @cache
    def judging(self, operations: frozenset[str]) -> set[Path]:
        """What the test programs of the rungs of some operations are made of, beside the rungs. A folder of the tests that has the
        name of another operation judges none of them."""
        others = set(self.operations.values()) - operations
        tests = (path for path in self.all_of(self.tests) if path.parent.name not in others)
        return self.sources.closure(tests, self.path, rungs=False)

    @cached_property
    def whole(self) -> set[Path]:
        files = [path for path in self.all_of(self.path) if path.parent.name != "exercises"]
        return self.sources.closure([*files, *self.all_of(self.tests)], self.path)

    def key_of_rungs(self, rungs: Iterable[str], *more: str, files: Iterable[Path] = (), shared: bool = True) -> str:
        """The key of what the test cases of rungs judge. Without rungs: of what all of them judge.
        @param shared whether what labs share counts"""
        rungs, files = sorted(rungs), set(files)
        if not rungs or any(rung not in self.defining for rung in rungs):
            read, lines = self.whole | files, sorted(self.lines.values())
        else:
            own = set().union(*(self.defining[rung] for rung in rungs), files)
            judging = self.judging(frozenset(self.operations[rung] for rung in rungs))
            read, lines = self.sources.closure(own, self.path) | judging, [self.lines[rung] for rung in rungs]
        if not shared:
            read = {path for path in read if path in files or path.is_relative_to(self.path) or path.is_relative_to(self.tests)}
        return self.sources.key(read, *more, *lines)


@cache
def tool(place: str) -> str:
    """What judges there: the device or the tool, with its version. "" where this machine has none."""
    if place in ("cpu", "emulator"):
        return "CPU" if place == "cpu" else "CUDA emulator"
    if place == "opencl":
        return opencl_platform()
    words = {"oclgrind": ["oclgrind", "--version"]}.get(place, ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"])
    try:
        lines = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout.split("\n")
    except (OSError, subprocess.SubprocessError):
        return ""
    return next((" ".join(line.split()) for line in lines if line.strip()), "")


def opencl_platforms() -> Iterator[tuple[str, bool]]:
    """The version of each platform of OpenCL, such as "PoCL 3.1", and whether it has a GPU."""
    try:
        library = ctypes.CDLL("libOpenCL.so.1")
    except OSError:
        return
    ids, count = (ctypes.c_void_p * 16)(), ctypes.c_uint()
    library.clGetPlatformIDs(16, ids, ctypes.byref(count))
    for id in map(ctypes.c_void_p, ids[:count.value]):
        text, gpus = ctypes.create_string_buffer(256), ctypes.c_uint()
        library.clGetPlatformInfo(id, 0x0901, ctypes.c_size_t(256), text, None)
        library.clGetDeviceIDs(id, ctypes.c_ulong(4), 0, None, ctypes.byref(gpus))
        yield " ".join(text.value.decode(errors="replace").split()[2:4]), gpus.value > 0


def opencl_platform() -> str:
    """What runs OpenCL here, PoCL before others."""
    versions = [version for version, _ in opencl_platforms() if "clgrind" not in version]
    return min(versions, key=lambda version: not version.startswith("PoCL"), default="")


def opencl_gpu() -> bool:
    return any(gpu for _, gpu in opencl_platforms())


def folders(root: Path) -> list[str]:
    return sorted(path.name for path in root.glob("labs/[0-9][0-9]_*"))
