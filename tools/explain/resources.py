#!/usr/bin/env python3
"""What the compiler knows of the CUDA kernels of a lab, without a GPU: registers, spills, occupancy, the loop's instructions.

resources.py BUILD LAB [--variant NAME] [--on DEVICE] [--block N] [--shared BYTES] [--json FILE] [--csv FILE]
resources.py --occupancy DEVICE --registers R[,...] --block N[,...] --shared BYTES[,...]
                     only the formula: a line "registers block shared blocks" for each combination

The figures are those of the build: its objects hold PTX, the GPU's intermediate code, from which the toolkit's ptxas makes
the machine code of the device chosen, as a driver does when a program starts. Where the object is absent, older than its
source, or holds no PTX that the device can take, the source is compiled for the device.
"""

import argparse
import concurrent.futures
import csv
import dataclasses
import itertools
import json
import math
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile


class Refusal(Exception):
    """Bad input, or something that is missing: one line."""


# ---- Occupancy --------------------------------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Limits:
    """What one multiprocessor has. Sizes of shared memory are in bytes."""
    warps: int
    blocks: int
    shared: int
    shared_per_block: int
    shared_reserved: int = 1024  # for each block, by the driver
    shared_unit: int = 128


# From the tables "Technical Specifications per Compute Capability" of NVIDIA's CUDA C++ Programming Guide, and, for the units
# of allocation, from cuda_occupancy.h of the CUDA toolkit.
KIB = 1024
LIMITS = {
    (7, 5): Limits(warps=32, blocks=16, shared=64 * KIB, shared_per_block=64 * KIB, shared_reserved=0, shared_unit=256),
    (8, 0): Limits(warps=64, blocks=32, shared=164 * KIB, shared_per_block=163 * KIB),
    (8, 6): Limits(warps=48, blocks=16, shared=100 * KIB, shared_per_block=99 * KIB),
    (8, 9): Limits(warps=48, blocks=24, shared=100 * KIB, shared_per_block=99 * KIB),
    (9, 0): Limits(warps=64, blocks=32, shared=228 * KIB, shared_per_block=227 * KIB),
}
# The same for all of them.
WARP = 32
MOST_THREADS = 1024  # per block
MOST_REGISTERS = 255  # per thread
REGISTERS = 65536  # of a multiprocessor, and the most that a block may have
REGISTER_UNIT = 256  # a warp's registers are a multiple of it
PARTS = 4  # of a multiprocessor, each with a quarter of the registers; a warp lives in one of them

DEVICES = {"t4": (7, 5), "rtx2080": (7, 5), "a100": (8, 0), "a10": (8, 6), "rtx3060": (8, 6), "rtx3070": (8, 6),
           "rtx3080": (8, 6), "rtx3090": (8, 6), "l4": (8, 9), "rtx4060": (8, 9), "rtx4070": (8, 9), "rtx4080": (8, 9),
           "rtx4090": (8, 9), "h100": (9, 0), "h200": (9, 0)}
USUAL_DEVICE = "h200"
USUAL_BLOCK = 256


