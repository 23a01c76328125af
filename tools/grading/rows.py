"""Reads the injected faults of a lab: tests/mistakes/NN_name.toml. CONTRIBUTING.md describes the fields."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from typing import Any


def rung_of(file: str) -> list[str]:
    """The rung that a numbered file holds by its name: opencl/02_one_item.cl is opencl_one_item."""
    numbered = re.fullmatch(r"(cpu|cuda|opencl)/\d+_(\w+)\.\w+", file)
    return [f"{numbered[1]}_{numbered[2]}"] if numbered else []


@cache
def rows_in(text: str) -> list[dict[str, Any]]:
    """The rows in the text of a file of them. Each has its id, its file and a list of its rungs beside the fields given.
    @throws ValueError, which tomllib's errors are too"""
    rows = []
    for file, faults in tomllib.loads(text).items():
        for name, fields in faults.items() if isinstance(faults, dict) else [(file, faults)]:
            if not isinstance(fields, dict) or fields.keys() & {"id", "file"}:
                raise ValueError(f"a row begins with [\"FILE\".ID]: {file}")
            rung = fields.get("rung", rung_of(file))
            rows.append({**fields, "id": name, "file": file, "rung": [rung] if isinstance(rung, str) else rung})
    return rows
