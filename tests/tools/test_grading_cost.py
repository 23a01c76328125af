"""The check `cost`: kernels lose points by what they ask a GPU for, whatever they cost on this processor."""

import dataclasses
import shutil
import subprocess
from pathlib import Path

import pytest
from grading_support import HAS_OCLGRIND, LABS, ROOT, TAMPERING, files_of, judge_of, told, with_tests

from grading import cost, handout, judge as judging, marks, report, student
from grading.exercises import load
from grading.fault import Fault
from grading.judge import CRASHED, FAILED, NOT_GRADED, NO_RIGHT_ANSWER, PASSED, TIMED_OUT

CHECKED = [(lab, exercise.name) for lab in LABS for exercise in load(ROOT, lab).exercises
           if any(test.check == "cost" for test in exercise.tests)]


def of_cost(test):
    return test.check == "cost"


def found(judge, name):
    """An exercise, and its part in OpenCL."""
    exercise = next(one for one in judge.lab.exercises if one.name == name)
    return exercise, exercise.parts["opencl"]


def ready(judge):
    plugin, why = judge.plugin
    if not plugin or not HAS_OCLGRIND:
        pytest.skip(why or "oclgrind is not installed")
    return judge


def solved(text, codes):
    """The file of a rung with other code between the marks of its exercise, one after the other."""
    codes = iter(codes)
    lines = []
    for piece in marks.read(text, "a rung"):
        lines += [next(codes)] if isinstance(piece, marks.Region) else [piece]
    assert next(codes, None) is None
    return "\n".join([*lines, ""])


def costs(judge, name, *codes, tests=of_cost):
    """The results of an exercise with this code between its marks."""
    exercise, part = found(judge, name)
    text = solved(judge.lab.rung(part.files[0]), codes) if codes else judge.lab.rung(part.files[0])
    return judge.judge(with_tests(exercise, tests), part, {part.files[0]: text.encode()}, 0)


# Kernels that give right answers, each with the beginning of its exercise, what it does, and what is said of it.

TREE_INTERLEAVED = """    x[me] = i < n ? a[i] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t step = 2; step <= get_local_size(0); step *= 2) {
        if (me % step == 0) x[me] += x[me + step / 2];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (me == 0) sums[get_group_id(0)] = x[0];"""
TREE_CHUNKS = """    const size_t first = (i - me) + 16 * me;
    x[me] = 0;
    if (me < 16)
        for (size_t k = first; k < first + 16 && k < n; ++k) x[me] += a[k];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t s = 8; s > 0; s /= 2) {
        if (me < s) x[me] += x[me + s];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (me == 0) sums[get_group_id(0)] = x[0];"""
TREE_SERIAL = """    x[me] = i < n ? a[i] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (me > 0) return;
    REAL sum = 0;
    for (size_t k = 0; k < get_local_size(0); ++k) sum += x[k];
    sums[get_group_id(0)] = sum;"""
TREE_SERIAL_IN_VECTORS = """    x[me] = i < n ? a[i] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (me > 0) return;
    float16 sum = 0;
    for (size_t k = 0; k < get_local_size(0) / 16; ++k) sum += convert_float16(vload16(k, x));
    float8 eight = sum.lo + sum.hi;
    sums[get_group_id(0)] = eight.s0 + eight.s1 + eight.s2 + eight.s3 + eight.s4 + eight.s5 + eight.s6 + eight.s7;"""
DOT_CHUNKS = """    const size_t each = (n + get_global_size(0) - 1) / get_global_size(0), first = get_global_id(0) * each;
    REAL mine = 0;
    for (size_t i = first; i < first + each && i < n; ++i) mine += a[i] * b[i];
    x[me] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t step = get_local_size(0) / 2; step > 0; step /= 2) {
        if (me < step) x[me] += x[me + step];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (me == 0) sums[get_group_id(0)] = x[0];"""
DOT_SERIAL = """    REAL mine = 0;
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0)) mine += a[i] * b[i];
    x[me] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (me > 0) return;
    for (size_t k = 1; k < get_local_size(0); ++k) mine += x[k];
    sums[get_group_id(0)] = mine;"""
