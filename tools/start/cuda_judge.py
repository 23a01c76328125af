"""Judges one puzzle in CUDA: compiles the kernel, and runs it on the GPU. Beside it the kernel runs as C++ on the CPU, where each
access is noted (on_host.hpp), for pictures, races and accesses outside of an array. compute-sanitizer, where it is installed,
looks at what these find right."""

import itertools
import json
import os
import re
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from judge import DIVERGENT, NOT_COMPILED, OUTSIDE, SECONDS, Judge, is_small, lacking
from picture import BUFFER, ELEMENT, SECTOR, picture

from grading import cuda
from grading.fault import Fault

HERE = Path(__file__).resolve().parent
WARP = 32
# What a pointer parameter and a shared array are called in a kernel.
POINTER = r"(?:const\s+)?int\s*(?:const\s*)?\*\s*(?:const\s+)?(?:__restrict__\s+)?(\w+)"
SHARED = r"__shared__\s+int\s+(\w+)\s*\[([^\]]+)\]\s*;"
DOES = {"load": "reads", "store": "writes", "atomic": "changes"}
ACCESS = rf"\S+ ({'|'.join(DOES)}|end|endless) -?\d+ \d+ \d+ \d+"
SANITIZERS = {"memcheck": ["--leak-check", "no", "--padding", "4096"], "racecheck": ["--racecheck-report", "all"], "synccheck": []}
FINDS = {"Invalid __global__ write": OUTSIDE["write"], "Invalid __shared__ write": OUTSIDE["write"],
         "Invalid __global__ read": OUTSIDE["read"], "Invalid __shared__ read": OUTSIDE["read"],
         "Barrier error": DIVERGENT, "hazard detected": "a race in shared memory", "Race reported": "a race in shared memory"}


