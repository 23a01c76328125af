"""Tests of grading and of the puzzles are judged once, as injected faults are: those that passed with the same tools and programs
are left out, but for one in five, which a seed draws. GPULAB_MISTAKES=all runs all of them, and so does pytest without ctest."""

import functools
import os
import platform
import random
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))
import judged  # noqa: E402

KEPT = ROOT / "tests/judged/tools.txt"
# What the tests read: all that runs and all that is handed out. Another test's file does not count.
PARTS = ("CMakeLists.txt", "CMakePresets.json", "lab", "cmake", "common", "emulator", "labs", "tools", "tests/conftest.py", "tests/support",
         "tests/tools/tampering", "tests/tools/grading_support.py", "tests/tools/machine.py", "docs/grading.md")
IGNORED = ("__pycache__", "MEASURED.md", "README.md")  # but the hand-outs', which the labs' own tests hold


@functools.cache
def programs():
    """The digest of all that tests of grading run."""
    files = [file for part in PARTS for file in ([ROOT / part] if (ROOT / part).is_file() else (ROOT / part).rglob("*"))]
    return judged.digest(*(f"{file.relative_to(ROOT)} {file.read_bytes().hex()}" for file in sorted(files)
                           if file.is_file() and not set(IGNORED) & set(file.parts)))


@functools.cache
def key_of(path):
    """What the verdict of a file's tests depends on: the file, what it runs, and the system's tools."""
    return judged.digest(programs(), path.read_text(encoding="utf-8"), platform.python_version(), judged.tool("opencl"),
                         judged.tool("oclgrind"), judged.tool("cuda"), str(os.geteuid() == 0))


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
        if known and known.good and known.key == key_of(item.path) and chance.random() >= 1 / 5 and at != again:
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
