"""./lab start: what is unsolved, wrong and right, with Oclgrind and without it, and in CUDA; and the session at a terminal."""

import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import termios
import time
from dataclasses import dataclass

import pytest
from conftest import BUILD, ROOT, built, environment_with, refused, run

IDEA = "The idea:"


@dataclass(frozen=True)
class Language:
    """How the puzzles are set, and the words of the rows below."""

    options: tuple
    pattern: str  # of the files
    words: dict

    @property
    def puzzles(self):
        return sorted((ROOT / "tools/start/puzzles").glob(self.pattern), key=lambda path: int(path.name.partition("_")[0]))

    def spelled(self, text):
        for word, means in self.words.items():
            text = text.replace(word, means)
        return text


LANGUAGES = {
    "opencl": Language((), "*.cl", {"BARRIER": "barrier(CLK_LOCAL_MEM_FENCE);", "INDEX": "get_global_id(0)", "FIRST": "get_global_id(0)",
                                    "MANY": "get_global_size(0)", "SIZE": "get_local_size(0)", "ATOMIC": "atomic_inc(count)",
                                    "ARRAY": "local int", "ADD(": "atomic_add("}),
    "cuda": Language(("--cuda",), "*.cu", {
        "BARRIER": "__syncthreads();", "INDEX": "blockIdx.x * blockDim.x + threadIdx.x", "FIRST": "first",
        "MANY": "gridDim.x * blockDim.x", "SIZE": "blockDim.x", "ATOMIC": "atomicAdd(count, 1)",
        "ARRAY": "__shared__ int", "ADD(": "atomicAdd("})}
PUZZLES, IN_CUDA = (language.puzzles for language in LANGUAGES.values())


def said(language, words):
    """Words about an OpenCL kernel, in those of the language."""
    for word, of_cuda in (("local memory", "shared memory"), ("an item", "a thread"), ("work-item", "thread"), ("item", "thread"), ("group", "block"),
                          ("1056 passes", "288 passes")) if language.options else ():
        words = re.sub(rf"\b{word}", of_cuda, words)
    return words


def for_languages(rows):
    """Rows that begin with a language, or with "" for both."""
    return [(name, *rest) for only, *rest in rows for name in LANGUAGES if only in ("", name)]


@pytest.fixture(autouse=True)
def runner(request):
    built("start_cuda" if "[cuda" in request.node.name or "in_cuda" in request.node.name else "start")


@pytest.fixture
def language(request):
    if request.param == "opencl":
        request.getfixturevalue("counted")
    return LANGUAGES[request.param]


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


def change(folder, number, old, new, language=LANGUAGES["opencl"]):
    """Puts a changed answer into the student's folder."""
    puzzle, old = language.puzzles[number - 1], language.spelled(old)
    text = puzzle.read_text()
    assert text.count(old) == 1, old
    (folder / puzzle.name).write_text(text.replace(old, language.spelled(new)))


def answer(folder, *numbers):
    for number in numbers:
        shutil.copy(PUZZLES[number - 1], folder)


def judged(folder, language, number, state, *says):
    """The puzzle in the student's folder is judged so, and these words are among what is said. Its idea is told only where it is right."""
    done = start(folder, *language.options, str(number))
    assert f"{state} {language.puzzles[number - 1].name}" in done.words and not [one for one in says if one not in done.words], done.words
    right = state == "right"
    assert (done.returncode, IDEA in done.words) == (0 if right else 1, right), done
    assert done.words.startswith(f"Solved: {number if right else 'none yet'} (of 16)"), done.words
    return done


STUBS = [  # what is said of each puzzle that nobody has touched
    ["b[0] has not been written (8 of 8", "no item touched an element"], ["item 10 writes b[10], but b has 10 elements", "past the end of b"],
    ["b[0] has not been written"], ["b[4] has not been written (6 of 10", "read by 0 1 2 3 . . ."],
    ["a race: work-item", "x[ ] 0 1 2 3 4 5 6 7 written by 0 1 2 3"], ["a race: work-item 0 of group 0 writes count[0]", "written by 0-7"],
    ["sum[0] is 11, and should be 424"], ["128 sectors are moved where 32 would do", "16 sectors"],
    ["b[0] is 11, and should be 1604"], ["a race: ", "writes x[1] at line 10 while ", "reads it at line 10"],
    ["1056 passes where 64 would do", "32 passes"], ["64 requests where 16 would do", "a 44444444 b 4444...."],
    ["room for 6 groups, and places for 32", "######.......................... 6 groups: 12 of 64 warps"],
    ["a warp has 128 bytes under way where it could have 512", "load 128, store 128, load 128"],
    ["a race: ", "writes x[1] at line 10 while ", "of the same group reads it at line 10"],
    ["item 8 reads x[24] at line 9, which no item has written", "largest[ ] 0 written by 0"]]
