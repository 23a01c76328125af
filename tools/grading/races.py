"""Says in words what oclgrind or the CUDA emulator reports of a data race: who reads or writes which element, in which line."""

from __future__ import annotations

import re
from dataclasses import dataclass

RACE = re.compile(r"(?ms)^(Read-write|Write-write) data race at (\w+) memory address 0x([0-9a-f]+)\n\tKernel: (\w+)[^\n]*\n(.*?)(?=^\S|\Z)")
UNSET = re.compile(r"Uninitialized value (?:written to|of size \d+ read from) .*\n(?:\t.*\n)*?\tAt line (\d+) \(column \d+\) of ")
SIDE = re.compile(r"(?:First|Second) entity: +(?:Global\S+ Local|Thread)\((\d+),(\d+),(\d+)\) (?:Group|Block)\((\d+),(\d+),(\d+)\)\n"
                  r"\t  (.*)\n\tAt line (\d+) \(column (\d+)\) of (.*):\n")
ADDRESS_BITS = 48  # of an address: the place within an array. The bits above number the arrays
BYTES = {"half": 2, "float": 4, "double": 8}
ACCESS = re.compile(r"\b(load|store) (?:volatile )?(?:<(\d+) x )?(\w+)")
PTX = re.compile(r"^(ld|st|atom|red)\.(?:[\w:]+\.)*?(?:v(\d)\.)?[busf](\d+)\b")
OF_CUDA = {"work-item": "thread", "group": "block", "groups": "blocks"}
MAX_READ = 20000  # characters of a kernel's text: a longer one may be made to take long
NAME = r"[A-Za-z_]\w*"
INDEX = r"\s*\[[^][]*(?:\[[^][]*\][^][]*)*\]"  # with an index in it: a[b[i]]


@dataclass(frozen=True)
class Side:
    """One of the two accesses."""

    item: tuple[int, ...]  # within its group
    group: tuple[int, ...]
    does: str  # "reads", "writes", or "" when that is not known
    size: int  # of what it reads or writes, in bytes; 0: not known
    file: str
    line: int
    column: int


def in_words(report: str, files: dict[str, str]) -> tuple[str, str]:
    """The first race of a report: with its items and element, and without them, because they tell a hidden size. Both are ""
    when the report tells of none, or is cut off.

    @param files the texts that were handed in, by file name
    """
    found = RACE.search(report)
    sides = [side_of(one) for one in SIDE.findall(found[5])] if found else []
    if not found or len(sides) != 2:
        return unset_in_words(report)
    kind, space, address, kernel = found.group(1, 2, 3, 4)
    cuda = "entity:  Thread(" in found[5]
    if kind == "Write-write":
        does = ("writes", "writes")
        sides.sort(key=lambda side: (side.group[::-1], side.item[::-1]))
    else:
        sides.sort(key=lambda side: {"writes": 0, "": 1, "reads": 2}[side.does])
        if sides[0].does == sides[1].does:
            return "", ""
        does = ("writes", "reads")
    one, other = sides
    offset, size = int(address, 16) % (1 << ADDRESS_BITS), max(one.size, 1)
    element, place = f"the element at byte {offset // size * size} of {space} memory", f"an element of {space} memory"
    for side in sides:
        name, indices = array_of(side, kernel, files.get(side.file, ""))
        if name and side.size:
            at = offset // side.size
            element, place = f"{name}[{at}]" if indices == 1 else f"element {at} of {name}", f"an element of {name}"
            break
    same = one.group == other.group
    fence = "barrier" if cuda or space == "local" else f"barrier for {space} memory"
    why = f"no {fence} stands between" if same else "groups do not wait for each other"
    lines = [f"at line {side.line}" if side.file in files or not side.file else f"at line {side.line} of {side.file}" for side in sides]
    where = "of the same group" if same else f"of group {number(other.group)}"
    exact = (f"work-item {number(one.item)} of group {number(one.group)} {does[0]} {element} {lines[0]} while work-item "
             f"{number(other.item)} {where} {does[1]} it {lines[1]}: {why}")
    steps = sorted(abs(a - b) for a, b in zip(one.item, other.item))
    whose = "its neighbour" if same and steps == [0, 0, 1] else f"another one {'of the same' if same else 'of another'} group"
    roughly = f"a work-item {does[0]} {place} {lines[0]} while {whose} {does[1]} it {lines[1]}: {why}"
    if not cuda:
        return exact, roughly
    return tuple(re.sub(r"\b(work-item|groups?)\b", lambda word: OF_CUDA[word[1]], text) for text in (exact, roughly))


