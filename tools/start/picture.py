"""Draws in letters which item touched which element, from the steps that the plugin of Oclgrind has noted."""

import re
import textwrap
from collections import Counter
from math import prod

from occupancy import LIMITS, USUAL_DEVICE, WARP, blocks_by, capability_of

ELEMENT, SECTOR, BUFFER = 4, 8, 48  # bytes; elements; the bits of an address above these number the arrays
BANKS, PAST, MOST_LOCAL = 32, 6, 64  # of local memory; elements past the end that are shown; elements of an array in local memory
HEAD = 18  # columns before the first element
DOES = {"load": "read by", "store": "written by", "atomic": "changed by"}


def touched(launch, text=""):
    """{(array, kind of access): {element: the items that touched it}}"""
    found = {}
    arrays = {one["at"] >> BUFFER: (one["name"], one["at"]) for one in launch["arrays"] if one["space"] == "global"}
    local = local_array(text) or "local"
    for step in launch["steps"]:
        for lane, address in step["lanes"]:
            name, at = arrays.get(address >> BUFFER, ("", 0)) if step["space"] != "local" else (
                local, address >> BUFFER << BUFFER)
            if not name:  # none of the kernel's arrays: a text that it prints
                continue
            cells = found.setdefault((name, step["kind"]), {})
            cells.setdefault((address - at) // ELEMENT, set()).add(32 * step["warp"] + lane)
    return found


def outside(case, launch):
    """The first access of each kind to an element that an array does not have."""
    found = []
    for (name, kind), cells in touched(launch).items():
        size = len(case.arguments.get(name, []))
        beyond = [i for i in sorted(cells) if name in case.arguments and not 0 <= i < size]
        found += [f"item {who(cells[i], case.group)} {'reads' if kind == 'load' else 'writes'} {name}[{i}], but {name} has "
                  f"{size} elements" for i in beyond[:1]]
    return found


def unwritten(launch, text):
    """The first element of local memory that is read though no item writes it. Asynchronous copies are not noted as writes."""
    local = [one for one in launch["steps"] if one["space"] == "local" and "async" not in text]
    written = {address + k for one in local if one["kind"] != "load" for _, address in one["lanes"] for k in range(one["bytes"])}
    for one in local:
        for lane, address in one["lanes"]:
            if address not in written:
                name, i = local_array(text), (address % (1 << BUFFER)) // ELEMENT
                element = f"{name}[{i}]" if name else "an element of local memory"
                return [f"item {32 * one['warp'] + lane} reads {element} at line {one['line']}, which no item has written"]
    return []


def local_array(text):
    """The name of the array that a kernel has in local memory, if it is a single one with a single index."""
    found = re.findall(r"\b(?:local|__shared__)\s+int\s+([^;]*);", text)
    only = re.fullmatch(r"(\w+)\s*\[[^][]*\]", found[0].strip()) if len(found) == 1 else None
    return only[1] if only else ""


def picture(needs, case, launch, text, columns):
    """What shows the idea of a puzzle. Of most: one row for each array and kind of access, in which the cell of an element has the
    items that touched it.

    @param needs as in puzzles.toml
    @param columns that fit
    """
    found = touched(launch, text)
    if not found:
        return ["no item touched an element"]
    other = {"whole sectors": sectors, "no bank conflict": banks, "few requests": readers, "all groups": places,
             "much under way": requests}.get(needs)
    if other:
        return other(case, launch, columns)
    first = " (the first group)" if case.items != case.group else ""
    lines = textwrap.wrap(f"{case.words}: which one touched which element{first}", columns - 2)
    for name in dict.fromkeys(name for name, _ in found):
        lines += rows(case, name, {kind: cells for (array, kind), cells in found.items() if array == name}, columns)
    many = next((label for cells in found.values() for items in cells.values() if (label := who(items, case.group)).endswith("x")), "")
    return lines + [f"    {many}: {many[:-1]} items"] * bool(many)


def rows(case, name, kinds, columns):
    """The rows of one array, under the indices of its elements."""
    most = max(map(max, kinds.values()))
    size = len(case.arguments[name]) if name in case.arguments else min(max(8, most + 1), MOST_LOCAL)
    last = max(size - 1, min(most, size - 1 + PAST))
    label = lambda cells, i: who(cells[i], case.group) if i in cells else "."
    wide = max(3, *(len(label(cells, i)) + 1 for cells in kinds.values() for i in range(last + 1)))
    width = min(case.arguments.get("width", last + 1), max(1, (columns - HEAD - 4) // wide))
    lines = []
    for start in range(0, last + 1, width):
        part = range(start, min(start + width, last + 1))
        line = lambda head, cell: f"{head:<{HEAD}}" + "".join(f"{' |' if i == size else ''}{cell(i):>{wide}}" for i in part)
        lines.append(line(f"  {name}[ ]", str))
        lines += [line(f"    {DOES[kind]}", lambda i: label(cells, i)) for kind, cells in kinds.items()]
    return lines + [f"    behind the | past the end of {name}"] * (last >= size)


def who(items, group):
    """Item 3; items 0-7; with two dimensions x,y; 9x: nine items."""
    found = sorted(items)
    if len(group) > 1:
        return f"{found[0] % group[0]},{found[0] // group[0]}" if len(found) == 1 else f"{len(found)}x"
    if len(found) > 2 and found[-1] - found[0] == len(found) - 1:
        return f"{found[0]}-{found[-1]}"
    return ",".join(map(str, found)) if len(found) < 4 else f"{len(found)}x"


def sectors(case, launch, columns):
    """The elements that the first read of a warp touches, in blocks of a sector."""
    step = next((one for one in launch["steps"] if one["kind"] == "load" and one["space"] == "global"), None)
    if not step:
        return ["no item read an element"]
    read = touched(launch | {"steps": [step]}).popitem()[1]
    cells = "".join("#" if i in read else "." for i in range(128))
    blocks = [cells[i:i + SECTOR] for i in range(0, len(cells), SECTOR)]
    many = next(n for n in (8, 4, 2, 1) if n == 1 or n * (SECTOR + 1) < columns)
    return ["the elements (#) that 32 items read at the same time:",
            *("  " + " ".join(blocks[i:i + many]) for i in range(0, len(blocks), many)), "  each block is a sector", f"  {sum('#' in one for one in blocks)} sectors"]


def banks(case, launch, columns):
    """The banks of the access to local memory that takes most passes."""
    words = lambda one: {(address + k) // ELEMENT for _, address in one["lanes"] for k in range(0, one["bytes"], ELEMENT)}
    by_bank = lambda one: Counter(word % BANKS for word in words(one))
    local = [one for one in launch["steps"] if one["space"] == "local"]
    if not local:
        return ["no item touched local memory"]
    worst = by_bank(max(local, key=lambda one: max(by_bank(one).values())))
    lines = textwrap.wrap("how many numbers of each bank of local memory the 32 items touch at the same time:", columns - 2)
    for first in (0, BANKS // 2):
        part = range(first, first + BANKS // 2)
        lines += ["  bank   " + "".join(f"{bank:>3}" for bank in part), "         " + "".join(f"{worst[bank] or '.':>3}" for bank in part)]
    return [*lines, f"  {max(worst.values())} pass{'es' * (max(worst.values()) > 1)}"]


def readers(case, launch, columns):
    """How many items of the first group read each number of two matrices."""
    found, width = touched(launch), case.arguments["width"]
    row = lambda name, y: "".join(str(min(9, len(found.get((name, "load"), {}).get(y * width + x, ()))) or ".") for x in range(width))
    return [*textwrap.wrap("how many items of the first group read each number of a and b:", columns - 2),
            *(f"  {'a' if y == 0 else ' '}  {row('a', y)}   {'b' if y == 0 else ' '}  {row('b', y)}" for y in range(width))]


def places(case, launch, columns):
    """How many groups a multiprocessor holds at a time."""
    device = LIMITS[capability_of(USUAL_DEVICE)]
    fit = blocks_by(device, 0, prod(case.group), launch["local"])
    held, warps = min(fit.values()), prod(case.group) // WARP
    return [*textwrap.wrap(f"a multiprocessor of an {USUAL_DEVICE.upper()} has {device.blocks} places for groups; taken (#):", columns - 2),
            "  " + "#" * held + "." * (device.blocks - held), f"  {held} groups: {held * warps} of {device.warps} warps",
            f"  local memory of a group: {launch['local']:,} bytes"]


def requests(case, launch, columns):
    """What the first warp asks for, one request after the other."""
    asks = [f"{one['kind']} {one['bytes'] * len(one['lanes'])}" for one in launch["steps"] if one["space"] == "global" and one["warp"] == 0]
    return [*textwrap.wrap("the requests of the 32 items, in their order, with their bytes:", columns - 2),
            *textwrap.wrap(", ".join(asks), columns - 2, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False),
            f"  {under_way(launch)} bytes under way"]


def under_way(launch):
    """The most bytes that the first warp asks for before it writes, which it cannot do before they have come."""
    most = asked = 0
    for one in launch["steps"]:
        if one["warp"] == 0 and (one["space"] == "global" or one["kind"] != "load"):
            asked = asked + one["bytes"] * len(one["lanes"]) if one["kind"] == "load" else 0
            most = max(most, asked)
    return most
