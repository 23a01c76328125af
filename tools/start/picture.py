"""Draws in letters which item touched which element, from the steps that the plugin of Oclgrind has noted."""

import re
import textwrap

ELEMENT, SECTOR, BUFFER = 4, 8, 48  # bytes; elements; the bits of an address above these number the arrays
PAST, MOST_LOCAL = 6, 64  # elements past the end that are shown; elements of an array in local memory
HEAD = 18  # columns before the first element
DOES = {"load": "read by", "store": "written by", "atomic": "changed by"}


def touched(launch, text=""):
    """{(array, kind of access): {element: the items that touched it}}"""
    found = {}
    arrays = {one["at"] >> BUFFER: (one["name"], one["at"]) for one in launch["arrays"] if one["space"] == "global"}
    local = re.search(r"\b(?:local|__shared__)\s+int\s+(\w+)\s*\[", text)
    for step in launch["steps"]:
        for lane, address in step["lanes"]:
            name, at = arrays.get(address >> BUFFER, ("", 0)) if step["space"] != "local" else (
                local[1] if local else "local", address >> BUFFER << BUFFER)
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


def picture(case, launch, text, columns):
    """One row for each array and kind of access: the cell of an element has the items that touched it. @param columns that fit"""
    found = touched(launch, text)
    if not found:
        return ["no item touched an element"]
    if case.items == [32] and "n" not in case.arguments:  # puzzle 8
        return sectors(launch, columns)
    first = " (the first group)" if case.items != case.group else ""
    lines = textwrap.wrap(f"{case.words}: which one touched which element{first}", columns - 2)
    for name in dict.fromkeys(name for name, _ in found):
        lines += rows(case, name, {kind: cells for (array, kind), cells in found.items() if array == name}, columns)
    return lines


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
    """Item 3; items 0-7; with two dimensions x,y."""
    found = sorted(items)
    if len(group) > 1:
        return f"{found[0] % group[0]},{found[0] // group[0]}" if len(found) == 1 else f"{len(found)} items"
    if len(found) > 2 and found[-1] - found[0] == len(found) - 1:
        return f"{found[0]}-{found[-1]}"
    return ",".join(map(str, found)) if len(found) < 4 else f"{len(found)} items"


def sectors(launch, columns):
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
