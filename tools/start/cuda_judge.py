"""Judges one puzzle in CUDA: compiles the kernel, and runs it in the CUDA emulator, which shows who touches what, races and accesses
outside of an array. Where there is a GPU the kernel runs there first."""

import re
import subprocess
from pathlib import Path

import run
from judge import MANY_SECONDS, NOT_COMPILED, PATIENCE, Judge, Ran
from picture import BUFFER, ELEMENT, local_array

from grading import cuda, races
from grading.fault import Fault
from grading.words import ENDLESS

HERE = Path(__file__).resolve().parent
INSTRUCTIONS = 100_000  # that a warp may run: a small case needs fewer than a thousand
NEAR = 4096  # bytes outside of an array


class CudaJudge(Judge):
    simulator, without = "the emulator", ""

    def __init__(self, root, build):
        self.root, self.build = root, build
        try:
            self.compile = cuda.compile_command(build, HERE / "kernel.cu")
        except OSError as error:
            raise Fault(f"the puzzles in CUDA have not been built: {error}") from None
        tried = subprocess.run([build / "bin/start_cuda", "[]", "/dev/null"], capture_output=True, check=False, env=run.on_a_gpu())
        self.has_gpu = tried.returncode == 0

    def judged(self, puzzle, path, text, columns):
        one = super().judged(puzzle, path, text, columns)
        one.faults = [fault if fault.startswith(NOT_COMPILED) else in_cuda(fault) for fault in one.faults]
        one.picture = [in_cuda(line) for line in one.picture]
        return one

    def launched(self, path, cases):
        """What the GPU gives. Without one, nothing is known before the emulator has run."""
        if fault := self.program(path):
            return Ran(fault)
        return super().launched(path, cases) if self.has_gpu else Ran()

    def program(self, path):
        """Makes the program that runs this kernel. Why it cannot be made, or ""."""
        object_file = str(self.scratch / "kernel.o")
        words = [word for word in self.compile if not word.startswith("-DPUZZLE=")]
        words[words.index("-o") + 1] = object_file
        link = [object_file if "/kernel.cu." in word else word for word in cuda.link_command(self.build, "start_cuda")]
        link[link.index("-o") + 1] = str(self.scratch / "puzzle")
        return self.made(without_dependencies([*words, f'-DPUZZLE="{path.resolve()}"']), path) or self.made(link, path)

    def made(self, words, path):
        """Runs the compiler or the linker. Why it failed, or ""."""
        ran = subprocess.run(words, cwd=self.build, capture_output=True, text=True, errors="replace", check=False)
        if ran.returncode == 0:
            return ""
        lines = (ran.stderr + ran.stdout).splitlines()
        line = next((line for line in lines if "error" in line), lines[0] if lines else f"the compiler ended with {ran.returncode}")
        return f"{NOT_COMPILED}: {line.replace(f'{path.resolve().parent}/', '').strip()}"

    def command(self, path, cases, seconds=MANY_SECONDS):
        return super().command(path, cases, MANY_SECONDS)  # a GPU takes seconds to begin, and the emulator counts instructions

    def program_of(self, path):
        return [str(self.scratch / "puzzle")]

    def can_simulate(self, fault):
        return not fault.startswith(NOT_COMPILED)

    def run_simulated(self, path, cases, guards=True):
        environment = {"CUDA_EMULATOR_CHECK": "report", "CUDA_EMULATOR_UNIFORM_WRITES": "1",
                       "CUDA_EMULATOR_INSTRUCTIONS": str(INSTRUCTIONS)}
        launches, ran = run.emulated(self.root, self.build, self.command(path, cases), steps=3000, seconds=PATIENCE * MANY_SECONDS,
                                     **environment, **({} if guards else {"GPULAB_GUARD_BYTES": "0"}))
        return [as_of_oclgrind(case, one) for case, one in zip(cases, launches)], ran

    def found(self, path, text, case, launch, report):
        return [ENDLESS] if "endless loop" in report else super().found(path, text, case, launch, report)

    def race(self, path, text, case):
        """The first race in words. The emulator's address says in which array, by its number, and where."""
        launches, ran = self.run_simulated(path, [case], guards=False)
        found = races.RACE.search(ran.stderr)
        if not found:  # an access outside of an array ended this run before
            return "two items use the same element, at least one of them writes, and no barrier stands between them"
        one, other = sorted(map(races.side_of, races.SIDE.findall(found[5])), key=lambda side: side.does != "writes")
        number, byte = divmod(int(found[3], 16), 1 << BUFFER)
        names = [array["name"] for one in launches for array in one["arrays"] if array["number"] == number]
        name = local_array(text) if found[2] == "shared" else names[0] if names else ""
        element = f"{name}[{byte // ELEMENT}]" if name else f"an element of {found[2]} memory"
        where = "of the same group" if one.group == other.group else f"of group {races.number(other.group)}"
        return (f"item {races.number(one.item)} of group {races.number(one.group)} writes {element} at line {one.line} while item "
                f"{races.number(other.item)} {where} {other.does} it at line {other.line}: no barrier stands between")


def as_of_oclgrind(case, launch):
    """A launch with addresses as Oclgrind numbers them, and with the names that the arrays have in the kernel."""
    names = [name for name, one in case.arguments.items() if isinstance(one, list)]
    begins = [one["at"] for one in launch["arrays"]]
    far = lambda k, address: max(begins[k] - address, address - begins[k] - ELEMENT * len(case.arguments[names[k]]))
    numbered = lambda k: (k + 1 << BUFFER) + (1 << BUFFER - 1)  # an index may be negative

    def moved(address):
        """The array whose elements are nearest is the one that is meant."""
        k = min(range(len(begins)), key=lambda k: far(k, address))
        return numbered(k) + address - begins[k]

    def of_step(step):
        if step["space"] == "shared":
            return step | {"space": "local"}
        # What is further away is none of the kernel's arrays: a text that it prints.
        return step | {"lanes": [[lane, moved(address)] for lane, address in step["lanes"]
                                 if min(far(k, address) for k in range(len(begins))) < NEAR]}

    return launch | {"arrays": [{"name": name, "space": "global", "at": numbered(k), "number": launch["arrays"][k]["number"]}
                                for k, name in enumerate(names)],
                     "steps": [of_step(step) for step in launch["steps"]],
                     "sites": [site | {"space": "local"} if site["space"] == "shared" else site for site in launch["sites"]]}


def without_dependencies(words):
    """A command that compiles, without the file in which the compiler notes what it read. A warning is no error."""
    at = {place + skipped for flag in ("-MF", "-MT") if flag in words for place in [words.index(flag)] for skipped in (0, 1)}
    return [word for place, word in enumerate(words) if place not in at and word != "-MD" and "-Werror" not in word]


def in_cuda(text):
    """A text in CUDA's words."""
    for old, new in (("local memory", "shared memory"), ("an item", "a thread"), ("item", "thread"), ("group", "block")):
        text = re.sub(rf"\b{old}(s?)\b", rf"{new}\1", text)
    return text


def puzzle_in_cuda(puzzle):
    """An entry of puzzles.toml in CUDA's words, with what else is other there."""
    words = {name: in_cuda(puzzle[name]) for name in ("title", "task", "idea")} | {"hints": [in_cuda(hint) for hint in puzzle["hints"]]}
    return puzzle | words | {"file": puzzle["file"].replace(".cl", ".cu")} | puzzle.get("cuda", {})
