"""./lab grade --board: the times of a class as multiples of the rung's, under pseudonyms, for everybody to see."""

from __future__ import annotations

import hashlib
import hmac
import html
from pathlib import Path
from typing import Any

from . import report
from .exercises import Lab
from .judge import PASSED, Judge

FIRST = ("amber azure black blue brave bright bronze calm clever coral crimson eager fast golden green grey "
         "happy jade keen kind light lilac lucky merry orange purple quick quiet red silver swift violet")
SECOND = ("badger bear beaver crane deer dolphin eagle falcon finch fox gecko hare hawk heron ibex jaguar "
          "koala lark lynx marten newt otter owl panda raven robin salmon seal stork swan tiger wolf")
SKELETON = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title><style>
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 50em; padding: 0 1em; color: #222; background: #fff }}
table {{ border-collapse: collapse }} th, td {{ padding: .3em .8em; border-bottom: 1px solid #ccc; text-align: left }}
td.number {{ text-align: right }}
</style></head><body><h1>{title}</h1>
<p>Times as multiples of the time of the lab's rung, which ran in turns with each submission on the same device. Only right submissions are
listed. Your feedback has your name on this board.</p>
{tables}
</body></html>
"""


def pseudonyms(secret: bytes, names: list[str]) -> dict[str, str]:
    """A name for each submission that only its feedback gives away; the same in every run with one --out."""
    found: dict[str, str] = {}
    for name in sorted(names):
        for number in range(len(names)):
            bits = int.from_bytes(hmac.digest(secret, f"board/{number}/{name}".encode(), hashlib.sha256)[:8], "big")
            words = [words.split()[bits >> shift & 31] for words, shift in ((FIRST, 0), (SECOND, 5))]
            found[name] = f"{'-'.join(words)}-{10 + (bits >> 10) % 90}"
            if list(found.values()).count(found[name]) == 1:
                break
    return found


def ranks(lab: Lab, judge: Judge,
          results: list[dict[str, Any]]) -> tuple[dict[tuple[str, str, str], list[tuple[float, str]]], list[str]]:
    """For each exercise, back end and device the ratios with the submissions, the fastest first, and whose times another device took.

    A submission counts where all tests of an exercise but that of speed give all points."""
    found: dict[tuple[str, str, str], list[tuple[float, str]]] = {}
    elsewhere: list[str] = []
    for result in results:
        for exercise in lab.exercises:
            one = result["exercises"].get(exercise.name, {"tests": [], "backend": ""})
            timed = [test for test in one["tests"] if test["device"]]
            if not timed or any(test["outcome"] != PASSED for test in one["tests"] if test not in timed):
                continue
            if timed[0]["device"] != judge.timed_on(one["backend"]):
                elsewhere.append(result["name"])
                continue
            found.setdefault((exercise.title, one["backend"], timed[0]["device"]), []).append((timed[0]["ratio"], result["name"]))
    return {key: sorted(ratios) for key, ratios in found.items()}, sorted(set(elsewhere))


def write(lab: Lab, judge: Judge, results: list[dict[str, Any]], out: Path) -> list[str]:
    """Writes board.html, and each pseudonym into the feedback. Returns lines about what is missing from the board."""
    names = pseudonyms(judge.secret, [result["name"] for result in results])
    found, elsewhere = ranks(lab, judge, results)
    tables = []
    for (title, backend, device), ratios in found.items():
        rows, lines = sorted([*((ratio, names[name]) for ratio, name in ratios), (1.0, "the rung")]), []
        for rank, (ratio, name) in enumerate(rows, 1):
            lines.append([report.Cell(f'<td class="number">{rank}</td>'), name, report.Cell(f'<td class="number">{ratio:.2f}</td>')])
        tables += [f"<h2>{html.escape(f'{title} ({backend})')}</h2>", f"<p>Device: {html.escape(device)}</p>",
                   report.grid(["", "name", "times the rung's time"], lines)]
    report.write(out / "board.html", SKELETON.format(title=f"Lab {lab.folder[:2]}, {html.escape(lab.name)}: the board",
                                                     tables="\n".join(tables) or "<p>No right submission has been timed.</p>"))
    for result in results:
        report.for_submission(lab, out / "submissions" / result["name"], result | {"pseudonym": names[result["name"]]})
    told = f"not on the board, because they were timed on another device (--regrade): {', '.join(map(report.printable, elsewhere))}"
    return [told] if elsewhere else []
