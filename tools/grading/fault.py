"""What went wrong with the input of a command."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn


class Fault(Exception):
    """What is wrong with the input, in one line, for the person at the terminal."""


def exit_code(command: Callable[[], int]) -> int:
    """Runs a command. What is wrong with its input, or with a file, is told in one line."""
    try:
        return command()
    except Fault as fault:
        print(f"lab: {fault}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"lab: {f'{error.filename}: ' if error.filename else ''}{error.strerror or error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


class Parser(argparse.ArgumentParser):
    """Reads the words of a command. What is wrong with them is a Fault."""

    def error(self, message: str) -> NoReturn:
        raise Fault(f"{message} ({self.prog} --help)")


def new_folder(name: str) -> Path:
    """A folder that a command is to make: it does not exist, or is empty."""
    path = Path(name)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise Fault(f"{path} is not empty: name a folder that does not exist")
    return path
