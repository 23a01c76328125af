"""Compiles a student's .cu file and links it into a worker in place of the rung."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
from pathlib import Path

from .exercises import Lab, Part
from .fault import Fault
from .sandbox import Limits, Sandbox

COMPILE = Limits(cpu_seconds=240, memory_bytes=16 << 30, processes=64)


class DoesNotCompile(Exception):
    """What the compiler or the linker said."""


def compile_command(build: Path, source: Path) -> list[str]:
    """The command that the build compiles a file of a lab with."""
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        if Path(entry["file"]) == source:
            words = shlex.split(entry["command"])
            return words[1:] if Path(words[0]).name in ("ccache", "sccache") else words
    raise Fault(f"the build does not know {source}")


def link_command(build: Path, target: str) -> list[str]:
    """The command that the build links a program with."""
    ran = subprocess.run(["ninja", "-C", str(build), "-t", "commands", "-s", f"bin/{target}"], capture_output=True,
                         text=True, check=False)
    for line in ran.stdout.splitlines():
        if f"-o bin/{target} " in line:
            return shlex.split(line.removeprefix(": && ").removesuffix(" && :"))
    raise Fault(f"the build does not know how to link {target}")


def source_of(lab: Lab, part: Part) -> str:
    """The file that defines the rung. The student's may be a header that it includes."""
    for path in sorted((lab.path / "cuda").glob("*.cu")):
        if re.search(rf"\bvoid {part.rung}\(", path.read_text(encoding="utf-8")):
            return path.name
    raise Fault(f"no file defines {part.rung}")


def build(lab: Lab, folder: Path, part: Part, files: Path, sandbox: Sandbox, slot: int) -> Path:
    """Compiles and links a submission in the sandbox. Returns the program.

    @param files the folder with the student's files
    """
    tree = sandbox.base / "tree"
    if not tree.is_dir():  # what students get: no rung that gives an answer away can be included
        from .handout import write_tree  # not part of a hand-out itself

        write_tree([lab], tree)
    scratch = sandbox.folder(f"slot{slot}-build", slot)
    sources = scratch / "src"  # the folder of the lab's CUDA files, with the student's in their place
    shutil.copytree(tree / "labs" / lab.folder / "cuda", sources)
    for _, other in lab.parts():  # a header that is another exercise: as the lab has it
        for name in other.files:
            if other.backend == "cuda" and Path(name).suffix != ".cu":
                (sources / Path(name).name).write_text(lab.rung(name), encoding="utf-8")
    for name in part.files:
        shutil.copy(files / Path(name).name, sources / Path(name).name)
    name = source_of(lab, part)
    target = scratch / f"{name}.o"
    command = compile_command(folder, lab.path / "cuda" / name)
    command[command.index("-o") + 1] = str(target)
    command = [str(sources / name) if word == str(lab.path / "cuda" / name) else
               word.replace(f"{lab.root}/", f"{tree}/").replace(f"{tree}/{folder.relative_to(lab.root)}", str(folder))
               for word in command]
    for flag in ("-MF", "-MT"):
        if flag in command:
            at = command.index(flag)
            del command[at:at + 2]
    command = [word for word in command if word != "-MD"]
    fetched = [path for path in [folder / "_deps"] if path.is_dir()]
    run(sandbox, command, slot, scratch, [tree, *fetched])
    link = link_command(folder, f"worker_{lab.name}_{part.rung}")
    program = scratch / f"worker_{lab.name}_{part.rung}"
    link[link.index("-o") + 1] = str(program)
    link = [word for word in link if not word.endswith(f"lib{lab.name}_lab.a")]
    at = next(i for i, word in enumerate(link) if word.endswith(".o"))
    link = link[:at + 1] + [str(target)] + link[at + 1:]
    link = [str(folder / word) if not word.startswith(("-", "/")) and "/" in word or word.endswith(".a") and
            not word.startswith("/") else word for word in link]
    run(sandbox, link, slot, scratch, [folder])
    return program


def run(sandbox: Sandbox, command: list[str], slot: int, scratch: Path, readable: list[Path]) -> None:
    process = sandbox.start(command, slot=slot, scratch=scratch, readable=readable, environment={}, limits=COMPILE)
    try:
        out, errors = process.communicate(timeout=300)
    except subprocess.TimeoutExpired:
        sandbox.end(process, slot)
        raise DoesNotCompile("the compiler did not end in time") from None
    sandbox.end(process, slot)
    if process.returncode != 0:
        text = (errors + out).decode("utf-8", errors="replace")
        raise DoesNotCompile(text[:6000] or f"the compiler ended with {process.returncode}")
