"""Compiles a student's .cu file and links it into a worker in place of the rung."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path

from . import clock
from .exercises import Lab, Part
from .fault import Fault
from .sandbox import Limits, Sandbox, remove
from .worker import ASLEEP, PATIENCE

MAKING = threading.Lock()  # of the hand-out: submissions are compiled side by side
BUILD_SECONDS = 120.0  # of processor time, for the compiler and for each link
MAX_SAID = 8 << 20  # bytes that a compiler says before it is ended
COMPILE = Limits(cpu_seconds=120, memory_bytes=16 << 30, used_bytes=8 << 30, processes=64, file_bytes=256 << 20, files=512)

# What launches kernels, and the library in which these functions do nothing: common/src/grading/no_launches.cpp.
LAUNCHES = [name + stream for name in ("__cudaLaunchKernel", "cudaLaunchKernel", "cudaLaunchKernelExC",
                                       "cudaLaunchCooperativeKernel", "cudaGraphLaunch") for stream in ("", "_ptsz")]
NO_LAUNCHES = "libgpulab_no_launches.a"

# What the host code of a submission may call where the emulator runs it, in the same process: CUDA, computation and printf, but no
# files, descriptors, environment, processes, and nothing that takes the place of a function of a library.
CALLS = re.compile(r"_?_?cuda\w+|(__)?(mem|str)\w+(_chk)?|(__)?v?(sn?)?printf(_chk)?|puts|putchar|malloc|calloc|realloc|free|"
                   r"aligned_alloc|qsort|abort|exit|atexit|sched_yield|_GLOBAL_OFFSET_TABLE_|_Unwind_Resume|"
                   r"__(cxa|gxx|dso|stack_chk|assert)_\w+|l?l?abs|"
                   r"f?(abs|ma|min|max|dim)[fl]?|(sqrt|cbrt|hypot|pow|exp|exp2|expm1|log|log2|log10|log1p|a?sinh?|a?cosh?|a?tanh?|"
                   r"atan2|sincos|erfc?|[lt]gamma|ceil|floor|trunc|l?l?round|l?l?rint|nearbyint|fmod|remainder|ldexp|frexp|modf|"
                   r"copysign|nextafter|scalbn)[fl]?")
NOT_CALLED = re.compile(r"filebuf|fstream|filesystem|random_device|6thread|7promise|6gpulab\d+\w*(Env|env|File|file|Options|write|open)")
MADE_BY_COMPILERS = {"DW.ref.__gxx_personality_v0"}
SYSTEM_CALL = re.compile(r"\t(syscall|sysenter|int +\$0x80)\b")


class DoesNotCompile(Exception):
    """What the compiler or the linker said."""


@dataclass(frozen=True)
class Programs:
    """A submission as a worker."""

    whole: Path
    without_kernels: Path  # the same, but its launches do nothing
    scratch: Path  # the folder in which both lie
    reaches: str = ""  # what its host code calls that could disturb the emulator


def compile_command(build: Path, source: Path) -> list[str]:
    """The command with which the build compiles a file of a lab, without the file in which the compiler notes what it read.
    A warning is no error, whatever the build says: a submission may leave a variable unused."""
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        if Path(entry["file"]) == source:
            words = shlex.split(re.sub(r" -M[FT] \S+| -MD\b| (-Xcompiler=)?-Werror( all-warnings|\S*)", "", entry["command"]))
            return words[1:] if Path(words[0]).name in ("ccache", "sccache") else words
    raise Fault(f"the build does not know {source}")


def link_words(line: str) -> list[str]:
    """A command of Ninja that links, without the file in which a newer CMake lets the linker note what it read: its folder
    is in the build, which submissions must not change."""
    words = shlex.split(line.removeprefix(": && ").removesuffix(" && :"))
    return [word for word in words if not re.match("-Wl,--dependency-file|-Xlinker=--dependency-file", word)]


def link_command(build: Path, target: str) -> list[str]:
    """The command with which the build links a program."""
    ran = subprocess.run(["ninja", "-C", str(build), "-t", "commands", "-s", f"bin/{target}"], capture_output=True,
                         text=True, check=False)
    for line in ran.stdout.splitlines():
        if f"-o bin/{target} " in line:
            return link_words(line)
    raise Fault(f"the build does not know how to link {target}")


def with_object(link: list[str], lab: Lab, submitted: str) -> list[str]:
    """The command that links a worker, with an object file in place of the lab's library, which has the rungs."""
    words = [word for word in link if not word.endswith(f"lib{lab.name}_lab.a")]
    at = next(i for i, word in enumerate(words) if word.endswith(".o"))
    return [*words[:at + 1], submitted, *words[at + 1:]]