MORE_OF_STUBS = {  # Oclgrind cannot say where both are
    ("opencl", 5): ["written by 0 1 2 3 4 5 6 7 read by 7 6 5 4 3 2 1 0"],
    ("cuda", 5): ["a race: thread 7 of block 0 writes x[7] at line 7 while thread 0 of the same block reads it at line 8"],
    ("cuda", 6): ["a race: thread 0 of block 0 writes count[0] at line 4 while thread 1 of the same block reads it at line 4"]}
PICTURES = [  # of each answer
    "b[ ] 0 1 2 3 4 5 6 7 written by 0 1 2 3 4 5 6 7", "b[ ] 0 1 2 3 4 5 6 7 8 9 written by 0 1 2 3 4 5 6 7 8 9",
    "b[ ] 6 7 8 9 10 11 written by 0,1 1,1 2,1 3,1 4,1 5,1", "written by 0 1 2 3 0 1 2 3 0 1", "read by 7 6 5 4 3 2 1 0",
    "count[ ] 0 changed by 0-7", "read by 0 0,1 0,2 1,3 0 1 2 3", "4 sectors", "32 items: which one touched", "6x: 6 items", "1 pass",
    "a 11111111 b 1111.... ", "# 32 groups: 64 of 64 warps", "load 512, store 512",
    "x[ ] 0 1 2 3 4 5 6 7 written by 0 1 2 3 4 5 6 7 read by 0 0,1 1,2", "largest[ ] 0 written by 0"]


@pytest.mark.parametrize("language, number, says", for_languages(("", number, says) for number, says in enumerate(STUBS, 1)), indirect=["language"])
def test_a_puzzle_that_nobody_has_touched_is_unsolved_and_what_it_does_is_shown(scratch, language, number, says):
    name = "cuda" if language.options else "opencl"
    judged(scratch, language, number, "unsolved", *(said(language, words) for words in says), *MORE_OF_STUBS.get((name, number), []))


@pytest.mark.parametrize("language, number, picture", for_languages(("", number, one) for number, one in enumerate(PICTURES, 1)), indirect=["language"])
def test_the_answer_of_each_puzzle_is_right_and_then_its_idea_is_told(scratch, language, number, picture):
    shutil.copy(language.puzzles[number - 1], scratch)
    done = judged(scratch, language, number, "right", said(language, picture))
    assert "past the end" not in done.words, done.words
    assert ("5x: 5 items" in done.words) == (number == 9 and not language.options), "only there items read local memory"
    assert not (language.options and done.stderr), done


STEP = "        BARRIER // the step before is complete\n"
ADDS = "        if (me < distance) x[me] += x[me + distance];"
MISTAKES = [  # in which language, or both
    ("opencl", 1, "get_global_id", "get_local_id", "16 items in groups of 8: b[8] has not been written"),
    ("cuda", 1, "INDEX", "threadIdx.x", "of block 1 writes it"),
    ("", 1, "    b[i] = 2 * a[i];", "    for (int k = 0; k < 8; ++k) b[k] = 2 * a[k + 0 * i];", "a race: work-item 0 of group 0 writes b[0]"),
    ("opencl", 1, "b[i] = 2 * a[i]", "b[i] = 2 * a[i]; )", "it does not compile: "),
    ("cuda", 1, "b[i] = 2 * a[i]", "b[i] = 2 * a[i]; )", "it does not compile: 1_one_item.cu(6): error"),
    ("cuda", 1, "void puzzle", "void puzle", "it does not compile: "),
    ("", 1, "b[i] = 2 * a[i];", "b[i - 3] = 2 * a[i];", "item 0 writes b[-3], but b has 8 elements"),
    ("opencl", 1, "b[i] = 2 * a[i];", "b[i + 1000000000] = 2 * a[i];", "item 0 writes b[1000000000], but b has 8 elements"),
    ("", 2, "i < n", "i <= n", "item 10 writes b[10], but b has 10 elements"),
    ("opencl", 2, "if (i < n) b[i] = 2 * a[i]", "int v = 2 * a[i]; if (i < n) b[i] = v", "item 10 reads a[10]"),
    ("cuda", 2, "if (i < n) b[i] = 2 * a[i]", "const volatile int* mine = a; int v = 2 * mine[i]; if (i < n) b[i] = v", "thread 10 reads a[10]"),
    ("", 2, "i < n", "i < 10", "b[10] has not been written (7 of 17"),
    ("", 3, "y * width + x] = ", "x * width + y] = ", "writes b[24], but b has 24 elements"),
    ("", 3, "10 * y + x", "10 * x + y", "b[1] is 10, and should be 1"),
    ("", 4, "i += MANY", "i += 1", "a race: work-item"),
    ("", 4, "i += MANY)", "i += SIZE)", "of group 1 writes"),
    ("", 4, "i += MANY", "i += 0", "Does each loop end?"),
    ("", 5, "    BARRIER\n", "", "a race: work-item"),
    ("cuda", 5, "    x[me] = a[i];\n    BARRIER", "    int* mine = x; mine[me] = a[i];", "a race: thread"),
    ("", 5, "x[7 - me];\n    // END", "x[8 - me];\n    // END", "an item reads outside of x at line 11"),
    ("", 6, "ATOMIC", "BARRIER count[0] += 1", "a race: work-item"),
    ("", 6, "ATOMIC", "if (INDEX == 0) count[0] = 8", "count[0] is 8, and should be 24"),
    ("", 7, STEP, "", "a race: work-item"),
    ("", 7, STEP + ADDS, "if (me < distance) { BARRIER x[me] += x[me + distance]; }", "some items reach a barrier, and others do not"),
    ("cuda", 7, STEP + ADDS, "int* mine = x; if (me < distance) { BARRIER mine[me] += x[me + distance]; }", "some threads reach a barrier"),
    ("", 7, "distance > 0", "distance > 1", "sum[0] is"),
    ("opencl", 8, "32 * k + me", "me + k", "has not been written"),
    ("cuda", 8, "32 * k + me", "me + k", "a race: thread"),
]


