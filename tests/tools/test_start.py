"""./lab start: what is unsolved, wrong and right, with Oclgrind and without it, and in CUDA; and the session at a terminal."""

import os
import pathlib
import pty
import select
import shutil
import signal
import subprocess
import sys
import termios
import time

import pytest
from conftest import ROOT, environment_with, refused, run

BUILD = pathlib.Path(os.environ.get("GPULAB_BUILD", ROOT / "build/default"))
PUZZLES = sorted((ROOT / "tools/start/puzzles").glob("*.cl"))
IN_CUDA = sorted((ROOT / "tools/start/puzzles").glob("*.cu"))
IDEA = "The idea:"


@pytest.fixture(autouse=True)
def built(request):
    program = "start_cuda" if "in_cuda" in request.node.name else "start"
    if not (BUILD / "bin" / program).is_file():
        pytest.skip(f"bin/{program} has not been built")


@pytest.fixture(scope="module")
def counted():
    """For what needs the counts of Oclgrind's plugin."""
    done = run(sys.executable, "-B", ROOT / "tools/explain/plugin.py", ROOT, BUILD)
    if done.returncode:
        pytest.skip(done.stderr.strip())


def command(folder, *words, build=BUILD):
    return sys.executable, "-B", ROOT / "tools/start", ROOT, build, folder, *words


def start(folder, *words, build=BUILD, **environment):
    """Runs it without a terminal. What it says of a puzzle, with its lines joined."""
    done = run(*command(folder, *words, build=build), **environment)
    done.words = " ".join(done.stdout.split())
    return done


def change(folder, number, old, new, puzzles=PUZZLES):
    """Puts a changed answer into the student's folder."""
    puzzle = puzzles[number - 1]
    text = puzzle.read_text()
    assert text.count(old) == 1, old
    (folder / puzzle.name).write_text(text.replace(old, new))


def answer(folder, *numbers):
    for number in numbers:
        shutil.copy(PUZZLES[number - 1], folder)


@pytest.mark.parametrize("number, says", enumerate([
    ["b[0] has not been written (8 of 8", "no item touched an element"], ["item 10 writes b[10], but b has 10 elements", "past the end of b"],
    ["b[0] has not been written"], ["b[4] has not been written (6 of 10", "read by 0 1 2 3 . . ."],
    ["a race: work-item", "x[ ] 0 1 2 3 4 5 6 7 written by 0 1 2 3 4 5 6 7 read by 7 6 5 4 3 2 1 0"],
    ["a race: work-item 0 of group 0 writes count[0]", "written by 0-7"], ["sum[0] is 11, and should be 424"],
    ["128 sectors are moved where 32 would do", "16 sectors"]], 1))
def test_a_puzzle_that_nobody_has_touched_is_unsolved_and_what_it_does_is_shown(scratch, counted, number, says):
    done = start(scratch, str(number))
    assert done.returncode == 1 and done.words.startswith("Solved: none yet (of 8)") and IDEA not in done.words, done
    assert f"unsolved {PUZZLES[number - 1].name}" in done.words and not [one for one in says if one not in done.words], done.words


@pytest.mark.parametrize("number, picture", enumerate([
    "b[ ] 0 1 2 3 4 5 6 7 written by 0 1 2 3 4 5 6 7", "b[ ] 0 1 2 3 4 5 6 7 8 9 written by 0 1 2 3 4 5 6 7 8 9 The",
    "b[ ] 6 7 8 9 10 11 written by 0,1 1,1 2,1 3,1 4,1 5,1", "written by 0 1 2 3 0 1 2 3 0 1", "read by 7 6 5 4 3 2 1 0",
    "count[ ] 0 changed by 0-7", "read by 0 0,1 0,2 1,3 0 1 2 3", "4 sectors"], 1))
def test_the_answer_of_each_puzzle_is_right_and_then_its_idea_is_told(scratch, counted, number, picture):
    answer(scratch, number)
    done = start(scratch, str(number))
    assert done.returncode == 0 and f"right {PUZZLES[number - 1].name}" in done.words and IDEA in done.words, done
    assert f"Solved: {number} (of 8)" in done.words and picture in done.words, done.words


