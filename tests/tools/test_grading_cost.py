"""The check `cost`: kernels lose points by what they ask a GPU for, whatever they cost on this processor."""

import ast
import dataclasses
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from grading_kept import Kept
from grading_support import (HAS_OCLGRIND, ROOT, TAMPERING, changed, exercise_of, handed_out, judge_of, results_of, told,
                             why_not_emulated, with_tests)

from explain import report as report_of_counts
from grading import cost, judge as judging, marks, report, student
from grading.exercises import load
from grading.fault import Fault
from grading.judge import FAILED, NOT_GRADED, NO_RIGHT_ANSWER, PASSED, TIMED_OUT


def of_cost(test):
    return test.check == "cost"


def ready(judge):
    plugin, why = judge.plugin
    if not plugin or not HAS_OCLGRIND:
        pytest.skip(why or "oclgrind is not installed")
    return judge


def solved(text, code):
    """The file of a rung with other code between the first marks of its exercise."""
    return changed(text, ("\n".join(marks.regions(text, "a rung")[0].lines), code))


def written(judge, part, changes):
    """The file of a rung with changes, pairs of an old and a new text; or with another text between the marks of its exercise."""
    text = judge.lab.rung(part.file)
    return solved(text, changes) if isinstance(changes, str) else changed(text, *changes)


# Kernels that give right answers: the changes that make them of the rung, or their code.

LOAD, ADD = "x[me] = i < n ? a[i] : 0;", "if (me < stride) x[me] += x[me + stride];"
HALVES = "size_t stride = get_local_size(0) / 2; stride > 0; stride /= 2"
TREE_INTERLEAVED = [(HALVES, "size_t step = 2; step <= get_local_size(0); step *= 2"), (ADD, "if (me % step == 0) x[me] += x[me + step / 2];")]
TREE_WITH_CONFLICTS = [(HALVES, "size_t s = 1; s < get_local_size(0); s *= 2"),
                       (ADD, "if (2 * s * me < get_local_size(0)) x[2 * s * me] += x[2 * s * me + s];")]
TREE_CHUNKS = [(LOAD, """const size_t each = get_local_size(0) / 16, first = (i - me) + each * me;
    x[me] = 0;
    if (me < 16)
        for (size_t k = first; k < first + each && k < n; ++k) x[me] += a[k];"""), ("stride = get_local_size(0) / 2", "stride = 8")]
TREE_SERIAL = [(ADD, """if (me == 0 && stride == 1)
            for (size_t k = 1; k < get_local_size(0); ++k) x[0] += x[k];""")]
TREE_SERIAL_IN_VECTORS = [(ADD, """if (me == 0 && stride == 1) {
            float16 sum = 0;
            for (size_t k = 0; k < get_local_size(0) / 16; ++k) sum += convert_float16(vload16(k, x));
            float8 eight = sum.lo + sum.hi;
            x[0] = eight.s0 + eight.s1 + eight.s2 + eight.s3 + eight.s4 + eight.s5 + eight.s6 + eight.s7;
        }""")]
TREE_IN_REGISTERS = """    REAL all = 0;
    if (me == 0)
        for (size_t k = i; k < i + get_local_size(0) && k < n; ++k) all += a[k];
    if (me == 0) sums[get_group_id(0)] = all;"""
OWN_ELEMENTS = "size_t i = get_global_id(0); i < n; i += get_global_size(0)"
DOT_CHUNKS = [(OWN_ELEMENTS, "size_t each = (n + get_global_size(0) - 1) / get_global_size(0), i = get_global_id(0) * each, end = i + each; "
               "i < end && i < n; ++i")]
DOT_SERIAL = [("if (me < step) x[me] += x[me + step];", """if (me == 0 && step == 1)
            for (size_t k = 1; k < get_local_size(0); ++k) x[0] += x[k];""")]
SCAN_SERIAL = [("stride < get_local_size(0)", "stride < 2"), ("me >= stride ? x[me - stride] : (REAL)0", "0"),
               ("if (me >= stride) x[me] += before;", """if (me == 0)
            for (size_t k = stride; k < get_local_size(0); ++k) x[k] += x[k - 1];""")]
# As many elements as there are items, in a tree up and another one down: fewer additions than by doubling stride.
SCAN_IN_TREES = """    const size_t items = get_local_size(0);
    x[me] = mine[PER_ITEM - 1];
    size_t apart = 1;
    for (size_t half_of_them = items / 2; half_of_them > 0; half_of_them /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (me < half_of_them) x[apart * (2 * me + 2) - 1] += x[apart * (2 * me + 1) - 1];
        apart *= 2;
    }
    for (size_t more = 1; more < items / 2 + 1; more *= 2) {
        apart /= 2;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (me + 1 < more) x[apart * (2 * me + 3) - 1] += x[apart * (2 * me + 2) - 1];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const REAL base = me > 0 ? x[me - 1] : (REAL)0;"""