@pytest.mark.parametrize("language, number, old, new, says", for_languages(MISTAKES), indirect=["language"])
def test_a_typical_mistake_is_wrong_and_named(scratch, language, number, old, new, says):
    change(scratch, number, old, new, language)
    judged(scratch, language, number, "wrong", said(language, says))


SERIAL = "    int s = 0;\n    if (me == 0) for (int k = 0; k < 8; ++k) s += x[k];\n    BARRIER\n    if (me == 0) x[0] = s;\n"
TREE = "    for (int distance = 4; distance > 0; distance /= 2) {\n" + STEP + ADDS + "\n    }\n"
OTHER = "right, but not by this idea"
OTHER_IDEAS = [
    (1, "b[i] = 2 * a[i];", "if (i == 0) for (int k = 0; k < MANY; ++k) b[k] = 2 * a[k];", "item 0 writes b[1], which item 1 should do"),
    (2, "if (i < n) b[i] = 2 * a[i];", "if (i == 0) for (int k = 0; k < n; ++k) b[k] = 2 * a[k];", "item 0 writes b[1]"),
    (3, "b[y * width + x] = 10 * y + x;", "if (x == 0) for (int k = 0; k < width; ++k) b[y * width + k] = 10 * y + k;",
     "item 0,0 writes b[1], which item 1,0 should do"),
    (4, "FIRST; i < n; i += MANY)", "0; i < n && FIRST == 0; ++i)", "item 0 writes b[1], which item 1 should do"),
    (4, "FIRST; i < n; i += MANY)", "FIRST * ((n + MANY - 1) / MANY); i < n && i < (FIRST + 1) * ((n + MANY - 1) / MANY); ++i)",
     "item 0 writes b[1], which item 1 should do"),
    (5, "    x[me] = a[i];\n    BARRIER\n    b[i] = x[7 - me];", "    b[i] = a[i + 7 - 2 * me];", "no item writes to local memory"),
    (5, "    b[i] = x[7 - me];\n    // END", "    b[i] = a[i + 7 - 2 * me];\n    // END", "local memory"),
    (6, "ATOMIC", "if (INDEX == 0) count[0] = MANY", "no atomic operation changes count[0]"),
    (6, "ATOMIC", "if (INDEX == 0) for (int k = 0; k < MANY; ++k) ATOMIC", "item 1 adds nothing"),
    (7, TREE, f"    BARRIER\n{SERIAL}", "the group meets at 2 barriers: three steps need three"),
    (7, TREE, f"    BARRIER\n    BARRIER\n{SERIAL}", "not in three steps"),
    (7, TREE, "    BARRIER\n    if (me < 4) x[me] += x[me + 4];\n    BARRIER\n    BARRIER\n"
     "    if (me == 0) for (int k = 1; k < 4; ++k) x[0] += x[k];\n", "not in three steps"),
    (8, "32 * k + me", "(me / 8) * 32 + 4 * (me % 8) + k", "128 sectors are moved where 32 would do"),
    (8, "        b[i] = 2 * a[i];", "        if (me == 0) for (int j = 32 * k; j < 32 * k + 32; ++j) b[j] = (i & 0) + 2 * a[j];",
     "256 sectors are moved where 32 would do"),
]


