"""./lab package-autograder, ./lab package-classroom."""
from pathlib import Path


def autograder(root: Path, words: list[str]) -> int:
    raise NotImplementedError


def classroom(root: Path, words: list[str]) -> int:
    raise NotImplementedError
