"""The marks of exercises in the files of a lab, and what a hand-out holds in their place.

    // EXERCISE dot                    students write what follows
    //| // TODO: add up the products.  what they receive in its place
    //| return 0;
    return sum_of(a, b);
    // END EXERCISE

    // ANSWER dot tree                 what follows tells the answers of these exercises
    return sum_of(a, c);
    // END ANSWER

A rung with an ANSWER is withheld as a whole. Where //| lines follow that mark, they take the place of the answer. In a page
the marks are comments, which readers do not see: <!-- ANSWER dot, the //| lines, -->; then the answer and <!-- END ANSWER -->.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from .fault import Fault

INSTEAD = re.compile(r" *//\| ?")


@dataclass(frozen=True)
class Region:
    """The lines between two marks, from EXERCISE or ANSWER to END."""

    kind: str
    names: list[str]  # of exercises
    begin: str  # the marks as they stand in the file
    end: str
    instead: list[str]
    lines: list[str]


def read(text: str, where: str) -> list[str | Region]:
    """The lines of a file, and its marked regions in their place. @param where the name of the file, for messages"""
    pieces: list[str | Region] = []
    if not any(word in text for word in ("EXERCISE", "ANSWER", "//|")):  # most files
        return [*text.splitlines()]
    region: Region | None = None
    for number, line in enumerate(text.splitlines(), 1):
        def wrong(what: str) -> Fault:
            return Fault(f"{where}:{number}: {what}")

        words = re.sub(r"^<!--(.*?)(-->)?$", r"//\1", line).split()
        if words[:2] in (["//", "EXERCISE"], ["//", "ANSWER"]):
            if region:
                raise wrong(f"'{line.strip()}' stands between '{region.begin.strip()}' and its end")
            if len(words) < 3 or (words[1] == "EXERCISE" and len(words) > 3):
                raise wrong(f"'{line.strip()}' names no exercise, or too many")
            region = Region(words[1], words[2:], line, "", [], [])
        elif words[:2] == ["//", "END"] and words[2:] in (["EXERCISE"], ["ANSWER"]):
            if not region or region.kind != words[2]:
                raise wrong(f"'{line.strip()}' ends nothing that was begun")
            pieces.append(Region(region.kind, region.names, region.begin, line, region.instead, region.lines))
            region = None
        elif line == "-->" and region and not region.lines:
            continue
        elif INSTEAD.match(line):
            if not region or region.lines:
                raise wrong("'//|' does not follow a mark")
            indent = " " * (len(region.begin) - len(region.begin.lstrip()))
            region.instead.append((indent + INSTEAD.sub("", line, 1)).rstrip())
        else:
            (region.lines if region else pieces).append(line)
    if region:
        raise Fault(f"{where}: '{region.begin.strip()}' has no end")
    return pieces


def regions(text: str, where: str) -> list[Region]:
    return [piece for piece in read(text, where) if isinstance(piece, Region)]


def joined(lines: list[str]) -> str:
    return "\n".join([*lines, ""])


def stub(text: str, where: str, repair: bool) -> str:
    """What students receive of an exercise's file. @param repair whether the lines between the marks stay"""
    lines: list[str] = []
    for piece in read(text, where):
        if isinstance(piece, Region) and piece.kind == "EXERCISE":
            lines += [piece.begin, *piece.instead, *(piece.lines if repair else []), piece.end]
        elif isinstance(piece, Region):
            lines += piece.instead or piece.lines
        else:
            lines.append(piece)
    return joined(lines)


def without_answers(text: str, where: str, exercises: set[str]) -> str:
    """A text with //| lines in place of the answers of these exercises. All marks go."""
    lines: list[str] = []
    for piece in read(text, where):
        if isinstance(piece, Region):
            lines += piece.instead if exercises & set(piece.names) else piece.lines
        else:
            lines.append(piece)
    return joined(lines)


def fits(text: str, row: dict[str, Any]) -> bool:
    """Whether a mistake can be planted in a text."""
    return all(text.count(edit["text"]) == 1 for edit in row.get("edits", [row]))


def planted(text: str, row: dict[str, Any], where: str) -> str:
    """A text with a mistake in it. @param row of tests/mistakes/NN_name.toml"""
    for edit in row.get("edits", [row]):
        if text.count(edit["text"]) != 1:
            raise Fault(f"{where}: the text of the mistake '{row['id']}' occurs {text.count(edit['text'])} times: "
                        f"{edit['text'].strip().splitlines()[0]}")
        text = text.replace(edit["text"], edit["by"])
    return text