@pytest.mark.parametrize("language, number, old, new, says", for_languages(("", *row) for row in OTHER_IDEAS), indirect=["language"])
def test_right_values_without_the_idea_are_told_from_right(scratch, language, number, old, new, says):
    change(scratch, number, old, new, language)
    judged(scratch, language, number, OTHER, said(language, says))


@pytest.mark.parametrize("number, old, new", [
    (5, "x[me] = a[i];\n    BARRIER\n    b[i] = x[7 - me];", "x[7 - me] = a[i];\n    BARRIER\n    b[i] = x[me];"),
    (4, "for (int i = INDEX; i < n; i += MANY) b[i]", "for (int k = n; k >= 0; --k) for (int i = INDEX + k * MANY; i < n; i += n) b[i]"),
    (6, "ATOMIC", "local int n; if (get_local_id(0) == 0) n = 0; BARRIER atomic_inc(&n); BARRIER if (get_local_id(0) == 0) atomic_add(count, n)"),
    (6, "ATOMIC", "for (int old = atomic_add(count, 0);;) { int now = atomic_cmpxchg(count, old, old + 1); if (now == old) break; old = now; }"),
    (7, TREE, "    for (int s = 1; s < 8; s *= 2) { BARRIER if (me % (2 * s) == 0) x[me] += x[me + s]; }\n"),
    (7, TREE, "    for (int s = 4; s; s /= 2) { BARRIER int other = x[me ^ s]; BARRIER x[me] += other; }\n    BARRIER\n"),
    (7, TREE, "    int mine = x[me];\n    for (int s = 4; s; s /= 2) { BARRIER if (me < s) x[me] = mine += x[me + s]; }\n"),
    (8, "        b[i] = 2 * a[i];", "        b[i] = a[i]; b[i] *= 2;"),
    (8, "        b[i] = 2 * a[i];", "        if (k == 0) vstore4(2 * vload4(me, a), me, b); (void)i;")])
def test_an_unusual_answer_with_the_idea_is_right(scratch, counted, number, old, new):
    change(scratch, number, old, new)
    judged(scratch, LANGUAGES["opencl"], number, "right")