class CudaJudge(Judge):
    without = ""

    def __init__(self, build):
        self.build = build
        try:
            self.compile = cuda.compile_command(build, HERE / "kernel.cu")
            self.compiler = cuda.compile_command(build, HERE / "start_cuda.cpp")[0]
        except OSError as error:
            raise Fault(f"the puzzles in CUDA have not been built: {error}") from None
        self.sanitizer = shutil.which("compute-sanitizer", path=f"{os.environ['PATH']}:/usr/local/cuda/bin")
        tried = subprocess.run([build / "bin/start_cuda", "[]"], capture_output=True, text=True, check=False)
        self.runs = tried.returncode == 0
        if not self.runs:
            self.without = (f"the kernels are compiled, but cannot run ({tried.stderr.strip().removeprefix('start_cuda: ')}). "
                            "Without a GPU: ./lab start, the same puzzles in OpenCL")

    def judge(self, puzzle, path, stub):
        with tempfile.TemporaryDirectory(prefix="gpulab-start-") as scratch, ThreadPoolExecutor() as beside:
            self.scratch = Path(scratch)
            self.noted = beside.submit(self.note, puzzle, path)  # while nvcc compiles
            one = super().judge(puzzle, path, stub)
        one.printed = [text if text.startswith(NOT_COMPILED) else in_cuda(text) for text in one.printed]
        one.picture = [in_cuda(line) for line in one.picture]
        if not self.runs and one.state == "right":
            one.state, one.printed = "not run", ["it compiles"]
        return one

    def launched(self, path, cases):
        fault = self.program(path) if self.runs else self.compiled(path, "--fatbin")
        if fault:
            return fault, []
        return super().launched(path, cases) if self.runs else ("", [])

    def program(self, path):
        """Makes the program that runs this kernel. Why it cannot be made, or ""."""
        words = [str(self.scratch / "kernel.o") if "/kernel.cu." in word else word
                 for word in cuda.link_command(self.build, "start_cuda")]
        words[words.index("-o") + 1] = str(self.scratch / "puzzle")
        return self.compiled(path, "-c") or self.made(words, path)

    def compiled(self, path, how):
        """Compiles the kernel. Why it does not compile, or "". @param how -c; or --fatbin, what is for the GPU alone: sooner"""
        words = [how if word == "-c" else word for word in self.compile if not word.startswith("-DPUZZLE=")]
        words[words.index("-o") + 1] = str(self.scratch / "kernel.o")
        return self.made(without_dependencies([*words, f'-DPUZZLE="{path.resolve()}"']), path)

    def made(self, words, path):
        """Runs the compiler or the linker. Why it failed, or ""."""
        ran = subprocess.run(words, cwd=self.build, capture_output=True, text=True, errors="replace", check=False)
        if ran.returncode == 0:
            return ""
        lines = (ran.stderr + ran.stdout).splitlines()
        line = next((line for line in lines if "error" in line), lines[0] if lines else f"the compiler ended with {ran.returncode}")
        return f"{NOT_COMPILED}: {line.replace(f'{path.resolve().parent}/', '').strip()}"

    def values(self, cases, answers):
        return super().values(cases, answers) if self.runs else []

    def command(self, path, cases):
        return [str(self.scratch / "puzzle"), of_cases(cases)]

    def can_simulate(self, fault):
        return not fault.startswith(NOT_COMPILED)

    def simulated(self, puzzle, path, text, cases, right):
        notes, fault = self.noted.result()
        if fault:
            faults, shown = [], [f"no picture: {fault}"]
        else:
            faults, shown = found(notes, cases), []
            if notes:
                launch = as_launch(notes[0])
                shown = picture(cases[0], launch, text)
                if self.runs and right and not faults:
                    faults = lacking(puzzle, launch)
        if self.runs and self.sanitizer and right and not faults:
            faults = self.sanitized(cases)
        return faults, shown

    def note(self, puzzle, path):
        """Runs the kernel on the CPU: the notes of each small case, and why there are none."""
        cases = [case for case in self.cases(puzzle) if is_small(case)]
        source, program = self.scratch / "noted.cpp", self.scratch / "noted"
        source.write_text(on_host(path.read_text(encoding="utf-8", errors="replace"), path.name, cases), encoding="utf-8")
        ran = subprocess.run([self.compiler, "-std=c++20", "-O0", "-w", f"-I{HERE}", str(source),
                              str(self.build / "bin/libstart_on_host.a"), "-pthread", "-o", str(program)],
                             capture_output=True, text=True, errors="replace", check=False)
        if ran.returncode:
            return [], "the kernel has something for which it cannot be drawn"
        notes = []
        for number in range(len(cases)):
            try:
                ran = subprocess.run([program, str(number)], capture_output=True, text=True, check=False, timeout=SECONDS)
            except subprocess.TimeoutExpired:
                return [], f"on the CPU it did not end within {SECONDS} s"
            # Each thread's own are in order. A kernel may also print, or crash in the middle of a line.
            accesses = [Access(*line.split()) for line in ran.stdout.splitlines() if re.fullmatch(ACCESS, line)]
            notes.append(sorted(accesses, key=lambda one: (one.block, one.barriers, one.thread)))
        return notes, ""

    def sanitized(self, cases):
        """What compute-sanitizer finds, the tools side by side. Without guard bands, so that each array ends where it ends."""
        def finds(tool):
            log = self.scratch / tool
            try:
                subprocess.run([self.sanitizer, "--tool", tool, *SANITIZERS[tool], "--log-file", log, *self.command(None, cases)],
                               capture_output=True, check=False, timeout=6 * SECONDS, env=os.environ | {"GPULAB_GUARD_BYTES": "0"})
            except subprocess.TimeoutExpired:
                return []
            report = log.read_text(errors="replace") if log.is_file() else ""
            return [f"{printed} (compute-sanitizer --tool {tool})" for words, printed in FINDS.items() if words in report][:1]

        with ThreadPoolExecutor() as beside:
            return list(itertools.chain(*beside.map(finds, SANITIZERS)))


class Access:
    """One line of a kernel on the CPU; see on_host.hpp."""

    def __init__(self, name, kind, index, block, thread, barriers):
        self.name, self.kind = name, kind
        self.index, self.block, self.thread, self.barriers = map(int, (index, block, thread, barriers))

    @property
    def is_access(self):
        return self.kind in DOES

    @property
    def shared(self):
        return self.name.startswith("__shared__")

    @property
    def array(self):
        return self.name.removeprefix("__shared__:")


def of_cases(cases):
    return json.dumps([{"items": case.items, "group": case.group, "arguments": list(case.arguments.values())} for case in cases])


def without_dependencies(words):
    """A command that compiles, without the file in which the compiler notes what it read. A warning is no error."""
    at = {place + skipped for flag in ("-MF", "-MT") if flag in words for place in [words.index(flag)] for skipped in (0, 1)}
    return [word for place, word in enumerate(words) if place not in at and word != "-MD" and "-Werror" not in word]