SCAN_SERIAL = ("""    x[me] = mine[PER_ITEM - 1];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (me == 0)
        for (size_t k = 1; k < get_local_size(0); ++k) x[k] += x[k - 1];
    barrier(CLK_LOCAL_MEM_FENCE);
    const REAL base = me > 0 ? x[me - 1] : (REAL)0;""", """    const REAL base = before[get_group_id(0)];
    for (int k = 0; k < PER_ITEM; ++k)
        if (first + k < n) out[first + k] += base;""")
# As many elements as there are items, in a tree up and another one down: fewer additions than by doubling stride.
SCAN_IN_TREES = ("""    const size_t items = get_local_size(0);
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
    const REAL base = me > 0 ? x[me - 1] : (REAL)0;""", SCAN_SERIAL[1])
SAXPY_CHUNKS = """    const size_t items = get_global_size(0), each = 32;
    for (size_t i = get_global_id(0) * each; i < (get_global_id(0) + 1) * each && i < n; ++i) c[i] = k * a[i] + b[i];"""
DISTANCES_TWICE = ("""    const float dx = points[3 * i] - x, dy = points[3 * i + 1] - y, dz = points[3 * i + 2] - z;
    d[i] = sqrt(dx * (points[3 * i] - x) + dy * dy + dz * dz);""", "    const float4 p = points[i] - (float4)(x, y, z, 0);\n"
                   "    d[i] = sqrt(p.x * p.x + p.y * p.y + p.z * p.z);")
MULTIPLY_BY_COLUMNS = """    const int j = get_group_id(0) * get_local_size(0) + get_local_id(1);
    const int i = get_group_id(1) * get_local_size(1) + get_local_id(0);
    if (i >= m || j >= n) return;
    REAL sum = 0;
    for (int l = 0; l < k; ++l) sum += a[(size_t)i * k + l] * b[(size_t)l * n + j];
    c[(size_t)i * n + j] = sum;"""
MULTIPLY_WITHOUT_TILES = """    if (i >= m || j >= n) return;
    REAL sum = 0;
    for (int l = 0; l < k; ++l) sum += a[(size_t)i * k + l] * b[(size_t)l * n + j];
    c[(size_t)i * n + j] = sum;"""
MULTIPLY_WITH_CONFLICTS = """    REAL sum = 0;
    for (int l0 = 0; l0 < k; l0 += TILE) {
        a_tile[x][y] = i < m && l0 + x < k ? a[(size_t)i * k + l0 + x] : 0;
        b_tile[x][y] = l0 + y < k && j < n ? b[(size_t)(l0 + y) * n + j] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int l = 0; l < TILE; ++l) sum += a_tile[l][y] * b_tile[x][l];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i < m && j < n) c[(size_t)i * n + j] = sum;"""
ROW_BY_ONE_LANE = """    REAL sum = 0;
    if (lane == 0)
        for (int k = begin; k < end; ++k) sum += value[k] * x[column[k]];
    if (lane == 0 && i < rows) y[i] = sum;"""
ROW_IN_CHUNKS = """    const int each = (end - begin + (int)width - 1) / (int)width, first = begin + (int)lane * each;
    REAL sum = 0;
    for (int k = first; k < min(first + each, end); ++k) sum += value[k] * x[column[k]];
    partial[item] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint half_width = width / 2; half_width > 0; half_width /= 2) {
        if (lane < half_width) partial[item] += partial[item + half_width];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lane == 0 && i < rows) y[i] = partial[item];"""
ROW_JOINED_BY_ONE_LANE = """    REAL sum = 0;
    for (int k = begin + (int)lane; k < end; k += (int)width) sum += value[k] * x[column[k]];
    partial[item] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lane > 0 || i >= rows) return;
    for (uint other = 1; other < width; ++other) sum += partial[item + other];
    y[i] = sum;"""
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
CR = """    uint step = 1;
    for (; 2 * step <= n; step *= 2) {
        @ {
            const uint left = i - step, right = i + step;
            const REAL alpha = a[i] / b[left];
            REAL new_b = b[i] - alpha * c[left], new_d = d[i] - alpha * d[left], new_c = 0;
            const REAL new_a = left < step ? 0 : -alpha * a[left];
            if (right < n) {
                const REAL beta = c[i] / b[right];
                new_b -= beta * a[right];
                new_d -= beta * d[right];
                if (right + step < n) new_c = -beta * c[right];
            }
            a[i] = new_a, b[i] = new_b, c[i] = new_c, d[i] = new_d;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }"""
