"""Verdicts on planted submissions, kept in tests/judged/grading_LAB.txt (tools/judged.py). Only those are graded whose verdict is due,
because something that it depends on has changed, and one in twenty of the others. GPULAB_MISTAKES=all grades all of them."""

import dataclasses
import functools
import os
import random
import time

from grading_support import ROOT

import judged


@functools.cache
def graders():
    """The texts of the programs that grade, in Python, and of the plugin that counts."""
    files = [*sorted((ROOT / "tools/grading").glob("*.py")), *(ROOT / "tools/explain" / name for name in ("counts.cpp", "report.py"))]
    return judged.digest(*(file.read_text(encoding="utf-8") for file in files))


@functools.cache
def programs(folder):
    """The texts of which a lab's judge and workers are made, without those of the exercises' own files."""
    sources = judged.Sources(ROOT)
    lab = ROOT / "labs" / folder
    own = [*(lab / "exercises").glob("*.[ch]pp"), *(ROOT / "common/src/grading").glob("*.cpp"), *lab.glob("*/*.cpp"), *lab.glob("*/*.cu")]
    return sources.key(sources.closure(own, lab))


class Kept:
    """The verdicts on the submissions of a lab. Their names are KIND BACKEND and more words."""

    def __init__(self, judge, submissions, folder=ROOT / "tests/judged"):
        """@param submissions by name: exercise, part, file, and further texts that the verdict depends on"""
        self.path = folder / f"grading_{judge.lab.name}.txt"
        tools = {"opencl": f"{judged.tool('opencl')}, {judged.tool('oclgrind')}", "cuda": judged.tool("cuda")}
        self.tool = {name: tools[part.backend] for name, (_, part, *_) in submissions.items()}
        self.keys = {name: judged.digest(
            graders(), programs(judge.lab.folder), repr(dataclasses.replace(exercise, task="", title="", hints=[])), repr(part),
            judged.plain(content.decode()), judged.plain(judge.lab.rung(part.file)), *more)
            for name, (exercise, part, content, *more) in submissions.items()}
        entries = judged.read(self.path)
        self.known = {name: entries[name] for name, key in self.keys.items() if name in entries and entries[name].good and
                      (entries[name].key, entries[name].tool) == (key, self.tool[name])}

    def judged_by(self, verdict_of):
        """Grades those that are due, and some others again, whose verdict must be the one that was kept. Writes the file, without the
        lines of the same kinds and back ends that no submission has any more. Returns all verdicts, by name.
        @param verdict_of gives the verdict on a name, and the test that decided"""
        due = [name for name in self.keys if name not in self.known or os.environ.get("GPULAB_MISTAKES") == "all"]
        seed = int(os.environ.get("GPULAB_MISTAKES_SEED", random.randrange(10 ** 6)))
        chance = random.Random(seed)
        again = [name for name in self.keys if chance.random() < 1 / 20 and name not in due]
        print(f"{len(due)} of {len(self.keys)} submissions are due, {len(again)} others are graded again (GPULAB_MISTAKES_SEED={seed})")
        new = {}
        for name in (*due, *again):
            begun = time.monotonic()
            verdict, by = verdict_of(name)
            if name not in self.known:
                new[name] = judged.made(self.keys[name], verdict, by, self.tool[name], time.monotonic() - begun)
            elif self.known[name].verdict != verdict:
                raise AssertionError(f"{name}: {verdict}; {self.path.name} has {self.known[name].verdict}")
        kinds = {tuple(name.split()[:2]) for name in self.keys}
        if new:
            judged.write(self.path, new, lambda name: tuple(name.split()[:2]) not in kinds or name in self.keys)
        return {name: one.verdict for name, one in {**self.known, **new}.items()}