SAXPY_CHUNKS = [("if (i < n) c[i] = k * a[i] + b[i];", "for (size_t j = 32 * i; j < 32 * i + 32 && j < n; ++j) c[j] = k * a[j] + b[j];")]
MULTIPLY_BY_COLUMNS = [("j = get_global_id(0);", "j = get_group_id(0) * get_local_size(0) + get_local_id(1);"),
                       ("i = get_global_id(1);", "i = get_group_id(1) * get_local_size(1) + get_local_id(0);")]
MULTIPLY_WITHOUT_TILES = """    if (i >= m || j >= n) return;
    REAL sum = 0;
    for (int l = 0; l < k; ++l) sum += a[(size_t)i * k + l] * b[(size_t)l * n + j];
    c[(size_t)i * n + j] = sum;"""
TILES_BY_COLUMNS = [("a_tile[y][x] =", "a_tile[x][y] ="), ("a_tile[y][l]", "a_tile[l][y]")]
ROW_BY_ONE_LANE = [("int k = begin + (int)lane; k < end; k += (int)width", "int k = begin; lane == 0 && k < end; ++k")]
ROW_IN_CHUNKS = [("int k = begin + (int)lane; k < end; k += (int)width", "int each = (end - begin + (int)width - 1) / (int)width, "
                  "k = begin + (int)lane * each, last = min(k + each, end); k < last; ++k")]
ROW_JOINED_BY_ONE_LANE = [("if (lane < half_width) partial[item] += partial[item + half_width];", """if (lane == 0 && half_width == 1)
            for (uint other = 1; other < width; ++other) partial[item] += partial[item + other];""")]
# Thomas in local memory by the first item, in step 1; all items take the solution from there in step 2.
PCR_SERIAL = """            if (n > 2 && step == 1 && i == 0) {
                global REAL* x = x_out + at;
                for (uint j = 1; j < n; ++j) {
                    const REAL m = a[j] / b[j - 1];
                    b[j] -= m * c[j - 1];
                    d[j] -= m * d[j - 1];
                }
                x[n - 1] = d[n - 1] / b[n - 1];
                for (uint j = n - 1; j-- > 0;) x[j] = (d[j] - c[j] * x[j + 1]) / b[j];
            }
            if (step == 2) my_a = 0, my_c = 0, my_b = 1, my_d = x_out[at];
            if (n == 2) {
                my_d = i == 0 ? d[0] * b[1] - c[0] * d[1] : b[0] * d[1] - a[1] * d[0];
                my_b = b[0] * b[1] - c[0] * a[1];
            }"""
# The same in each item, for itself: all lanes work, and nothing is shared.
PCR_EACH_FOR_ITSELF = """            if (step == 1) {
                REAL cs[1024], ds[1024];
                cs[0] = c[0] / b[0], ds[0] = d[0] / b[0];
                for (uint j = 1; j < n; ++j) {
                    const REAL pivot = b[j] - a[j] * cs[j - 1];
                    cs[j] = c[j] / pivot, ds[j] = (d[j] - a[j] * ds[j - 1]) / pivot;
                }
                for (uint j = n - 1; j-- > i;) ds[j] -= cs[j] * ds[j + 1];
                my_a = 0, my_c = 0, my_b = 1, my_d = ds[i];
            }"""
# The same from global memory, in private arrays: local memory is not asked for anything.
PCR_FROM_GLOBAL_MEMORY = PCR_EACH_FOR_ITSELF.replace(
    "c[", "c_in[at - i + ").replace("d[", "d_in[at - i + ").replace("a[", "a_in[at - i + ").replace("b[", "b_in[at - i + ")
CR_ROUNDS = "for (uint i = (k + 1) * 2 * step - 1; i < n; i += items * 2 * step) {"
CR_SERIAL = [(CR_ROUNDS, "for (uint i = 2 * step - 1; k == 0 && i < n; i += 2 * step) {")]
CR_WHERE_EQUATIONS_STAND = [(CR_ROUNDS, "for (uint i = k; i < n; i += items) if ((i + 1) % (2 * step) == 0) {")]
CG_BY_ONE_ITEM = [("if (item < half_size) sums[item] += sums[item + half_size];", """if (item == 0 && half_size == 1)
            for (uint other = 1; other < get_local_size(0); ++other) sums[0] += sums[other];""")]

