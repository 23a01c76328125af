"""Whether a kernel whose values are right follows the idea of its puzzle: what the items of the first launch touched decides."""

from collections import Counter
from functools import partial
from math import prod

from occupancy import LIMITS, USUAL_DEVICE, capability_of, resident_blocks
from picture import touched, under_way


def lacking(puzzle, case, launch):
    """What is missing, in a sentence; "" when nothing is. @param puzzle its entry of puzzles.toml"""
    group = set(range(prod(case.group)))
    steps = [one for one in launch["steps"] if one["space"] == "local"]
    cells = {}  # of global memory
    for (name, kind), found in touched(launch).items():
        if name in case.arguments:
            cells[name, kind] = found
    who = lambda kind: {32 * one["warp"] + lane for one in steps if one["kind"] == kind for lane, _ in one["lanes"]}
    return {"own elements": own_elements, "local memory": local_memory, "an atomic": an_atomic, "three steps": three_steps,
            "whole sectors": whole_sectors, "few reads": partial(few_reads, most=puzzle.get("most")), "no bank conflict": no_bank_conflict,
            "few requests": few_requests, "all groups": all_groups,
            "much under way": much_under_way}[puzzle["needs"]](case, launch, group, steps, cells, who)


def own_elements(case, launch, group, steps, cells, who):
    """Element i belongs to item i, or where there are more elements than items, each item has every n-th one."""
    for i, items in sorted(cells.get(("b", "store"), {}).items()):
        if items != {i % len(group)}:
            place = lambda k: f"item {k % case.group[0]},{k // case.group[0]}" if len(case.group) > 1 else f"item {k}"
            return f"the values are right, but {place(min(items))} writes b[{i}], which {place(i % len(group))} should do"
    return ""


def through_local(case, launch, group, steps, cells, who):
    if who("store") != group:
        return f"the values are right, but {'no item writes' if not who('store') else 'not every item writes'} to local memory"
    if who("load") != group:
        return f"the values are right, but {'no item takes' if not who('load') else 'not every item takes'} an element out of local memory"
    return ""


def local_memory(case, launch, *found):
    if lacks := through_local(case, launch, *found):
        return lacks
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


def few_reads(case, launch, group, steps, cells, who, most):
    """Each item reads one element of a, and no more than `most` numbers in local memory."""
    own = Counter(item for items in cells.get(("a", "load"), {}).values() for item in items)
    if own and max(own.values()) > 1:
        item, many = own.most_common(1)[0]
        return f"the values are right, but item {item} alone reads {many} numbers of a"
    if any(kind == "atomic" for _, kind in cells) or who("atomic"):
        return "the values are right, but at an atomic operation the items wait for each other"
    if any(name != "a" and kind == "load" for name, kind in cells):
        return "the values are right, but numbers go from item to item through global memory"
    if steps and not most:
        return "the values are right, but numbers go from item to item through local memory"
    reads = Counter()
    for one in steps:
        for lane, _ in one["lanes"] if one["kind"] == "load" else ():
            reads[32 * one["warp"] + lane] += one["bytes"] // 4
    item, many = reads.most_common(1)[0] if reads else (0, 0)
    return f"the values are right, but item {item} alone reads {many} numbers from local memory" if many > most else ""


def no_bank_conflict(case, launch, *found):
    if lacks := through_local(case, launch, *found):
        return lacks
    passes, least = (sum(site[name] for site in launch["sites"]) for name in ("passes", "min_passes"))
    if passes > least:
        return f"the values are right, but local memory takes {passes} passes where {least} would do"
    return whole_sectors(case, launch, *found)


def few_requests(case, launch, *_):
    """Each group reads each number of its rows of a and of its columns of b once, one for each item at a time."""
    made = sum(site["requests"] for site in launch["sites"] if (site["space"], site["kind"]) == ("global", "load"))
    least = launch["groups"] * 2 * case.arguments["width"] // case.group[0]
    return f"the values are right, but a and b are read with {made} requests where {least} would do" if made > least else ""


def all_groups(case, launch, *found):
    """As many groups fit on a multiprocessor as it has places for."""
    if lacks := through_local(case, launch, *found):
        return lacks
    device = LIMITS[capability_of(USUAL_DEVICE)]
    fit, places = (resident_blocks(device, 0, prod(case.group), size) for size in (launch["local"], 0))
    return f"the values are right, but a multiprocessor has room for {fit} groups, and places for {places}" if fit < places else ""


def much_under_way(case, launch, *found):
    """Before a warp waits, it has asked for all that it needs."""
    if lacks := whole_sectors(case, launch, *found):
        return lacks
    asked, least = under_way(launch), 4 * len(case.arguments["a"])
    return f"the values are right, but a warp has {asked} bytes under way where it could have {least}" if asked < least else ""