def round_up(value, unit):
    return -(-value // unit) * unit


def blocks_by(device, registers, block, shared):
    """For each resource the number of blocks of which one multiprocessor has enough: the least of them fit.

    device: Limits; registers: per thread; block: threads; shared: bytes per block, static and dynamic ones."""
    warps = -(-block // WARP)
    blocks = {"warps": device.warps // warps if block <= MOST_THREADS else 0, "blocks": device.blocks}
    per_warp = round_up(registers * WARP, REGISTER_UNIT)
    if registers > MOST_REGISTERS or per_warp * round_up(warps, PARTS) > REGISTERS:
        blocks["registers"] = 0
    elif registers > 0:
        blocks["registers"] = REGISTERS // PARTS // per_warp * PARTS // warps
    allocated = round_up(shared + device.shared_reserved, device.shared_unit)
    if allocated > device.shared_per_block + device.shared_reserved:
        blocks["shared memory"] = 0
    elif allocated > 0:
        blocks["shared memory"] = device.shared // allocated
    return blocks


def resident_blocks(device, registers, block, shared):
    """The blocks that one multiprocessor holds at a time."""
    return min(blocks_by(device, registers, block, shared).values())


def needs_of_one_more(device, registers, block, shared):
    """What one block more would need, as a list of words: the most registers, shared memory and threads with which it fits."""
    wanted = resident_blocks(device, registers, block, shared) + 1
    short = [name for name, blocks in blocks_by(device, registers, block, shared).items() if blocks < wanted]
    if "blocks" in short:
        return []  # there are no more on this device

    def most(name, values, arguments):
        return next((value for value in values if blocks_by(device, *arguments(value)).get(name, wanted) >= wanted), None)

    needs = []
    if "registers" in short:
        found = most("registers", range(registers, 0, -1), lambda value: (value, block, shared))
        needs.append(f"at most {found} registers" if found else "smaller blocks")
    if "shared memory" in short:
        found = most("shared memory", range(shared, -1, -1), lambda value: (registers, block, value))
        needs.append(f"at most {found} bytes of shared memory" if found is not None else "no block more fits")
    if "warps" in short:
        found = most("warps", range(round_up(block, WARP), 0, -WARP), lambda value: (registers, value, shared))
        needs.append(f"at most {found} threads per block")
    return needs


# ---- Devices ----------------------------------------------------------------------------------------------------------------


def capability_of(name):
    """The compute capability of a device: "h100" and "9.0" are (9, 0)."""
    plain = name.lower().replace(" ", "").replace("-", "").replace("_", "")
    number = re.fullmatch(r"(\d+)\.(\d)", plain)
    capability = (int(number[1]), int(number[2])) if number else DEVICES.get(plain)
    if capability not in LIMITS:
        raise Refusal(f"--on: no device '{name}' in the table; there are: {' '.join(DEVICES)}, or a compute capability: "
                      + " ".join(f"{major}.{minor}" for major, minor in LIMITS))
    return capability


def device_here():
    """The GPU of this machine if the table has it, else the usual device."""
    if shutil.which("nvidia-smi"):
        told = subprocess.run(["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"], text=True, check=False,
                              capture_output=True).stdout.split()
        if told and tuple(map(int, told[0].split("."))) in LIMITS:
            return told[0]
    return USUAL_DEVICE


# ---- The rungs of a lab -----------------------------------------------------------------------------------------------------

DEFINITION = re.compile(r"^(?:template <[^>]*>\s+)?void (cuda_[a-z0-9_]+)\(", re.MULTILINE)
RUNG = re.compile(r"^CUDA_\w*RUNG\((cuda_\w+),(.*?)\)$", re.MULTILINE | re.DOTALL)


@dataclasses.dataclass
class Rung:
    """A source file with the variants it defines, and how the build compiles it."""
    variants: list
    source: pathlib.Path
    object: pathlib.Path
    command: list
    directory: str
    needs: tuple  # compute capability


def compiled_sources(build, folder):
    """The .cu files of the lab that the build compiles, with its entry of compile_commands.json."""
    file = build / "compile_commands.json"
    if not file.is_file():
        raise Refusal(f"{build} is no build folder: it has no compile_commands.json")
    sources = {}
    for entry in json.loads(file.read_text(encoding="utf-8")):
        source = pathlib.Path(entry["directory"], entry["file"])
        if source.suffix == ".cu" and folder in source.parents:
            sources.setdefault(source, entry)
    if not sources:
        raise Refusal("this build has no CUDA variants: ./lab setup --cuda installs a compiler for them, without a GPU or root")
    return sources


def rungs_of(root, build, lab, variant):
    folders = sorted((root / "labs").glob("[0-9][0-9]_*"))
    folder = next((folder for folder in folders if folder.name[3:] == lab), None)
    if not folder:
        raise Refusal(f"no lab is named '{lab}'; there are: {' '.join(folder.name[3:] for folder in folders)}")
    included = (folder / "rungs.hpp").read_text(encoding="utf-8") if (folder / "rungs.hpp").is_file() else ""
    listed = {}  # name of a variant: the rest of its line; in reading order
    for file in sorted(folder.glob("rungs*.inc"), key=lambda file: included.find(f'"{file.name}"')):
        listed.update(RUNG.findall(file.read_text(encoding="utf-8")))
    if variant and variant not in listed:
        raise Refusal(f"{lab} has no CUDA variant '{variant}'; there are: {' '.join(listed)}")
    rungs = []
    for source, entry in compiled_sources(build, folder).items():
        names = list(dict.fromkeys(DEFINITION.findall(source.read_text(encoding="utf-8"))))
        if variant:
            chosen = [name for name in names if name == variant]
        else:
            chosen = [name for name in names if name in listed and ".baseline" not in listed[name]]
        if not chosen:
            continue
        words = entry.get("arguments") or shlex.split(entry["command"])
        output = pathlib.Path(entry["directory"], words[words.index("-o") + 1])
        needed = max((int(n) for name in chosen for n in re.findall(r"compute_capability = (\d+)", listed[name])), default=0)
        rungs.append(Rung(chosen, source, output, words, entry["directory"], divmod(needed, 10)))
    order = list(listed)
    return sorted(rungs, key=lambda rung: order.index(rung.variants[0]))


# ---- The toolkit ------------------------------------------------------------------------------------------------------------


class Toolkit:
    """nvcc, ptxas and cuobjdump: beside the compiler of the build, on the PATH, or where they usually are."""

    def __init__(self, root, build):
        cache = build / "CMakeCache.txt"
        text = cache.read_text(encoding="utf-8") if cache.is_file() else ""
        nvcc = re.search(r"^CMAKE_CUDA_COMPILER:\w+=(.+)$", text, re.MULTILINE)
        self.folders = [os.path.dirname(os.path.realpath(nvcc[1]))] if nvcc else []
        self.folders += [*os.environ.get("PATH", "").split(os.pathsep), "/usr/local/cuda/bin", str(root / ".cuda/bin")]
        self.ptxas = self.find("ptxas")
        self.cuobjdump = self.find("cuobjdump")
        if not self.ptxas:
            raise Refusal("ptxas of the CUDA toolkit is not installed: ./lab setup --cuda")

    def find(self, program):
        return shutil.which(program, path=os.pathsep.join(self.folders))

    def run(self, *words, cwd=None):
        environment = {**os.environ, "PATH": os.pathsep.join(self.folders)}  # cuobjdump calls nvdisasm
        done = subprocess.run([str(word) for word in words], cwd=cwd, env=environment, text=True, capture_output=True,
                              stdin=subprocess.DEVNULL, check=False)
        if done.returncode != 0:
            said = (done.stderr or done.stdout).strip().splitlines()
            raise Refusal(f"{pathlib.Path(words[0]).name} failed: {said[0] if said else 'it said nothing'}")
        return done.stdout + done.stderr


def ptx_capability(text):
    target = re.search(r"^\.target sm_(\d+)(\d)(\w?)", text, re.MULTILINE)
    return (int(target[1]), int(target[2])) if target and not target[3] else (99, 0)  # sm_90a runs on nothing else


def ptx_of_object(toolkit, rung, capability, scratch):
    """The newest PTX in the rung's object that the device can take, or nothing."""
    if not toolkit.cuobjdump or not rung.object.is_file() or rung.object.stat().st_mtime < rung.source.stat().st_mtime:
        return None
    toolkit.run(toolkit.cuobjdump, "-xptx", "all", rung.object.resolve(), cwd=scratch)
    fitting = {}
    for file in scratch.glob("*.ptx"):
        text = file.read_text(encoding="utf-8")
        if max(rung.needs, (0, 0)) <= ptx_capability(text) <= capability:
            fitting[ptx_capability(text)] = file, text
    return fitting[max(fitting)] if fitting else None


def ptx_of_source(toolkit, rung, capability, scratch):
    """The same from the source, compiled as the build compiles it but for the device."""
    if not (pathlib.Path(rung.command[0]).is_file() or toolkit.find(rung.command[0])):
        raise Refusal(f"the compiler of this build is gone: {rung.command[0]}")
    words, left_out = [], False
    for word in rung.command:
        if not left_out and word not in ("-c", "-o", "-MD", "-MT", "-MF", "-gencode", "--generate-code", "-arch") and \
                not re.match("(--generate-code|-gencode|-arch|--gpu-architecture)=", word):
            words.append(word)
        left_out = word in ("-o", "-MT", "-MF", "-gencode", "--generate-code", "-arch")
    file = scratch / "compiled.ptx"
    toolkit.run(*words, f"-arch=compute_{capability[0]}{capability[1]}", "-ptx", "-o", file, cwd=rung.directory)
    return file, file.read_text(encoding="utf-8")


# ---- What the tools print ---------------------------------------------------------------------------------------------------


def parse_ptxas(text):
    """ptxas -v: {kernel: registers, spill_stores, spill_loads, stack, static_shared}, all but the first in bytes."""
    kernels, kernel, function = {}, None, None
    for line in text.splitlines():
        if match := re.search(r"Compiling entry function '(\w+)'", line):
            kernel = kernels.setdefault(match[1], {"registers": 0, "spill_stores": 0, "spill_loads": 0, "stack": 0,
                                                   "static_shared": 0})
            entry = match[1]
        elif match := re.search(r"Function properties for (\w+)", line):
            function = match[1]
        elif kernel is None:
            continue
        elif match := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line):
            if function == entry:  # not of a function that it calls
                kernel["stack"], kernel["spill_stores"], kernel["spill_loads"] = map(int, match.groups())
        elif match := re.search(r"Used (\d+) registers", line):
            kernel["registers"] = int(match[1])
            shared = re.search(r"(\d+) bytes smem", line)
            kernel["static_shared"] = int(shared[1]) if shared else 0
    return kernels


def parse_ptx(text):
    """{kernel: threads, the most per block by its launch bounds or None; dynamic, whether it uses shared memory whose size
    the launch chooses}"""
    dynamic = re.findall(r"^\.extern \.shared .*?(\w+)\[\]", text, re.MULTILINE)
    kernels = {}
    for name, head, body in re.findall(r"^(?:\.visible |\.weak )*\.entry (\w+)\((.*?)^\{(.*?)^\}", text, re.MULTILINE | re.DOTALL):
        bounds = re.search(r"\.(?:maxntid|reqntid) (\d+)(?:, (\d+))?(?:, (\d+))?", head)
        kernels[name] = {"threads": math.prod(int(n) for n in bounds.groups() if n) if bounds else None,
                         "dynamic": any(re.search(rf"\b{array}\b", body) for array in dynamic)}
    return kernels


@dataclasses.dataclass
class Instruction:
    address: int
    predicate: str  # "@P0", or nothing
    name: str  # with its suffixes
    operands: str


INSTRUCTION = re.compile(r"^\s+/\*([0-9a-f]{4,})\*/\s+(?:(@!?U?P\w+)\s+)?([A-Z][\w.]*)\s*([^;]*?)\s*;", re.MULTILINE)


def parse_sass(text):
    """cuobjdump -sass: {kernel: its instructions}"""
    parts = re.split(r"^\s*Function : (\w+)$", text, flags=re.MULTILINE)
    return {name: [Instruction(int(address, 16), predicate, operation, operands)
                   for address, predicate, operation, operands in INSTRUCTION.findall(code)]
            for name, code in zip(parts[1::2], parts[2::2])}


# ---- Loops ------------------------------------------------------------------------------------------------------------------


def basic_blocks(code):
    """(blocks, next): lists of instructions that run one after the other, and for each the numbers of the blocks that may
    follow. A call comes back, so it is like any other instruction."""
    def target(instruction):
        found = re.search(r"0x([0-9a-f]+)$", instruction.operands)
        return int(found[1], 16) if found else None

    def ends(instruction):
        return instruction.name.split(".")[0] in ("BRA", "BRX", "JMX", "JMP", "EXIT", "RET", "BREAK")

    def goes_on(instruction):  # with a predicate before it, one among its operands, or on divergence only
        kind = instruction.name.split(".")
        return bool(instruction.predicate) or kind[0] == "BREAK" or (
            kind[0] == "BRA" and ("," in instruction.operands or len(kind) > 1))

    starts = {code[0].address} if code else set()
    for instruction, after in zip(code, code[1:] + [None]):
        if ends(instruction):
            starts.add(target(instruction))
            if after:
                starts.add(after.address)
    blocks = []
    for instruction in code:
        if instruction.address in starts:
            blocks.append([])
        blocks[-1].append(instruction)
    number = {block[0].address: k for k, block in enumerate(blocks)}
    following = []
    for k, block in enumerate(blocks):
        last, after = block[-1], []
        if ends(last) and last.name.split(".")[0] == "BRA" and target(last) in number:
            after.append(number[target(last)])
        if (not ends(last) or goes_on(last)) and k + 1 < len(blocks):
            after.append(k + 1)
        following.append(after)
    return blocks, following


def dominators(following):
    """For each block that can be reached the block that every way to it passes last (its immediate dominator), as Cooper,
    Harvey and Kennedy find it; the first block has itself."""
    order, seen, stack = [], {0}, [(0, iter(following[0]))]
    while stack:  # depth first, blocks after all that follow them
        block, rest = stack[-1]
        step = next((k for k in rest if k not in seen), None)
        if step is None:
            order.append(stack.pop()[0])
        else:
            seen.add(step)
            stack.append((step, iter(following[step])))
    place = {block: k for k, block in enumerate(order)}
    before = {block: [] for block in order}
    for block in order:
        for after in following[block]:
            before[after].append(block)
    over = {0: 0}
    changed = True
    while changed:
        changed = False
        for block in reversed(order[:-1]):
            common = None
            for other in (other for other in before[block] if other in over):
                if common is None:
                    common = other
                    continue
                while common != other:
                    if place[common] < place[other]:
                        common = over[common]
                    else:
                        other = over[other]
            if over.get(block) != common:
                over[block], changed = common, True
    return over, before


def innermost_loop(code):
    """The instructions of one of the loops that contain no other one, or nothing: that with the most multiply-adds, and of
    these the longest. A loop is what can come back to a block that every way to it passes: a mere branch backwards, as from
    code that was moved to the end, is none."""
    if not code:
        return []
    blocks, following = basic_blocks(code)
    over, before = dominators(following)

    def passes(block, head):
        while block != head and block != 0:
            block = over[block]
        return block == head

    loops = {}
    for block in over:
        for head in following[block]:
            if passes(block, head):
                body = loops.setdefault(head, {head})
                rest = [block]
                while rest:
                    inside = rest.pop()
                    if inside not in body:
                        body.add(inside)
                        rest += before[inside]
    innermost = [body for body in loops.values() if len(body & loops.keys()) == 1]
    bodies = [[instruction for block in sorted(body) for instruction in blocks[block]] for body in innermost]

    def work(body):
        counts = counts_of(body)
        return counts["fma"] + counts["mma"], len(body)

    return max(bodies, key=work, default=[])


WIDTHS = (1, 2, 4, 8, 16)  # bytes per thread


def counts_of(code):
    """What a piece of code consists of: multiply-adds, and loads by their bytes per thread."""
    counts = {"instructions": len(code), "fma": 0, "mma": 0,
              "global_loads": dict.fromkeys(WIDTHS, 0), "shared_loads": dict.fromkeys(WIDTHS, 0)}
    for instruction in code:
        kind, *suffixes = instruction.name.split(".")
        width = next((bytes_ for suffix, bytes_ in (("128", 16), ("64", 8), ("U16", 2), ("S16", 2), ("U8", 1), ("S8", 1))
                      if suffix in suffixes), 4)
        if kind in ("FFMA", "FFMA2", "DFMA") or (kind == "HFMA2" and "-RZ, RZ" not in instruction.operands):
            counts["fma"] += 1  # HFMA2 of zeros only loads a constant
        elif re.fullmatch("[A-Z]+MMA", kind):
            counts["mma"] += 1
        elif kind in ("LDG", "LD", "LDGSTS"):  # the last copies to shared memory
            counts["global_loads"][width] += 1
        elif kind == "LDS":
            counts["shared_loads"][width] += 1
    return counts


# ---- The kernels ------------------------------------------------------------------------------------------------------------


def short_names(mangled):
    """{mangled: readable, without namespaces and parameters}"""
    if not mangled or not shutil.which("c++filt"):
        return {name: name for name in mangled}
    told = subprocess.run(["c++filt"], input="\n".join(mangled), text=True, capture_output=True, check=False).stdout
    return {name: shorten(readable) for name, readable in zip(mangled, told.splitlines())}


def shorten(name):
    """void lab::(anonymous namespace)::kernel<float, lab::Sum>(int) becomes kernel<float, Sum>."""
    name = name.replace("(anonymous namespace)::", "")
    name = re.sub(r"(?<!\w)\((?:unsigned )?(?:int|long|bool|char|unsigned)\)(?=-?\d)", "", name)  # a parameter: (int)16
    depth = 0
    for k, letter in enumerate(name):
        depth += (letter == "<") - (letter == ">")
        if letter == "(" and depth == 0:
            name = name[:k]
            break
    name = re.sub(r"\w+::", "", name)
    head = name.split("<")[0]
    return name[head.rindex(" ") + 1:] if " " in head else name


def kernels_of(toolkit, rung, capability):
    """The kernels of a rung for a device: a list of dicts, and what their code was made from."""
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        found = ptx_of_object(toolkit, rung, capability, scratch)
        file, ptx = found or ptx_of_source(toolkit, rung, capability, scratch)
        cubin = scratch / "kernels.cubin"
        told = toolkit.run(toolkit.ptxas, "-v", f"-arch=sm_{capability[0]}{capability[1]}", file, "-o", cubin)
        code = parse_sass(toolkit.run(toolkit.cuobjdump, "-sass", cubin)) if toolkit.cuobjdump else {}
    known, bounds = parse_ptxas(told), parse_ptx(ptx)
    names = short_names(list(known))
    kernels = []
    for name in sorted(known, key=lambda name: list(bounds).index(name) if name in bounds else 0):
        kernel = {"kernel": names[name], **known[name], **bounds.get(name, {"threads": None, "dynamic": False})}
        kernel["code"] = kernel["loop"] = None
        if name in code:
            loop = innermost_loop(code[name])
            kernel["code"], kernel["loop"] = counts_of(code[name]), counts_of(loop) if loop else None
        kernels.append(kernel)
    return kernels, "object" if found else "source"


def with_occupancy(kernel, device, block, shared):
    """Adds what follows from the launch. block, shared: what the user says of it, or None."""
    kernel["block"] = block or kernel["threads"] or USUAL_BLOCK
    kernel["block_from"] = "--block" if block else "launch bounds" if kernel["threads"] else "assumed"
    kernel["dynamic_shared"] = shared if shared is not None and kernel["dynamic"] else 0
    launch = kernel["registers"], kernel["block"], kernel["static_shared"] + kernel["dynamic_shared"]
    blocks = blocks_by(device, *launch)
    if kernel["threads"] and kernel["block"] > kernel["threads"]:
        blocks["launch bounds"] = 0
    least = min(blocks.values())
    kernel["blocks"] = least
    kernel["occupancy"] = 100 * least * -(-kernel["block"] // WARP) / device.warps
    kernel["limited_by"] = [name for name, number in blocks.items() if number == least]
    kernel["one_more_needs"] = []
    if kernel["occupancy"] < 100 and "launch bounds" not in blocks:
        kernel["one_more_needs"] = needs_of_one_more(device, *launch)
    return kernel


# ---- What is shown ----------------------------------------------------------------------------------------------------------


def table(rows, left):
    """Rows of words as lines, in columns. left: the columns that are not numbers."""
    widths = [max(len(row[k]) for row in rows if len(row) > 1) for k in range(len(rows[-1]))]
    for row in rows:
        if len(row) == 1:
            yield row[0]
        else:
            yield "  ".join(word.ljust(width) if k in left else word.rjust(width)
                            for k, (word, width) in enumerate(zip(row, widths))).rstrip()


def loads(counts):
    return " ".join(f"{number}x{width}" for width, number in counts.items() if number) or "-"


def limit_of(kernel):
    words = " and ".join(kernel["limited_by"])
    if kernel["occupancy"] == 100:
        return "-"
    if kernel["one_more_needs"]:
        return f"{words}; for {kernel['blocks'] + 1} blocks {', '.join(kernel['one_more_needs'])}"
    return words


def show(rungs):
    """The two tables, and what must be said of their figures. rungs: [(variants, kernels)]"""
    rows = [["kernel", "registers", "spill", "stack", "shared", "block", "blocks", "occupancy", "limited by"]]
    code_rows = [["kernel", "code", "loop", "FMA", "of loop", "MMA", "global loads", "shared loads"]]
    notes = {}
    for variants, kernels in rungs:
        for lines in rows, code_rows:
            lines.append([", ".join(variants) + ("" if kernels else ": no kernel of its own")])
        for kernel in kernels:
            assumed, dynamic = kernel["block_from"] == "assumed", kernel["dynamic"]
            spill = kernel["spill_stores"] + kernel["spill_loads"]
            shared = f"{kernel['static_shared']}+{kernel['dynamic_shared'] or '?'}" if dynamic else str(kernel["static_shared"])
            rows.append(["  " + kernel["kernel"], str(kernel["registers"]), str(spill), str(kernel["stack"]), shared,
                         f"{kernel['block']}{'?' if assumed else ''}", str(kernel["blocks"]), f"{kernel['occupancy']:.0f} %",
                         limit_of(kernel)])
            if assumed:
                notes["block"] = f"block ?: the code does not fix the threads per block, {USUAL_BLOCK} are assumed: --block N"
            if dynamic and not kernel["dynamic_shared"]:
                notes["shared"] = "shared +?: more is chosen at the launch, none is assumed: --shared BYTES"
            if spill:
                notes["spill"] = "spill: bytes of stores and loads in the code, in all"
            if not kernel["code"]:
                notes["code"] = "no table of instructions: cuobjdump is not installed (./lab setup --cuda)"
                continue
            counts = kernel["loop"] or kernel["code"]
            if not kernel["loop"]:
                notes["loop"] = "loop -: there is none, so the counts are of all the code"
            code_rows.append(["  " + kernel["kernel"], str(kernel["code"]["instructions"]),
                              str(kernel["loop"]["instructions"]) if kernel["loop"] else "-", str(counts["fma"]),
                              f"{100 * counts['fma'] / counts['instructions']:.0f} %", str(counts["mma"]),
                              loads(counts["global_loads"]), loads(counts["shared_loads"])])
    lines = [*table(rows, {0, 8})] if any(kernels for _, kernels in rungs) else [row[0] for row in rows[1:]]
    if all(len(row) == 1 or row[5] == "0" for row in code_rows[1:]):
        code_rows = [row[:5] + row[6:] for row in code_rows]
    if any(len(row) > 1 for row in code_rows[1:]):
        lines += ["", "Instructions: of all the code, and of its innermost loop (if several, that with the most multiply-adds, then",
                  "the longest); in this loop multiply-adds (MMA: on tensor cores), and loads as number x bytes per thread.", "",
                  *table(code_rows, {0, len(code_rows[0]) - 2, len(code_rows[0]) - 1})]
    return lines + ([""] if notes else []) + list(notes.values())


def flat(variants, kernel):
    """A kernel as one row of a table in a file."""
    row = {"variant": " ".join(variants)}
    for name, value in kernel.items():
        if name in ("code", "loop"):
            for count, number in (value or {}).items():
                if isinstance(number, dict):
                    row.update({f"{name}_{count}_{width}": n for width, n in number.items()})
                else:
                    row[f"{name}_{count}"] = number
        else:
            row[name] = "; ".join(value) if isinstance(value, list) else value
    return row


def write(path, text):
    try:
        pathlib.Path(path).write_text(text, encoding="utf-8")
    except OSError as fault:
        raise Refusal(f"cannot write {path}: {fault.strerror}") from None


def write_csv(path, rows):
    try:
        with open(path, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    except OSError as fault:
        raise Refusal(f"cannot write {path}: {fault.strerror}") from None


# ---- Commands ---------------------------------------------------------------------------------------------------------------


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise Refusal(message)


def whole_number(least):
    def parse(text):
        if not re.fullmatch(r"\d{1,9}", text) or int(text) < least:
            raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from {least} on")
        return int(text)
    return parse


def numbers(least):
    def parse(text):
        return [whole_number(least)(word) for word in text.split(",")]
    return parse


def explain(root, build, lab, arguments):
    parser = Parser(prog=f"./lab explain {lab} --cuda", description="Registers, spills, occupancy and instructions of the CUDA "
                    "rungs of a lab, as the compiler knows them. It needs no GPU.")
    parser.add_argument("--variant", metavar="NAME", help="only this one (a vendor's library shows only so)")
    parser.add_argument("--on", metavar="DEVICE", help=f"for which device: {', '.join(DEVICES)}, or a compute capability as "
                        f"9.0 (default: this machine's, else {USUAL_DEVICE})")
    parser.add_argument("--block", metavar="N", type=whole_number(1),
                        help=f"threads per block of the launch (default: those of the launch bounds, else {USUAL_BLOCK})")
    parser.add_argument("--shared", metavar="BYTES", type=whole_number(0),
                        help="shared memory that the launch adds, where a kernel uses such (default: 0)")
    parser.add_argument("--json", metavar="FILE", help="also write the figures to this file")
    parser.add_argument("--csv", metavar="FILE", help="the same as a table")
    options = parser.parse_args(arguments)
    name = options.on or device_here()
    capability = capability_of(name)
    if options.block and options.block > MOST_THREADS:
        raise Refusal(f"--block {options.block}: a block has at most {MOST_THREADS} threads")
    root, build = pathlib.Path(root).resolve(), pathlib.Path(build).resolve()
    rungs = rungs_of(root, build, lab, options.variant)
    able = [rung for rung in rungs if rung.needs <= capability]
    toolkit = Toolkit(root, build)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        made = list(pool.map(lambda rung: kernels_of(toolkit, rung, capability), able))
    shown = [(rung.variants, [with_occupancy(kernel, LIMITS[capability], options.block, options.shared) for kernel in kernels])
             for rung, (kernels, _) in zip(able, made)]

    from_source = [", ".join(rung.variants) for rung, (_, origin) in zip(able, made) if origin == "source"]
    capability_text = f"{capability[0]}.{capability[1]}"
    title = f"{lab} on {name.upper()}" + (f" (compute capability {capability_text})" if name != capability_text else "")
    print(f"{title}: at most {LIMITS[capability].warps} warps and {LIMITS[capability].blocks} blocks per multiprocessor\n")
    for line in show(shown) if shown else []:
        print(line)
    for rung in rungs:
        if rung not in able:
            print(f"{', '.join(rung.variants)}: needs compute capability {rung.needs[0]}.{rung.needs[1]}")
    if from_source:
        print(f"compiled for this device now, because the build has no up-to-date code for it: {', '.join(from_source)}")
    if options.json:
        write(options.json, json.dumps({
            "lab": lab, "device": name, "compute_capability": capability_text,
            "kernels": [{"variants": variants, **kernel} for variants, kernels in shown for kernel in kernels],
        }, indent=2) + "\n")
    if options.csv:
        write_csv(options.csv, [flat(variants, kernel) for variants, kernels in shown for kernel in kernels])


def occupancy(arguments):
    parser = Parser(prog="resources.py", add_help=False)
    parser.add_argument("--occupancy", required=True)
    parser.add_argument("--registers", type=numbers(0), required=True)
    parser.add_argument("--block", type=numbers(1), required=True)
    parser.add_argument("--shared", type=numbers(0), default=[0])
    options = parser.parse_args(arguments)
    device = LIMITS[capability_of(options.occupancy)]
    for launch in itertools.product(options.registers, options.block, options.shared):
        print(*launch, resident_blocks(device, *launch))


def refusing(function, *arguments):
    """Runs a command. A refusal is one line and exit code 2."""
    try:
        function(*arguments)
    except Refusal as refusal:
        print(f"explain: {refusal}", file=sys.stderr)
        return 2
    return 0


def main(root, build, lab, arguments):
    """./lab explain LAB --cuda ARGUMENT...; gives the exit code."""
    return refusing(explain, root, build, lab, arguments)


if __name__ == "__main__":
    words = sys.argv[1:]
    if any(word.split("=")[0] == "--occupancy" for word in words):
        sys.exit(refusing(occupancy, words))
    if len(words) < 2 or words[0].startswith("-") or words[1].startswith("-"):
        if words in (["-h"], ["--help"]):
            print(__doc__.strip())
            sys.exit(0)
        print("explain: resources.py needs a build folder and a lab (resources.py --help)", file=sys.stderr)
        sys.exit(2)
    sys.exit(main(pathlib.Path(__file__).resolve().parents[2], words[0], words[1], words[2:]))