# By back end and name: the lab and the exercise, what is changed, and what is said of it.
LOSERS = {
    "opencl interleaved tree": ("reduction", "tree", TREE_INTERLEAVED, ['"if (me % step == 0) x[me] += x[me + step / 2];": ',
                                                                   "requests by 5.4 of 32 lanes", "25% of the lanes work"]),
    "opencl tree with conflicts": ("reduction", "tree", TREE_WITH_CONFLICTS, ["of 3.9 passes each where 1 would do", "3.3 passes of local memory"]),
    "opencl sum written by all": ("reduction", "tree", [("if (me == 0) sums", "sums")], ['"sums[get_group_id(0)] = x[0];": ', "sectors of global memory in all"]),
    "opencl tree over chunks": ("reduction", "tree", TREE_CHUNKS, ["x[me] += a[k];"]),
    "opencl tree by one item": ("reduction", "tree", TREE_SERIAL, ["by 1 of 32 lanes"]),
    "opencl tree by one item in vectors": ("reduction", "tree", TREE_SERIAL_IN_VECTORS, ["by 1 of 32 lanes"]),
    "opencl dot over chunks": ("reduction", "dot", DOT_CHUNKS, ["sectors each where 4 would do", "sectors of global memory in all, at most"]),
    "opencl dot by one item": ("reduction", "dot", DOT_SERIAL, ["by 1 of 32 lanes"]),
    "opencl scan by one item": ("reduction", "prefix-sum", SCAN_SERIAL, ["x[k] += x[k - 1];", "by 1 of 32 lanes"]),
    "opencl dot of cg by one item": ("cg", "dot", CG_BY_ONE_ITEM, ["sums[0] += sums[other];", "1020 requests by 1 of 32 lanes"]),
    "opencl saxpy over chunks": ("saxpy", "many-blocks", SAXPY_CHUNKS, ["sectors each where 4 would do"]),
    "opencl stride of a group": ("saxpy", "repair-stride", [("i += get_global_size(0)", "i += get_local_size(0)")], ["sectors of global memory in all, at most"]),
    "opencl coordinates read twice": ("saxpy", "distances", [("dx = points[3 * i] -", "dx = fmax(points[3 * i], points[3 * i]) -")], ["of 12 sectors each where 4 would do"]),
    "opencl columns by rows": ("matmul", "one-thread-per-element", MULTIPLY_BY_COLUMNS, ["of 8.5 sectors each where 1.5 would do"]),
    "opencl product without tiles": ("matmul", "shared-tile", MULTIPLY_WITHOUT_TILES, ["of 2 sectors each"]),
    "opencl tiles with conflicts": ("matmul", "shared-tile", TILES_BY_COLUMNS, ["passes each where 1 would do"]),
    "opencl row by one lane": ("spmv", "slice-per-row", ROW_BY_ONE_LANE, ["sectors of global memory in all"]),
    "opencl row in chunks": ("spmv", "slice-per-row", ROW_IN_CHUNKS, ["of 16 sectors each where 4 would do"]),
    "opencl row joined by one lane": ("spmv", "slice-per-row", ROW_JOINED_BY_ONE_LANE, ["by 1 of 32 lanes"]),
    "opencl pcr by one item": ("tridiagonal", "pcr", PCR_SERIAL, ["by 1 of 32 lanes"]),
    "opencl pcr by each item for itself": ("tridiagonal", "pcr", PCR_EACH_FOR_ITSELF, ["requests of local memory in all"]),
    "opencl pcr from global memory by each item": ("tridiagonal", "pcr", PCR_FROM_GLOBAL_MEMORY, ["requests of global memory in all, at most"]),
    "opencl tree by one item in registers": ("reduction", "tree", TREE_IN_REGISTERS, ["one work-item of a group does"]),
    "opencl cr by one item": ("tridiagonal", "cr", CR_SERIAL, ["by 1 of 32 lanes"]),
    "opencl cr where equations stand": ("tridiagonal", "cr", CR_WHERE_EQUATIONS_STAND, ["requests of local memory in all"]),
    "cuda row by one lane": ("spmv", "slice-per-row", [("= row_start[i] + static_cast<int>(lane); k < row_start[i + 1]; k += 32",
                                                        "= row_start[i]; lane == 0 && k < row_start[i + 1]; ++k")], ["by 1 of 32 lanes"]),
    "cuda cr by one thread": ("tridiagonal", "cr", [("for (unsigned i = (threadIdx.x + 1) * 2 * step - 1; i < n; i += blockDim.x * 2 * step) {",
                                                     "for (unsigned i = 2 * step - 1; threadIdx.x == 0 && i < n; i += 2 * step) {")],
                              ["by 1 of 32 lanes"]),
    "cuda dot of cg by one thread": ("cg", "dot", [("const double all = block_sum(static_cast<double>(sum));", """__shared__ double sums[block_threads];
    sums[threadIdx.x] = sum;
    __syncthreads();
    double all = 0;
    for (unsigned other = 0; threadIdx.x == 0 && other < block_threads; ++other) all += sums[other];""")], ["by 1 of 32 lanes"]),
    "cuda all of cg by one thread": ("cg", "dot", [("""+ threadIdx.x; i < n;
         i += gridDim.x * std::size_t{blockDim.x})
        sum += a[i] * b[i];""", """; threadIdx.x == 0 && i < n;
         i += gridDim.x * std::size_t{blockDim.x})
        for (std::size_t k = i; k < n && k < i + blockDim.x; ++k) sum += a[k] * b[k];""")], ["24% of the lanes work"]),
    "cuda tiles by columns": ("matmul", "shared-tile", TILES_BY_COLUMNS, ["passes of"]),
}
# Tests whose values they do not get right: one adds up in float, the others note no zero pivot.
NOT_ALL_RIGHT = {"opencl tree by one item in vectors": "one group and its neighbours",
                 **dict.fromkeys(["opencl pcr by one item", "opencl pcr by each item for itself", "opencl pcr from global memory by each item"],
                                 "a zero pivot")}