CR_SERIAL = CR.replace("@", "if (k == 0) for (uint i = 2 * step - 1; i < n; i += 2 * step)")
CR_WHERE_EQUATIONS_STAND = CR.replace("@", "for (uint i = k; i < n; i += items) if ((i + 1) % (2 * step) == 0)")

LOSERS = {
    "interleaved tree": ("reduction", "tree", [TREE_INTERLEAVED], ['"if (me % step == 0) x[me] += x[me + step / 2];": ',
                                                                   "1598 requests by 5.4 of 32 lanes", "25% of the lanes work"]),
    "tree over chunks": ("reduction", "tree", [TREE_CHUNKS], ["x[me] += a[k];"]),
    "tree by one item": ("reduction", "tree", [TREE_SERIAL], ["by 1 of 32 lanes"]),
    "tree by one item in vectors": ("reduction", "tree", [TREE_SERIAL_IN_VECTORS], ["by 1 of 32 lanes"]),
    "dot over chunks": ("reduction", "dot", [DOT_CHUNKS], ["512 requests of 16 sectors each where 4 would do",
                                                           "8200 sectors of global memory in all, at most 2056 asked for"]),
    "dot by one item": ("reduction", "dot", [DOT_SERIAL], ["by 1 of 32 lanes"]),
    "scan by one item": ("reduction", "prefix-sum", SCAN_SERIAL, ["x[k] += x[k - 1];", "by 1 of 32 lanes"]),
    "saxpy over chunks": ("saxpy", "many-blocks", [SAXPY_CHUNKS], ["256 requests of 32 sectors each where 4 would do"]),
    "coordinates read twice": ("saxpy", "distances", DISTANCES_TWICE, ["of 12 sectors each where 4 would do"]),
    "columns by rows": ("matmul", "one-thread-per-element", [MULTIPLY_BY_COLUMNS], ["of 8.5 sectors each where 1.5 would do"]),
    "product without tiles": ("matmul", "shared-tile", [MULTIPLY_WITHOUT_TILES], ["of 2 sectors each"]),
    "tiles with conflicts": ("matmul", "shared-tile", [MULTIPLY_WITH_CONFLICTS], ["passes each where 1 would do"]),
    "row by one lane": ("spmv", "slice-per-row", [ROW_BY_ONE_LANE], ["sectors of global memory in all"]),
    "row in chunks": ("spmv", "slice-per-row", [ROW_IN_CHUNKS], ["of 16 sectors each where 4 would do"]),
    "row joined by one lane": ("spmv", "slice-per-row", [ROW_JOINED_BY_ONE_LANE], ["by 1 of 32 lanes"]),
    "pcr by one item": ("tridiagonal", "pcr", [PCR_SERIAL], ["by 1 of 32 lanes"]),
    "pcr by each item for itself": ("tridiagonal", "pcr", [PCR_EACH_FOR_ITSELF], ["requests of local memory in all"]),
    "cr by one item": ("tridiagonal", "cr", [CR_SERIAL], ["by 1 of 32 lanes"]),
    "cr where equations stand": ("tridiagonal", "cr", [CR_WHERE_EQUATIONS_STAND], ["requests of local memory in all"]),
}
WINNERS = {
    "scan in two trees": ("reduction", "prefix-sum", SCAN_IN_TREES),
}


@pytest.mark.parametrize("name", LOSERS)
def test_right_answers_that_ask_a_GPU_for_too_much_lose_the_points_of_that_test(name):
    lab, exercise, codes, said = LOSERS[name]
    with judge_of(lab) as judge:
        results = costs(ready(judge), exercise, *codes, tests=lambda one: of_cost(one) or (one.visible and one.check == "values"))
        for one in results:
            if one.test != "what a GPU is asked for":
                assert one.outcome == PASSED, told([one])
                continue
            assert (one.outcome, one.score) == (FAILED, 0), told([one])
            assert all(words in one.message for words in said), one.message
            print(one.message, "|", one.public)


@pytest.mark.parametrize("name", WINNERS)
def test_another_honest_way_keeps_them(name):
    lab, exercise, codes = WINNERS[name]
    with judge_of(lab) as judge:
        results = costs(ready(judge), exercise, *codes, tests=lambda one: of_cost(one) or (one.visible and one.check == "values"))
        assert {one.outcome for one in results} == {PASSED}, told(results)