TILES = "s[me_y][me_x] = a[y * width + k + me_x]; t[me_y][me_x] = b[(k + me_y) * width + x]; "
PRODUCTS = "for (int j = 0; j < 4; ++j) sum += s[me_y][j] * t[j][me_x]; "
PIECE = "a[first + 64 * p + me]; BARRIER b[first + 64 * p + me] ="
LARGEST = "for (int d = 16; d > 0; d /= 2) { BARRIER if (me < d) x[me] = max(x[me], x[me + d]); }"
WHOLE_ANSWERS = [  # in which language, or both; a puzzle from 9 on; the verdict, and its words; what stands in place of the answer
    ("opencl", 9, "right", "", "for (int d = 16; d > 0; d /= 2) { x[me] = sum; BARRIER sum += x[(me + d) % 32]; BARRIER }"),
    ("opencl", 9, "right", "", "x[me] = sum; for (int d = 16; d > 0; d /= 2) { BARRIER if (me < d) x[me] += x[me + d]; } BARRIER sum = x[0];"),
    ("opencl", 9, "wrong", "a race: work-item", "for (int d = 1; d < 32; d *= 2) { x[me] = sum; BARRIER sum += x[me ^ d]; }"),
    ("opencl", 9, "wrong", "outside of x at line", "for (int d = 1; d < 32; d *= 2) { x[me] = sum; BARRIER sum += x[me + d]; BARRIER }"),
    ("opencl", 9, "wrong", "b[0] is 816", "for (int d = 1; d < 16; d *= 2) { x[me] = sum; BARRIER sum += x[me ^ d]; BARRIER }"),
    ("opencl", 9, OTHER, "item 0 alone reads 32 numbers from local memory", "x[me] = sum; BARRIER sum = 0; for (int k = 0; k < 32; ++k) sum += x[k];"),
    ("opencl", 9, OTHER, "at an atomic operation", "if (me == 0) x[0] = 0; BARRIER ADD(&x[0], sum); BARRIER sum = x[0];"),
    ("cuda", 9, "right", "", "for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d); sum = __shfl_sync(0xffffffff, sum, 0);"),
    ("cuda", 9, "right", "", "sum = __reduce_add_sync(0xffffffff, sum);"),
    ("cuda", 9, "wrong", "b[1] is", "for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffff, sum, d);"),
    ("cuda", 9, "wrong", "b[0] is 816", "for (int d = 1; d < 16; d *= 2) sum += __shfl_xor_sync(0xffffffff, sum, d);"),
    ("cuda", 9, OTHER, "through shared memory", "__shared__ int x[32]; const int me = threadIdx.x; for (int d = 1; d < 32; d *= 2) { x[me] = sum; BARRIER "
     "sum += x[me ^ d]; BARRIER }"),
    ("cuda", 9, OTHER, "through global memory", "for (int d = 1; d < 32; d *= 2) { b[i] = sum; BARRIER sum += b[i ^ d]; BARRIER }"),
    ("cuda", 9, OTHER, "thread 0 alone reads 32 numbers of a", "sum = 0; for (int k = 0; k < 32; ++k) sum += a[blockIdx.x * 32 + k];"),
    ("", 10, "right", "", "for (int d = 1; d < 32; d *= 2) { BARRIER if ((me / d) % 2) x[me] += x[me / d * d - 1]; }"),
    ("", 10, "right", "", "const int own = x[me]; for (int d = 1; d < 32; d *= 2) { BARRIER if (me % (2 * d) == 2 * d - 1) x[me] += x[me - d]; } "
     "BARRIER if (me == 31) x[31] = 0; for (int d = 16; d > 0; d /= 2) { BARRIER if (me % (2 * d) == 2 * d - 1) { int left = x[me - d]; "
     "x[me - d] = x[me]; x[me] += left; } } BARRIER x[me] += own;"),
    ("cuda", 10, "right", "", "int mine = x[me]; for (int d = 1; d < 32; d *= 2) { const int before = __shfl_up_sync(0xffffffff, mine, d); "
     "if (me >= d) mine += before; } x[me] = mine;"),
    ("", 10, "wrong", "a race: ", "for (int d = 1; d < 32; d *= 2) { BARRIER if (me >= d) x[me] += x[me - d]; }"),
    ("", 10, "wrong", "outside of x at line 11", "for (int d = 1; d < 32; d *= 2) { BARRIER const int before = x[me - d]; BARRIER "
     "if (me >= d) x[me] += before; }"),
    ("", 10, OTHER, "numbers from local memory", "BARRIER if (me == 0) for (int k = 1; k < 32; ++k) x[k] += x[k - 1]; BARRIER"),
    ("", 10, OTHER, "item 31 alone reads", "BARRIER int sum = 0; for (int k = 0; k <= me; ++k) sum += x[k]; BARRIER x[me] = sum;"),
    ("", 10, OTHER, "item 31 alone reads 32 numbers of a", "int sum = 0; for (int k = 0; k <= me; ++k) sum += a[i - k]; x[me] = sum;"),
    ("", 11, "right", "", "ARRAY x[32 * 35]; const int row = 35;"),
    ("", 11, "wrong", "outside of x at line", "ARRAY x[32 * 32]; const int row = 33;"),
    ("", 11, "wrong", "a race: ", "ARRAY x[32 * 32]; const int row = 31;"),
    ("opencl", 11, OTHER, "96 passes where 64 would do", "ARRAY x[32 * 34]; const int row = 34;"),
    ("", 12, "right", "", f"BARRIER {TILES}BARRIER {PRODUCTS}"),
    ("", 12, "right", "", f"{TILES.replace('t[me_y][me_x]', 't[me_x][me_y]')}BARRIER {PRODUCTS.replace('t[j][me_x]', 't[me_x][j]')}BARRIER"),
    ("", 12, "wrong", "a race: ", f"{TILES}{PRODUCTS}BARRIER"),
    ("", 12, "wrong", "a race: ", f"{TILES}BARRIER {PRODUCTS}"),
    ("", 12, "wrong", "which no item has written", f"if (me_y < 3) {TILES}BARRIER {PRODUCTS}BARRIER"),
    ("", 12, OTHER, "40 requests where 16 would do", f"{TILES}BARRIER {PRODUCTS.replace('t[j][me_x]', 'b[(k + j) * width + x]')}BARRIER".replace(
        "t[me_y][me_x] = b[(k + me_y) * width + x]; ", "")),
    ("", 13, "right", "", f"ARRAY x[64]; for (int p = 0; p < pieces; ++p) {{ x[me] = {PIECE} x[63 - me]; BARRIER }}"),
    ("", 13, "right", "", f"ARRAY x[16 * 64]; for (int p = 0; p < pieces; ++p) {{ x[p % 16 * 64 + me] = {PIECE} x[p % 16 * 64 + 63 - me]; }}"),
    ("", 13, "wrong", "a race: ", f"ARRAY x[64]; for (int p = 0; p < pieces; ++p) {{ x[me] = {PIECE} x[63 - me]; }}"),
    ("", 13, "wrong", "outside of x at line", f"ARRAY x[64]; for (int p = 0; p < pieces; ++p) {{ x[64 * p + me] = {PIECE} x[64 * p + 63 - me]; BARRIER }}"),
    ("", 13, OTHER, "room for 25 groups, and places for 32",
     f"ARRAY x[32 * 64]; for (int p = 0; p < pieces; ++p) {{ x[p % 32 * 64 + me] = {PIECE} x[p % 32 * 64 + 63 - me]; }}"),
    ("", 13, OTHER, "no item writes to local memory", "for (int p = 0; p < pieces; ++p) b[first + 64 * p + me] = a[first + 64 * p + 63 - me];"),
    ("", 14, "right", "", "int v[4]; for (int k = 0; k < 4; ++k) v[k] = a[32 * k + me]; for (int k = 3; k >= 0; --k) b[32 * k + me] = v[k] + v[k];"),
    ("opencl", 14, "right", "", "const int2 p = vload2(me, a), q = vload2(32 + me, a); vstore2(p + p, me, b); vstore2(q + q, 32 + me, b);"),
    ("", 14, "wrong", "item 31 reads a[128], but a has 128 elements",
     "int v[4]; for (int k = 0; k < 4; ++k) v[k] = a[32 * k + me + 1]; for (int k = 0; k < 4; ++k) b[32 * k + me] = 2 * v[k];"),
    ("", 14, "wrong", "does not compile", "const int4 v = a[me]; b[me] = 2 * v;"),
    ("", 14, OTHER, "256 bytes under way where it could have 512", "for (int k = 0; k < 4; k += 2) { const int p = a[32 * k + me], "
     "q = a[32 * k + 32 + me]; b[32 * k + me] = 2 * p; b[32 * k + 32 + me] = 2 * q; }"),
    ("", 14, OTHER, "sectors are moved where 32 would do",
     "int v[4]; for (int k = 0; k < 4; ++k) v[k] = a[4 * me + k]; for (int k = 0; k < 4; ++k) b[4 * me + k] = 2 * v[k];"),
    ("", 15, "right", "", "int mine = a[i]; for (int round = 0; round < 3; ++round) { x[me] = mine; BARRIER if (me < 7) mine += x[me + 1]; BARRIER } b[i] = mine;"),
    ("cuda", 15, "right", "", "int mine = a[i]; for (int round = 0; round < 3; ++round) { const int right = __shfl_down_sync(0xff, mine, 1); "
     "if (me < 7) mine += right; } x[me] = mine; b[i] = mine;"),
    ("", 15, "wrong", "a race: ", "x[me] = a[i]; for (int round = 0; round < 3; ++round) { BARRIER if (me < 7) x[me] += x[me + 1]; BARRIER } b[i] = x[me];"),
    ("", 15, "wrong", "some items reach a barrier", "x[me] = a[i]; for (int round = 0; round < 3; ++round) { BARRIER if (me < 7) { "
     "const int right = x[me + 1]; BARRIER x[me] += right; } } b[i] = x[me];"),
    ("", 15, OTHER, "item 0 alone reads", "x[me] = a[i]; BARRIER if (me == 0) for (int round = 0; round < 3; ++round) "
     "for (int k = 0; k < 7; ++k) x[k] += x[k + 1]; BARRIER b[i] = x[me];"),
    ("", 16, "right", "", "if (me < n) x[me] = a[me]; " + LARGEST.replace("me < d)", "me < d && me + d < n)")),
    ("", 16, "right", "", f"x[me] = a[me < n ? me : n - 1]; {LARGEST}"),
    ("", 16, "wrong", "item 8 reads x[24] at line", "if (me < n) x[me] = a[me]; for (int d = 16; d > 0; d /= 2) { BARRIER "
     "if (me < d && x[me + d] > x[me]) x[me] = x[me + d]; }"),
    ("", 16, "wrong", "item 24 reads a[24], but a has 24 elements", f"x[me] = me <= n ? a[me] : 0; {LARGEST}"),
    ("", 16, "wrong", "largest[0] is 5000", f"x[me] = me < n ? a[me] : 5000; {LARGEST}"),
    ("", 16, OTHER, "alone reads", "x[me] = me < n ? a[me] : 0; BARRIER if (me == 0) for (int k = 1; k < n; ++k) x[0] = max(x[0], x[k]);"),
]


