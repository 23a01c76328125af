"""Tests of what stands around the labs are judged once, as injected faults are: those that passed with the same files and programs are
left out, but for one in twenty, and one of each file, which a seed draws. GPULAB_MISTAKES=all runs all of them, and so does pytest
without ctest."""

import functools
import os
import platform
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import judged  # noqa: E402

KEPT = ROOT / "tests/judged/tools.txt"
# What the tests of grading, puzzles and set-up read: all that runs and all that is handed out. Another test's file does not count.
# The others read any file of the repository.
OF_PARTS = ("test_grading_", "test_start", "test_setup", "test_cmake")
PARTS = ("CMakeLists.txt", "CMakePresets.json", "lab", "cmake", "common", "emulator", "labs", "tools", "tests/conftest.py", "tests/support",
         "tests/tools/tampering/syscalls.txt", "tests/tools/grading_support.py", "tests/tools/machine.py", "docs/grading.md")
IGNORED = ("__pycache__", "MEASURED.md", "README.md")  # but the hand-outs', which the labs' own tests hold
PROGRAMS = ("age", "bwrap", "chromium", "doxygen", "mpirun", "ncu", "nvidia-smi", "pandoc")  # without which some tests are skipped


@functools.cache
def contents(*parts):
    """The digest of these files and of all in these folders; of every file of the repository but the verdicts, if none is named."""
    if not parts:
        listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, text=True, check=False).stdout
        files = [ROOT / name for name in listed.split("\0") if name and not name.startswith("tests/judged/")]
        if not files:
            return judged.digest(os.urandom(8).hex())  # no repository: nothing is known
    else:
        files = [file for part in parts for file in ([ROOT / part] if (ROOT / part).is_file() else (ROOT / part).rglob("*"))
                 if not set(IGNORED) & set(file.parts)]
    return judged.digest(*(f"{file.relative_to(ROOT)} {file.read_bytes().hex()}" for file in sorted(files) if file.is_file()))


@functools.cache
def key_of(path):
    """What the verdict of a file's tests depends on: the file, what it reads, and the system's tools."""
    parts = PARTS if path.name.startswith(OF_PARTS) else ()
    if path.stem == "test_grading_tampering":
        parts += ("tests/tools/tampering",)
    return judged.digest(contents(*parts), path.read_text(encoding="utf-8"),
                         platform.python_version(), *(judged.tool(name) for name in ("opencl", "oclgrind", "cuda")),
                         *(str(bool(shutil.which(name))) for name in PROGRAMS), str(os.geteuid() == 0))


def name_of(item):
    """One line, and not too long: some tests are named by the text of a kernel."""
    name = f"{item.path.stem} {item.name}"
    return name if name.isprintable() and len(name) < 120 else f"{ascii(name)[1:100]} {judged.digest(name)}"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    if not os.environ.get("GPULAB_JUDGED_ONCE") or os.environ.get("GPULAB_MISTAKES") == "all" or not items:
        return
    seed = int(os.environ.get("GPULAB_MISTAKES_SEED", random.randrange(10 ** 6)))
    chance, entries, left_out = random.Random(f"{seed} {items[0].path.stem}"), judged.read(KEPT), []
    again = chance.randrange(len(items))  # at least this one
    for at, item in enumerate(list(items)):
        known = entries.get(name_of(item))
        if known and known.good and known.key == key_of(item.path) and chance.random() >= 1 / 20 and at != again:
            items.remove(item)
            left_out.append(item)
    config.hook.pytest_deselected(items=left_out)
    print(f"\n{len(left_out)} tests passed before with the same programs; {len(items)} run (GPULAB_MISTAKES_SEED={seed})")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    item.stash[BEGUN] = time.monotonic()
    yield


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.when == "call" and report.passed and os.environ.get("GPULAB_JUDGED_ONCE"):
        item.config.stash.setdefault(PASSED, {})[name_of(item)] = judged.made(
            key_of(item.path), "passed", "", platform.python_version(), time.monotonic() - item.stash[BEGUN])
    if report.failed:
        item.config.stash.setdefault(FAILED, set()).add(name_of(item))


def pytest_sessionfinish(session):
    """Keeps what passed. What failed is kept no longer: it runs again until it passes."""
    new, failed = session.config.stash.get(PASSED, {}), session.config.stash.get(FAILED, set())
    entries = judged.read(KEPT)
    new = {name: one for name, one in new.items() if name not in failed and (name not in entries or entries[name].key != one.key)}
    if os.environ.get("GPULAB_JUDGED_ONCE") and (new or failed & entries.keys()):
        judged.write(KEPT, new, lambda name: name not in failed)


BEGUN, PASSED, FAILED = pytest.StashKey(), pytest.StashKey(), pytest.StashKey()