@pytest.mark.parametrize("lab", sorted({lab for lab, *_ in LOSERS.values()}))
def test_right_answers_that_ask_a_GPU_for_too_much_lose_the_points_of_that_test(lab):
    def graded(name):
        exercise, part, content, printed = submissions[name]
        wrong_in = NOT_ALL_RIGHT.get(name.removeprefix("cost "))
        asked = with_tests(exercise, lambda one: of_cost(one) or (one.visible and one.check == "values" and one.name != wrong_in))
        for one in judge.judge(asked, part, content, 0):
            if not one.test.startswith("what a GPU is asked for"):
                assert one.outcome == PASSED, f"{name}: {told([one])}"
                continue
            assert (one.outcome, one.score) == (FAILED, 0), f"{name}: {told([one])}"
            assert all(words in one.message for words in ast.literal_eval(printed)), f"{name}: {one.message}"
        return "rejected", "cost"

    with judge_of(lab) as judge:
        submissions = {}
        for name, (_, title, changes, printed) in [pair for pair in LOSERS.items() if pair[1][0] == lab]:
            exercise, part = exercise_of(ready(judge), title, name.split()[0])
            if part.backend == "opencl" or not why_not_emulated(judge, part):
                submissions[f"cost {name}"] = exercise, part, written(judge, part, changes).encode(), repr(printed)
        assert Kept(judge, submissions).judged_by(graded).keys() == submissions.keys()


TREE_COPIED = (LOAD, """const size_t first = i - me, there = first + get_local_size(0) <= n ? get_local_size(0) : n - first;
    for (size_t again = 0; again <= AGAIN; ++again) {
        event_t copied = async_work_group_copy(x, a + first, there, 0);
        wait_group_events(1, &copied);
    }
    if (me >= there) x[me] = 0;""")


@pytest.mark.parametrize("again, outcome", [(0, PASSED), (4, FAILED)])
def test_an_asynchronous_copy_counts_as_the_loads_of_a_group(again, outcome):
    with judge_of("reduction") as judge:
        [one] = results_of(ready(judge), "tree", TREE_COPIED, ("AGAIN", str(again)), tests=of_cost)
        assert one.outcome == outcome and (outcome == PASSED or "sectors of global memory in all" in one.message), told([one])


@pytest.mark.parametrize("lab, title, backend, changes", [
    ("reduction", "prefix-sum", "opencl", SCAN_IN_TREES),
    *(("matmul", "shared-tile", backend, [("[TILE][TILE];", "[TILE][TILE + 1];")]) for backend in ("opencl", "cuda"))],
    ids=["scan in trees", "padded tiles", "padded tiles in CUDA"])
def test_another_honest_way_keeps_them(lab, title, backend, changes):
    with judge_of(lab) as judge:
        _, part = exercise_of(ready(judge), title, backend)
        if why := backend == "cuda" and why_not_emulated(judge, part):
            pytest.skip(why)
        results = results_of(judge, title, text=written(judge, part, changes), backend=backend,
                             tests=lambda one: of_cost(one) or (one.visible and one.check == "values"))
        assert {one.outcome for one in results} == {PASSED}, told(results)


# Histograms between the marks of their exercise, in OpenCL and in CUDA: without all tests, or those that find the mistake.
HISTOGRAM = {
    "opencl": ("local uint mine[MAX_BINS];", "for (uint b = me; b < bins; b += get_local_size(0)) mine[b] = 0;", "barrier(CLK_LOCAL_MEM_FENCE);",
               "for (size_t i = get_global_id(0); i < n; i += get_global_size(0)) atomic_inc(&mine[(uint)a[i]]);",
               "for (uint b = me; b < bins; b += get_local_size(0)) atomic_add(&counts[b], mine[b]);"),
    "cuda": ("__shared__ unsigned mine[max_bins];", "for (unsigned b = me; b < bins; b += blockDim.x) mine[b] = 0;", "__syncthreads();",
             "for (std::size_t i = blockIdx.x * blockDim.x + me; i < n; i += gridDim.x * blockDim.x) "
             "atomicAdd(&mine[static_cast<unsigned>(a[i])], 1u);",
             "for (unsigned b = me; b < bins; b += blockDim.x) atomicAdd(&counts[b], mine[b]);")}
