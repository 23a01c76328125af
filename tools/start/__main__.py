"""./lab start: sixteen puzzles for the first kernels, in OpenCL or CUDA. A file is checked whenever it is saved."""

import os
import select
import shutil
import sys
import textwrap
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE.parent / "explain"), str(HERE.parent)]

from cuda_judge import CudaJudge, puzzle_in_cuda  # noqa: E402
from judge import NO_VERDICT, RIGHT, Judge  # noqa: E402

from grading import marks  # noqa: E402
from grading.fault import exit_code  # noqa: E402
from grading.student import painted  # noqa: E402

KEYS = "h: a hint   n: the next puzzle   b: the one before   q: quit (all keys with Enter)"


class Start:
    """The puzzles, and a student's folder with a file for each. What is solved is not noted anywhere: the files show it."""

    def __init__(self, root, build, folder, cuda=False):
        self.puzzles = tomllib.loads((HERE / "puzzles.toml").read_text(encoding="utf-8"))["puzzle"]
        if cuda:
            self.puzzles = [puzzle_in_cuda(puzzle) for puzzle in self.puzzles]
        self.again = "./lab start --cuda" if cuda else "./lab start"
        self.folder, self.judge = folder, (CudaJudge if cuda else Judge)(root, build)
        self.shown_hints, self.at, self.saved, self.judged = 0, 0, 0, {}
        folder.mkdir(exist_ok=True)

    def stub(self, k):
        file = self.puzzles[k]["file"]
        return marks.stub((HERE / "puzzles" / file).read_text(encoding="utf-8"), file, repair=False)

    def path(self, k):
        """The student's file. One that is missing is made again, as it was in the beginning."""
        path = self.folder / self.puzzles[k]["file"]
        if not path.exists():
            path.write_text(self.stub(k), encoding="utf-8")
        return path

    def verdict(self, k):
        """The same text is judged once only, unless there was no verdict."""
        seen = k, self.path(k).read_bytes()
        if seen not in self.judged or self.judged[seen].state == NO_VERDICT:
            self.judged[seen] = self.judge.judge(self.puzzles[k], seen[1].decode("utf-8-sig", errors="replace"), self.stub(k), columns())
        return self.judged[seen]

    def unsolved(self):
        """Which puzzles are not solved. One that nobody has touched needs no run."""
        return [k for k in range(len(self.puzzles))
                if self.path(k).read_bytes() == self.stub(k).encode() or self.verdict(k).state != RIGHT]

    def show_task(self, k):
        puzzle = self.puzzles[k]
        print(f"\nPuzzle {k + 1} of {len(self.puzzles)}: {puzzle['title']}\n\n{wrapped(puzzle['task'])}\n\n"
              f"{wrapped(f'Change the file {self.path(k)}, and save it.')}")

    def show(self, k):
        """Judges the file, and shows what is found. Returns whether it is right."""
        self.path(k)
        self.saved = self.time_of_file()  # before it is judged: it may be saved again meanwhile
        one = self.verdict(k)
        print(f"\n{painted(one.state)}  {self.puzzles[k]['file']}")
        print("\n".join([*map(wrapped, one.faults), *(f"  {line}" for line in one.picture)]))
        if one.printed:
            print("\n".join(["  the kernel has printed:", *(f"    {line}" for line in one.printed)]))
        if one.state == RIGHT:
            print(f"\n{wrapped('The idea: ' + self.puzzles[k]['idea'])}")
        sys.stdout.flush()
        return one.state == RIGHT

    def hint(self):
        hints = self.puzzles[self.at]["hints"]
        if self.shown_hints == len(hints):
            return "There are no more hints. b and n lead to other puzzles; this one stays."
        self.shown_hints += 1
        return f"Hint {self.shown_hints} of {len(hints)}: {hints[self.shown_hints - 1]}"

    def go_to(self, k):
        self.at, self.shown_hints = k, 0
        self.show_task(k)
        self.show(k)
        print(f"\n{wrapped(KEYS)}")

    def session(self, k):
        """Until the student leaves, or all puzzles are solved."""
        self.go_to(k)
        while True:
            if select.select([sys.stdin], [], [], 0.3)[0]:
                word = os.read(sys.stdin.fileno(), 4096).decode(errors="replace").lower()  # a line, of a terminal
                if not word or word.strip() in ("q", "quit"):
                    break
                if word.strip() in ("h", "hint"):
                    print(wrapped(self.hint()))
                elif word.strip() in ("n", "next", "b", "back"):
                    self.go_to((self.at + (1 if word[0] == "n" else -1)) % len(self.puzzles))
                elif word.strip():
                    print(wrapped(f"'{word.strip()}' is not known. {KEYS}"))
            elif self.time_of_file() != self.saved:
                time.sleep(0.2)  # some editors write in several steps
                if self.show(self.at):
                    rest = self.unsolved()
                    if not rest:
                        print(f"\n{wrapped(END)}")
                        return
                    self.go_to(next((k for k in rest if k > self.at), rest[0]))
                else:
                    print(f"\n{wrapped(KEYS)}")
        self.leave()

    def leave(self):
        print(f"\nYour files stay in {self.folder}. To go on: {self.again}")

    def time_of_file(self):
        try:
            return (self.folder / self.puzzles[self.at]["file"]).stat().st_mtime_ns
        except OSError:
            return 0


END = ("All sixteen puzzles are solved. Next: ./lab run saxpy, and with it labs/01_saxpy/README.md. "
       "To try a puzzle again, delete its file.")


def columns():
    """That a line may have."""
    return min(90, shutil.get_terminal_size((90, 24)).columns)


def wrapped(text):
    return textwrap.fill(text, columns(), initial_indent="  ", subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def main(words):
    start = Start(*map(Path, words[:3]), cuda="--cuda" in words)
    words = [word for word in words if word != "--cuda"]
    if start.judge.without:
        print(f"lab: {start.judge.without}", file=sys.stderr)
    rest = start.unsolved()
    solved = [str(k + 1) for k in range(len(start.puzzles)) if k not in rest]
    print(f"Solved: {' '.join(solved) or 'none yet'} (of {len(start.puzzles)})")
    if words[3:]:
        k = int(words[3]) - 1
    elif rest:
        k = rest[0]
    else:
        print(f"\n{wrapped(END)}")
        return 0
    if os.isatty(0) and sys.stdout.isatty():
        try:
            start.session(k)
        except KeyboardInterrupt:
            start.leave()
        return 0
    start.show_task(k)
    return 0 if start.show(k) else 1


if __name__ == "__main__":
    sys.exit(exit_code(lambda: main(sys.argv[1:])))