MISTAKES = [
    (1, "get_global_id", "get_local_id", "16 items in groups of 8: b[8] has not been written"),
    (1, "    b[i] = 2 * a[i];", "    for (int k = 0; k < 8; ++k) b[k] = 2 * a[k];", "a race: work-item 0 of group 0 writes b[0]"),
    (1, "b[i] = 2 * a[i]", "b[i] = 2 * a[i]; )", "it does not compile: "),
    (1, "b[i] = 2 * a[i];", "b[i - 3] = 2 * a[i];", "item 0 writes b[-3], but b has 8 elements"),
    (1, "b[i] = 2 * a[i];", "b[i + 1000000000] = 2 * a[i];", "an item writes outside of an array"),
    (2, "i < n", "i <= n", "item 10 writes b[10], but b has 10 elements"),
    (2, "if (i < n) b[i] = 2 * a[i]", "int v = 2 * a[i]; if (i < n) b[i] = v", "item 10 reads a[10]"),
    (2, "i < n", "i < 10", "b[10] has not been written (7 of 17"),
    (3, "y * width + x] = ", "x * width + y] = ", "writes b[24], but b has 24 elements"),
    (3, "10 * y + x", "10 * x + y", "b[1] is 10, and should be 1"),
    (4, "i += get_global_size(0)", "i += 1", "a race: work-item"),
    (4, "get_global_size(0)", "get_local_size(0)", "of group 1 writes"),
    (4, "i += get_global_size(0)", "i += 0", "Does each loop end?"),
    (5, "    barrier(CLK_LOCAL_MEM_FENCE);\n", "", "a race: work-item"),
    (5, "    x[me] = a[i];\n    barrier(CLK_LOCAL_MEM_FENCE);\n    b[i] = x[7 - me];", "    b[i] = a[i + 7 - 2 * me];",
     "no item writes to local memory"),
    (5, "x[7 - me];\n    // END", "x[8 - me];\n    // END", "an item reads outside of an array"),
    (6, "atomic_inc(count)", "barrier(CLK_GLOBAL_MEM_FENCE); count[0] += 1", "a race: work-item"),
    (6, "atomic_inc(count)", "if (get_global_id(0) == 0) count[0] = 8", "count[0] is 8, and should be 24"),
    (7, "        barrier(CLK_LOCAL_MEM_FENCE); // the step before is complete\n", "", "a race: work-item"),
    (7, "        barrier(CLK_LOCAL_MEM_FENCE); // the step before is complete\n        if (me < distance) x[me] += x[me + distance];",
     "if (me < distance) { barrier(CLK_LOCAL_MEM_FENCE); x[me] += x[me + distance]; }", "some items reach a barrier, and others do not"),
    (7, "distance > 0", "distance > 1", "sum[0] is"),
    (7, "if (me < distance) x[me] += x[me + distance]", "if (me == 0 && distance == 4) for (int k = 1; k < 8; ++k) x[0] += x[k]; "
     "if (distance == 4) break", "the group meets at 1 barriers"),
    (7, "if (me < distance) x[me] += x[me + distance]", "if (me == 0 && distance == 2) for (int k = 1; k < 8; ++k) x[0] += x[k]; "
     "if (distance == 2) break", "the group meets at 2 barriers"),
    (8, "32 * k + me", "me + k", "has not been written"),
    (8, "32 * k + me", "(me / 8) * 32 + 4 * (me % 8) + k", "128 sectors are moved where 32 would do"),
]


@pytest.mark.parametrize("number, old, new, says", MISTAKES)
def test_a_typical_mistake_is_wrong_and_named(scratch, counted, number, old, new, says):
    change(scratch, number, old, new)
    done = start(scratch, str(number))
    assert done.returncode == 1 and f"wrong {PUZZLES[number - 1].name}" in done.words, done
    assert says in done.words and IDEA not in done.words and "Solved: none" in done.words, done.words


def test_what_is_solved_is_seen_in_the_files_and_a_deleted_one_begins_again(scratch):
    answer(scratch, 1, 2, 4)
    assert start(scratch).words.startswith("Solved: 1 2 4 (of 8) Puzzle 3 of 8")
    change(scratch, 2, "i < n", "i <= n")
    assert start(scratch).words.startswith("Solved: 1 4 (of 8) Puzzle 2 of 8")
    (scratch / PUZZLES[0].name).unlink()
    assert start(scratch).words.startswith("Solved: 4 (of 8) Puzzle 1 of 8")
    text = (scratch / PUZZLES[0].name).read_text()
    assert "// TODO" in text and "2 * a[i]" not in text and "//|" not in text
    answer(scratch, *range(1, 9))
    done = start(scratch)
    assert done.returncode == 0 and "All eight puzzles are solved." in done.words, done