RUNS = """uint last = 0, run = 0; // of equal neighbours
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0)) {
        const uint bin = (uint)a[i];
        if (bin != last) {
            if (run) atomic_add(&mine[last], run);
            run = 0, last = bin;
        }
        ++run;
    }
    if (run) atomic_add(&mine[last], run);"""
RANGES = """const size_t each = (n + get_num_groups(0) - 1) / get_num_groups(0), first = get_group_id(0) * each;
    for (size_t i = first + me; i < min(first + each, (size_t)n); i += get_local_size(0)) atomic_inc(&mine[(uint)floor(a[i])]);"""
WARP_AT_ONCE = """const std::size_t grid = gridDim.x * std::size_t{blockDim.x};
    for (std::size_t first = blockIdx.x * blockDim.x; first < n; first += grid) {
        const unsigned bin = first + me < n ? static_cast<unsigned>(a[first + me]) : max_bins;
        const unsigned same = __match_any_sync(0xffffffffu, bin);
        if (bin < max_bins && (same & ((1u << me % 32) - 1)) == 0) atomicAdd(&mine[bin], static_cast<unsigned>(__popc(same)));
    }"""
GPU, RACES = "what a GPU is asked for", "no data race, small"


def histograms(backend):
    """By name: the code, and a visible test that it fails; None where it is right."""
    room, zero, wait, count, add = whole = HISTOGRAM[backend]
    copies = 16 if backend == "opencl" else 8  # for groups of at most 512 items, or 256 threads
    both = {
        "with a copy for each warp": ([
            room.replace("mine", f"all[{copies}]"), f"for (int w = 0; w < {copies}; ++w) " + zero.replace("mine", "all[w]"), wait,
            count.replace("mine", "all[me / 32]"), wait, f"for (int w = {copies - 1}; w >= 0; --w) " + add.replace("mine", "all[w]").replace(
                "atomic", "if (w > 0) all[0][b] += all[w][b]; else atomic")],
            None),
        "without zeros": ([room, wait, count, wait, add], RACES),
        "without a barrier before": ([room, zero, count, wait, add], RACES),
        "without a barrier after": ([room, zero, wait, count, add], RACES),
        "counted without atomics": ([room, zero, wait, re.sub(r"atomic\w+\(&(mine\[.*\])(, 1u)?\);", r"++\1;", count), wait, add], RACES),
        "added without atomics": ([*whole[:3], count, wait, re.sub(r"atomic\w+\(&counts\[b\], mine\[b\]\)", "counts[b] += mine[b]", add)], RACES),
        "in global memory": ([count.replace("mine[", "counts[")], GPU),
        "added by one item": ([room, zero, wait, count, wait, "if (me == 0) " + re.sub(r"= me; (.*?); b \+= \S+\)", r"= 0; \1; ++b)", add)], GPU),
    }
    ways = {"by runs": RUNS, "by ranges": RANGES} if backend == "opencl" else {"by warps at once": WARP_AT_ONCE}
    return both | {name: ([room, zero, wait, way, wait, add], None) for name, way in ways.items()}


@pytest.mark.parametrize("backend", ["opencl", "cuda"])
def test_histograms_of_all_kinds_are_right_and_the_usual_mistakes_are_found(backend):
    with judge_of("reduction", kind="none") as judge:
        exercise, part = exercise_of(ready(judge), "histogram", backend)
        if why := backend == "cuda" and why_not_emulated(judge, part):
            pytest.skip(why)
        tried = histograms(backend)
        texts = {name: solved(judge.lab.rung(part.file), "    " + "\n    ".join(code)).encode() for name, (code, _) in tried.items()}

        def graded(name):
            which = name.removeprefix(f"histogram {backend} ")
            wrong_in = tried[which][1]
            wanted = with_tests(exercise, lambda one: one.name == wrong_in if wrong_in else one.check != "speed")
            results = judge.judge(wanted, part, texts[which], 0)
            assert {one.outcome for one in results} == {FAILED if wrong_in else PASSED}, f"{name}: {told(results)}"
            return "rejected" if wrong_in else "passed", wrong_in or ""

        kept = Kept(judge, {f"histogram {backend} {name}": (exercise, part, texts[name]) for name in tried})
        assert len(kept.judged_by(graded)) == len(tried)


