"""What went wrong with the input of a command."""


class Fault(Exception):
    """What is wrong with the input, in one line, for the person at the terminal."""
