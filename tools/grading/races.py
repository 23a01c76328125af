"""Says in words what oclgrind or the CUDA emulator reports: who reads or writes which element, in which line, and which barrier
not all reach."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .words import ENDLESS

RACE = re.compile(r"(?ms)^(Read-write|Write-write) data race at (\w+) memory address 0x([0-9a-f]+)\n\tKernel: (\w+)[^\n]*\n(.*?)(?=^\S|\Z)")
LINE = r"At line (\d+) \(column \d+\) of (.*):\n"
ENDLESS_LOOP = re.compile(r":(\d+): runs for more than \d+ instructions")
DIVERGED = re.compile(rf"(?:Work-group|Block) divergence detected \(barrier\)\n(?:\t.*\n)*?\t{LINE}")
ONLY = re.compile(r"Only (\d+) out of (\d+) work-items executed|(\d+) of (\d+) threads have ended before")
INVALID = re.compile(r"Invalid (read|write) of size (\d+) at (\w+) memory address 0x([0-9a-f]+)\n(?:\tKernel: (\w+).*\n)?")
UNSET = re.compile(r"(?m)^Uninitialized value (?:written to|of size \d+ read from) .*\n(?:\t.*\n)*?\tAt line (\d+) \(column \d+\) of ")
SIDE = re.compile(r"(?:First e|Second e|E)ntity: +(?:Global\S+ Local|Thread)\((\d+),(\d+),(\d+)\) (?:Group|Block)\((\d+),(\d+),(\d+)\)\n"
                  r"\t  (.*)\n\tAt line (\d+) \(column (\d+)\) of (.*):\n")
ADDRESS_BITS = 48  # of an address: the place within an array. The bits above number the arrays
BYTES = {"half": 2, "float": 4, "double": 8}
ACCESS = re.compile(r"\b(load|store) (?:volatile )?(?:<(\d+) x )?(\w+)")
PTX = re.compile(r"^(ld|st|atom|red)\.(?:[\w:]+\.)*?(?:v(\d)\.)?[busf](\d+)\b")
BARRIER, STRAY = "have to reach each barrier", "outside of "  # in sentences about these
OF_CUDA = {"work-item": "thread", "work-items": "threads", "group": "block", "groups": "blocks"}
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
    found, stray = RACE.search(report), INVALID.search(report)
    if endless := ENDLESS_LOOP.search(report):
        return (f"{ENDLESS} It is at line {endless[1]}",) * 2
    if DIVERGED.search(report):
        return barrier_in_words(report)
    if stray and (not found or stray.start() < found.start()):
        return stray_in_words(report[stray.start():], files)
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
    return of_language(cuda, exact, roughly)


def of_language(cuda: bool, exact: str, roughly: str) -> tuple[str, str]:
    """Both in the words of CUDA or of OpenCL."""
    words = lambda text: re.sub(r"\b(work-items?|groups?)\b", lambda word: OF_CUDA[word[1]], text) if cuda else text
    return words(exact), words(roughly)


def barrier_in_words(report: str) -> tuple[str, str]:
    """The first barrier that some items do not reach."""
    found = DIVERGED.search(report)
    assert found
    lines = list(dict.fromkeys(re.findall(rf"\t{LINE}", report[found.start():report.find("\n\n", found.end()) % (len(report) + 1)])))
    other = re.search(r"others at that of line (\d+)", found[0])
    numbers = [line for line, _ in lines] + ([other[1]] if other else [])
    only = ONLY.search(found[0])
    cuda, all_of_them = found[0].startswith("Block"), f"all work-items of a group {BARRIER}"
    if len(numbers) > 1:
        words = f"some work-items of a group wait at the barrier at line {numbers[0]}, and others at that at line {numbers[1]}: {all_of_them}"
        return of_language(cuda, words, words)
    end = f"the barrier at line {found[1]}: {all_of_them}. Does it stand in a branch or a loop, or do some return early?"
    roughly = f"some work-items do not reach {end}"
    came, of = (only[1], only[2]) if only and only[1] else (int(only[4]) - int(only[3]), only[4]) if only else ("", "")
    return of_language(cuda, f"only {came} of {of} work-items reach {end}" if only else roughly, roughly)


def stray_in_words(report: str, files: dict[str, str]) -> tuple[str, str]:
    """An access outside of an array, which a report begins with."""
    found, entity = INVALID.match(report), SIDE.search(report.split("\n\n")[0] + "\n")
    assert found
    if not entity:
        return "", ""
    side = side_of(entity.groups())
    offset, size = int(found[4], 16) % (1 << ADDRESS_BITS), int(found[2])
    name, indices = array_of(side, found[5] or "", files.get(side.file, ""))
    place = f"{STRAY}{name or f'its array in {found[3]} memory'}"
    at = f", at {name}[{offset // size}]" if indices == 1 and offset < 1 << (ADDRESS_BITS - 8) else ""
    line = f"at line {side.line}" + ("" if side.file in files or not side.file else f" of {side.file}")
    return of_language("Thread(" in entity[0], f"work-item {number(side.item)} of group {number(side.group)} {found[1]}s {line} {place}{at}",
                       f"a work-item {found[1]}s {line} {place}")


def unset_in_words(report: str) -> tuple[str, str]:
    """The same of a number that was never written, or is written too late."""
    found = UNSET.search(report)
    item = "thread" if "Entity: Thread(" in report else "work-item"
    words = (f"a {item} uses at line {found[1]} what nobody has written so far: is an element left out, or does a barrier not "
             "stand before?") if found else ""
    return words, words


def told(tool: str, report: str, files: dict[str, str]) -> tuple[str, str]:
    """A report in one sentence and the line of the student's file that it names; where there is no sentence, its first finding. And
    the sentence without what tells a hidden size. Oclgrind counts the lines of all that it was given, so the line is the file's own."""
    exact, roughly = in_words(report, files)
    if not exact:
        return f"{tool} found: {report.split(chr(10) * 2)[0][:1500]}", roughly
    line = int(found[1]) if (found := re.search(r"\bat line (\d+)(?! of)", exact)) else 0
    for text in files.values() if len(files) == 1 else ():
        lines = ["", *text.split("\n")]
        exact += f"\n    {lines[line].strip()}" if 0 < line < len(lines) else ""
    return exact, roughly


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
