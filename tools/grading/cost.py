"""The check `cost`: what a submission's kernels ask a GPU for, and what they may ask for.

Oclgrind runs them, and tools/explain/counts.cpp counts; those in CUDA the emulator runs and counts. A bound is a formula of the numbers of the case and of what was launched,
such as "n / 8 + 2 * groups". All launches of a case count together."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from explain import report

WARP = 32  # work-items that run together
SECTOR = 32  # bytes
ROOM_IN_CUDA = 1.05  # bounds are counted by hand for the rung in OpenCL; its twin adds up a few partial results more
PRINTS = ". Printing costs, too: take it out"
MANY = 4.0  # times what the rung asks for: where an exercise bounds a count less, another algorithm may have so much of it
ROOM_OF_WARP = 8  # for each count, beyond MANY times: of the 0 splits of a rung
MOST_ALONE = 0.25  # of the work of a group that one item of it does
MAX_QUOTED = 80  # characters of a line of a kernel

# What an H100 does in the time in which it could begin one instruction of a warp, of 9e11 in a second: so many of these cost as
# much as a sector (5.4e12 bytes a second from its caches), as a pass of shared memory, and as a launch (1 us). An instruction
# of a warp that waits for the one before takes some 8 cycles of the 528 instructions that others could begin.
SLOTS = {"global_sectors": 5.3, "local_passes": 4.0}
OF_LAUNCH, OF_WAITING = 9e5, 8 * 528


@dataclass(frozen=True)
class Count:
    """What may be bounded: by a most, except for `lanes`."""

    words: str
    unit: str = ""  # the count of a line that is added up; "": no line has it
    place: str = ""  # of the lines that have it: global, local, memory (both) or branch
    without: str = ""  # the kind of access that does not count


COUNTS = {
    "global_requests": Count("requests of global memory", "requests", "global"),
    "global_sectors": Count("sectors of global memory", "sectors", "global"),
    "bytes_read": Count("bytes read from global memory", "sectors", "global", "store"),
    "bytes_written": Count("bytes written to global memory", "sectors", "global", "load"),
    "local_requests": Count("requests of local memory", "requests", "local"),
    "local_passes": Count("passes of local memory", "passes", "local"),
    "passes": Count("passes of local memory per request", "passes", "local"),
    "barriers": Count("barriers of work-groups"),
    "splits": Count("splits of a warp", "splits", "branch"),
    "instructions": Count("instructions of warps"),
    "lanes": Count("of the lanes work", "requests", "memory"),
}
SHARES = ("passes", "lanes")  # of a request: those of the rung say nothing about another algorithm
LAUNCHED = ("launches", "groups", "items", "warps")  # what formulas may name beside the numbers of a case
FUNCTIONS: dict[str, Callable[..., Any]] = {"min": min, "max": max, "ceil": math.ceil, "log2": math.log2}


def value(formula: str, sizes: dict[str, float]) -> float:
    """The value of a formula of exercises.toml, a file that is trusted. Raises ValueError for what is none, in one line."""
    try:
        found = float(eval(formula, {"__builtins__": {}}, {**FUNCTIONS, **sizes}))
    except NameError as error:
        raise ValueError(f"'{formula}' names '{error.name}'; there are: {' '.join(sorted(sizes))}") from None
    except Exception as error:
        raise ValueError(f"'{formula}' has no value: {getattr(error, 'msg', None) or error}") from None
    if not math.isfinite(found):
        raise ValueError(f"'{formula}' has no value")
    return found


def sizes_of(case: dict[str, Any]) -> dict[str, float]:
    """The numbers of a case by name. Of one that is chosen by chance, "{10-40}", the smallest."""
    found = {}
    for name, one in case.items():
        drawn = re.fullmatch(r"\{(\d+)-[\d:]+\}", one) if isinstance(one, str) else None
        if drawn or type(one) is int:
            found[name] = float(drawn[1] if drawn else one)
    return found


def check_bounds(bounds: Any, cases: list[dict[str, Any]]) -> None:
    """Raises ValueError for bounds that cannot hold for these cases, in one line."""
    if not isinstance(bounds, dict) or not bounds:
        raise ValueError("the check 'cost' has no bounds")
    for name, formula in bounds.items():
        if name not in COUNTS:
            raise ValueError(f"nothing that is counted is named '{name}'; there are: {' '.join(COUNTS)}")
        if not isinstance(formula, str):
            raise ValueError(f"the bound of {name} is a formula, a text in quotes")
        for case in cases:
            value(formula, sizes_of(case) | dict.fromkeys(LAUNCHED, 1.0))


def counted(counts: str) -> report.Explained:
    """What was counted, as the plugin and the emulator write it: a line of JSON for each launch. Raises ValueError for anything else."""
    launches = [json.loads(line) for line in counts.splitlines()]
    if not launches or not all(one["whole"] for one in launches):
        raise ValueError("not every launch was counted")
    for site in (site for one in launches for site in one["sites"]):
        site["file"] = Path(site["file"]).name
        site["space"] = {"shared": "local"}.get(site["space"], site["space"])
    return report.explained("", [], WARP, launches)


def work(counts: str) -> float:
    """What a run asks a GPU for, in instructions of warps: of each launch what it has most of. Raises ValueError as counted() does."""
    total = 0.0
    for launch in counted(counts).launches:
        sums = counted(json.dumps(launch)).sums
        most = max([launch["instructions"], OF_WAITING * launch["instructions"] / max(1, launch["warps"]),
                    *(weight * sums[name] for name, weight in SLOTS.items())])
        total += OF_LAUNCH + most
    return total


def has(line: report.Line, count: Count) -> bool:
    place = "branch" if line.kind == "branch" else "local" if line.space == "local" else "global"
    return line.kind != count.without and count.place in (place, "memory" if place != "branch" else "")


def amount(one: report.Explained, name: str) -> float:
    """How much of one of COUNTS a run has."""
    count = COUNTS[name]
    lines = [line for line in one.lines if has(line, count)]
    total = float(sum(line.counts[count.unit] for line in lines))
    if name == "lanes":
        return sum(line.counts["lanes"] for line in lines) / max(1, WARP * total)
    if name == "barriers":
        return float(one.sums["barriers"])
    if name == "instructions":
        return float(sum(launch.get("instructions") or launch["executed"][0] for launch in one.launches))
    if name == "passes":  # where ptxas makes one load of several, each of them counts as a request
        return total / max(1, sum(site["requests"] * site.get("joined", 1) for launch in one.launches for site in launch["sites"]
                                  if site["kind"] != "branch" and site["space"] == "local"))
    return SECTOR * total if name.startswith("bytes_") else total


def bounds_of_rung(counts: str) -> dict[str, str]:
    """Bounds of all counts that add up, from those of the rung. Raises ValueError as counted() does."""
    one = counted(counts)
    return {name: f"{MANY * amount(one, name):.0f} + {ROOM_OF_WARP} * warps" for name in COUNTS if name not in SHARES}


def one_item(one: report.Explained) -> str:
    """In words that one work-item of each group does a large part of what all do; "" where it does not, or nobody counts it."""
    _, busiest, everybody = (sum(numbers) for numbers in zip(*(launch.get("executed", (0, 0, 0)) for launch in one.launches)))
    share = busiest / max(1, everybody)
    several = one.sums["items"] >= WARP * one.sums["groups"]
    return f"; one work-item of a group does {100 * share:.0f}% of the work" if several and share > MOST_ALONE else ""


def worst_line(one: report.Explained, name: str) -> report.Line | None:
    """The line in which a kernel could save most of what it asks for too much."""
    count = COUNTS[name]

    def rank(line: report.Line) -> tuple[float, float, float]:
        counts = line.counts
        if name == "lanes":
            return counts["requests"] - counts["lanes"] / WARP, 0, 0
        unused = counts[count.unit] - counts["bytes"] / (SECTOR if count.unit == "sectors" else 4 * WARP)
        return counts[count.unit] - counts[f"min_{count.unit}"], unused, counts[count.unit]  # a unit without a least has 0

    return max((line for line in one.lines if has(line, count)), key=rank, default=None)


def number(amount_of_it: float) -> str:
    """At most one digit after the point, and none for a whole number."""
    return f"{amount_of_it:.1f}".removesuffix(".0")


def asked_by(line: report.Line, unit: str, hidden: bool) -> str:
    """What a line asks for. @param hidden without counts that tell the size of the case"""
    requests = line.counts["requests"]
    if unit == "splits":
        times = "often" if hidden else f"{line.counts['splits']} of {requests} times"
        return f"this branch splits a warp {times}"
    lanes = number(line.mean("lanes"))
    by = f" by {lanes} of {WARP} lanes" if lanes != str(WARP) else ""
    begin = "requests" if hidden else f"{requests} requests"
    if unit == "requests":
        return begin + by
    took, least = number(line.mean(unit)), number(line.mean(f"min_{unit}"))
    each = f"{took} {unit if took != '1' else unit[:-1] if unit == 'sectors' else 'pass'} each"
    return f"{begin} of {each}{f' where {least} would do' if took != least else by}"


def too_much(counts: str, bounds: dict[str, str], case: dict[str, Any], file: str, text: str,
             cuda: bool = False) -> tuple[str, str] | None:
    """The first bound that a run exceeds, in words with counts and in words that do not tell the size of the case. None if it
    exceeds none.

    @param counts as the plugin writes them. ValueError, LookupError and TypeError are raised for anything else
    @param file,text the submission's file, of which a line is quoted
    @param cuda whether it is told in CUDA's words
    """
    one = counted(counts)
    sizes = sizes_of(case) | {name: float(one.sums[name]) for name in LAUNCHED}
    source = text.splitlines()
    for name, formula in bounds.items():
        found, bound, count = amount(one, name), value(formula, sizes), COUNTS[name]
        bound *= 1 if not cuda or name == "passes" else 1 / ROOM_IN_CUDA if name == "lanes" else ROOM_IN_CUDA
        if (found >= bound) if name == "lanes" else (found <= bound):
            continue
        words = in_cuda(count.words) if cuda else count.words
        if name == "lanes":
            sums = [f"{100 * found:.0f}% {words}, at least {100 * bound:.0f}% asked for"] * 2
        else:
            times = number(found / bound) if bound > 0 else "many"
            sums = [f"{number(found)} {words} {'on average' if name == 'passes' else 'in all'}, at most {number(bound)} asked for",
                    f"{'slightly more than' if times == '1' else f'{times} times'} the {words} that are asked for"]
        if count.unit and (line := worst_line(one, name)):
            sums = [f"{asked_by(line, count.unit, hidden)}: {printed}" for hidden, printed in zip((False, True), sums)]
            if line.file == file and 0 < line.line <= len(source):
                quoted = " ".join(source[line.line - 1].split())
                quoted = quoted if len(quoted) <= MAX_QUOTED else f"{quoted[:MAX_QUOTED - 3]}..."
                sums = [f'line {line.line}, "{quoted}": {printed}{PRINTS if "printf" in quoted else ""}' for printed in sums]
        return sums[0] + one_item(one), sums[1] + one_item(one)
    return None


def in_cuda(words: str) -> str:
    return words.replace("local memory", "shared memory").replace("work-groups", "blocks")
