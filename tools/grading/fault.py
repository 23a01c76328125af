"""What went wrong with the input of a command."""

import argparse
import errno
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn


class Fault(Exception):
    """What is wrong with the input, in one line, for the person at the terminal."""


def exit_code(command: Callable[[], int], name: str = "lab") -> int:
    """Runs a command. What is wrong with its input, with a file, or with stdout, is printed in one line, which begins with its name."""
    code, wrong = 2, ""
    try:
        code = command()
        sys.stdout.flush()
    except Fault as fault:
        wrong = str(fault)
    except BrokenPipeError:  # the reader, such as head, has seen enough
        code = 0
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        full = f" (the folder for temporary files is {tempfile.gettempdir()}; TMPDIR names another one)" if error.errno == errno.ENOSPC else ""
        code, wrong = 2, f"{f'{error.filename}: ' if error.filename else ''}{error.strerror or error}{full}"
        try:
            if not error.filename:  # perhaps of stdout: a line shows it
                os.write(sys.stdout.fileno(), b"\n")
        except OSError as of_stdout:
            wrong = f"cannot write to stdout: {of_stdout.strerror}"
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # else Python tries again at its end
    except KeyboardInterrupt:
        code = 130
    if wrong:
        print(f"{name}: {wrong}", file=sys.stderr)
    return code


class Parser(argparse.ArgumentParser):
    """Reads the arguments of a command. Wrong ones raise a Fault."""

    def error(self, message: str) -> NoReturn:
        raise Fault(f"{message} ({self.prog} --help)")


def new_folder(name: str) -> Path:
    """A folder that a command is to make: it does not exist, or is empty."""
    path = Path(name)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise Fault(f"{path} is not empty: name a folder that does not exist")
    return path


def make_folder(path: Path, fill: Callable[[Path], None]) -> None:
    """Makes a folder that does not exist or is empty. It gets its name when it is complete: a full disk leaves no part of it."""
    target = Path(os.path.realpath(path))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        exists = target.is_dir()  # it may be a mount point, which cannot be replaced
        with tempfile.TemporaryDirectory(prefix=".lab-", dir=target if exists else target.parent) as scratch:
            new = Path(scratch, "new")
            fill(new)
            if not exists:
                os.replace(new, target)
            for one in new.iterdir() if exists else ():
                os.replace(one, target / one.name)
    except OSError as error:
        why = error.args[0][0][2] if isinstance(error, shutil.Error) else error.strerror  # the first of several
        raise Fault(f"cannot make {path}: {why}") from None
