"""What went wrong with the input of a command."""

import argparse
from typing import NoReturn


class Fault(Exception):
    """What is wrong with the input, in one line, for the person at the terminal."""


class Parser(argparse.ArgumentParser):
    """Reads the words of a command. What is wrong with them is a Fault."""

    def error(self, message: str) -> NoReturn:
        raise Fault(f"{message} ({self.prog} --help)")
