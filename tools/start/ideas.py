"""Whether a kernel whose values are right follows the idea of its puzzle: what the items of the first launch touched decides."""

from math import prod

from picture import touched


def lacking(needs, case, launch):
    """What is missing, in a sentence; "" when nothing is. @param needs the puzzle's, of puzzles.toml"""
    group = set(range(prod(case.group)))
    steps = [one for one in launch["steps"] if one["space"] == "local"]
    cells = {}  # of global memory
    for (name, kind), found in touched(launch).items():
        if name in case.arguments:
            cells[name, kind] = found
    who = lambda kind: {32 * one["warp"] + lane for one in steps if one["kind"] == kind for lane, _ in one["lanes"]}
    return {"own elements": own_elements, "local memory": local_memory, "an atomic": an_atomic, "three steps": three_steps,
            "whole sectors": whole_sectors}[needs](case, launch, group, steps, cells, who)


def own_elements(case, launch, group, steps, cells, who):
    """Element i belongs to item i, or where there are more elements than items, each item has every n-th one."""
    for i, items in sorted(cells.get(("b", "store"), {}).items()):
        if items != {i % len(group)}:
            place = lambda k: f"item {k % case.group[0]},{k // case.group[0]}" if len(case.group) > 1 else f"item {k}"
            return f"the values are right, but {place(min(items))} writes b[{i}], which {place(i % len(group))} should do"
    return ""


def local_memory(case, launch, group, steps, cells, who):
    if who("store") != group:
        return f"the values are right, but {'no item writes' if not who('store') else 'not every item writes'} to local memory"
    if who("load") != group:
        return f"the values are right, but {'no item takes' if not who('load') else 'not every item takes'} an element out of local memory"
    return "" if launch["barriers"] else "the values are right, but no item waits at a barrier"


def an_atomic(case, launch, group, steps, cells, who):
    """Each item takes part. A group may add up its number in local memory first."""
    if ("count", "atomic") not in cells or ("count", "store") in cells:
        return "the value is right, but no atomic operation changes count[0]"
    idle = sorted(group - set.union(who("store"), who("atomic"), *cells["count", "atomic"].values()))
    return f"the value is right, but item {idle[0]} adds nothing" if idle else ""


def three_steps(case, launch, group, steps, cells, who):
    """4 items read, then 2, then 1, and none more than two numbers in a step, and the sum."""
    if launch["barriers"] < 3:
        barriers = f"{launch['barriers'] or 'no'} barrier{'' if launch['barriers'] == 1 else 's'}"
        return f"the value is right, but the group meets at {barriers}: three steps need three"
    rounds, reads = [], set()  # the most items that read at once between two writes
    for one in [*steps, {"kind": "store"}]:
        lanes = {lane for lane, _ in one["lanes"]} if one["kind"] == "load" else set()
        rounds, reads = (rounds + [len(reads)], lanes) if one["kind"] == "store" else (rounds, max(reads, lanes, key=len))
    needed = [4, 2, 1]
    for most in rounds:
        if needed and most >= needed[0]:
            needed.pop(0)
    by_item = [sum(item in {lane for lane, _ in one["lanes"]} for one in steps if one["kind"] == "load") for item in group]
    if needed or max(by_item) > 2 * 3 + 1:
        return "the value is right, but not in three steps, in which 4 items add, then 2, then 1"
    return ""


def whole_sectors(case, launch, group, steps, cells, who):
    moved = sum(site["sectors"] for site in launch["sites"])
    least = sum(site["bytes"] for site in launch["sites"] if site["space"] != "local") // 32
    return f"the values are right, but {moved} sectors are moved where {least} would do" if moved > least else ""
