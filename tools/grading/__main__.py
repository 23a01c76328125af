"""python3 -m grading ROOT COMMAND...: what ./lab calls for hand-outs and grading."""

import sys
from pathlib import Path

from . import grade, handout, package
from .fault import Fault

COMMANDS = {
    "handout": handout.main,
    "grade": grade.main,
    "package-autograder": package.autograder,
    "package-classroom": package.classroom,
}

if __name__ == "__main__":
    try:
        sys.exit(COMMANDS[sys.argv[2]](Path(sys.argv[1]), sys.argv[3:]))
    except Fault as fault:
        print(f"lab: {fault}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
