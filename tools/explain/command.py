"""What the commands of this folder share: arguments, files and refusals. Bad input is one line on stderr and exit code 2."""

import argparse
import contextlib
import os
import pathlib
import re
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from grading.fault import Fault as Refusal, exit_code  # noqa: E402


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
    return exit_code(lambda: function(*arguments) or 0, name)