@pytest.mark.parametrize("language, number, state, says, body", for_languages(WHOLE_ANSWERS), indirect=["language"])
def test_answers_to_the_later_puzzles(scratch, language, number, state, says, body):
    puzzle, body = language.puzzles[number - 1], language.spelled(body).replace("; ", ";\n")
    (scratch / puzzle.name).write_text(re.sub(r"(?s)(// EXERCISE [^\n]*\n).*?( *// END)", lambda marks: f"{marks[1]}{body}\n{marks[2]}", puzzle.read_text()))
    judged(scratch, language, number, state, said(language, says))


def test_what_a_kernel_prints_is_shown_and_cut_after_40_lines(scratch, counted):
    change(scratch, 1, "    b[i] = ", '    printf("{%d, %s}\\n", 100 + i, "of text");\n    b[i] = ')
    done = start(scratch, "1")
    assert done.returncode == 0 and "printed: {100, of text} {101, of text}" in done.words and "{108" not in done.words, done
    change(scratch, 6, "    atomic_inc", '    if (get_global_id(0) == 0) for (int k = 0; k < 90; ++k) printf("%d\\n", k);\n    atomic_inc')
    done = start(scratch, "6")
    assert done.returncode == 0 and "38 39 ... cut after 40 lines The idea" in done.words, done