def test_a_kernel_that_loses_points_loses_the_same_with_the_same_words_each_time():
    with judge_of("reduction") as judge:
        printed = {told(results_of(ready(judge), "tree", *TREE_INTERLEAVED, tests=of_cost)) for _ in range(5)}
        assert len(printed) == 1, printed


# What a kernel may try, to be counted otherwise.


FORGED = r"""{\"kernel\":\"tree_sequential\",\"whole\":true,\"groups\":1,\"warps\":1,\"barriers\":0,\"idle\":0,\"items\":[1,1,1],\"sites\":[]}"""
ARGUMENTS = "(global const REAL* a, ulong n, local REAL* x, global REAL* sums) {"
FUNCTION = (f"kernel void tree_sequential{ARGUMENTS}", f"__attribute__((nodebug, noinline)) void interleaved{ARGUMENTS}")
FOUR_DEEP = "".join(f"__attribute__((noinline)) void {name}{ARGUMENTS} {other}(a, n, x, sums); }}\n" for name, other in
                    (("fourth", "interleaved"), ("third", "fourth"), ("second", "third"), ("first", "second")))
HIDDEN_PLACES = {  # changes of the rung beside those of the interleaved tree, and what follows it
    "prints counts": ((LOAD, f'{LOAD}\n    if (me == 0) printf("{FORGED}\\n");'), ""),
    "names another file": (("    " + LOAD, f'#line 1 "other.cl"\n    {LOAD}'), ""),
    "is called without places": (FUNCTION, f"kernel void tree_sequential{ARGUMENTS} interleaved(a, n, x, sums); }}\n"),
    "is called four deep": (FUNCTION, f"{FOUR_DEEP}kernel void tree_sequential{ARGUMENTS} first(a, n, x, sums); }}\n"),
    "calls the system": ((LOAD, f'{LOAD}\n    if (get_global_id(0) == 0) grow("launches");'), ""),  # for which only the tool runs it
}


@pytest.mark.parametrize("how", HIDDEN_PLACES)
def test_no_kernel_hides_what_it_asks_for(how):
    with judge_of("reduction") as judge:
        _, part = exercise_of(ready(judge), "tree")
        change, behind = HIDDEN_PLACES[how]
        text = written(judge, part, [*TREE_INTERLEAVED, change]) + behind
        in_tool = how == "calls the system"
        [one] = results_of(judge, "tree", text=(TAMPERING / "syscalls.txt").read_text() * in_tool + text, tests=of_cost)
        assert one.score == 0 and (in_tool or one.outcome == FAILED and "25% of the lanes work" in one.message), told([one])
        assert one.outcome not in (PASSED, NOT_GRADED), told([one])


def test_every_launch_of_every_repeat_counts():
    """A kernel that does its work in the first of several runs, and leaves the answer to the others, saves nothing."""
    with judge_of("reduction") as judge:
        exercise, part = exercise_of(ready(judge), "tree")
        [test] = [one for one in exercise.tests if of_cost(one)]
        case = {**test.cases[0], "n": 4096, "repeats": 3}
        for bounds, outcome in (({"global_sectors": "3 * (n / 8 + 19)"}, PASSED), ({"global_sectors": "2 * (n / 8 + 19)"}, NOT_GRADED)):
            only = dataclasses.replace(exercise, tests=[dataclasses.replace(test, cases=[case], bounds=bounds)])
            judge.tried = {}
            [one] = judge.judge(only, part, judge.lab.rung(part.file).encode(), 0)
            assert one.outcome == outcome, told([one])
        assert "1593 sectors of global memory in all" in one.message, one.message


# What goes wrong.


def test_a_kernel_that_does_not_end_is_timed_out_and_takes_no_memory_meanwhile(monkeypatch):
    monkeypatch.setattr(judging, "OF_TOOLS", 4.0)
    with judge_of("reduction", seconds=4) as judge:
        [one] = results_of(ready(judge), "tree", (LOAD, "x[me] = 0; for (int k = 1; k > 0; k = k % 7 + 1) x[me] += a[0];"), tests=of_cost)
        assert (one.outcome, one.score) == (TIMED_OUT, 0) and "it does not seem to end" in one.message, told([one])


def test_a_kernel_that_leaves_its_arrays_or_is_wrong_is_told_so_and_not_what_it_costs():
    with judge_of("reduction") as judge:
        for change, printed in (((LOAD, LOAD + "\n    if (i == 0) x[me] += 0 * a[n + (1 << 20)];"), " reads at line "),
                                (("x[me] +=", "x[me] -="), "expected ")):
            [one] = results_of(ready(judge), "tree", *TREE_INTERLEAVED, change, tests=of_cost)
            assert (one.outcome, one.score, one.public) == (FAILED, 0, NO_RIGHT_ANSWER), told([one])
            assert printed in one.message and "lanes work" not in one.message, told([one])
            assert "Hint" not in report.shown_to_student({"visible": True, "hint": "about the cost"}, one.as_dict()), "a hint that misleads"