def without_oclgrind(scratch):
    """A PATH that has all but oclgrind."""
    for folder in reversed(os.environ["PATH"].split(":")):
        for program in pathlib.Path(folder).glob("*"):
            if program.name != "oclgrind":
                (scratch / program.name).unlink(missing_ok=True)
                (scratch / program.name).symlink_to(program)
    return str(scratch)


def test_without_oclgrind_pictures_are_left_out_in_one_line_and_the_rest_works(scratch):
    path, files = scratch / "path", scratch / "files"
    path.mkdir(), files.mkdir()
    path = without_oclgrind(path)
    change(files, 2, "i < n", "i <= n")
    done = start(files, "2", PATH=path)
    assert done.returncode == 1 and "16 items: an item writes outside of b" in done.words and "touched" not in done.words, done
    assert done.stderr.count("\n") == 1 and "no pictures and no counts" in done.stderr and "A race is found only" in done.stderr
    answer(files, *range(1, 9))
    done = start(files, PATH=path)
    assert done.returncode == 0 and "Solved: 1 2 3 4 5 6 7 8 (of 8)" in done.words, done


def test_without_the_plugin_oclgrind_still_finds_the_race(scratch):
    if not shutil.which("oclgrind"):
        pytest.skip("no oclgrind (./lab setup)")
    (scratch / "build/bin").mkdir(parents=True)
    (scratch / "build/bin/start").symlink_to(BUILD / "bin/start")
    done = start(scratch / "files", "6", build=scratch / "build", CXX="false")
    assert done.returncode == 1 and "a race: work-item 0 of group 0 writes count[0]" in done.words, done
    assert "touched" not in done.words and done.stderr.splitlines()[-1].startswith("lab: no pictures and no counts"), done


@pytest.mark.parametrize("words", [["0"], ["9"], ["x"], [""], ["1", "2"]])
def test_what_is_no_puzzle_is_refused_in_one_line(words):
    refused(run(ROOT / "lab", "start", *words), "from 1 to 8")


def test_a_puzzle_is_judged_without_stdin(scratch):
    done = run("sh", "-c", '"$@" <&-', "sh", *command(scratch))
    assert (done.returncode, done.stderr) == (1, "") and "unsolved" in done.stdout, done


def test_a_folder_that_cannot_be_made_is_refused_in_one_line():
    refused(start("/dev/null/start"), "/dev/null/start")


class Terminal:
    """A session at a terminal."""

    def __init__(self, folder):
        self.mine, self.other = pty.openpty()
        self.before, self.text = termios.tcgetattr(self.other), ""
        self.process = subprocess.Popen([str(word) for word in command(folder)], env=environment_with({"NO_COLOR": "1"}),
                                        stdin=self.other, stdout=self.other, stderr=self.other, start_new_session=True)

    def type(self, line):
        os.write(self.mine, line.encode())

    def wait_for(self, words, seconds=60):
        """Reads until these words have come, and forgets what came up to them."""
        end = time.monotonic() + seconds
        while words not in self.text:
            assert time.monotonic() < end, f"no '{words}' in: {self.text}"
            if select.select([self.mine], [], [], 0.2)[0]:
                self.text += os.read(self.mine, 65536).decode(errors="replace").replace("\r\n", "\n")
        before, _, self.text = self.text.partition(words)
        return before

    def ended(self):
        """Its exit code. The terminal is as it was."""
        code = self.process.wait(timeout=30)
        assert termios.tcgetattr(self.other) == self.before
        os.close(self.mine), os.close(self.other)
        return code


def test_in_a_session_each_save_is_checked_hints_fold_out_and_the_next_puzzle_follows(scratch):
    session = Terminal(scratch)
    session.wait_for("q: quit")
    for line, words in (("h\n", "Hint 1 of 2: get_global_id(0)"), ("hint\n", "Hint 2 of 2"), ("h\n", "no more hints"),
                        ("help!\n", "'help!' is not known"), ("n\n", "Puzzle 2 of 8"), ("b\n", "Puzzle 1 of 8")):
        session.type(line)
        session.wait_for(words)
    session.wait_for("q: quit")
    change(scratch, 1, "get_global_id", "get_local_id")
    assert IDEA not in session.wait_for("wrong  1_one_item.cl")
    answer(scratch, 1)
    session.wait_for("right  1_one_item.cl")
    session.wait_for(IDEA)
    session.wait_for("Puzzle 2 of 8")
    session.wait_for("q: quit")
    session.type("q\n")
    session.wait_for("To go on: ./lab start")
    assert session.ended() == 0
    assert start(scratch).words.startswith("Solved: 1 (of 8) Puzzle 2 of 8")