@pytest.mark.parametrize("number, old, new, says, launch", [
    (2, "i < n", "i < 10", "b[10] has not been written", "32 items in groups of 16"), (3, "y * width", "y * 6", "writes outside of b", "4 x 6 items in groups of 2 x 3"),
    (4, "get_global_size(0)", "4", "a race", "8 items in groups of 4")])
def test_the_launch_that_failed_is_drawn(scratch, counted, number, old, new, says, launch):
    change(scratch, number, old, new)
    done = start(scratch, str(number))
    assert says in done.words and f"{launch}: which one touched" in done.words, done.stdout


@pytest.mark.parametrize("columns", [60, 80])
def test_everything_fits_into_a_narrow_terminal(scratch, counted, columns):
    for number in range(1, 17):
        shown = start(scratch, str(number), COLUMNS=str(columns)).stdout.splitlines()
        assert not [line for line in shown if len(line) > columns], shown


def test_an_index_far_outside_of_local_memory_does_not_make_the_picture_long(scratch, counted):
    change(scratch, 5, "x[7 - me];\n    // END", "x[1000000007 - me];\n    // END")
    done = start(scratch, "5")
    assert "an item reads outside of x at line 11" in done.words and len(done.stdout) < 10000, len(done.stdout)


def test_a_file_with_a_byte_order_mark_is_right_and_a_word_of_cuda_is_translated(scratch, counted):
    (scratch / PUZZLES[0].name).write_text("\ufeff" + PUZZLES[0].read_text(), encoding="utf-8")
    assert start(scratch, "1").returncode == 0
    change(scratch, 5, "barrier(CLK_LOCAL_MEM_FENCE)", "__syncthreads()")
    assert "(__syncthreads is a word of CUDA; in OpenCL: barrier(CLK_LOCAL_MEM_FENCE))" in start(scratch, "5").words


def program(scratch, text):
    """A build whose program start is this script."""
    (scratch / "build/bin").mkdir(parents=True)
    file = scratch / "build/bin/start"
    file.write_text(f"#!/bin/sh\n{text}")
    file.chmod(0o755)
    return scratch / "build"


def test_verdict_and_picture_are_of_one_text_though_the_file_is_saved_meanwhile(scratch):
    answer(scratch, 1)
    build = program(scratch, f'echo "kernel void puzzle() {{}}" >{scratch}/{PUZZLES[0].name}\nexec {BUILD}/bin/start "$@"\n')
    assert start(scratch, build=build, CXX="false").words.startswith("Solved: 1 (of 16)")


def test_a_verdict_by_the_clock_is_tried_again_and_not_kept_and_a_slow_machine_does_no_harm(scratch, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT / "tools" / folder) for folder in ("start", "explain", "")] + sys.path)
    import judge as judging  # noqa: PLC0415
    monkeypatch.setattr(judging, "SECONDS", 1)
    monkeypatch.setattr(judging.Judge, "can_simulate", lambda *_: False)
    monkeypatch.setattr(judging, "plugin", lambda *_: None)
    kernel = PUZZLES[0].read_text()
    waits = program(scratch, f'echo x >>{scratch}/tries\nsleep 2\n[ -e {scratch}/hangs ] && exec sleep 600\nfor answers; do :; done\n'
                             'echo \'{"buffers": [[11, 48], [22, 96]]}\' >"$answers"\n')
    monkeypatch.setitem(judging.CASES, 1, [judging.CASES[1][0].__class__([2], [2], {"a": [11, 48], "b": [None] * 2}, {"b": [22, 96]})])
    judge_it = lambda: judging.Judge(ROOT, waits).judge({"file": PUZZLES[0].name}, kernel, "")
    assert judge_it().state == judging.RIGHT
    (scratch / "tries").unlink()
    (scratch / "hangs").touch()
    monkeypatch.setattr(judging, "PATIENCE", 5)
    assert judge_it().state == judging.NO_VERDICT and (scratch / "tries").read_text() == "x\nx\n"


