"""What the commands of this folder share: arguments, files and refusals. Bad input is one line on stderr and exit code 2."""

import argparse
import contextlib
import os
import pathlib
import re
import sys


class Refusal(Exception):
    """Why nothing can be shown, in one line."""


class Parser(argparse.ArgumentParser):
    def __init__(self, **options):
        super().__init__(allow_abbrev=False, **options)

    def error(self, message):
        raise Refusal(message)


def whole_number(least):
    def parse(text):
        if not re.fullmatch(r"\d{1,9}", text) or int(text) < least:
            raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from {least} on")
        return int(text)
    return parse


def write(path, text):
    """Writes a file under another name until it is whole, so that an earlier one stays when that fails."""
    target = pathlib.Path(os.path.realpath(path))
    new = target.with_name(f".{target.name}.new")
    try:
        new.write_text(text, encoding="utf-8", newline="")
        os.replace(new, target)
    except OSError as error:
        with contextlib.suppress(OSError):  # there may be none
            new.unlink()
        raise Refusal(f"cannot write {path}: {error.strerror}") from None


def refusing(function, *arguments, name="explain"):
    """Runs a command and gives its exit code."""
    try:
        code = function(*arguments) or 0
        sys.stdout.flush()
        return code
    except Refusal as refusal:
        print(f"{name}: {refusal}", file=sys.stderr)
        return 2
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # the reader, such as head, has seen enough
            return 0
        print(f"{name}: cannot write to {error.filename or 'stdout'}: {error.strerror}", file=sys.stderr)
        return 2
