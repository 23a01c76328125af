"""python3 -m grading ROOT COMMAND...: what ./lab calls for hand-outs, grading and model answers."""

import sys
from pathlib import Path

from . import grade, handout, package, sealed
from .fault import exit_code

COMMANDS = {
    "handout": handout.main,
    "grade": grade.main,
    "instructor": sealed.main,
    "package-autograder": package.autograder,
    "package-classroom": package.classroom,
}

if __name__ == "__main__":
    sys.exit(exit_code(lambda: COMMANDS[sys.argv[2]](Path(sys.argv[1]), sys.argv[3:])))