def test_a_session_ends_when_the_last_puzzle_is_solved(scratch):
    answer(scratch, *range(1, 8))
    session = Terminal(scratch)
    session.wait_for("Puzzle 8 of 8")
    session.wait_for("q: quit")
    answer(scratch, 8)
    session.wait_for("All eight puzzles are solved.")
    assert session.ended() == 0


def test_ctrl_c_and_ctrl_d_end_a_session_and_leave_the_terminal_as_it_was(scratch):
    for end in (lambda session: session.process.send_signal(signal.SIGINT), lambda session: session.type("\x04")):
        session = Terminal(scratch)
        session.wait_for("q: quit")
        end(session)
        assert "Traceback" not in session.wait_for("To go on: ./lab start")
        assert session.ended() == 0


# In CUDA


def test_in_cuda_the_same_eight_puzzles_are_set():
    assert [one.name[:2] for one in IN_CUDA] == [one.name[:2] for one in PUZZLES] and len(PUZZLES) == 8


@pytest.mark.parametrize("number, says", enumerate([
    ["b[0] has not been written (8 of 8", "no thread touched an element"], ["thread 10 writes b[10], but b has 10 elements", "past the end of b"],
    ["b[0] has not been written"], ["b[4] has not been written (6 of 10", "read by 0 1 2 3 . . ."],
    ["a race: thread 7 of block 0 writes x[7] while thread 0 of the same block reads it", "x[ ] 0 1 2 3 4 5 6 7 written by 0 1 2 3"],
    ["a race: thread 0 of block 0 writes count[0] while thread 1 of the same block reads it", "written by 0-7"],
    ["sum[0] is 11, and should be 424"], ["128 sectors are moved where 32 would do", "16 sectors"]], 1))
def test_in_cuda_a_puzzle_that_nobody_has_touched_is_unsolved(scratch, number, says):
    done = start(scratch, "--cuda", str(number))
    assert done.returncode == 1 and done.words.startswith("Solved: none yet (of 8)") and IDEA not in done.words, done
    assert f"unsolved {IN_CUDA[number - 1].name}" in done.words and not [one for one in says if one not in done.words], done.words


@pytest.mark.parametrize("number, picture", enumerate([
    "b[ ] 0 1 2 3 4 5 6 7 written by 0 1 2 3 4 5 6 7", "b[ ] 0 1 2 3 4 5 6 7 8 9 written by 0 1 2 3 4 5 6 7 8 9",
    "b[ ] 6 7 8 9 10 11 written by 0,1 1,1 2,1 3,1 4,1 5,1", "written by 0 1 2 3 0 1 2 3 0 1", "read by 7 6 5 4 3 2 1 0",
    "count[ ] 0 changed by 0-7", "read by 0 0,1 0,2 1,3 0 1 2 3", "4 sectors"], 1))
def test_in_cuda_the_answer_of_each_puzzle_is_right(scratch, number, picture):
    shutil.copy(IN_CUDA[number - 1], scratch)
    done = start(scratch, "--cuda", str(number))
    assert picture in done.words and "past the end" not in done.words, done.words
    assert done.returncode == 0 and f"right {IN_CUDA[number - 1].name}" in done.words and IDEA in done.words, done
    assert f"Solved: {number} (of 8)" in done.words and not done.stderr, done