def test_where_the_plugin_cannot_be_had_a_line_says_so_and_nobody_fails(scratch):
    with judge_of("reduction") as judge:
        judge.plugin = (None, "the headers of Oclgrind and LLVM are missing")
        [one] = results_of(judge, "tree", *TREE_INTERLEAVED, tests=of_cost)
        assert (one.outcome, one.message) == (NOT_GRADED, "the headers of Oclgrind and LLVM are missing")
        assert one.public == one.message
    ran = subprocess.run([sys.executable, ROOT / "tools/explain/plugin.py", ROOT, scratch], env={"PATH": str(scratch)}, capture_output=True,
                         text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1) and "oclgrind" in ran.stderr, ran


# What students read.


def test_feedback_on_a_hidden_test_quotes_the_line_and_tells_no_size():
    with judge_of("reduction") as judge:
        exercise, part = exercise_of(ready(judge), "tree")
        [test] = [one for one in exercise.tests if of_cost(one)]
        hidden = dataclasses.replace(test, visible=False, cases=[{**test.cases[0], "n": "{5000-9000}"}])
        only = dataclasses.replace(exercise, tests=[hidden])
        [one] = judge.judge(only, part, written(judge, part, TREE_CHUNKS).encode(), 0)
        drawn = judging.Run(judge, only, part, hidden, Path(), Path(), Path(), 0).cases()[0]["n"]
        assert one.outcome == FAILED and f"n = {drawn}" in one.message, told([one])
        printed = report.shown_to_student({"visible": False, "hint": ""}, one.as_dict())
        assert "x[me] += a[k]" in printed and "of the lanes work" in printed and str(drawn) not in printed, printed
        assert "requests by" in printed and " requests by" not in printed.replace('": requests by', ""), printed


def test_lab_test_in_a_hand_out_shows_what_a_kernel_asks_for(scratch, monkeypatch, capsys):
    with judge_of("reduction") as judge:
        _, part = exercise_of(ready(judge), "tree")
        text = written(judge, part, TREE_INTERLEAVED)
    out = handed_out(scratch, "reduction", monkeypatch)
    (out / "labs/02_reduction" / part.file).write_text(text)
    monkeypatch.setattr(judging, "HAS_ANSWERS", False)
    assert student.main([str(out), "test", "tree"]) == 1
    printed = capsys.readouterr().out
    assert '"if (me % step == 0) x[me] += x[me + step / 2];": ' in printed and " requests by 5.4 of 32 lanes" in printed, printed
    assert "Hint: Which warps still have a working item" in printed and "3.5 of 5.5 points in the tests that you can see" in printed, printed
    monkeypatch.setattr(judging.Judge, "plugin", (None, "explain needs a header"))
    assert student.main([str(out), "test", "tree"]) == 0
    printed = capsys.readouterr().out
    assert "not tested  what a GPU is asked for (0 of 2)\n           explain needs a header\n" in printed, printed


# Bounds.


def test_formulas_have_numbers_names_signs_and_some_functions():
    sizes = {"n": 100.0, "groups": 7.0}
    for formula, found_value in (("n / 8 + groups", 19.5), ("-n // 8", -13), ("2 ** 3 % 5", 3), ("max(n, groups) - min(1, 2)", 99),
                                 ("ceil(n / 32) * log2(8)", 12), ("(1.5 + .5) * 3", 6)):
        assert cost.value(formula, sizes) == found_value, formula
    assert cost.sizes_of({"op": "sum", "n": "{10-40}", "k": "{16-48:16}", "m": 7, "numbers": "whole"}) == {"n": 10, "k": 16, "m": 7}  # the least: it bounds all
    for formula in ("m + 1", "open('x')", "'n'", "n / 0", "log2(0)", "log2()", "n +", "", "(-8) ** 0.5", "1j", "1e999", "(" * 500):
        with pytest.raises(ValueError) as refused:
            cost.value(formula, sizes)
        assert "\n" not in str(refused.value), formula


def counts_of(*sites, **more):
    """What a launch of two groups of 64 items writes. A site is kind, space, requests, lanes, sectors or passes, and more."""
    zero = dict.fromkeys(report_of_counts.COUNTED, 0) | {"file": "k.cl", "width": 4, "excess": 0, "worst": []}
    sites = [zero | {"line": line, "kind": kind, "space": space, "requests": requests, "lanes": lanes,
                     "passes" if space == "local" else "splits" if kind == "branch" else "sectors": most} | dict(rest)
             for line, (kind, space, requests, lanes, most, *rest) in enumerate(sites, 1)]
    return json.dumps({"whole": True, "groups": 2, "warps": 4, "barriers": 6, "idle": 0, "items": [128, 1, 1], "executed": [70, 20, 600],
                       "sites": sites} | more)