def unset_in_words(report: str) -> tuple[str, str]:
    """The same of a number that was never written, or is written too late."""
    found = UNSET.match(report)
    item = "thread" if "Entity: Thread(" in report else "work-item"
    words = (f"a {item} uses at line {found[1]} what nobody has written so far: is an element left out, or does a barrier not "
             "stand before?") if found else ""
    return words, words


def with_own_lines(report: str, files: dict[str, str]) -> str:
    """A report with the lines that it names. oclgrind counts the lines of all that it was given, among them those that the
    program puts before a text."""
    def own(found: re.Match[str]) -> str:
        name = found[3].rpartition("/")[2]
        lines = files.get(name, "").split("\n")
        return f"{found[1]}{name}:\n\t  " + (lines[int(found[2]) - 1].strip() if int(found[2]) <= len(lines) else "")
    return re.sub(r"(At line (\d+) \(column \d+\) of )(.*):\n\t  .*", own, report)


def number(place: tuple[int, ...]) -> str:
    """The number of an item or group: 5, or (5, 2) where there are rows of them."""
    while len(place) > 1 and place[-1] == 0:
        place = place[:-1]
    return str(place[0]) if len(place) == 1 else str(place)


def side_of(words: tuple[str, ...]) -> Side:
    numbers = tuple(map(int, words[:6]))
    access, ptx = ACCESS.search(words[6]), PTX.match(words[6])
    size = 0
    if ptx:
        size = int(ptx[3]) // 8 * int(ptx[2] or 1)
    elif access:
        whole = re.fullmatch(r"i(\d+)", access[3])
        size = (int(whole[1]) // 8 if whole else BYTES.get(access[3], 0)) * int(access[2] or 1)
    does = {"load": "reads", "ld": "reads"}.get((ptx or access)[1], "writes") if ptx or access else ""
    return Side(numbers[:3], numbers[3:], does, size, words[9].rpartition("/")[2], int(words[7]), int(words[8]))


def array_of(side: Side, kernel: str, text: str) -> tuple[str, int]:
    """The name of the array that a side uses, where its line tells, and the number of its indices: 2 in a[y][x]. The column is
    that of a[i] when it is read, and that of = when it is written."""
    line = ["", *text.split("\n")][side.line] if side.line <= text.count("\n") + 1 else ""
    before, behind = line[:side.column - 1].rstrip(), line[side.column - 1:]
    used = re.search(rf"(?<![\w.>])({NAME})((?:{INDEX})+)$", before) if side.does == "writes" else \
        re.match(rf"({NAME})((?:{INDEX})+)(?!{INDEX}|\s*(?:\.|->))", behind)
    if not used or not is_array(used[1], kernel, side.line, text):
        return "", 0
    return used[1], len(re.findall(INDEX, used[2]))


def is_array(name: str, kernel: str, line: int, text: str) -> bool:
    """Whether a name is a parameter of a kernel, or an array that it has in local memory, and the line is one of its own. A
    pointer that is moved is none: it is not known where in an array it points to."""
    found = re.search(rf"\b(?:kernel|__global__)\b[^;{{]*?\b{kernel}\s*\(([^{{]*)\)\s*\{{", text) if len(text) <= MAX_READ else None
    if not found:
        return False
    depth, end = 1, found.end()
    while depth and end < len(text):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        end += 1
    body = text[found.end():end]
    if not text.count("\n", 0, found.end()) < line <= text.count("\n", 0, end) + 1:
        return False
    if re.search(rf"(?<![\w.>]){name}\s*(?:[-+]?=(?!=)|\+\+|--)|(?:\+\+|--)\s*{name}\b(?!\s*\[)", body):
        return False
    return bool(re.search(rf"\b{name}\s*(?:,|$)", found[1].strip()) or re.search(rf"\b(?:local|__shared__)\b[^;(]*\b{name}\s*\[[^;(]*;", body))
