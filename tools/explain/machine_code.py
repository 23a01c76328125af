"""Reads what ptxas and cuobjdump print of kernels, and finds the loop that counts in their machine code."""

import dataclasses
import math
import re


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
    """{kernel: max_threads, the most per block by its launch bounds or None; dynamic, whether it uses shared memory whose size
    the launch chooses}"""
    dynamic = re.findall(r"^\.extern \.shared .*?(\w+)\[\]", text, re.MULTILINE)
    kernels = {}
    entry = re.compile(r"^(?:\.visible |\.weak )*\.entry (\w+)\((.*?)^\{(.*?)^\}", re.MULTILINE | re.DOTALL)
    for name, head, body in entry.findall(text):
        bounds = re.search(r"\.(?:maxntid|reqntid) (\d+)(?:, (\d+))?(?:, (\d+))?", head)
        kernels[name] = {"max_threads": math.prod(int(n) for n in bounds.groups() if n) if bounds else None,
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


def reached(following, without=None):
    """The blocks to which a way leads from the first one that does not pass the block `without`."""
    found, rest = set(), [0]
    while rest:
        block = rest.pop()
        if block != without and block not in found:
            found.add(block)
            rest += following[block]
    return found


def innermost_loop(code):
    """The instructions of one of the loops that contain no other one, or nothing: that with the most multiply-adds, and of
    these the longest. A loop is what can come back to a block that every way to it passes: a mere branch backwards, as from
    code that was moved to the end, is none."""
    if not code:
        return []
    blocks, following = basic_blocks(code)
    live = reached(following)
    loops = {}
    for head in sorted({after for block in live for after in following[block]}):
        behind = live - reached(following, without=head)  # what only ways through this block reach, and itself
        body, rest = {head}, [block for block in behind if head in following[block]]
        while rest:
            inside = rest.pop()
            loops[head] = body
            if inside not in body:
                body.add(inside)
                rest += [block for block in live if inside in following[block]]
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