EACH_KIND = counts_of(("load", "global", 10, 320, 40), ("store", "global", 5, 80, 20), ("atomic", "global", 1, 32, 3), ("branch", "", 9, 288, 2),
                      ("load", "local", 4, 96, 12, ("joined", 2)), ("store", "shared", 2, 64, 0, ("passes", 3)))
BY_HAND = {"global_requests": 16, "global_sectors": 63, "bytes_read": 43 * 32, "bytes_written": 23 * 32, "local_requests": 6,
           "local_passes": 15, "passes": 15 / (4 * 2 + 2), "barriers": 6, "splits": 2, "instructions": 70,
           "lanes": (320 + 80 + 32 + 96 + 64) / (32 * 22)}


def test_each_count_is_that_by_hand_and_a_bound_holds_up_to_its_room_and_no_further():
    assert BY_HAND.keys() == cost.COUNTS.keys()
    one = cost.counted(EACH_KIND)
    for name, by_hand in BY_HAND.items():
        assert cost.amount(one, name) == by_hand, name
        for cuda, room in ((False, 1), (True, 1 if name == "passes" else 1.05)):
            at = by_hand * room if name == "lanes" else by_hand / room  # the strictest bound that holds
            for much, kept in ((1.001, name != "lanes"), (0.999, name == "lanes")):
                assert (cost.too_much(EACH_KIND, {name: str(at * much)}, {}, "k.cl", "", cuda) is None) == kept, (name, cuda, much)
    assert cost.amount(cost.counted(EACH_KIND + "\n" + counts_of(instructions=7)), "instructions") == 77, "two launches, one in CUDA"
    bounds = cost.bounds_of_rung(EACH_KIND)
    assert bounds == {name: f"{4 * by_hand:.0f} + 8 * warps" for name, by_hand in BY_HAND.items() if name not in ("passes", "lanes")}


def test_one_item_that_does_more_than_a_quarter_of_what_several_do_is_named():
    for executed, items, share in (((70, 26, 100), 64, "26%"), ((70, 25, 100), 64, ""), ((70, 26, 100), 63, "")):
        launch = counts_of(executed=executed, items=[items, 1, 1])
        assert cost.one_item(cost.counted(launch)) == (f"; one work-item of a group does {share} of the work" if share else ""), executed


def test_the_work_of_a_launch_is_itself_and_what_it_has_most_of_in_instructions_of_an_H100():
    of_sectors, of_passes = (counts_of(("load", space, 1, 32, 10 ** 6), instructions=8) for space in ("global", "local"))
    waiting, many = counts_of(instructions=800), counts_of(instructions=10 ** 6, warps=10 ** 6)
    for launch, most in ((of_sectors, 5.3e6), (of_passes, 4e6), (waiting, 800 / 4 * 8 * 528), (many, 1e6)):
        assert cost.work(launch) == 9e5 + most and cost.work(f"{launch}\n{many}") == 9e5 + most + 9e5 + 1e6, most


@pytest.mark.parametrize("line, printed", [
    ('bounds = { global_sectors = "m / 8" }', "'m / 8' names 'm'; there are: groups items launches n warps"),
    ('bounds = { sectors = "n" }', "nothing that is counted is named 'sectors'; there are: global_requests"),
    ("bounds = { lanes = 0.5 }", "is a formula, a text in quotes"), ("", "has no bounds"), ("bounds = { }", "has no bounds"),
    ('bounds = { splits = "import os" }', "'import os' has no value")])
def test_bounds_that_cannot_hold_are_refused_in_one_line_when_they_are_read(scratch, line, printed):
    for part in ("labs/02_reduction", "tests/mistakes"):
        shutil.copytree(ROOT / part, scratch / part)
    file = scratch / "labs/02_reduction/exercises/exercises.toml"
    text = file.read_text()
    at = text.index("bounds = ")
    file.write_text(text[:at] + line + text[text.index("\n", at):])
    with pytest.raises(Fault) as refused:
        load(scratch, "reduction")
    assert printed in str(refused.value) and "'what a GPU is asked for' of 'tree'" in str(refused.value) and "\n" not in str(refused.value)
    file.write_text(text.replace('check = "values"', "").replace('name = "one to eight numbers"\n',
                                                               'name = "one to eight numbers"\nbounds = { lanes = "1" }\n'))
    with pytest.raises(Fault, match="belong to the check 'cost'"):
        load(scratch, "reduction")
    file.write_text(text.replace('n = "{2048-6144}"', "n = 4096"))
    with pytest.raises(Fault, match="'what a GPU is asked for' of 'tree' draws no size"):
        load(scratch, "reduction")