def without_launches(link: list[str]) -> list[str]:
    """The same command, in the folder of the build, for a program whose launches do nothing."""
    return [*link, *(f"-Wl,--wrap={name}" for name in LAUNCHES), f"bin/{NO_LAUNCHES}"]


def rung_without_kernels(build: Path, lab: Lab, part: Part, target: Path) -> None:
    """Links the worker of a rung so that its launches do nothing."""
    link = without_launches(link_command(build, f"worker_{lab.name}_{part.rung}"))
    link[link.index("-o") + 1] = str(target)
    ran = subprocess.run(link, cwd=build, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        raise Fault(f"the worker of {part.rung} cannot be linked without launches: {ran.stderr.strip()[-300:]}")
    target.chmod(0o755)


def source_of(lab: Lab, part: Part) -> str:
    """The file that defines the rung. The student's file may be a header that it includes."""
    for path in sorted((lab.path / "cuda").glob("*.cu")):
        if re.search(rf"\bvoid {part.rung}\(", path.read_text(encoding="utf-8")):
            return path.name
    raise Fault(f"no file defines {part.rung}")


def hand_out(lab: Lab, sandbox: Sandbox) -> Path:
    """The hand-out of a lab: it contains no rung that gives an answer away. Made once, by the first caller."""
    from .handout import write_tree  # not part of a hand-out itself

    tree = sandbox.base / "tree"
    with MAKING:
        if not tree.is_dir():
            write_tree([lab], tree, comes_free=False)
    return tree


def build(lab: Lab, folder: Path, part: Part, files: Path, sandbox: Sandbox, slot: int) -> Programs:
    """Compiles a submission in the sandbox and links it twice, as it is and without its launches.

    Both programs have the same name, in folders whose names reveal nothing: a program should not know which of the two it is.

    @param files the folder with the student's file
    """
    scratch = sandbox.folder(f"slot{slot}-build", slot)
    try:
        return built(lab, folder, part, files, sandbox, slot, scratch)
    except BaseException:
        remove(scratch)
        raise


def built(lab: Lab, folder: Path, part: Part, files: Path, sandbox: Sandbox, slot: int, scratch: Path) -> Programs:
    tree = hand_out(lab, sandbox)
    sources = scratch / "src"  # the folders of the lab's CUDA files, with the student's in their place
    for place in ("cuda", "devices"):
        if (tree / "labs" / lab.folder / place).is_dir():
            shutil.copytree(tree / "labs" / lab.folder / place, sources / place)
    for _, other in lab.parts():  # a header that is another exercise: as the lab has it
        if other.file.startswith("cuda/") and Path(other.file).suffix != ".cu":
            (sources / other.file).write_text(lab.rung(other.file), encoding="utf-8")
    shutil.copy(files / Path(part.file).name, sources / part.file)
    name = source_of(lab, part)
    target = scratch / f"{name}.o"
    command = compile_command(folder, lab.path / "cuda" / name)
    command[command.index("-o") + 1] = str(target)
    command = [str(sources / "cuda" / name) if word == str(lab.path / "cuda" / name) else
               word.replace(f"{lab.root}/", f"{tree}/").replace(f"{tree}/{folder.relative_to(lab.root)}", str(folder))
               for word in command]
    fetched = [path for path in [folder / "_deps"] if path.is_dir()]
    # Other folders of the build are closed to a submission, and newer compilers stop at a folder that they may not open.
    command = [word for word in command if not word.startswith(f"-I{folder}/") or word.startswith(f"-I{folder}/_deps/")]
    run(sandbox, command, slot, scratch, [tree, *fetched])
    looked_at = sandbox.folder(f"{scratch.name}/look", slot)
    words = ["sh", "-c", 'nm -P "$0" && objdump -d --no-show-raw-insn "$0" | grep -E "\tsyscall|\tsysenter|\tint " || true', str(target)]
    reaches = reached(run(sandbox, words, slot, looked_at, [target]))
    link = with_object(link_command(folder, f"worker_{lab.name}_{part.rung}"), lab, str(target))
    programs = []
    for command in (link, without_launches(link)):
        place = sandbox.folder(f"{scratch.name}/program", slot)
        programs.append(place / f"worker_{lab.name}_{part.rung}")
        command[command.index("-o") + 1] = str(programs[-1])
        run(sandbox, with_copies(command, folder, place), slot, place, [target])
    return Programs(*programs, scratch, reaches)


def reached(symbols: str) -> str:
    """What an object file uses, or puts in place of a library's, that the host code of a submission may not; "" when nothing.

    @param symbols as nm and objdump print them
    """
    found = ["a system call"] if SYSTEM_CALL.search(symbols) else []
    for name, kind in re.findall(r"(?m)^(\S+) ([A-Za-z])\b", symbols):
        if kind in "Uw" and not (CALLS.fullmatch(name) or name.startswith("_Z") and not NOT_CALLED.search(name)):
            found.append(name)
        elif kind in "TDBRVWCu" and (not name.startswith("_Z") or re.match("_Z(n[wa]|d[la])", name)) and name not in MADE_BY_COMPILERS:
            found.append(f"a {name} of its own")
    return " ".join(found[:5])


def with_copies(command: list[str], folder: Path, scratch: Path) -> list[str]:
    """A command with copies of the files that it names in the build: the user of a slot may have no access to its folder."""
    words = list(command)
    for number, word in enumerate(words):
        if not word.startswith(("-", "/")) and (folder / word).is_file():
            copy = scratch / f"{number}-{Path(word).name}"
            shutil.copy(folder / word, copy)
            copy.chmod(0o644)
            words[number] = str(copy)
    return words


def run(sandbox: Sandbox, command: list[str], slot: int, scratch: Path, readable: list[Path],
        seconds: float = BUILD_SECONDS) -> str:
    """Runs a compiler or linker, and returns what it says. That may be endless: a submission can make it say anything.

    @param seconds of processor time; it gets PATIENCE times as many by the clock
    """
    short = ["bash", "-o", "pipefail", "-c", f'"$@" 2>&1 | head -c {MAX_SAID + 1}', "bash", *command]
    process = sandbox.start(short, slot=slot, scratch=scratch, readable=readable, environment={}, limits=COMPILE, kept=scratch)
    printed, used, asleep, begin = None, 0.0, 0, clock.now()
    try:
        while printed is None and used < seconds and asleep <= ASLEEP and clock.now() < begin + PATIENCE * seconds:
            try:
                printed, _ = process.communicate(timeout=0.5)
            except subprocess.TimeoutExpired:
                used, runs = sandbox.processor_time(process, slot)
                asleep = asleep + 1 if not runs and clock.now() > begin + seconds else 0
    finally:
        sandbox.end(process, slot)
    if printed is None:
        raise DoesNotCompile("the compiler did not end in time")
    if len(printed) > MAX_SAID:
        raise DoesNotCompile(f"the compiler said more than {MAX_SAID >> 20} MB")
    if process.returncode != 0:
        raise DoesNotCompile(printed.decode("utf-8", errors="replace")[:6000] or f"the compiler ended with {process.returncode}")
    return printed.decode("utf-8", errors="replace")