def on_host(text, name, cases):
    """The kernel as C++, and a program that launches a case of it."""
    text = re.sub(r"\bpuzzle\s*\(([^)]*)\)", lambda found: found[0].replace(found[1], re.sub(POINTER, r"noted::Array \1", found[1])),
                  text, count=1)
    text = re.sub(SHARED, r'const noted::Array \1 = noted::shared("__shared__:\1", \2);', text)
    lines = ['#include "on_host.hpp"', f'#line 1 "{name}"', text, "int main(int, char** words) {"]
    for number, case in enumerate(cases):
        lines.append(f'    if (words[1][0] == \'{number}\') {{')
        for array, content in case.arguments.items():
            if isinstance(content, list):
                initial = ", ".join(str(one or 0) for one in content)
                lines += [f"        int values_of_{array}[] = {{{initial}}};",
                          f'        noted::Memory {array}{{"{array}", values_of_{array}, {len(content)}}};']
        given = ", ".join(f"noted::Array{{&{array}}}" if isinstance(content, list) else str(content)
                          for array, content in case.arguments.items())
        grid = [items // group for items, group in zip(case.items, case.group)]
        dim = lambda sizes: "{" + ", ".join(f"{one}u" for one in sizes) + "}"
        lines += [f"        noted::launch({dim(grid)}, {dim(case.group)}, [&] {{ puzzle({given}); }});", "    }"]
    return "\n".join([*lines, "}", ""])


def sizes_of(case, notes):
    """The number of elements of each array. Shared arrays have those of the group."""
    return {name: len(one) for name, one in case.arguments.items() if isinstance(one, list)} | {
        one.array: 8 for one in notes if one.shared}


def found(notes, cases):
    """What is wrong with who touches what, in words: the first of each kind."""
    faults = {}
    for case, lines in zip(cases, notes):
        size = sizes_of(case, lines)
        for one in sorted(lines, key=lambda one: one.index):
            if one.is_access and not 0 <= one.index < size.get(one.array, one.index + 1):
                faults.setdefault(one.kind, f"item {one.thread} {DOES[one.kind]} {one.array}[{one.index}], but {one.array} has "
                                            f"{size[one.array]} elements")
            if one.kind == "endless":
                faults.setdefault(one.kind, f"item {one.thread} of group {one.block} goes on and on. Does each loop end?")
        race = race_in(lines)
        if race:
            faults.setdefault("race", f"a race: {race}")
        ends = {(one.block, one.barriers) for one in lines if one.kind == "end"}
        if len(ends) > len({block for block, _ in ends}):
            faults.setdefault("barrier", DIVERGENT)
    return list(faults.values())


def race_in(notes):
    """The first two accesses to an element that no barrier orders, one of which writes; or ""."""
    by_element = {}  # of what a thread does again and again between two barriers, the first
    for one in notes:
        if one.is_access:
            accesses = by_element.setdefault((one.name, one.index, one.block if one.shared else 0), {})
            accesses.setdefault((one.block, one.thread, one.barriers, one.kind), one)
    for accesses in by_element.values():
        for one, other in itertools.combinations(accesses.values(), 2):
            together = one.block != other.block or (one.thread != other.thread and one.barriers == other.barriers)
            if together and {one.kind, other.kind} not in ({"load"}, {"atomic"}):
                if one.kind == "load":
                    one, other = other, one
                where = "of the same group" if one.block == other.block else f"of group {other.block}"
                return (f"item {one.thread} of group {one.block} {DOES[one.kind]} {one.array}[{one.index}] while item {other.thread} "
                        f"{where} {DOES[other.kind]} it: no barrier stands between")
    return ""


def as_launch(notes):
    """The accesses of the first block as the plugin of Oclgrind notes them: what the threads of a warp do in step is one step."""
    arrays = {}
    steps, times = {}, {}
    for one in notes:
        if not one.is_access or one.block:
            continue
        at = arrays.setdefault(one.name, {"name": one.array, "space": "local" if one.shared else "global",
                                          "at": (len(arrays) + 1 << BUFFER) + (0 if one.shared else 1 << BUFFER - 1)})
        if one.shared and one.index < 0:
            continue  # it has no place in the picture
        what = one.name, one.kind, one.thread
        times[what] = times.get(what, 0) + 1
        step = steps.setdefault((one.name, one.kind, one.thread // WARP, times[what]), {
            "space": at["space"], "kind": one.kind, "warp": one.thread // WARP, "lanes": []})
        step["lanes"].append([one.thread % WARP, at["at"] + ELEMENT * one.index])
    sites = []
    for step in steps.values():
        elements = {address // ELEMENT for _, address in step["lanes"]}
        sites.append({"space": step["space"], "kind": step["kind"], "min_sectors": -(-len(elements) // SECTOR),
                      "sectors": len({element // SECTOR for element in elements})} if step["space"] == "global" else
                     {"space": "local", "kind": step["kind"], "sectors": 0, "min_sectors": 0})
    return {"arrays": list(arrays.values()), "steps": list(steps.values()), "sites": sites,
            "barriers": max((one.barriers for one in notes if not one.block), default=0)}


def in_cuda(text):
    """A text in CUDA's words."""
    for old, new in (("local memory", "shared memory"), ("an item", "a thread"), ("item", "thread"), ("group", "block")):
        text = re.sub(rf"\b{old}(s?)\b", rf"{new}\1", text)
    return text