def test_what_is_solved_is_seen_in_the_files_and_a_deleted_one_begins_again(scratch):
    answer(scratch, 1, 2, 4)
    assert start(scratch).words.startswith("Solved: 1 2 4 (of 16) Puzzle 3 of 16")
    change(scratch, 2, "i < n", "i <= n")
    assert start(scratch).words.startswith("Solved: 1 4 (of 16) Puzzle 2 of 16")
    (scratch / PUZZLES[0].name).unlink()
    assert start(scratch).words.startswith("Solved: 4 (of 16) Puzzle 1 of 16")
    text = (scratch / PUZZLES[0].name).read_text()
    assert "// TODO" in text and "2 * a[i]" not in text and "//|" not in text
    answer(scratch, *range(1, 17))
    done = start(scratch)
    assert done.returncode == 0 and "All sixteen puzzles are solved." in done.words, done


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
    answer(files, *range(1, 17))
    done = start(files, PATH=path)
    assert done.returncode == 0 and f"Solved: {' '.join(map(str, range(1, 17)))} (of 16)" in done.words, done


def test_without_the_plugin_oclgrind_still_finds_the_race(scratch):
    if not shutil.which("oclgrind"):
        pytest.skip("no oclgrind (./lab setup)")
    (scratch / "build/bin").mkdir(parents=True)
    (scratch / "build/bin/start").symlink_to(BUILD / "bin/start")
    done = start(scratch / "files", "6", build=scratch / "build", CXX="false")
    assert done.returncode == 1 and "a race: work-item 0 of group 0 writes count[0]" in done.words, done
    assert "touched" not in done.words and done.stderr.splitlines()[-1].startswith("lab: no pictures and no counts"), done


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
                                        stdin=self.other, stdout=self.other, stderr=self.other, start_new_session=True,
                                        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))  # also below nohup

    def type(self, line):
        os.write(self.mine, line.encode())

    def wait_for(self, words, seconds=600):
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
        code = self.process.wait(timeout=600)
        assert termios.tcgetattr(self.other) == self.before
        os.close(self.mine), os.close(self.other)
        return code


def test_in_a_session_each_save_is_checked_hints_fold_out_and_the_next_puzzle_follows(scratch):
    session = Terminal(scratch)
    session.wait_for("q: quit")
    for line, words in (("h\n", "Hint 1 of 2: get_global_id(0)"), ("hint\n", "Hint 2 of 2"), ("h\n", "no more hints"),
                        ("help!\n", "'help!' is not known"), ("n\n", "Puzzle 2 of 16"), ("b\n", "Puzzle 1 of 16")):
        session.type(line)
        session.wait_for(words)
    session.wait_for("q: quit")
    change(scratch, 1, "get_global_id", "get_local_id")
    assert IDEA not in session.wait_for("wrong  1_one_item.cl")
    answer(scratch, 1)
    session.wait_for("right  1_one_item.cl")
    session.wait_for(IDEA)
    session.wait_for("Puzzle 2 of 16")
    session.wait_for("q: quit")
    session.type("q\n")
    session.wait_for("To go on: ./lab start")
    assert session.ended() == 0
    assert start(scratch).words.startswith("Solved: 1 (of 16) Puzzle 2 of 16")


def test_a_session_ends_when_the_last_puzzle_is_solved(scratch):
    answer(scratch, *range(1, 16))
    session = Terminal(scratch)
    session.wait_for("Puzzle 16 of 16")
    session.wait_for("q: quit")
    answer(scratch, 16)
    session.wait_for("All sixteen puzzles are solved.")
    assert session.ended() == 0


def test_ctrl_c_and_ctrl_d_end_a_session_and_leave_the_terminal_as_it_was(scratch):
    for end in (lambda session: session.process.send_signal(signal.SIGINT), lambda session: session.type("\x04")):
        session = Terminal(scratch)
        session.wait_for("q: quit")
        end(session)
        assert "Traceback" not in session.wait_for("To go on: ./lab start")
        assert session.ended() == 0


# In CUDA


def test_in_cuda_the_same_sixteen_puzzles_are_set():
    assert [one.name[:2] for one in IN_CUDA] == [one.name[:2] for one in PUZZLES] and len(PUZZLES) == 16


@pytest.mark.parametrize("old, new", [
    ("    b[i] = 2 * a[i];", '    b[i] = 2 * a[i];\n    printf("b store 99\\n");'), ("    b[i] = 2 * a[i];", "    int* mine = b + i;\n    *mine = 2 * a[i];")])
def test_in_cuda_a_kernel_may_print_and_use_pointers(scratch, old, new):
    change(scratch, 1, old, new, LANGUAGES["cuda"])
    done = judged(scratch, LANGUAGES["cuda"], 1, "right", PICTURES[0])
    assert ("the kernel has printed:" + 8 * " b store 99" in done.words) == ("printf" in new)
