"""Finds in the source of a rung with how many threads per block it launches its kernels, where that is a constant."""

import math
import re

CONSTANT = re.compile(r"\bconst(?:expr)?\s+(?:int|unsigned|std::size_t|auto)\s+(\w+\s*=[^;{}]*);")
SHAPE = re.compile(r"\bdim3\s+(\w+)(\([^;]*\));")
LAUNCH = re.compile(r"(\w+)(?:<[^<>;]*>)?\s*<<<(.*?)>>>", re.DOTALL)


def text_with_headers(source):
    """The text of a source and of the headers of its lab, without comments."""
    files, rest = [], [source]
    while rest:
        file = rest.pop(0)
        files.append(re.sub(r"//.*", "", file.read_text(encoding="utf-8")))
        for name in re.findall(r'^#include "([^"/]+)"', files[-1], re.MULTILINE):
            found = next((path for path in (file.parent / name, file.parent.parent / name) if path.is_file()), None)
            if found and found not in rest:
                rest.append(found)
    return files


def parts_of(arguments):
    """Splits at the commas that stand in no brackets."""
    parts, depth = [""], 0
    for letter in arguments:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def value_of(expression, constants, depth=0):
    """Threads of a block: an expression of constants and numbers, or of several such in dim3(). None if it is anything else."""
    shape = re.fullmatch(r"(?:dim3)?\((.*)\)", expression.strip())
    if shape and len(parts_of(shape[1])) > 1:
        values = [value_of(part, constants, depth) for part in parts_of(shape[1])]
        return None if None in values else math.prod(values)
    for name in set(re.findall(r"[A-Za-z_]\w*", re.sub(r"(?<=\d)[uU]", "", expression))):
        known = constants.get(name, set())
        value = value_of(next(iter(known)), constants, depth + 1) if len(known) == 1 and depth < 9 else None
        if value is None:
            return None
        expression = re.sub(rf"\b{name}\b", str(value), expression)
    expression = re.sub(r"(?<=\d)[uU]", "", expression)
    if not re.fullmatch(r"[0-9\s()]+(?:[-+*/][0-9\s()]+)*", expression):
        return None
    try:
        return int(eval(expression.replace("/", "//"), {"__builtins__": {}}))  # numbers and signs only
    except (SyntaxError, TypeError, ZeroDivisionError):
        return None


def launches_of(source):
    """{name of what is launched: its blocks' threads, each a number or None where it is no constant}"""
    texts = text_with_headers(source)
    constants = {}
    for text in texts:
        here = {}
        for names in CONSTANT.findall(text):
            for name, equals, value in (part.partition("=") for part in parts_of(names)):
                if equals:
                    here.setdefault(name.strip(), set()).add(value)
        for name, value in SHAPE.findall(text):
            here.setdefault(name, set()).add(value)
        constants = {**here, **constants}  # those of the source count, not those of the same name in a header
    launches = {}
    for name, arguments in (found for text in texts for found in LAUNCH.findall(text)):
        if len(parts_of(arguments)) > 1:
            launches.setdefault(name, set()).add(value_of(parts_of(arguments)[1], constants))
    return launches


def launched_block(kernel, kernels, launches):
    """The threads per block with which a kernel is launched, or None where that is no constant, or not the same everywhere.
    A kernel that no launch names is launched through a pointer or parameter: by one of the names that are no kernels."""
    blocks = launches.get(kernel)
    if blocks is None:
        blocks = set().union(*(blocks for name, blocks in launches.items() if name not in kernels))
    return next(iter(blocks)) if len(blocks) == 1 else None