BARRIER = "        __syncthreads(); // the step before is complete\n"
MISTAKES_IN_CUDA = [
    (1, "blockIdx.x * blockDim.x + threadIdx.x", "threadIdx.x", "of block 1 writes it"),
    (1, "    b[i] = 2 * a[i];", "    for (int k = 0; k < 8; ++k) b[k] = 2 * a[k + 0 * i];", "a race: thread 0 of block 0 writes b[0]"),
    (1, "b[i] = 2 * a[i]", "b[i] = 2 * a[i]; )", "it does not compile: 1_one_item.cu(6): error"),
    (1, "void puzzle", "void puzle", "it does not compile: "),
    (1, "b[i] = 2 * a[i];", "b[i - 3] = 2 * a[i];", "thread 0 writes b[-3], but b has 8 elements"),
    (2, "i < n", "i <= n", "thread 10 writes b[10], but b has 10 elements"),
    (2, "i < n", "i < 10", "b[10] has not been written (7 of 17"),
    (3, "y * width + x] = ", "x * width + y] = ", "writes b[24], but b has 24 elements"),
    (3, "10 * y + x", "10 * x + y", "b[1] is 10, and should be 1"),
    (4, "i += gridDim.x * blockDim.x", "i += 1", "a race: thread"),
    (4, "gridDim.x * blockDim.x)", "blockDim.x)", "of block 1 writes"),
    (4, "i += gridDim.x * blockDim.x", "i += 0", "Does each loop end?"),
    (5, "    __syncthreads();\n", "", "a race: thread"),
    (5, "    x[me] = a[i];\n    __syncthreads();\n    b[i] = x[7 - me];", "    b[i] = a[i + 7 - 2 * me];",
     "no thread writes to shared memory"),
    (5, "x[7 - me];\n    // END", "x[8 - me];\n    // END", "thread 0 reads x[8], but x has 8 elements"),
    (6, "atomicAdd(count, 1)", "__syncthreads(); count[0] += 1", "a race: thread"),
    (6, "atomicAdd(count, 1)", "if (blockIdx.x * blockDim.x + threadIdx.x == 0) count[0] = 8", "count[0] is 8, and should be 24"),
    (7, BARRIER, "", "a race: thread"),
    (7, BARRIER + "        if (me < distance) x[me] += x[me + distance];",
     "if (me < distance) { __syncthreads(); x[me] += x[me + distance]; }", "some threads reach a barrier, and others do not"),
    (7, "distance > 0", "distance > 1", "sum[0] is"),
    (7, "if (me < distance) x[me] += x[me + distance]", "if (me == 0 && distance == 4) for (int k = 1; k < 8; ++k) x[0] += x[k]; "
     "if (distance == 4) break", "the block meets at 1 barriers"),
    (8, "32 * k + me", "me + k", "a race: thread"),
    (8, "32 * k + me", "(me / 8) * 32 + 4 * (me % 8) + k", "128 sectors are moved where 32 would do"),
    (2, "if (i < n) b[i] = 2 * a[i]", "const volatile int* mine = a; int v = 2 * mine[i]; if (i < n) b[i] = v", "thread 10 reads a[10]"),
    (5, "    x[me] = a[i];\n    __syncthreads();", "    int* mine = x; mine[me] = a[i];", "a race: thread"),
    (7, BARRIER + "        if (me < distance) x[me] += x[me + distance];",
     "int* mine = x; if (me < distance) { __syncthreads(); mine[me] += x[me + distance]; }", "some threads reach a barrier"),
]


@pytest.mark.parametrize("number, old, new, says", MISTAKES_IN_CUDA)
def test_in_cuda_a_typical_mistake_is_wrong_and_named(scratch, number, old, new, says):
    change(scratch, number, old, new, IN_CUDA)
    done = start(scratch, "--cuda", str(number))
    assert done.returncode == 1 and f"wrong {IN_CUDA[number - 1].name}" in done.words, done
    assert says in done.words and IDEA not in done.words and "Solved: none" in done.words, done.words


@pytest.mark.parametrize("old, new", [
    ("    b[i] = 2 * a[i];", '    b[i] = 2 * a[i];\n    printf("b store 99\\n");'), ("    b[i] = 2 * a[i];", "    int* mine = b + i;\n    *mine = 2 * a[i];")])
def test_in_cuda_a_kernel_may_print_and_use_pointers(scratch, old, new):
    change(scratch, 1, old, new, IN_CUDA)
    done = start(scratch, "--cuda", "1")
    assert "b[ ] 0 1 2 3 4 5 6 7 written by 0 1 2 3 4 5 6 7" in done.words and f"right {IN_CUDA[0].name}" in done.words, done


@pytest.mark.parametrize("words", [["--cuda", "0"], ["--cuda", "1", "2"], ["--cuda", "--cuda"], ["--opencl"]])
def test_in_cuda_what_is_no_puzzle_is_refused_in_one_line(words):
    refused(run(ROOT / "lab", "start", *words), "from 1 to 8")
