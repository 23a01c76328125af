#!/usr/bin/env python3
"""The tests of hand-outs and grading. test_grading.py "the sentence to test" [what it is about]."""

import contextlib
import csv
import dataclasses
import hashlib
import io
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools"))

from grading import (cuda, grade, handout, judge as judging, launches, package, report,  # noqa: E402
                     sandbox as sandbox_module, student)
from grading.exercises import is_unsolved, load, same_outside_todo  # noqa: E402
from grading.fault import Fault  # noqa: E402
from grading.judge import (BUILD_ERROR, CRASHED, CUT_OFF, ELSEWHERE, FAILED, MOSTLY_ELSEWHERE, NO_KERNEL,  # noqa: E402
                           NOT_COUNTED, NOT_GRADED, NOT_ITS_KERNELS, OUTCOMES, PASSED, TIMED_OUT, TOO_FEW, UNSOLVED, Judge,
                           Result, is_clean, ratio_of, read_log, share_for)
from grading.launches import LIBRARY, Counter  # noqa: E402
from grading.sandbox import Sandbox, best, remove  # noqa: E402
from grading.submission import read  # noqa: E402

PROGRAMS = Path(os.environ.get("GPULAB_PROGRAMS", ROOT / "build/default/bin"))
TAMPERING = ROOT / "tests/tools/tampering"
TESTS = {}


def test(function):
    TESTS[function.__doc__.strip()] = function
    return function


def fail(what):
    print(f"FAILED: {what}", file=sys.stderr)
    sys.exit(1)


def skip(why):
    print(f"skipped: {why}")
    sys.exit(4)


def equal(found, expected, what):
    if found != expected:
        fail(f"{what}: expected {expected!r}, got {found!r}")


def holds(condition, what):
    if not condition:
        fail(what)


@contextlib.contextmanager
def judge_of(name, kind="", seconds=20.0):
    """A judge of a lab, with programs of this build."""
    lab = load(ROOT, name)
    if not (PROGRAMS / f"judge_{name}").is_file():
        skip(f"judge_{name} has not been built")
    try:
        sandbox = best(kind)
    except Fault as fault:
        skip(str(fault))
    try:
        judge = Judge(lab, PROGRAMS.parent, sandbox, b"secret of the tests")
        judge.case_seconds = seconds
        if judge.devices["opencl"]["names"] == []:
            skip(judge.devices["opencl"]["why"])
        yield judge
    finally:
        sandbox.close()


def with_tests(exercise, keep):
    return dataclasses.replace(exercise, tests=[one for one in exercise.tests if keep(one)])


@contextlib.contextmanager
def without_bubblewrap():
    """A sandbox of root's, whose programs run as users of their own."""
    if os.geteuid() != 0:
        skip("only root has other users")
    sandbox = best("user")
    try:
        yield sandbox
    finally:
        sandbox.close()


def status_of(process):
    """The state of a process and what follows it in /proc."""
    return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rsplit(")", 1)[-1].split()


def files_of(judge, part, text_of):
    return {file: text_of(file).encode() for file in part.files}


COMMAND = [sys.executable, "-m", "grading", str(ROOT)]  # what ./lab calls, with these variables
VARIABLES = {**os.environ, "PYTHONPATH": str(ROOT / "tools")}


def command(*words, rc=0):
    """Runs a command of the tools and looks at its exit code."""
    ran = subprocess.run([*COMMAND, *map(str, words)], text=True, capture_output=True, check=False, env=VARIABLES)
    equal(ran.returncode, rc, f"{words}: {ran.stdout} {ran.stderr}")
    return ran


# Without these tools tests for races are not graded.
HAS_OCLGRIND = shutil.which("oclgrind") is not None
HAS_TOOL = {"opencl": HAS_OCLGRIND,
            "cuda": shutil.which("compute-sanitizer", path="/usr/bin:/usr/local/bin:/usr/local/cuda/bin") is not None}


def told(results):
    return "; ".join(f"{one.test}: {one.outcome} {one.message}" for one in results)


# Exercises


@test
def stubs(_, name):
    """each stub of a lab is its rung outside TODO and END TODO"""
    lab = load(ROOT, name)
    for _, part in lab.parts():
        for file in part.files:
            stub, rung = lab.stub(file), lab.rung(file)
            holds(same_outside_todo(stub, rung), f"{file}: stub and rung differ outside TODO ... END TODO")
            holds(not is_unsolved(stub, rung), f"{file}: the stub is the rung")
            holds("TODO" not in rung, f"{file}: the rung has a TODO")
    broken = lab.stub(file).replace("kernel", "kernal", 1).replace("#include", "#inclade", 1)
    holds(not same_outside_todo(broken, lab.rung(file)), "a stub that differs is not found")


def builds(judge, part, files, slot):
    """What cannot run for want of a GPU is compiled and linked, at least."""
    if part.backend == "cuda" and judge.worker_program(part).is_file():
        folder = judge.sandbox.base / "files"
        judge.sandbox.fill(folder, {Path(name).name: text for name, text in files.items()}, slot)
        cuda.build(judge.lab, judge.build, part, folder, judge.sandbox, slot)


def stub_and_rung(name, check):
    with judge_of(name) as judge:
        for exercise, part in judge.lab.parts():
            wanted = with_tests(exercise, lambda one: check(one, part.backend))
            stub = judge.judge(wanted, part, files_of(judge, part, judge.lab.stub), 0)
            equal((sum(one.score for one in stub), {one.outcome for one in stub}), (0, {UNSOLVED}),
                  f"the stub of {exercise.name} in {part.backend}")
            rung = judge.judge(wanted, part, files_of(judge, part, judge.lab.rung), 0)
            if judge.why_not(part):
                equal((sum(one.score for one in rung), {one.outcome for one in rung}), (0, {NOT_GRADED}),
                      f"{exercise.name} in {part.backend} without a device")
                builds(judge, part, files_of(judge, part, judge.lab.rung), 0)
            elif any(one.outcome != PASSED for one in rung):
                fail(f"the rung of {exercise.name} in {part.backend}: {told(rung)}")
            for name in [one.name for one in wanted.tests if (exercise.name, one.name) in judge.trials]:
                holds(any(judge.trials[exercise.name, name].needs_kernels),
                      f"{exercise.name} in {part.backend}: '{name}' is right without a kernel")
            if part.backend == "opencl":  # begun, but not solved
                todo = files_of(judge, part, lambda file: judge.lab.stub(file) + "\n// my own line\n")
                begun = judge.judge(with_tests(wanted, lambda one: one.visible), part, todo, 0)
                holds(any(one.outcome != PASSED for one in begun), f"the stub of {exercise.name} passes its tests")


@test
def scores(_, name):
    """the stub of each exercise of a lab scores nothing and the rung everything"""
    stub_and_rung(name, lambda one, backend: one.check == "values" or (one.check == "races" and HAS_TOOL[backend]))


@test
def speeds(_, name):
    """the rung of each exercise of a lab is as fast as itself"""
    with judge_of(name) as judge:
        for exercise, part in judge.lab.parts():
            wanted = with_tests(exercise, lambda one: one.check == "speed")
            if wanted.tests and not judge.why_not(part):
                rung = judge.judge(wanted, part, files_of(judge, part, judge.lab.rung), 0)
                holds(all(one.score == one.points for one in rung), f"{exercise.name}: {told(rung)}")


# Known-wrong kernels. lab: list of (exercise, kernel of tests/wrong, how it takes the place of the exercise's, the test
# that it must lose; none for a right one). It is called by a kernel with the name and the arguments of the exercise's,
# or renamed, or chosen by a macro.
def renamed(to):
    return lambda source, kernel: re.sub(rf"\b{kernel}\b", to, source)


def chosen(macro_of, *names):
    def text(source, kernel):
        for old, new in names:
            source = re.sub(rf"\b{old}\b", new, source)
        return (f"#define {kernel}\n" if kernel != macro_of else "") + source
    return text


def called(call):
    return lambda source, kernel: source + "\n" + call.format(kernel) + "\n"


def mistake(number, more, *names):
    """For files in which the macro MISTAKE chooses. Some kernels are renamed, `more` calls them by the exercise's names."""
    def text(source, _):
        for name in names:
            source = re.sub(rf"\b{name}\b", f"{name}_of_test", source)
        return f"#define MISTAKE {number}\n{source}\n{more}\n"
    return text


def edited(old, new, times=1):
    """The same mistake as in tests/wrong, where its kernel takes other arguments: made in the rung's."""
    def text(_, rung):
        equal(rung.count(old), times, f"'{old}' in the rung")
        return rung.replace(old, new)
    text.takes_rung = True
    return text


def per_byte(source, kernel):
    """The kernels of lab 05 have an item per byte, the rung one per 16 bytes: it calls them as functions, 16 times. Their
    rounds have the name of those in rounds.cl, which the build puts before."""
    source = source.replace("kernel void", "void").replace("uint work\n", "uint work, size_t item\n", 1)
    source = source.replace("get_global_id(0)", "item")
    return source + (
        "kernel void invert(global const uchar* restrict in, global uchar* restrict out, ulong first, ulong bytes,"
        " uint colours, uint work) {\n"
        "    for (size_t k = 0; k < 16; ++k)\n"
        f"        {kernel}(in, out, first, bytes, colours, colours == 7 ? 4 : 3, work, get_global_id(0) * 16 + k);\n"
        "}\n")


def tridiagonal(own, of_rung):
    """The kernels of lab 06 take their mistake as an argument: here a macro."""
    return lambda source, name: f"#define mistake {name}\n" + re.sub(
        r"(?s)(kernel void wrong_\w+\([^)]*), int mistake\)", r"\1)", source).replace(own, of_rung)


def four_steps(number):
    """The kernel of lab 08 does two steps with 16 x 16 items: here as many as the rung is told."""
    def text(source, _):
        for old, new in (("two_steps", "some_steps"), ("[16][16]", "[LY][LX]"), ("MISTAKE == 2 ? 1 : 2", "MISTAKE == 2 ? STEPS - 1 : STEPS"),
                         ("get_group_id(0) * (16", "get_group_id(0) * (LX"), ("get_group_id(1) * (16", "get_group_id(1) * (LY"),
                         ("min(x + 1, 15)", "min(x + 1, LX - 1)"), ("min(y + 1, 15)", "min(y + 1, LY - 1)"),
                         ("x < 16 - ring", "x < LX - ring"), ("y < 16 - ring", "y < LY - ring")):
            holds(old in source, f"'{old}' is not in the kernel")
            source = source.replace(old, new)
        return f"#define MISTAKE {number}\n{source}"
    return text


CR, PCR = tridiagonal("wrong_cr", "cr"), tridiagonal("wrong_pcr", "pcr")
SAXPY = "kernel void saxpy(float k, global const float* a, global const float* b, global float* c, ulong n) {{ {}(k, a, b, c, n); }}"
SUM = "kernel void tree_sequential(global const float* a, ulong n, local float* x, global float* sums) {{ {}(a, n, x, sums); }}"
DOT = ("kernel void dot_product(global const float* a, global const float* b, ulong n, local float* x, global float* sums)"
       " {{ {}(a, b, n, x, sums); }}")
SPMV = ("kernel void spmv(global const int* row_start, global const int* column, global const float* value,"
        " global const float* x, global float* y, ulong rows)"
        " {{ {}(row_start, column, value, x, y, rows, 1UL << 30, 1UL << 30); }}")
CG_DOT = """
kernel void dot_product(global const REAL* a, ulong first, global const REAL* b, ulong n, global REAL* partial,
                        local REAL* sums) { dot_product_of_test(a + first, b, n, partial, sums); }
kernel void dot_jacobi(global const REAL* r, global const REAL* inverse, ulong n, global REAL* partial, local REAL* sums) {
    if (get_local_id(0) > 0) return;
    REAL sum = 0;
    for (size_t first = get_global_id(0); first < n; first += get_global_size(0))
        for (size_t i = first; i < min(first + get_local_size(0), (size_t)n); ++i) sum += r[i] * (inverse[i] * r[i]);
    partial[get_group_id(0)] = sum;
}"""
CG_UPDATES = """
kernel void next_x(global REAL* x, global const REAL* p, ulong first, REAL alpha, ulong n) { add(x, p + first, alpha, n); }
kernel void next_r(global REAL* r, global const REAL* q, REAL alpha, ulong n) { add(r, q, -alpha, n); }
kernel void next_p(global REAL* p, ulong first, global const REAL* r, REAL beta, ulong n) {
    next_p_of_test(p + first, r, beta, n);
}
kernel void next_p_jacobi(global REAL* p, ulong first, global const REAL* r, global const REAL* inverse, REAL beta,
                          ulong n) {
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0))
        p[first + i] = inverse[i] * r[i] + beta * p[first + i];
}
kernel void spmv(global const int* row_start, global const int* column, global const REAL* value, global const REAL* p,
                 global REAL* q, ulong begin, ulong end) { spmv_of_test(row_start, column, value, p, q, end); }"""
WRONG_TYPE = {"cg": "double", "tridiagonal": "double", "fdtd": ""}  # the others compute with float; "": with any type
WRONG = {
    "saxpy": [
        ("many-blocks", "right", SAXPY, ""),
        ("many-blocks", "no_bounds_check", SAXPY, "any length"),
        ("many-blocks", "less_or_equal", SAXPY, "any length"),
        ("many-blocks", "first_group_only", SAXPY, "a last block that is not full"),
        ("many-blocks", "wrong_stride", SAXPY, "a last block that is not full"),
        ("many-blocks", "swapped", SAXPY, "one block"),
        ("many-blocks", "tail_unwritten", SAXPY, "one block"),
        ("many-blocks", "writes_nothing", SAXPY, "one block"),
        ("many-blocks", "accumulates", SAXPY, "one block"),
        ("many-blocks", "last_element_lost", SAXPY, "one block"),
        ("many-blocks", "two_bits_short", SAXPY, "a last block that is not full"),
        ("many-blocks", "right_the_second_time", SAXPY, "one block"),
        ("many-blocks", "clears_its_input", SAXPY, "any length"),
        ("many-blocks", "writes_past_its_input", SAXPY, "one block"),
        ("many-blocks", "tail_of_two_lost", SAXPY, "any length"),
        ("many-blocks", "clamps", SAXPY, "NaN and infinity"),
        ("many-blocks", "nan_not_written", SAXPY, "NaN and infinity"),
        ("many-blocks", "before_the_start", SAXPY, "one block"),
        ("many-blocks", "loses_the_sign", SAXPY, "any length"),
        ("many-blocks", "skips_zero", SAXPY, "NaN and infinity"),
        ("repair-stride", "loses_the_sign", SAXPY, "more lengths"),
        ("repair-stride", "last_element_lost", SAXPY, "many lengths"),
    ],
    "reduction": [
        ("tree", "group_sums", SUM, ""),
        ("tree", "reads_past_end", SUM, "one group and its neighbours"),
        ("tree", "not_cleared", SUM, "one to eight numbers"),
        ("tree", "stops_early", SUM, "one to eight numbers"),
        ("tree", "one_place_for_all", SUM, "one group and its neighbours"),
        ("tree", "int_accumulator", SUM, "one group and its neighbours"),
        ("tree", "tail_dropped", SUM, "one to eight numbers"),
        ("tree", "nan_lost_in_a_lane", SUM, "NaN and infinity"),
        ("tree", "no_barrier_before_tree", SUM, "no data race"),
        ("tree", "no_barrier_in_tree", SUM, "no data race"),
        ("tree", "group_stride", SUM, "one group and its neighbours"),
        ("tree", "last_tile_of_one", SUM, "several rounds, float and double"),
        ("tree", "flushes_denormals", SUM, "several rounds, float and double"),
        ("dot", "right_dot", DOT, ""),
        ("dot", "dot_squares", DOT, "a few numbers"),
        ("dot", "dot_tail_dropped", DOT, "a few numbers"),
        ("dot", "dot_one_too_many", DOT, "a few numbers"),
        ("dot", "dot_nan_lost_in_vectors", DOT, "NaN and infinity"),
        ("dot", "dot_skips_zeros", DOT, "NaN and infinity"),
        ("prefix-sum", "scan_last_tile_of_one", edited("if (first + k < n) out[first + k] = inclusive", "if (first + k < n && !(n % 1024 == 1 && n > 1 && first + k + 1 == n)) out[first + k] = inclusive"), "several tiles"),
        ("prefix-sum", "scan_without_barrier", edited("barrier(CLK_LOCAL_MEM_FENCE); // all have read", ""), "no data race"),
        ("prefix-sum", "add_shifted", edited("before[get_group_id(0)]", "before[max((int)get_group_id(0) - 1, 0)]"), "several tiles"),
    ],
    "matmul": [
        ("one-thread-per-element", "swapped_indices", renamed("multiply"), "any shape"),
        ("one-thread-per-element", "int_accumulator", renamed("multiply"), "small matrices"),
        ("one-thread-per-element", "last_product_lost", renamed("multiply"), "small matrices"),
        ("one-thread-per-element", "adds_to_c", renamed("multiply"), "small matrices"),
        ("one-thread-per-element", "output_edge_unguarded", renamed("multiply"), "any shape"),
        ("one-thread-per-element", "short_last_tile_lost", renamed("multiply"), "other shapes, float and double"),
        ("one-thread-per-element", "full_row_lost", renamed("multiply"), "other shapes, float and double"),
        ("one-thread-per-element", "zeros_skipped", renamed("multiply"), "other shapes, float and double"),
        ("one-thread-per-element", "denormals_flushed", renamed("multiply"), "other shapes, float and double"),
        ("shared-tile", "right", renamed("multiply"), ""),
        ("shared-tile", "tile_overwrites", renamed("multiply"), "ragged tiles"),
        ("shared-tile", "short_last_tile_lost", renamed("multiply"), "other shapes, float and double"),
        ("shared-tile", "full_row_lost", renamed("multiply"), "other shapes, float and double"),
        ("shared-tile", "zeros_skipped", renamed("multiply"), "other shapes, float and double"),
        ("shared-tile", "denormals_flushed", renamed("multiply"), "other shapes, float and double"),
        ("shared-tile", "no_first_barrier", renamed("multiply"), "no data race"),
        ("shared-tile", "no_second_barrier", renamed("multiply"), "no data race"),
        ("shared-tile", "tile_edge_unguarded", renamed("multiply"), "ragged tiles"),
    ],
    "spmv": [
        ("thread-per-row", "right", called(SPMV), ""),
        ("thread-per-row", "pointer_as_count", called(SPMV), "the matrix of the lecture"),
        ("thread-per-row", "accumulates", called(SPMV), "the matrix of the lecture"),
        ("thread-per-row", "no_bounds_check", called(SPMV), "no access outside the arrays"),
        ("thread-per-row", "last_entry_twice", called(SPMV), "the matrix of the lecture"),
        ("thread-per-row", "empty_rows_unwritten", called(SPMV), "rows of different lengths"),
        ("thread-per-row", "x_by_position", called(SPMV), "the matrix of the lecture"),
        ("thread-per-row", "transposed", called(SPMV), "the matrix of the lecture"),
        ("slice-per-row", "one_step_short", edited("half_width > 0", "half_width > 1"), "the matrix of the lecture"),
        ("slice-per-row", "long_rows_cut", edited("k += (int)width", "k = end"), "short and long rows"),
        ("slice-per-row", "no_first_barrier", edited("barrier(CLK_LOCAL_MEM_FENCE); // all", "// all"), "no data race"),
        ("slice-per-row", "barrier_in_branch", edited("    for (uint half", "    if (i >= rows) return;\n    for (uint half"), "no data race"),
        ("repair-ell", "x_by_position", edited("x[j]", "x[s * rows + i < rows ? s * rows + i : 0]"), "the matrix of the lecture"),
        ("repair-ell", "accumulates", edited("y[i] = sum", "y[i] += sum"), "the matrix of the lecture"),
        ("repair-ell", "padding looked up", edited("if (j >= 0)", ""), "no access outside the arrays"),
        ("repair-ell", "no_bounds_check", edited("if (i >= rows) return;", ""), "no access outside the arrays"),
    ],
    "lu": [
        ("two-kernels", "right", chosen("right"), ""),
        ("two-kernels", "WHOLE_TILES_ONLY", chosen("right"), "small matrices"),
        ("two-kernels", "ROW_FOR_COLUMN", chosen("right"), "small matrices"),
        ("two-kernels", "PAST_THE_EDGE", chosen("right"), "some rows"),
    ],
    "streams": [  # but first_strip_only: the rungs give each strip a buffer of its own
        ("invert", "no_mistake", per_byte, ""),
        ("invert", "inverts_alpha", per_byte, "whole vectors"),
        ("invert", "rgb_as_rgba", per_byte, "whole vectors"),
        ("invert", "rgba_as_rgb", per_byte, "whole vectors"),
        ("invert", "no_bounds_check", per_byte, "a ragged end"),
        ("invert", "one_round_short", per_byte, "strips, channels and work"),
        ("invert", "minus_from_256", per_byte, "whole vectors"),
        ("repair-rounds", "minus_from_256", edited("(~w & colour)", "(-w & colour)"), "a few rounds"),
        ("repair-rounds", "one_round_short", edited("uint round = 0", "uint round = 1", 2), "a few rounds"),
        ("repair-rounds", "counts_in_a_byte", edited("round < work", "round < (uchar)work", 2), "many rounds"),
        ("repair-rounds", "counts_in_16_bits", edited("round < work", "round < (ushort)work", 2), "many rounds"),
        ("repair-rounds", "at_most_4096_in_vectors", edited("w = v;", "w = v; work = min(work, 4096u);"), "many rounds"),
        ("repair-rounds", "at_most_4096_in_the_end", edited("return v;", "return v; work = min(work, 4096u);"), "many rounds"),
    ],
    "tridiagonal": [
        ("cr", "none", CR, ""),
        ("cr", "printed_c", CR, "any n, float and double"),
        ("cr", "printed_x", CR, "small systems"),
        ("cr", "clamped", CR, "any n, float and double"),
        ("cr", "power_of_two", CR, "any n, float and double"),
        ("cr", "edge_from_neighbour", CR, "any n, float and double"),
        ("cr", "silent_zero", CR, "a zero pivot"),
        ("cr", "row_of_thread", CR, "a zero pivot"),
        ("pcr", "none", PCR, ""),
        ("pcr", "a_of_row_0", PCR, "any n, float and double"),
        ("pcr", "stale", PCR, "small systems"),
        ("pcr", "no_barrier", PCR, "no data race"),
        ("pcr", "barrier_in_branch", PCR, "no data race"),
    ],
    "fdtd": [
        ("repair-steps", "right", four_steps(0), ""),
        ("repair-steps", "no_barrier", four_steps(1), "no data race"),
        ("repair-steps", "ring_too_narrow", four_steps(2), "several passes"),
        ("repair-steps", "last_column_lost", four_steps(3), "one pass"),
        ("repair-steps", "wrong_neighbour", four_steps(4), "one pass"),
        ("repair-steps", "reads_past_end", four_steps(5), "no data race"),
        ("repair-steps", "split_not_split", four_steps(6), "absorbing layers, media and sources"),
        ("repair-steps", "split_forgotten", four_steps(7), "absorbing layers, media and sources"),
    ],
    "cg": [
        ("dot", "right", mistake(0, CG_DOT, "dot_product"), ""),
        ("dot", "no_barrier", mistake(1, CG_DOT, "dot_product"), "no data race"),
        ("dot", "half_a_group", mistake(2, CG_DOT, "dot_product"), "the norm of b"),
        ("dot", "dot_tail", mistake(3, CG_DOT, "dot_product"), "the norm of b"),
        ("product", "right", mistake(0, CG_UPDATES, "next_p", "spmv"), ""),
        ("product", "one_element", mistake(4, CG_UPDATES, "next_p", "spmv"), "many rows"),
        ("product", "last_direction", mistake(5, CG_UPDATES, "next_p", "spmv"), "rows of different lengths"),
        ("product", "q_not_cleared", mistake(6, CG_UPDATES, "next_p", "spmv"), "a few rows"),
        ("product", "offset_too_many", mistake(7, CG_UPDATES, "next_p", "spmv"), "no access outside the arrays"),
        ("halo", "halo_short", edited("k < n;", "k + 1 < n;"), "two parts"),
        ("halo", "halo_shifted", edited("p[which[k]];", "p[max(which[k] - 1, 0)];"), "two parts"),
        ("halo", "halo_of_the_first", edited("halo[j - rows]", "halo[(j - rows) % 8]"), "a part in the middle"),
        ("halo", "border_row_twice", edited("q[i] = sum", "q[i] += sum"), "two parts"),
        ("halo", "one element per item", edited("out[k] = p[which[k]];", "{ out[k] = p[which[k]]; break; }"), "many parts"),
        ("halo", "first of the halo as own", edited("j < rows", "j <= rows"), "no access outside the arrays"),
    ],
}


@test
def wrong_kernels(_, name):
    """each known-wrong kernel that fits an exercise of a lab loses the points of the test aimed at it"""
    holds(name in WRONG, f"no known-wrong kernel is held against the exercises of {name}")
    with judge_of(name) as judge:
        folder = load(ROOT, name).folder
        unknown = {of for of, _, _, _ in WRONG[name]} - {one.name for one in judge.lab.exercises}
        holds(not unknown, f"no exercise of {name} is named {unknown}")
        source = (ROOT / f"tests/wrong/{folder}/wrong_{name}.cl").read_text(encoding="utf-8")
        for exercise in judge.lab.exercises:
            for of, kernel, call, aimed in WRONG[name]:
                if of != exercise.name:
                    continue
                part = exercise.parts["opencl"]
                # Built for another type these kernels do not fit: only the cases of theirs count.
                own = WRONG_TYPE.get(name, "float")
                fitting = [dataclasses.replace(one, cases=[c for c in one.problems() if c.get("type") in (None, own) or not own])
                           for one in exercise.tests]
                wanted = dataclasses.replace(exercise, tests=[
                    one for one in fitting if one.cases and one.check != "speed" and one.name == (aimed or one.name)])
                if not HAS_OCLGRIND and any(one.check == "races" for one in wanted.tests):
                    continue
                holds(wanted.tests, f"{exercise.name} has no test '{aimed}'")
                call = call if callable(call) else called(call)
                text = call(source, judge.lab.rung(part.files[0]) if hasattr(call, "takes_rung") else kernel)
                results = judge.judge(wanted, part, {part.files[0]: text.encode()}, 0)
                if not aimed:
                    holds(all(one.outcome == PASSED for one in results), f"{kernel}, which is right: {told(results)}")
                else:
                    equal([one.score for one in results], [0], f"{exercise.name}: {kernel} in '{aimed}': {told(results)}")
                    holds(results[0].outcome == "failed", f"{exercise.name}: {kernel}: {told(results)}")


# Tampering


def headers(text):
    return dict(re.findall(r"(?m)^// (most|outcome|tests): (.*)$", text))


def why_not_compiled(results):
    """Why a device never ran a kernel that makes system calls: the compiler of PoCL 6 ends with an assertion of its own."""
    if any(re.search(r"/llvm/.*Assertion|Could not find a dominating alternative", one.message + one.printed) for one in results):
        return "the compiler of this OpenCL device crashes on system calls in a kernel"
    return ""


def tampering(name, kind, backend="opencl"):
    text = (TAMPERING / f"{name}.{'cl' if backend == 'opencl' else 'cu'}").read_text(encoding="utf-8")
    about = headers(text)
    if kind == "" and "@ROOT@" in text: # it reads the repository
        needs_a_closed_repository()
    text = text.replace("@ROOT@", str(ROOT)).replace("@BUILD@", str(PROGRAMS.parent))
    if backend == "opencl":
        text = (TAMPERING / "syscalls.txt").read_text(encoding="utf-8") + text
    names = about["tests"].split(", ")
    before = hashlib.sha256((PROGRAMS / "judge_saxpy").read_bytes()).hexdigest()
    with judge_of("saxpy", kind, seconds=6 if backend == "opencl" else 20) as judge:
        exercise = next(one for one in judge.lab.exercises if one.name == "many-blocks")
        holds(all(any(one.name == name for one in exercise.tests) for name in names), f"a test of {names} is unknown")
        wanted = with_tests(exercise, lambda one: one.name in names)
        part = exercise.parts[backend]
        if judge.why_not(part):
            builds(judge, part, {part.files[0]: text.encode()}, 7)
            skip(judge.why_not(part))
        results = judge.judge(wanted, part, {part.files[0]: text.encode()}, 7)
        score = sum(one.score for one in results)
        print(told(results))
        holds(score <= float(about["most"]), f"{score} points: {told(results)}")
        holds(all(one.outcome in OUTCOMES for one in results), told(results))
        too_much = why_not_compiled(results)
        if "outcome" in about and not too_much:
            equal({one.outcome for one in results}, {about["outcome"]}, told(results))
        honest = files_of(judge, part, judge.lab.rung)
        after = judge.judge(with_tests(exercise, lambda one: one.name == "one block"), part, honest, 7)
        holds(after[0].outcome == PASSED, f"an honest submission afterwards: {told(after)}")
    equal(hashlib.sha256((PROGRAMS / "judge_saxpy").read_bytes()).hexdigest(), before, "the judge")
    holds(not (PROGRAMS / "forged").exists(), "a file beside the judge")
    if too_much:
        skip(too_much)


@test
def tampers(_, name):
    """a submission that tampers scores no more than its honest part"""
    tampering(name, "")


@test
def tampers_in_cuda(_, name):
    """a submission in CUDA that does not use its kernels scores nothing"""
    tampering(name, "", "cuda")


@test
def tampers_as_user(_, name):
    """without bubblewrap, as a user who owns nothing, it scores no more either"""
    if os.geteuid() != 0:
        skip("only root can run programs as another user")
    tampering(name, "user")


@test
def control(_):
    """what tampers would succeed without a sandbox"""
    for name in ("opens_the_rung", "includes_the_rung", "reads_its_parent"):
        text = (TAMPERING / f"{name}.cl").read_text(encoding="utf-8").replace("@ROOT@", str(ROOT))
        text = (TAMPERING / "syscalls.txt").read_text(encoding="utf-8") + text
        with judge_of("saxpy", "none") as judge:
            exercise = next(one for one in judge.lab.exercises if one.name == "many-blocks")
            part = exercise.parts["opencl"]
            wanted = with_tests(exercise, lambda one: one.name == "one block")
            results = judge.judge(wanted, part, {part.files[0]: text.encode()}, 0)
            if why_not_compiled(results):
                skip(why_not_compiled(results))
            holds(results[0].outcome == PASSED, f"{name}: {told(results)}")


# Hand-outs


def tree_of(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def code_lines(text):
    lines = [re.sub(r"//.*", "", line).replace("std::", "").strip() for line in text.splitlines()]
    return [" ".join(line.split()) for line in lines if line not in ("", "{", "}")]


def answers_of(lab, file):
    """The code that stands in a rung in place of a stub's TODO blocks, block by block."""
    stub, rung = lab.stub(file), lab.rung(file)
    pieces = re.split(r"(?ms)^[ \t]*// TODO\b.*?^[ \t]*// END TODO[ \t]*\n", stub)
    found = re.fullmatch("(.*?)".join(map(re.escape, pieces)), rung, re.S)
    return [code_lines(block) for block in found.groups()]


def leaks(lab, tree):
    """Which answers, hidden tests or wrong kernels a hand-out holds."""
    found = []
    texts = {}
    for name, content in tree.items():
        if Path(name).suffix in (".cl", ".cu", ".cuh", ".cpp", ".hpp", ".md", ".toml", ".py"):
            texts[name] = "\n".join(code_lines(content.decode("utf-8")))
    for exercise, part in lab.parts():
        for file in part.files:
            for block in answers_of(lab, file):
                text = "\n".join(block)
                if len(text) >= 25:  # a shorter one, such as "c[i] = 0;", appears by chance
                    found += [f"the answer of {file} in {name}" for name, other in texts.items() if text in other]
        hidden = [one for one in exercise.tests if not one.visible]
        shown = {one.hint for one in exercise.tests if one.visible}
        for one in hidden:
            for name, other in texts.items():
                if f'name = "{one.name}"' in other or (one.hint not in shown and one.hint in other):
                    found.append(f"the hidden test '{one.name}' in {name}")
    found += [f"{name} has no place in a hand-out" for name in tree if name.startswith("tests/") or "wrong" in name]
    return found


@test
def hand_outs(folder, name):
    """the hand-out of a lab holds its stubs and no answer, hidden test or wrong kernel"""
    lab = load(ROOT, name)
    equal(handout.main(ROOT, [name, str(folder / "one")]), 0, "exit code")
    tree = tree_of(folder / "one")
    for exercise, part in lab.parts():
        for file in part.files:
            for place in ("", "exercises/"):
                equal(tree[f"labs/{lab.folder}/{place}{file}"].decode(), lab.stub(file), f"{place}{file}")
        for words in (exercise.title, *exercise.hints, f"labs/{lab.folder}/answers.md"):
            holds(words in tree["README.md"].decode(), f"'{words}' is not in README.md")
    equal(leaks(lab, tree), [], "leaks")
    whole = dict(tree)
    _, part = next(lab.parts())
    whole["labs/again.cl"] = lab.rung(part.files[0]).encode()
    whole["tests/exercises.toml"] = (lab.path / "exercises/exercises.toml").read_bytes()
    holds(len(leaks(lab, whole)) >= 3, "a leak is not found")
    handed = load(folder / "one", name)  # the tool reads its own hand-out
    equal([one.name for one in handed.exercises], [one.name for one in lab.exercises], "exercises of the hand-out")
    holds(all(test.visible for one in handed.exercises for test in one.tests), "hidden tests in the hand-out")
    equal(len(re.findall("(?m)^## Question", tree[f"labs/{lab.folder}/answers.md"].decode())),
          len(handout.questions(lab)), "questions in answers.md")
    holds(handout.questions(lab), "the hand-out has no questions")
    handout.main(ROOT, [name, str(folder / "two")])
    equal(tree_of(folder / "two"), tree, "the same hand-out made again")


@test
def redacted_page(folder):
    """the page of words that is handed out with lab 01 holds no lines of its exercise, and still shows a launch"""
    command("handout", "saxpy", folder / "one")
    page = (folder / "one/docs/kernels.md").read_text(encoding="utf-8")
    for answer in ("size_t{blockDim.x}", "size_t i = get_global_id", "if (i < n)", "(n + threads - 1)"):
        holds(answer in (ROOT / "docs/kernels.md").read_text(encoding="utf-8"), f"'{answer}' is not in docs/kernels.md")
        holds(answer not in page, f"'{answer}' is handed out")
    whole = (ROOT / "docs/kernels.md").read_text(encoding="utf-8").splitlines()
    left = page.splitlines()
    equal(len(whole) - len(left), 2, "lines that are left out: two become one, twice")
    for line in ("__global__ void saxpy(float k, const float* a, const float* b, float* c, size_t n) {",
                 "const unsigned blocks = ...; // (you write this in the exercise many-blocks)",
                 "saxpy<<<blocks, threads>>>(k, a, b, c, n); // launch the kernel"):
        holds("    " + line in left, f"'{line}' is not in the page")


@test
def links(folder, name):
    """in the hand-out of a lab all links and pictures lead to a file"""
    command("handout", name, folder / "one")
    found = 0
    for page in sorted((folder / "one").rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        for link in re.findall(r"\]\(\s*([^)\s]+)[^)]*\)|(?:src|href)=\"([^\"]+)\"", text):
            target = "".join(link).split("#")[0]
            if target and not re.match(r"\w+:", target):
                found += 1
                holds((page.parent / target).exists(), f"{page.relative_to(folder / 'one')} refers to {target}")
    holds(found >= 10, f"{found} links")
    holds((folder / "one/docs/figures/kernel-words.svg").is_file(), "a picture of docs/kernels.md is missing")


@test
def opening_comments(folder):
    """a withheld rung keeps its opening comment, unless that tells an answer"""
    command("handout", "reduction", folder / "one")
    rungs = 0
    for path in sorted((folder / "one/labs/02_reduction").glob("c*/*.cu")):
        text = path.read_text(encoding="utf-8")
        if handout.WITHHELD in text:
            rungs += 1
            whole = (ROOT / "labs/02_reduction/cuda" / path.name).read_text(encoding="utf-8")
            head = re.match(r"(?://.*\n)*", whole)[0]
            holds("// Limit" in head and text.startswith(head + "//\n// The code of this rung is withheld"), str(path))
    holds(rungs >= 3, "withheld rungs")
    lab = load(ROOT, "saxpy")
    answer = "// The index is blockIdx.x * blockDim.x +\n// threadIdx.x, and if (i < n) c[i] = k * a[i] + b[i]."
    holds(handout.tells_an_answer(lab, answer.splitlines()), "an answer in a comment is not found")


@test
def hand_out_faults(folder):
    """a folder that is not empty and a lab that there is not are refused in one line"""
    (folder / "full").mkdir()
    (folder / "full/file").write_text("mine")
    for words, told_of in ((["saxpy", str(folder / "full")], "not empty"), (["nothing", str(folder / "new")], "saxpy"),
                           (["--all", "saxpy", str(folder / "new")], "--all"), ([str(folder / "new")], "one lab"), ([], "DIR"),
                           (["--bogus"], "DIR"), (["saxpy", str(folder / "full/file/new")], "full/file/new")):
        ran = command("handout", *words, rc=2)
        equal(ran.stderr.count("\n"), 1, f"{words}: {ran.stderr}")
        holds(told_of in ran.stderr, f"{words}: {ran.stderr}")
    for words, told_of in ((["saxpy", folder / "none/a.zip"], "none"), (["saxpy", folder / "full/file"], "exists"),
                           (["saxpy", folder / "full/a.tar"], ".zip")):
        ran = command("package-autograder", *words, rc=2)
        equal(ran.stderr.count("\n"), 1, f"{words}: {ran.stderr}")
        holds(told_of in ran.stderr, f"{words}: {ran.stderr}")
    equal(os.listdir(folder), ["full"], "what it left behind")
    equal(os.listdir(folder / "full"), ["file"], "the full folder")
    copied = folder / "copied"  # a folder in which a hand-out would contain itself
    for name in ("cmake", "common", "labs", "tools"):
        shutil.copytree(ROOT / name, copied / name)
    for command_name in ("handout", "package-classroom"):
        for name in ("cmake/new", "common/src/new", "labs/01_saxpy/new"):
            ran = subprocess.run([sys.executable, "-m", "grading", copied, command_name, "saxpy", copied / name],
                                 env={**os.environ, "PYTHONPATH": str(ROOT / "tools")}, capture_output=True, text=True, check=False)
            equal((ran.returncode, ran.stderr.count("\n")), (2, 1), f"{name}: {ran.stderr}")
            holds("elsewhere" in ran.stderr and not (copied / name).exists(), f"{name}: {ran.stderr}")


@test
def full_disk(folder):
    """a hand-out or a package that cannot be written to its end leaves nothing, and one line names it"""
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
    for command_name, name in (("handout", "out"), ("package-classroom", "out"), ("package-autograder", "a.zip")):
        ran = subprocess.run([sys.executable, "-m", "grading", ROOT, command_name, "saxpy", folder / name], preexec_fn=limit,
                             env={**os.environ, "PYTHONPATH": str(ROOT / "tools")}, capture_output=True, text=True, check=False)
        equal((ran.returncode, ran.stderr.count("\n")), (2, 1), f"{command_name}: {ran.stderr}")
        holds(name in ran.stderr and "large" in ran.stderr, f"{command_name}: {ran.stderr}")
        equal(os.listdir(folder), [], f"what {command_name} left behind")
    (folder / "empty").mkdir()
    place = (folder / "empty").stat().st_ino
    equal(handout.main(ROOT, ["saxpy", str(folder / "empty")]), 0, "a hand-out in an empty folder")
    equal((folder / "empty").stat().st_ino, place, "the folder that there was")
    holds((folder / "empty/README.md").is_file() and not list((folder / "empty").glob(".lab*")), "an empty folder")


@test
def student_sees(folder):
    """in a hand-out ./lab test shows what is unsolved, wrong and right, with index, values and hint"""
    target = folder / "out"
    handout.main(ROOT, ["saxpy", str(target)])
    (target / "build").mkdir()
    (target / "build/default").symlink_to(PROGRAMS.parent)  # as if it had been built there
    lab = load(ROOT, "saxpy")
    if not Judge(lab, PROGRAMS.parent, Sandbox("none", folder), b"").devices["opencl"]["names"]:
        skip("no OpenCL device")
    student.built = lambda root, lab, part: ""
    files = target / "labs/01_saxpy/opencl"
    (files / "02_one_item.cl").write_text(lab.rung("opencl/02_one_item.cl"))
    (files / "03_grid_stride.cl").write_text(lab.stub("opencl/03_grid_stride.cl") + "// read\n")
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        equal(student.main([str(target), "test"]), 1, "exit code with something wrong")
    for words in ("right  many-blocks in opencl", "unsolved  distances in opencl", "wrong  repair-stride in opencl",
                  "element 0, expected ", ", got ", "Hint: The message names the first wrong element."):
        holds(words in said.getvalue(), f"'{words}' is not in: {said.getvalue()}")
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        equal(student.main([str(target), "test", "many-blocks", "distances"]), 0, "exit code with nothing wrong")
        student.main([str(target), "zip"])
    names = zipfile.ZipFile(target / "hand-in.zip").namelist()
    equal(len(names), 7, f"files in {names}")
    equal(read(lab, target / "hand-in.zip").files["opencl/02_one_item.cl"].decode(),
          lab.rung("opencl/02_one_item.cl"), "what was packed")
    results = [Result("sizes", PASSED, 2, 2), Result("races", NOT_GRADED, 0, 1, "oclgrind is not installed"),
               Result("time", FAILED, 1.5, 3, "2.00 times the time of the rung")]
    exercise = lab.exercises[0]
    exercise = dataclasses.replace(exercise, tests=[dataclasses.replace(exercise.tests[0], name=one.test) for one in results])
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        student.show(exercise, exercise.parts["opencl"], "wrong", results, "")
    for words in ("not tested  races (0 of 1)", "wrong  time (1.5 of 3)"):
        holds(words in said.getvalue(), f"'{words}' is not in: {said.getvalue()}")
    try:
        student.main([str(target), "test", "nothing"])
        fail("an unknown exercise is accepted")
    except Fault as fault:
        holds("many-blocks" in str(fault), str(fault))


@test
def student_watches(folder):
    """./lab watch tests again the exercise whose file was saved"""
    target = folder / "out"
    handout.main(ROOT, ["saxpy", str(target)])
    seen = []
    student.test = lambda root, names: seen.append(names)
    file = target / "labs/01_saxpy/opencl/02_one_item.cl"
    threading.Timer(0.5, lambda: (file.write_text("new"), os.utime(file, (1, 1)))).start()
    student.watch(target, [], rounds=1)
    equal(seen, [[], ["many-blocks"]], "what was tested")


# Submissions


@test
def submissions(folder):
    """of a submission only the files of the exercises are read, all else is reported and does no harm"""
    lab = load(ROOT, "saxpy")
    rung = lab.rung("opencl/02_one_item.cl").encode()

    def notes_of(make, name="s"):
        path = folder / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        make(path)
        return read(lab, path)

    def put(path, name, content=rung):
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(content)

    found = notes_of(lambda path: put(path, "labs/01_saxpy/opencl/02_one_item.cl"))
    equal(found.files, {"opencl/02_one_item.cl": rung}, "a file in its place")
    equal(found.notes, ["distances: opencl/distances.cl or cuda/distances.cu is missing",
                        "repair-stride: opencl/03_grid_stride.cl or cuda/04_grid_stride.cu is missing"],
          "what is missing, where one back end is enough")
    equal(notes_of(lambda path: put(path, "02_one_item.cl")).files, {"opencl/02_one_item.cl": rung}, "a file alone")
    found = notes_of(lambda path: (put(path, "a/opencl/02_one_item.cl"), put(path, "b/opencl/02_one_item.cl")))
    equal(found.files, {}, "a file twice")
    holds(any("appears 2 times" in note for note in found.notes), found.notes)
    whole = notes_of(lambda path: handout.write_tree([lab], path / "out"))
    equal(whole.files["opencl/02_one_item.cl"].decode(), lab.stub("opencl/02_one_item.cl"), "a whole hand-out")
    holds(any("other files are not read" in note for note in whole.notes), whole.notes)
    found = notes_of(lambda path: put(path, "opencl/02_one_item.cl", b"x" * (100 << 20)))
    equal(found.files, {}, "a file of 100 MB")
    holds(any("more than 1 MB" in note for note in found.notes), found.notes)

    def link(path):
        (path / "opencl").mkdir()
        (path / "opencl/02_one_item.cl").symlink_to("/etc/passwd")
        (path / "all").symlink_to("/")
        os.mkfifo(path / "02_pipe.cl")

    found = notes_of(link)
    equal(found.files, {}, "a link")
    holds(any("a link, and is not read" in note for note in found.notes), found.notes)

    archive = folder / "z.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("../../escaped.cl", "x")
        file.writestr("/etc/escaped.cl", "x")
        file.writestr("x/opencl/02_one_item.cl", rung)
        file.writestr("x/opencl/distances.cl", b"\0" * (50 << 20))
    found = read(lab, archive)
    equal(found.files, {"opencl/02_one_item.cl": rung}, "a zip file")
    equal(sum("leads outside" in note for note in found.notes), 2, found.notes)
    holds(not list(folder.rglob("escaped.cl")), "a file was unpacked")
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("./x//opencl/02_one_item.cl", rung)
        file.writestr("labs\\01_saxpy\\opencl\\distances.cl", rung)  # some programs for Windows write such names
        file.writestr("opencl/03_grid_stride.cl", rung)
    equal(set(read(lab, archive).files), {"opencl/02_one_item.cl", "opencl/distances.cl", "opencl/03_grid_stride.cl"},
          "names that are written in another way")
    damaged = bytearray(archive.read_bytes())
    begin = damaged.find(b"03_grid_stride.cl")  # its name; its compressed content follows
    for at in range(begin + 17, begin + 27):
        damaged[at] ^= 0xFF
    archive.write_bytes(damaged)
    found = read(lab, archive)
    equal(set(found.files), {"opencl/02_one_item.cl", "opencl/distances.cl"}, "a zip file in which one file is damaged")
    holds(any("opencl/03_grid_stride.cl cannot be read" in note for note in found.notes), found.notes)
    with zipfile.ZipFile(archive, "w") as file:  # zlib unpacks as much as it is asked for, the others all at once
        file.writestr("opencl/02_one_item.cl", rung, zipfile.ZIP_BZIP2)
        file.writestr("opencl/distances.cl", rung, zipfile.ZIP_LZMA)
        file.writestr("opencl/03_grid_stride.cl", rung, zipfile.ZIP_STORED)
    found = read(lab, archive)
    equal(set(found.files), {"opencl/03_grid_stride.cl"}, "files that are compressed in other ways")
    equal(sum("cannot be read: it is compressed in a way that is not read" in note for note in found.notes), 2, found.notes)
    archive.write_bytes(b"PK\x03\x04" + b"x" * 500)
    holds(read(lab, archive).notes, "a broken zip file")
    (folder / "text.txt").write_text("hello")
    holds(read(lab, folder / "text.txt").notes, "a file that is no zip file")
    os.mkfifo(folder / "pipe")
    for path in (folder / "pipe", Path("/dev/zero")):  # which have no end
        equal(read(lab, path).notes, ["it is neither a folder nor a zip file"], path)
    (folder / "empty").mkdir()
    equal(len(read(lab, folder / "empty").notes), 3, "an empty folder")

    # As learning platforms give it: a folder with the student's name, and hand-in.zip in it.
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("labs/01_saxpy/opencl/02_one_item.cl", rung)
    found = notes_of(lambda path: shutil.copy(archive, path / "hand-in.zip"), "Ada L_123")
    equal((found.name, found.files), ("Ada L_123", {"opencl/02_one_item.cl": rung}), "a folder with a zip file in it")
    found = notes_of(lambda path: (shutil.copy(archive, path / "1.zip"), shutil.copy(archive, path / "2.zip")))
    equal((found.files, found.notes[-1]), ({}, "other files are not read (2)"), "a folder with two zip files")
    found = notes_of(lambda path: (path / "hand-in.zip").symlink_to(archive))
    equal((found.files, found.notes[-1]), ({}, "links and special files are not read (1)"), "a link to a zip file")
    found = notes_of(lambda path: (path / "hand-in.zip").write_text("hello"))
    holds(any("cannot be read" in note for note in found.notes), found.notes)


# Grading a class


def needs_a_closed_repository():
    """Skips where `./lab grade` refuses to work: without bubblewrap submissions could read the tests."""
    sandbox = best()
    open_to_all = sandbox.can_read(ROOT / "README.md")
    sandbox.close()
    if open_to_all:
        skip("bubblewrap does not work here, and every user can read the repository")


def graded(*words, rc=0):
    return command("grade", *words, rc=rc)


def made(folder, name, **files):
    """A submission of lab 01 with some rungs in OpenCL."""
    for file, text in files.items():
        path = folder / name / "opencl" / {"one": "02_one_item.cl", "distances": "distances.cl",
                                           "stride": "03_grid_stride.cl"}[file]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / name).mkdir(parents=True, exist_ok=True)
    return folder / name


def books(out):
    with open(out / "gradebook.csv", encoding="utf-8", newline="") as file:
        return {line["submission"]: line for line in csv.DictReader(file)}


@test
def a_class(folder):
    """a class is graded: results for Gradescope, JUnit, feedback, gradebook and page, again, resumed and in another order"""
    needs_a_closed_repository()
    with judge_of("saxpy"):
        pass
    lab = load(ROOT, "saxpy")
    stride = lab.rung("opencl/03_grid_stride.cl")
    right = made(folder, "ada", stride=stride)
    (right / "answers.md").write_text("# Answers\n\n## Question 2\n\n> the question\n\n<script>alert(1)</script> 42\n")
    made(folder, "=bob", stride=stride.replace("i < n", "i < n && i != 100"))
    made(folder, "cy", stride="kernel void saxpy(\n")
    made(folder, "dan")
    roster = folder / "roster.csv"
    roster.write_text("submission,id,name,late_days\nada,7,Ada L.,2\ncy,8,=1+1,0\n")
    everybody = [folder / name for name in ("ada", "=bob", "cy", "dan")]
    out = folder / "out"
    graded("saxpy", *everybody, "--out", out, "--roster", roster, "--seed", "s", "--jobs", 2,
           "--export-sources", folder / "sources")
    found = books(out)
    holds(not any("grading failed" in line["notes"] for line in found.values()), found)
    equal({name: line["score"] for name, line in found.items()}, {"ada": "5", "'=bob": "0", "cy": "0", "dan": "0"},
          "scores")
    equal((found["ada"]["late_days"], found["ada"]["name"], found["cy"]["name"]), ("2", "Ada L.", "'=1+1"), "roster")
    one = json.loads((out / "submissions/=bob/results.json").read_text())
    equal((one["score"], one["max_score"]), (0, 25), "results.json")
    fields = {"score", "max_score", "name", "number", "output", "visibility", "status"}
    holds(all(fields <= set(entry) for entry in one["tests"]) and one["execution_time"] >= 0, "fields of results.json")
    hidden = [entry for entry in one["tests"] if entry["visibility"] != "visible"]
    holds(hidden and all("n = " not in entry["output"] for entry in hidden), "an input of a hidden test is named")
    equal(len(one["tests"]), sum(len(exercise.tests) for exercise in lab.exercises), "tests of results.json")
    suite = xml.etree.ElementTree.parse(out / "submissions/cy/junit.xml").getroot()
    equal((suite.get("tests"), suite.get("errors")), (str(len(one["tests"])), "2"), "junit.xml")
    told_cy = (out / "submissions/cy/feedback.md").read_text()
    holds("it does not compile" in told_cy and "not solved" in told_cy, told_cy)
    told_bob = (out / "submissions/=bob/feedback.md").read_text()
    holds("element 100" in told_bob and "Hint:" in told_bob, told_bob)
    page = (out / "class.html").read_text()
    holds("4 of 4 submissions" in page and "<script>alert" not in page, "class.html")
    holds("<th>late_days</th>" in page and "<td>Ada L.</td>" in page, "the roster in class.html")
    answer = (out / "answers/question-02.md").read_text()
    holds("42" in answer and "the question" not in answer, answer)
    with open(out / "answers.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    equal([row["answered"] for row in rows if row["submission"] == "ada"][:3], ["no", "yes", "no"], "answers.csv")
    holds((folder / "sources/ada/opencl_03_grid_stride.cl").is_file(), "sources for JPlag")
    holds((folder / "sources-base/opencl_03_grid_stride.cl").is_file(), "the stubs for JPlag")

    # In another order, one at a time: the same results.
    graded("saxpy", *reversed(everybody), "--out", folder / "other", "--roster", roster, "--seed", "s", "--jobs", 1)
    equal(books(folder / "other"), found, "the results in another order")
    for name in ("ada", "=bob", "cy", "dan"):
        equal((folder / f"other/submissions/{name}/feedback.md").read_text(),
              (out / f"submissions/{name}/feedback.md").read_text(), f"the feedback of {name}")

    # Again: nothing is done twice. What was lost is done again; what was handed in anew as well.
    times = {name: (out / f"submissions/{name}/graded.json").stat().st_mtime_ns for name in ("ada", "=bob", "cy", "dan")}
    shutil.rmtree(out / "submissions/ada")
    made(folder, "dan", stride=stride)
    graded("saxpy", *everybody, "--out", out, "--roster", roster)
    again = {name: (out / f"submissions/{name}/graded.json").stat().st_mtime_ns for name in times}
    equal({name for name in times if times[name] != again[name]}, {"ada", "dan"}, "what was done again")
    equal((books(out)["ada"]["score"], books(out)["dan"]["score"]), ("5", "5"), "the scores then")
    roster.write_text("submission,id\nada,7\neve,9\n")
    said = graded("saxpy", *everybody, "--out", out, "--roster", roster).stderr
    for words in ("in the roster, but without a submission: eve\n", "not in the roster: =bob, cy, dan\n"):
        holds(words in said, f"'{words}' is not in: {said}")
    graded("reduction", *everybody, "--out", out, rc=2)
    graded("saxpy", folder / "nobody", "--out", out, rc=2)
    graded("saxpy", *everybody, "--out", folder, rc=2)
    graded("saxpy", *everybody, "--out", out, "--jobs", 0, rc=2)
    graded("saxpy", *everybody, "--out", out, "--export-sources", folder / "sources")  # made by the first run
    graded("saxpy", *everybody, "--out", out, "--export-sources", ROOT / "cmake", rc=2)


@test
def by_hand(folder):
    """points given by hand stay in answers.csv and in the gradebook, and a folder that cannot be written stops nobody else"""
    needs_a_closed_repository()
    with judge_of("saxpy"):
        pass
    for name in ("ada", "=bob", "cy"):
        (made(folder, name) / "answers.md").write_text("## Question 1\n\nyes\n")
    with (folder / "cy/answers.md").open("a") as file:
        file.write(f"## zoe\n\n<img src=x> a && b\n## Question {'9' * 5000}\n")
    everybody, out = [folder / name for name in ("ada", "=bob", "cy")], folder / "out"
    graded("saxpy", *everybody, "--out", out)
    equal((out / "answers/question-01.md").read_text().split("## cy")[1].splitlines()[:6],
          ["", "", "> yes", "> ## zoe", ">", "> &lt;img src=x> a &amp;&amp; b"], "an answer that is no section of its own")
    text = (out / "answers.csv").read_text()
    for old, new in (("ada,1,yes,\nada,2,no,\n", "ada,1,yes,2\nada,2,no,1.5\n"), ("'=bob,1,yes,\n", "'=bob,1,yes,3\n")):
        holds(old in text, text)
        text = text.replace(old, new)
    (out / "answers.csv").write_text(text)
    book = (out / "gradebook.csv").read_text()
    (out / "gradebook.csv").write_text(re.sub(r"(?m)^(cy,0,25(?:,0)*),,", r"\1,7,", book))
    for _ in range(2):
        graded("saxpy", *everybody, "--out", out)
        equal((out / "answers.csv").read_text(), text, "answers.csv")
        equal({name: line["answers"] for name, line in books(out).items()}, {"ada": "3.5", "'=bob": "3", "cy": "7"}, "the gradebook")
    # As spreadsheets of other countries save a table.
    for name in ("answers.csv", "gradebook.csv"):
        with open(out / name, newline="") as file:
            rows = list(csv.reader(file))
        with open(out / name, "w", encoding="utf-8-sig", newline="") as file:
            csv.writer(file, delimiter=";").writerows([cell.replace("1.5", "1,5") for cell in row] for row in rows)
    graded("saxpy", *everybody, "--out", out)
    equal((out / "answers.csv").read_text(), text.replace("1.5", '"1,5"'), "answers.csv that had semicolons")
    equal({name: line["answers"] for name, line in books(out).items()}, {"ada": "3.5", "'=bob": "3", "cy": "7"},
          "the gradebook that had semicolons")
    for name, content, told_of in (("answers.csv", "sep=;\n" + text, "no column 'submission'"),
                                   ("answers.csv", text.replace(",1.5", ",1,5"), "has more cells than the first line"),
                                   ("gradebook.csv", book.replace(",answers,", ",,"), "no column 'answers'")):
        before = (out / name).read_text()
        (out / name).write_text(content)
        holds(told_of in graded("saxpy", *everybody, "--out", out, rc=2).stderr, f"{told_of} is not said")
        equal((out / name).read_text(), content, f"{name}, which is not understood")
        (out / name).write_text(before)

    # Whoever is not named stays, and so do the points of somebody whose result is lost.
    shutil.rmtree(out / "submissions/=bob")
    tables = (out / "answers.csv").read_text(), books(out)
    graded("saxpy", everybody[0], "--out", out)
    equal(books(out), tables[1], "the gradebook after a run for one of three")
    equal(sorted((out / "answers.csv").read_text().splitlines()),
          sorted(line.replace("'=bob,1,yes,3", "'=bob,1,,3") for line in tables[0].splitlines()
                 if not line.startswith("'=bob") or line.endswith("3")), "answers.csv after a run for one of three")
    holds("3 of" not in (out / "class.html").read_text() and "2 of 2 submissions" in (out / "class.html").read_text(), "class.html")
    (out / "answers.csv").write_text(text.replace("1.5", "good"))
    equal(graded("saxpy", *everybody, "--out", out, rc=2).stderr.count("'good'"), 1, "points that are no number")
    (out / "answers.csv").write_text(text)

    shutil.rmtree(out / "submissions/ada")
    (out / "submissions/ada").write_text("no folder")
    (everybody[2] / "answers.md").write_text("## Question 1\n\nno\n")
    said = graded("saxpy", *everybody, "--out", out).stderr
    holds("ada: grading failed: " in said and "] cy: 0 of 25" in said, said)
    holds("grading failed" in books(out)["ada"]["notes"] and "grading failed" not in books(out)["cy"]["notes"], books(out))


@test
def class_faults(folder):
    """rosters, names and folders of results that would do harm are refused in one line, and nothing is graded"""
    needs_a_closed_repository()
    with judge_of("saxpy"):
        pass
    ada, unnamed, roster, out = made(folder, "ada"), folder / os.fsdecode(b"not\xff"), folder / "roster.csv", folder / "out"
    unnamed.mkdir()

    def refused(told_of, *words):
        said = graded("saxpy", *words, rc=2).stderr.splitlines()
        holds(told_of in said[-1] and len(said) == 1 + said[0].startswith("sandbox:"), said)

    refused("lies in the submission", ada, "--out", ada / "opencl/out")  # results would become part of what was handed in
    refused("'not?'", unnamed, "--out", out)
    for content, told_of in ((b"submission,id\nada,1\nada,2\n", "two lines for 'ada'"), (b"submission;id\n", "'submission;id'"),
                             (b"submission,id\nad\xe4,1\n", "UTF-8"), (b"", "no column 'submission'")):
        roster.write_bytes(content)
        refused(told_of, ada, "--out", folder / "none", "--roster", roster)
    for content, told_of in (("submission,id\nada,1\n ,2\n", "line 3, names no submission"), ("id,submission\n8\n", "line 2, names no"),
                             ("submission,id\nada,1,2\n", "line 2, has more cells")):
        roster.write_text(content)
        refused(told_of, ada, "--out", folder / "none", "--roster", roster)
    roster.write_text(" submission,id, name\n ada , 7,Ada\neve\n")
    equal(grade.read_roster(str(roster)), (["id", "name"], {"ada": {"submission": "ada", "id": "7", "name": "Ada"},
                                                            "eve": {"submission": "eve", "id": "", "name": ""}}), "a roster")
    refused("/ad?[31m?", folder / "ad\u009b[31m\u202e", "--out", out)
    refused("No such file", ada, "--out", folder / "none", "--roster", folder / "no-roster.csv")
    roster.write_text("submission,id\n")  # nobody is in it yet
    graded("saxpy", ada, "--out", out, "--roster", roster)
    for state in ("[1]", "null", "7"):
        (out / "state.json").write_text(state)
        refused("state.json", ada, "--out", out)


@test
def hidden_inputs(_):
    """feedback names no input of a hidden test, whatever the program printed or answered"""
    lab = load(ROOT, "saxpy")
    exercise = lab.exercises[0]
    told_by_program = "n = 257, float: 0.01 times the time of the rung"
    for outcome in (FAILED, CRASHED, TIMED_OUT, BUILD_ERROR, NOT_GRADED):
        tests = [Result(one.name, outcome, 0, one.points, told_by_program).as_dict() for one in exercise.tests]
        result = {"name": "ada", "score": 0, "max_score": lab.points, "notes": [], "seconds": 1,
                  "exercises": {exercise.name: {"backend": "opencl", "score": 0, "points": exercise.points, "tests": tests}}}
        shown = sum(one.visible for one in exercise.tests)
        holds(0 < shown < len(exercise.tests), "the exercise needs tests of both kinds")
        equal(report.feedback(lab, result).count("n = 257"), shown, f"inputs named: {outcome}")
        equal(report.gradescope(lab, result).count("n = 257"), shown, f"inputs named in results.json: {outcome}")
    holds(report.feedback(lab, {**result, "name": "c\u009b31m\u202e"}).splitlines()[0].endswith(": c?31m?"), "a name that is no text")
    speed = Result("speed", PASSED, 1, 1, "1.10 times the time of the rung", "1.10 times the time of the rung").as_dict()
    equal(report.said_to_student({"visible": False, "hint": ""}, speed), "right: 1.10 times the time of the rung", "a time")


@test
def regrading(folder):
    """after a test was mended, --regrade does that test again and keeps the others"""
    with judge_of("saxpy") as judge:
        exercise = next(one for one in judge.lab.exercises if one.name == "repair-stride")
        part = exercise.parts["opencl"]
        files = files_of(judge, part, judge.lab.rung)
        first = judge.judge(exercise, part, files, 0)
        mended = dataclasses.replace(exercise, tests=[exercise.tests[0],
                                                      dataclasses.replace(exercise.tests[1], points=9)])
        marked = {one.key: dataclasses.replace(one, message="kept") for one in first}
        second = judge.judge(mended, part, files, 0, marked)
        equal([(one.message, one.score) for one in second], [("kept", 3), ("", 9)], "results")
        marked = {key: dataclasses.replace(one, outcome=NOT_GRADED) for key, one in marked.items()}
        again = judge.judge(exercise, part, files, 0, marked)
        equal([(one.message, one.outcome) for one in again], [("", PASSED)] * 2, "what had not been graded")
    out = folder / "out"
    out.mkdir()
    lab = judge.lab
    grade.state_of(out / "new", lab, "tests of then", False, "")
    try:
        grade.state_of(out / "new", lab, "tests of now", False, "")
        fail("changed tests are not noticed")
    except Fault as fault:
        holds("--regrade" in str(fault), str(fault))
    grade.state_of(out / "new", lab, "tests of now", True, "")

    # A --regrade that was killed after its first submission: a run without it does the other as well.
    needs_a_closed_repository()
    everybody, out = [made(folder, name) for name in ("ada", "bob")], folder / "regraded"
    graded("saxpy", *everybody, "--out", out)
    state, old = json.loads((out / "state.json").read_text()), out / "submissions/bob/graded.json"
    old.write_text(old.read_text().replace(state["tests"], "tests of then"))
    holds("tests of then" in old.read_text(), "graded.json names no tests")
    times = {path: path.stat().st_mtime_ns for path in out.glob("submissions/*/graded.json")}
    holds(grade.OLD_TESTS in graded("saxpy", everybody[0], "--out", out).stderr, "old results are not told")
    equal(graded("saxpy", *everybody, "--out", out).stderr.count(grade.OLD_TESTS), 0, "old results that are told")
    equal({path for path in times if path.stat().st_mtime_ns != times[path]}, {old}, "what was done again")
    equal(json.loads(old.read_text())["tests"], state["tests"], "the tests of the second one")
    equal(grade.said_of(grade.failed(lab, "ada", "no room")), "grading failed: no room; the same command grades it again",
          "what is said where grading itself failed")


@test
def interrupted(folder):
    """a run that is killed goes on where it stopped, and leaves no process behind"""
    needs_a_closed_repository()
    with judge_of("saxpy"):
        pass
    stride = load(ROOT, "saxpy").rung("opencl/03_grid_stride.cl")
    names = [f"s{number}" for number in range(6)]
    everybody = [str(made(folder, name, stride=stride)) for name in names]
    out = folder / "out"
    words = ["grade", "saxpy", *everybody, "--out", str(out), "--jobs", "1"]
    with subprocess.Popen([*COMMAND, *words], env=VARIABLES, stderr=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL) as running:
        end = time.monotonic() + 50
        while len(list(out.glob("submissions/*/graded.json"))) < 2 and time.monotonic() < end:
            time.sleep(0.05)
        running.send_signal(signal.SIGKILL)
    before = {path: path.stat().st_mtime_ns for path in out.glob("submissions/*/graded.json")}
    holds(1 < len(before) < 6, f"{len(before)} submissions were graded when it was killed")
    graded("saxpy", *everybody, "--out", out, "--jobs", 2)
    after = {path: path.stat().st_mtime_ns for path in out.glob("submissions/*/graded.json")}
    equal(len(after), 6, "submissions graded")
    equal({path: after[path] for path in before}, before, "what had been graded")
    equal({line["score"] for line in books(out).values()}, {"5"}, "scores")

    # Stopped while a kernel runs that does not end.
    slow = made(folder, "slow", stride=stride.replace("{", "{ for (volatile int i = 0; ; ++i) {}", 1))
    folder.chmod(0o711)  # the folder of the sandbox is made in it
    scratch = folder / "scratch"
    scratch.mkdir(mode=0o711)
    for number, rc in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
        words = ["grade", "saxpy", everybody[0], str(slow), "--out", str(folder / number.name), "--jobs", "2"]
        with subprocess.Popen([*COMMAND, *words], env={**VARIABLES, "TMPDIR": str(scratch)}, stderr=subprocess.PIPE,
                              stdout=subprocess.DEVNULL, text=True) as running:
            for line in running.stderr:
                if "/2]" in line:
                    break
            time.sleep(1)
            running.send_signal(signal.SIGUSR1)
            time.sleep(0.5)
            running.send_signal(number)
            begin = time.monotonic()
            said = running.stderr.read()
            threads = ("Thread 0x", "Current thread 0x", "  File ")  # what SIGUSR1 prints, with empty lines
            holds(" in all\n" in said and " in grade\n" in said, said)
            said = "".join(line + "\n" for line in said.splitlines() if line and not line.startswith(threads))
            equal(running.wait(), rc, f"{number.name}: {said}")
        holds(time.monotonic() - begin < 10, f"{number.name} took {time.monotonic() - begin:.0f} s")
        equal((said.count("stopping"), said.count("\n")), (1, 1), said)
        equal(list(scratch.glob("gpulab-grading-*")), [], f"what {number.name} leaves")
        equal([path.parent.name for path in (folder / number.name).glob("submissions/*/graded.json")], ["s0"],
              "what counts as graded")


@test
def autograder(folder):
    """the autograder's zip, laid out as Gradescope does, writes results.json for a submission"""
    small = folder / "repository"
    small.mkdir()
    for name in ("lab", "secret.txt"):
        (small / name).touch()
    for words in (["init", "--quiet"], ["add", "lab"]):
        subprocess.run(["git", "-C", str(small), *words], check=True)
    equal(package.tracked(small), ["lab"], "the files of a repository that are packed")
    with judge_of("saxpy"):
        pass
    for name in ("one.zip", "two.zip"):
        command("package-autograder", "saxpy", folder / name)
    equal((folder / "one.zip").read_bytes(), (folder / "two.zip").read_bytes(), "the same zip made again")
    place = folder / "autograder"
    for name in ("source", "submission", "results"):
        (place / name).mkdir(parents=True)
    with zipfile.ZipFile(folder / "one.zip") as archive:
        names = archive.namelist()
        archive.extractall(place / "source")
    holds({"setup.sh", "run_autograder", "repository/lab"} <= set(names), "what Gradescope runs")
    holds("seed" not in names and "--seed" not in (place / "source/run_autograder").read_text(), "each grading has new hidden inputs")
    holds(not any(name.startswith(("repository/tests/", "repository/labs/02")) for name in names), "files of other labs")
    (place / "source/repository/build").mkdir()  # what setup.sh builds there
    (place / "source/repository/build/default").symlink_to(PROGRAMS.parent)
    made(place, "submission", stride=load(ROOT, "saxpy").rung("opencl/03_grid_stride.cl"))
    subprocess.run(["bash", str(place / "source/run_autograder")], check=True,
                   env={**os.environ, "GPULAB_AUTOGRADER": str(place)})
    found = json.loads((place / "results/results.json").read_text())
    equal((found["score"], found["max_score"]), (5, 25), "results.json")
    shutil.rmtree(place / "source/repository/labs")  # grading fails
    subprocess.run(["bash", str(place / "source/run_autograder")], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "GPULAB_AUTOGRADER": str(place)})
    equal(json.loads((place / "results/results.json").read_text())["score"], 0, "results.json when grading fails")


@test
def unknown_files(folder):
    """a hand-out leaves out what git does not know, and names it"""
    checkout, plain = folder / "checkout", folder / "plain"
    for root in (checkout, plain):
        (root / "labs/01/cuda").mkdir(parents=True)
        for name in ("labs/01/README.md", "labs/01/solution.cu", "labs/01/cuda/rung.cu", "labs/01/cuda/notes.txt"):
            (root / name).write_text(name)
    for words in (["init", "--quiet"], ["add", "labs/01/README.md", "labs/01/cuda/rung.cu"]):
        subprocess.run(["git", "-C", str(checkout), *words], check=True)
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        handout.copy_tree(checkout, checkout / "labs", folder / "one")
    equal(sorted(tree_of(folder / "one")), ["01/README.md", "01/cuda/rung.cu"], "the copy of a checkout")
    equal(sorted(line.split(": ")[1] for line in said.getvalue().splitlines()),
          ["labs/01/cuda/notes.txt", "labs/01/solution.cu"], "what is named")
    handout.copy_tree(plain, plain / "labs", folder / "two")
    equal(len(tree_of(folder / "two")), 4, "files of a folder that is no checkout")


@test
def classroom(folder):
    """the template for GitHub Classroom is the hand-out with a workflow that tests it"""
    command("package-classroom", "saxpy", folder / "one")
    command("handout", "saxpy", folder / "two")
    template = tree_of(folder / "one")
    workflow = template.pop(".github/workflows/exercises.yml").decode()
    holds("run: ./lab test" in workflow and "actions/checkout" in workflow, workflow)
    equal(template, tree_of(folder / "two"), "the template without its workflow")
    equal(leaks(load(ROOT, "saxpy"), tree_of(folder / "one")), [], "leaks")


@test
def link_words(_):
    """a CUDA submission is linked without the file in which CMake 4 lets the linker note what it read"""
    line = ": && g++ -O3 -Wl,--dependency-file=a/link.d a.o -o bin/a lib.a && :"
    equal(cuda.link_words(line), ["g++", "-O3", "a.o", "-o", "bin/a", "lib.a"], "the words")


@test
def cuda_file(_):
    """a CUDA file that was handed in is compiled apart from the rungs and linked into a worker"""
    lab = load(ROOT, "reduction")
    part = lab.exercises[0].parts["cuda"]
    if not (PROGRAMS / f"worker_reduction_{part.rung}").is_file():
        skip("built without CUDA")
    sandbox = best()
    try:
        files = sandbox.base / "files"
        name = Path(part.files[0]).name
        sandbox.fill(files, {name: f'#include "{lab.path / part.files[0]}"\n'.encode()}, 0)
        closed = not sandbox.can_read(lab.path / part.files[0])
        try:
            cuda.build(lab, PROGRAMS.parent, part, files, sandbox, 0)
            holds(not closed, "the file of the rung was included")
        except cuda.DoesNotCompile as error:
            holds("No such file" in str(error) or "Permission denied" in str(error), str(error))
        sandbox.fill(files, {name: lab.rung(part.files[0]).encode()}, 0)
        program = cuda.build(lab, PROGRAMS.parent, part, files, sandbox, 0).whole
        worker = sandbox.start([str(program)], slot=0, scratch=sandbox.folder("try", 0), readable=[program],
                               environment={})
        equal(worker.communicate(timeout=60)[0], b"", "the answers to no message")
        equal(worker.returncode, 0, "exit code")
    finally:
        sandbox.close()
    if not closed:
        skip("bubblewrap does not work here, and every user can read the repository")


# Launches of CUDA submissions. What needs a GPU is in tampering/*.cu.

STARTS_A_KERNEL = """
#include <cstdio>
__device__ int value = 0;
__global__ void sets_it() { value = 1; }
static const bool started = [] {
    int found = 0;
    const auto* const kernel = reinterpret_cast<const void*>(sets_it);
    const cudaError_t launched = cudaLaunchKernel(kernel, dim3(1), dim3(1), nullptr, 0, nullptr);
    sets_it<<<1, 1>>>();
    cudaMemcpyFromSymbol(&found, value, sizeof found);
    std::fprintf(stderr, "launched %d found %d", static_cast<int>(launched), found);
    return true;
}();
"""


@test
def without_launches(_):
    """a CUDA submission that is linked without its launches launches nothing, and calls that a success"""
    text = (ROOT / "common/src/grading/no_launches.cpp").read_text(encoding="utf-8")
    equal(sorted(re.findall(r"(?m)^GPULAB_NO\((\w+)\)", text)), sorted(cuda.LAUNCHES), "the functions that do nothing")
    lab = load(ROOT, "saxpy")
    part = lab.exercises[0].parts["cuda"]
    if not (PROGRAMS / f"worker_saxpy_{part.rung}").is_file():
        skip("built without CUDA")
    sandbox = best()
    try:
        files = sandbox.base / "files"
        sandbox.fill(files, {Path(part.files[0]).name: (lab.rung(part.files[0]) + STARTS_A_KERNEL).encode()}, 0)
        programs = cuda.build(lab, PROGRAMS.parent, part, files, sandbox, 0)
        equal(programs.whole.name, programs.without_kernels.name, "the names of both programs")

        def said_by(program):
            worker = sandbox.start([str(program)], slot=0, scratch=sandbox.folder("try", 0), readable=[program],
                                   environment={}, gpu=True)
            said = worker.communicate(timeout=60)[1].decode()
            equal(worker.returncode, 0, said)
            return said.splitlines()[0]

        whole = said_by(programs.whole)
        holds(whole == "launched 0 found 1" or re.fullmatch("launched [1-9][0-9]* found 0", whole), whole)  # or no GPU
        equal(said_by(programs.without_kernels), "launched 0 found 0", "without launches")
        cuda.rung_without_kernels(PROGRAMS.parent, lab, part, sandbox.base / "rung")
        equal(subprocess.run([sandbox.base / "rung"], stdin=subprocess.DEVNULL, check=False).returncode, 0, "the rung")
    finally:
        sandbox.close()


@test
def counter_answers(_):
    """the library that counts kernels answers the judge, for a worker in the sandbox, and tells what CUPTI says"""
    program = PROGRAMS / "worker_saxpy_cuda_many_blocks"
    if not (PROGRAMS / LIBRARY).is_file() or not program.is_file():
        skip("built without CUPTI")
    sandbox = best()
    try:
        counter = Counter()
        library, copy = sandbox.installed(PROGRAMS / LIBRARY), sandbox.installed(program)
        worker = sandbox.start([*counter.command(library), str(copy)], slot=0, scratch=sandbox.folder("try", 0),
                               readable=[copy, library], environment={}, gpu=True, inherited=(counter.other.fileno(),))
        counter.other.close()
        equal([counter.ask(), counter.ask()], [0, 0], "kernels of a worker without a message")
        holds(Path("/dev/nvidiactl").exists() or counter.trouble, "without a GPU CUPTI records nothing, and says so")
        sandbox.end(worker, 0)
        equal(counter.ask(), None, "kernels of a worker that has ended")
        counter.close()
    finally:
        sandbox.close()


@test
def dripping_counter(_):
    """a program that answers the question for its kernels byte by byte does not hold the grader up"""
    counter = Counter()
    end = threading.Event()

    def drip():
        while not end.wait(0.1):
            counter.other.send(b"x")

    dripping = threading.Thread(target=drip)
    patience, launches.PATIENCE = launches.PATIENCE, 0.4
    try:
        dripping.start()
        begin = time.monotonic()
        equal(counter.ask(), None, "kernels")
        holds(time.monotonic() - begin < 2, f"it took {time.monotonic() - begin:.1f} s")
    finally:
        launches.PATIENCE = patience
        end.set()
        dripping.join()
        counter.close()


@test
def first_thread_ends(_):
    """without bubblewrap, as root, a process whose first thread has ended is killed like any other"""
    with without_bubblewrap() as sandbox:
        scratch = sandbox.folder("try", 0)
        (scratch / "orphan.c").write_text("""
            #include <pthread.h>
            #include <stdio.h>
            #include <unistd.h>
            static void* sleeps(void* x) { sleep(600); return x; }
            int main(void) {
                if (fork() > 0) { sleep(1); return 0; }
                setsid(); // killing the group of the worker does not reach it
                printf("%d", getpid()), fclose(stdout), fclose(stderr);
                pthread_t other;
                pthread_create(&other, 0, sleeps, 0);
                pthread_exit(0);
            }""", encoding="utf-8")
        subprocess.run(["cc", "-o", scratch / "orphan", scratch / "orphan.c", "-pthread"], check=True)
        process = sandbox.start([str(scratch / "orphan")], slot=0, scratch=scratch, readable=[], environment={})
        orphan = int(process.communicate(timeout=60)[0])
        equal((status_of(orphan)[0], len(os.listdir(f"/proc/{orphan}/task"))), ("Z", 2), "the state of the orphan, and its threads")
        begin, user = time.monotonic(), sandbox.user_of(0)
        sandbox.end(process, 0)
        holds(time.monotonic() - begin < 5, f"it took {time.monotonic() - begin:.1f} s")
        holds(not Path(f"/proc/{orphan}").exists(), "it is gone")
        equal(sandbox.user_of(0), user, "the user of the slot")


@test
def process_that_stays(_):
    """a process that cannot be ended makes the rest of its exercise not graded, and costs nobody else points"""
    if os.geteuid() != 0:
        skip("only root has other users")
    with judge_of("saxpy", "user") as judge:
        exercise = with_tests(judge.lab.exercises[0], lambda one: one.check == "values")
        part = exercise.parts["opencl"]
        files = files_of(judge, part, judge.lab.rung)
        holds(len(exercise.tests) > 1, "there are several tests")
        kill, stayed = sandbox_module.kill_all_of, []

        def kill_but_one(user, child=0, patience=10.0):
            done = kill(user, child, patience)
            if child and not stayed and user == judge.sandbox.user_of(0):
                stayed.append(child)
                return False
            return done

        sandbox_module.kill_all_of = kill_but_one
        try:
            results = judge.judge(exercise, part, files, 0)
        finally:
            sandbox_module.kill_all_of = kill
        equal(len(stayed), 1, "processes that stay")
        outcomes = [one.outcome for one in results]
        holds(set(outcomes) <= {PASSED, NOT_GRADED} and outcomes[-1] == NOT_GRADED, told(results))
        equal({one.outcome for one in judge.judge(exercise, part, files, 0, {one.key: one for one in results})}, {PASSED},
              "the outcomes of a second try")
        run = judging.Run(judge, exercise, part, exercise.tests[0], Path(), Path(), Path(), 0)
        before = run.cache_of_rung(1)
        judge.sandbox.give_up(1)
        equal(run.cache_of_rung(1).stat().st_uid, judge.sandbox.user_of(1), "the owner of what is compiled for a rung")
        holds(run.cache_of_rung(1) != before, "a process that stays may write to what was compiled for a rung")


@test
def orphans_are_waited_for(_):
    """as root, a process that a submission leaves behind becomes a child of the grader, which ends it and waits for it"""
    with without_bubblewrap() as sandbox:
        program = sandbox.start(["sh", "-c", "sleep 600 >/dev/null 2>&1 & echo $!"], slot=0, scratch=sandbox.folder("try", 0),
                                readable=[], environment={})
        left = int(program.communicate(timeout=60)[0])
        equal(status_of(left)[1], str(os.getpid()), "the parent of what was left behind")
        equal(sandbox.end(program, 0), 0, "the program that left it behind")
        holds(not Path(f"/proc/{left}").exists(), "it is gone")


@test
def rung_is_counted(_):
    """the kernels of a rung are counted, and its answers are wrong without them"""
    with judge_of("saxpy") as judge:
        exercise = with_tests(judge.lab.exercises[0], lambda one: one.name == "any length")
        part = exercise.parts["cuda"]
        if judge.why_not(part):
            skip(judge.why_not(part))
        if not (PROGRAMS / LIBRARY).is_file():
            skip("built without CUPTI")
        [result] = judge.judge(exercise, part, files_of(judge, part, judge.lab.rung), 0)
        [trial] = judge.trials.values()
        if "CUPTI reports" in trial.why_not_counted:
            skip(trial.why_not_counted)
        equal((result.outcome, result.message, trial.why_not_counted), (PASSED, "", ""), "the rung")
        equal(trial.needs_kernels, [one["n"] > 0 for one in exercise.tests[0].problems()], "which cases need kernels")


WORKER = """#!/usr/bin/python3
# Answers SAXPY as a worker does, and counts kernels as the preloaded library does.
import array, os, struct, sys, threading, time
RIGHT, KERNELS, TROUBLE, FORGES, AT_END = {right}, {kernels}, {trouble}, {forges}, {at_end}
def count(file):
    while len(question := os.read(file, 16)) == 16:
        os.write(file, (bytes(16) if FORGES else question) + struct.pack("<QQ", TROUBLE, KERNELS))
if "GPULAB_LAUNCHES" in os.environ:
    threading.Thread(target=count, args=(int(os.environ["GPULAB_LAUNCHES"]),), daemon=True).start()
while length := sys.stdin.buffer.read(8):
    message = sys.stdin.buffer.read(struct.unpack("<Q", length)[0])
    at = 8 + struct.unpack_from("<Q", message)[0] + 4
    k, n = struct.unpack_from("<fQ", message, at)
    a = array.array("f", message[at + 12:at + 12 + 4 * n])
    b = array.array("f", message[at + 20 + 4 * n:at + 20 + 8 * n])
    if RIGHT is None:
        sys.exit(3)
    if RIGHT == "late":
        time.sleep(60)
    c = array.array("f", [k * x + y if RIGHT else float("nan") for x, y in zip(a, b)])
    if RIGHT == "but one in eight":
        c = array.array("f", [float("nan") if i % 8 == 7 else x for i, x in enumerate(c)])
    if RIGHT == "a few":
        c = array.array("f", [x if i % 64 == 8 else float("nan") for i, x in enumerate(c)])
    if RIGHT == "rounded":
        c = array.array("f", [float("nan") if i == 0 else x * (1 + time.time() % 1 * 1e-5) for i, x in enumerate(c)])
    if RIGHT == "the input":
        c = b
    answer = struct.pack("<BQQ", 0, 0, n) + c.tobytes()
    if RIGHT == "no device":
        answer = struct.pack("<BQ", 5, 4) + b"none"
    sys.stdout.buffer.write(struct.pack("<Q", len(answer)) + answer)
    sys.stdout.buffer.flush()
exec(AT_END)
"""


class Pretended:
    """Grades submissions in CUDA of lab 01 without a GPU: programs that behave as workers take the place of theirs."""

    def __init__(self, folder, kind=""):
        if not (PROGRAMS / "judge_saxpy").is_file():
            skip("judge_saxpy has not been built")
        self.folder = folder
        self.lab = load(ROOT, "saxpy")
        self.exercise = self.lab.exercises[0]
        self.programs = folder / "build/bin"
        self.programs.mkdir(parents=True)
        (self.programs / "judge_saxpy").symlink_to(PROGRAMS / "judge_saxpy")
        self.values = with_tests(self.exercise, lambda one: one.name == "one block")
        self.sandbox = best(kind)
        self.trials = {}  # of the same rung, tried once
        self.in_turn = []  # for each submission that was compiled: how many held the turns for it

    def worker(self, right, kernels=1, trouble=0, forges=False, at_end=""):
        text = WORKER.format(right=repr(right), kernels=kernels, trouble=trouble, forges=forges, at_end=repr(at_end))
        path = self.folder / f"worker-{hashlib.sha256(text.encode()).hexdigest()[:8]}"
        path.write_text(text)
        return self.sandbox.installed(path)

    def result(self, whole, without, rung=None, rung_without=None, wanted=None):
        """What a submission gets that is these programs. The rung: wrong without its kernel, one of which is counted."""
        wanted = wanted or self.values
        part = wanted.parts["cuda"]
        judge = Judge(self.lab, self.folder / "build", self.sandbox, b"secret of the tests")
        judge.devices = {"cuda": {"names": ["a GPU that is none"], "why": ""}}
        judge.worker_program = lambda part: rung or self.worker(True)
        judge.rung_without_kernels = lambda part: rung_without or self.worker(False)
        judge.trials = self.trials.setdefault((rung, rung_without, repr(wanted), (self.programs / LIBRARY).exists()), {})
        judge.case_seconds = 4
        def build(*_):
            self.in_turn.append(judge.turns.shared)
            return cuda.Programs(whole, without, self.folder / "none")

        cuda.build = build
        [one] = judge.judge(wanted, part, {part.files[0]: b"// mine"}, 0)
        return one.outcome, one.score, one.message


@test
def kernels_count(folder):
    """a CUDA submission whose kernels do not compute its answers loses its points, and where none are counted it is said"""
    pretended = Pretended(folder)
    lab, exercise, programs, values = pretended.lab, pretended.exercise, pretended.programs, pretended.values
    worker, result, sandbox = pretended.worker, pretended.result, pretended.sandbox

    try:
        no_library = f"{NOT_COUNTED}: GPU Labs was built without CUPTI"
        equal(result(worker(True), worker(False)), (PASSED, 1, no_library), "without the library")
        equal(result(worker(True, 0), worker(True)), ("failed", 0, NOT_ITS_KERNELS), "on the CPU, without the library")
        (programs / LIBRARY).write_text("the workers of this test count by themselves")
        equal(result(worker(True), worker(False)), (PASSED, 1, ""), "one that uses its kernels")
        equal(result(worker(True), worker("late")), (PASSED, 1, ""), "one that waits for its kernels")
        equal(result(worker(True), worker(None)), (PASSED, 1, ""), "one that ends without its kernels")
        equal(result(worker(True, 0), worker(False)), ("failed", 0, NO_KERNEL), "one without kernels")
        equal(result(worker(True), worker(True)), ("failed", 0, NOT_ITS_KERNELS), "one with an empty kernel")
        equal(result(worker(True, forges=True), worker(False)), ("failed", 0, CUT_OFF), "one that forges the count")
        holds(result(worker(False), worker(False))[2] not in ("", *ELSEWHERE), "one that is wrong is told why")
        equal(result(worker(True, 0), worker(True), rung_without=worker(True)), (PASSED, 1, ""),
              "where the rung needs no kernel either")
        counted = f"{NOT_COUNTED}: CUPTI reports error 15"
        equal(result(worker(True, 0), worker(False), rung=worker(True, 0, 15)), (PASSED, 1, counted), "without a right to count")
        counted = f"{NOT_COUNTED}: CUPTI does not see the kernels of the rung"
        equal(result(worker(True, 0), worker(False), rung=worker(True, 0)), (PASSED, 1, counted), "where CUPTI sees nothing")
        none = dataclasses.replace(values, tests=[dataclasses.replace(values.tests[0], cases=[{"op": "saxpy", "n": [0, 5]}])])
        equal(result(worker(True, 0), worker(False), wanted=none), ("failed", 0, NO_KERNEL), "n = 0 and another")
        none.tests[0].cases[0]["n"] = 0
        equal(result(worker(True, 0), worker(False), wanted=none), (PASSED, 1, ""), "n = 0, which needs no kernel")
        fast = with_tests(exercise, lambda one: one.check == "speed")
        fast = dataclasses.replace(fast, tests=[dataclasses.replace(fast.tests[0], cases=[{"op": "saxpy", "n": 1000}])])
        equal(result(worker(True), worker(True), wanted=fast), ("failed", 0, NOT_ITS_KERNELS), "as fast, but on the CPU")
        alive = []

        class Noted(judging.Worker):
            def __init__(self, *arguments):
                super().__init__(*arguments)
                alive.append(self)
                holds(all(one.how for one in alive[:-1]), "another worker runs while one is timed")

        ordinary, judging.Worker = judging.Worker, Noted
        equal(result(worker(True), worker(False), wanted=fast)[:2], (PASSED, 2), "as fast")
        judging.Worker = ordinary
        holds(len(alive) >= 3, "the rung, the submission, and the submission without kernels")
        equal(set(pretended.in_turn), {1}, "compilers that run in a turn, so that they disturb no measurement")

        # Some of the numbers are right without kernels.
        larger = dataclasses.replace(values, tests=[dataclasses.replace(values.tests[0], cases=[{"op": "saxpy", "n": 1000}])])
        equal(result(worker(True), worker("rounded"), wanted=larger), ("failed", 0, MOSTLY_ELSEWHERE), "all but one, rounded")
        equal(result(worker(True), worker("but one in eight")), ("failed", 0, MOSTLY_ELSEWHERE), "most of few numbers")
        equal(result(worker(True), worker("a few"), wanted=larger), (PASSED, 1, ""), "a few numbers by chance")
        equal(result(worker(True), worker("but one in eight"), rung_without=worker("but one in eight"), wanted=larger),
              (PASSED, 1, ""), "numbers that the rung leaves in place, too")
        often = dataclasses.replace(values, tests=[dataclasses.replace(values.tests[0], cases=[{"op": "saxpy", "n": 9, "repeats": 3}])])
        equal(result(worker(True, 1), worker(False), rung=worker(True, 3), wanted=often), ("failed", 0, TOO_FEW), "one run of three")
        equal(result(worker(True, 3), worker(False), rung=worker(True, 3), wanted=often), (PASSED, 1, ""), "three runs")

        equal(result(worker("no device"), worker(False))[:2], (FAILED, 0), "one that pretends that there is no GPU")
        equal(result(worker("no device"), worker(False), rung=worker("no device"))[:2], (NOT_GRADED, 0), "where there is none")

        hidden = {"visible": False, "hint": "Look again."}
        for message in ELSEWHERE:
            equal(report.said_to_student(hidden, {"outcome": "failed", "message": message}), f"not counted: {message}",
                  "what the student reads")
        one = {"name": "ada", "score": 1, "max_score": 25, "notes": [], "exercises": {}, "warnings": [counted]}
        holds(counted in report.gradebook(lab, [one], []), "the gradebook does not say that launches were not counted")
        holds("Launches were not counted: CUPTI" in report.page(lab, [one], 1, []), "the page does not say it")
    finally:
        sandbox.close()


SANITIZER = """#!/usr/bin/python3
# Behaves as compute-sanitizer: --tool TOOL ... --log-file FILE PROGRAM. It writes its log when the program has ended.
import re, subprocess, sys
tool, log, program = sys.argv[2], sys.argv[-2], sys.argv[-1]
code = subprocess.run([program]).returncode
found = (re.findall("hazards = ([0-9]+)", open(program).read()) or [0])[0]
said = f"RACECHECK SUMMARY: {found} hazards displayed" if tool == "racecheck" else "ERROR SUMMARY: 0 errors"
open(log, "w").write(f"========= COMPUTE-SANITIZER\\n========= {said}\\n")
sys.exit(code)
"""


@test
def sanitizer(folder):
    """what compute-sanitizer says when the program has ended counts, and what the program puts in place of its log does not"""
    pretended = Pretended(folder, "none")
    tool = folder / "compute-sanitizer"
    tool.write_text(SANITIZER)
    tool.chmod(0o755)
    judging.shutil.which = lambda name, path: str(tool)
    judging.OF_TOOLS = 4
    wanted = with_tests(pretended.exercise, lambda one: one.check == "races")

    def result(at_end="", rung=""):
        return pretended.result(pretended.worker(True, at_end=at_end), pretended.worker(False),
                                pretended.worker(True, at_end=rung), wanted=wanted)

    try:
        equal(result(), (PASSED, 1, ""), "a program in which it finds nothing")
        equal(result("time.sleep(1)"), (PASSED, 1, ""), "one that ends a second later")
        equal(result("time.sleep(60)")[:2], (TIMED_OUT, 0), "one that does not end")
        equal(result("hazards = 10")[:2], (FAILED, 0), "10 hazards")
        equal(result(rung="hazards = 1")[:2], (NOT_GRADED, 0), "where it finds something in the rung")
        log = "open(f'/proc/{os.getppid()}/cmdline', 'rb').read().split(b'\\0')[-3]"  # what the tool was called with
        folder_there = f"os.mkdir({log})"
        equal(result(folder_there)[0], CRASHED, "a folder in place of the log")
    finally:
        pretended.sandbox.close()
    for findings, clean in (("ERROR SUMMARY: 0 errors", True), ("ERROR SUMMARY: 10 errors", False), ("", False),
                            ("ERROR SUMMARY: 1 error\nERROR SUMMARY: 0 errors", False)):
        equal(is_clean(["compute-sanitizer", "--tool", "memcheck"], findings), clean, findings)
    for count, clean in ((0, True), (1, False), (10, False), (100, False)):
        found = f"RACECHECK SUMMARY: {count} hazard{'s' * (count != 1)} displayed (0 errors, 0 warnings)"
        equal(is_clean(["compute-sanitizer", "--tool", "racecheck"], found), clean, found)
    equal(is_clean(["oclgrind"], ""), True, "nothing in the log of oclgrind")
    (folder / "secret").write_text("the seed")
    (folder / "link").symlink_to(folder / "secret")
    os.mkfifo(folder / "pipe")
    (folder / "long").write_text("x" * (5 << 20))
    equal([read_log(folder / name) for name in ("link", "pipe", "none", ".")], [None] * 4, "what is no log")
    holds(len(read_log(folder / "long")) < 5000, "a log of 5 MB")
    equal(read_log(folder / "secret"), "the seed", "a log")


@test
def compiler_says_much(folder):
    """a compiler that says more than anybody reads, or does not end, is ended"""
    folder.chmod(0o711)
    sandbox = Sandbox("none", folder)

    def message(script, seconds=20.0):
        begin = time.monotonic()
        try:
            cuda.run(sandbox, ["sh", "-c", script], 0, folder, [], begin + seconds)
        except cuda.DoesNotCompile as error:
            holds(time.monotonic() - begin < 10, f"{script}: it took {time.monotonic() - begin:.1f} s")
            return str(error)
        return ""

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    equal(message("exec yes xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx >&2"), "the compiler said more than 8 MB", "endless errors")
    equal(message("exec yes"), "the compiler said more than 8 MB", "an endless output")
    holds(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10, "it was kept")
    equal(message("exec sleep 60", 0.5), "the compiler did not end in time", "one that does not end")
    equal(message("exec >&- 2>&-; exec sleep 60", 0.5), "the compiler did not end in time", "one that says nothing more")
    equal(message("echo out; echo wrong >&2; exit 3"), "wrong\nout\n", "an ordinary error")
    equal(message("echo warning >&2"), "", "a warning")


@test
def set_user_id(_):
    """without bubblewrap, as root, a program cannot become another user and hold up what follows in its slot"""
    if not shutil.which("su"):
        skip("su is needed")
    script = ("import os, time\nif os.fork() == 0:\n    os.setsid()\n    r, w = os.pipe()\n    os.dup2(r, 0)\n"
              "    os.dup2(w, 1)\n    os.dup2(w, 2)\n    if os.fork() == 0: time.sleep(100)\n    os.execv('/usr/bin/su', ['su', 'root'])\n"
              "print(open('/proc/self/status').read())\ntime.sleep(1)\n")
    with without_bubblewrap() as sandbox:
        for command in (["/usr/bin/python3", "-c", script], ["true"]):
            scratch = sandbox.folder("slot0", 0)
            process = sandbox.start(command, slot=0, scratch=scratch, readable=[], environment={})
            out, _ = process.communicate()
            begin = time.monotonic()
            sandbox.end(process, 0)
            holds(time.monotonic() - begin < 5, f"it took {time.monotonic() - begin:.1f} s to end {command[0]}")
            holds(command == ["true"] or not shutil.which("setpriv") or b"NoNewPrivs:\t1" in out, "it may get new privileges")
        user = sandbox.user_of(0)
        kill, sandbox_module.kill_all_of = sandbox_module.kill_all_of, lambda *_, **__: False
        process = sandbox.start(["true"], slot=0, scratch=scratch, readable=[], environment={})
        sandbox.end(process, 0)
        sandbox_module.kill_all_of = kill
        holds(sandbox.user_of(0) != user, "the slot kept the user of a process that cannot be ended")


@test
def two_faces(_):
    """a kernel that shows the tool for races another face than the device loses the points of that test"""
    for text, found in (("#if defined(__SPIR__) || !defined(__x86_64__)\n#endif", {"__SPIR__", "__x86_64__"}),
                        ("#define A __SPIR\\\n__\n#if A\n#endif", {"__SPIR__"}), ("%:ifdef POCL_VERSION", {"POCL_VERSION"}),
                        ("int a = __ENDIAN_LITTLE__;", {"__ENDIAN_LITTLE__"}), ("#ifdef cl_khr_fp16", {"cl_khr_fp16"}),
                        ("#ifdef cl_khr_fp64\n#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n#endif // __SPIR__", set()),
                        ("__kernel __attribute__((x)) void f(__global REAL* a) {}\n#ifdef DEBUG\n#endif", set())):
        equal(judging.target_macros(text), found, text)
    for name in [path.name for path in sorted((ROOT / "labs").iterdir()) if (path / "exercises/exercises.toml").is_file()]:
        lab = load(ROOT, re.sub("^[0-9]+_", "", name))
        for _, part in lab.parts():
            holds(part.backend != "opencl" or not any(judging.target_macros(lab.rung(file)) for file in part.files), name)
    if not HAS_OCLGRIND:
        skip("oclgrind is not installed")
    with judge_of("reduction") as judge:
        tree = next(one for one in judge.lab.exercises if one.name == "tree")
        part = tree.parts["opencl"]
        rung = judge.lab.rung(part.files[0])
        racy = rung.replace("barrier(CLK_LOCAL_MEM_FENCE);", "")
        text = f"#if defined(__SPIR__) || defined(__SPIR64__) || !defined(__x86_64__)\n{rung}\n#else\n{racy}\n#endif\n"
        [one] = judge.judge(with_tests(tree, lambda one: one.check == "races"), part, {part.files[0]: text.encode()}, 0)
        holds((one.outcome, one.score) == (FAILED, 0) and "__SPIR__" in one.public, told([one]))


@test
def shows_no_solution(_):
    """what a program prints, and lines of solutions that a compiler or worker could show, do not reach the student"""
    with judge_of("saxpy") as judge:
        exercise = judge.lab.exercises[0]
        part = exercise.parts["opencl"]
        secret = sorted(judge.answers)[0]
        said = f"file.hpp:3: error:\n    {secret}\n    ^"
        holds(secret not in judge.redacted(said, {}) and "error:" in judge.redacted(said, {}), "a line of a solution is shown")
        equal(judge.redacted(said, {"mine.cl": f"x {secret[:8]} {secret[8:]}\n"}), said, "a line that the student wrote")
        text = ((TAMPERING / "syscalls.txt").read_text() + "kernel void saxpy(float k, global const float* a, "
                "global const float* b, global float* c, ulong n) { char w[] = \"found: a line\"; call(1, 2, (long)w, 13); "
                "call(231, 1, 0, 0); }")
        results = judge.judge(with_tests(exercise, lambda one: one.name == "one block"), part, {part.files[0]: text.encode()}, 0)
        if why_not_compiled(results):
            skip(why_not_compiled(results))
        holds("found" not in results[0].message + results[0].public, f"what was printed is shown: {results[0].message}")
        holds("found: a line" in results[0].printed, f"the instructor does not see what was printed: {results[0]}")


@test
def time_of_an_exercise(_):
    """when a submission has used up the time of an exercise, the rest of its tests is timed out"""
    with judge_of("saxpy") as judge:
        judge.exercise_seconds = 0.0001
        exercise = with_tests(judge.lab.exercises[0], lambda one: one.check == "values")
        part = exercise.parts["opencl"]
        results = judge.judge(exercise, part, files_of(judge, part, judge.lab.rung), 0)
        equal({one.outcome for one in results}, {TIMED_OUT}, told(results))
        equal(results[-1].message, judging.OUT_OF_TIME, "what is told")


@test
def closed_folders(folder):
    """folders that a program closed, or made deep, are removed, and its slot gets a new one: also for a user who is not root"""
    def twice(base):
        sandbox = Sandbox("none", base)
        for _ in range(2):
            scratch = sandbox.folder("slot0", 0)
            (scratch / "closed/inner").mkdir(parents=True)
            os.chdir(scratch)
            for _ in range(3000):
                os.mkdir("deep")
                os.chdir("deep")
            os.chdir("/")
            (scratch / "closed").chmod(0)
            remove(scratch)
            holds(not scratch.exists(), "the folder was not removed")

    twice(folder)
    if os.geteuid() != 0:
        return
    folder.chmod(0o711)
    (folder / "of-nobody").mkdir()
    os.chown(folder / "of-nobody", 65534, 65534)
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            twice(folder / "of-nobody")
            os._exit(0)
        finally:
            os._exit(1)
    equal(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0, "a user who is not root")


@test
def one_tree(folder):
    """CUDA files that are compiled at the same time wait until the headers beside them are there"""
    lab = load(ROOT, "saxpy")
    sandbox = Sandbox("none", folder)
    whole = []
    threads = [threading.Thread(target=lambda: whole.append(
        (cuda.hand_out(lab, sandbox) / "labs" / lab.folder / "answers.md").is_file())) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    equal(whole, [True] * 8, "whether the hand-out was whole")


@test
def readable_tests(folder):
    """without bubblewrap a repository that every user can read is refused"""
    if os.geteuid() != 0:
        skip("only root can run programs as another user")
    with judge_of("saxpy", "user") as judge:
        (folder / "open").mkdir()
        folder.chmod(0o755)
        (folder / "open/file").write_text("x")
        equal(judge.sandbox.can_read(folder / "open/file"), True, "a file that every user can read")
        folder.chmod(0o700)
        equal(judge.sandbox.can_read(folder / "open/file"), False, "a file in a folder of root alone")
    reachable = all(os.stat(path).st_mode & 0o001 for path in [ROOT, *ROOT.parents])
    ran = graded("saxpy", made(folder, "ada"), "--out", folder / "out", "--sandbox", "user", rc=2 if reachable else 0)
    holds(not reachable or "chmod 700" in ran.stderr, ran.stderr)
    with judge_of("saxpy", "bubblewrap") as judge:
        equal(judge.sandbox.can_read(ROOT / "lab"), False, "the repository under bubblewrap")


@test
def judge_that_waits(folder):
    """a judge that does not end is given up, and the message says so"""
    with judge_of("saxpy") as judge:
        sleeping = folder / "judge_saxpy"
        sleeping.write_text("#!/bin/sh\nexec sleep 600\n")
        sleeping.chmod(0o755)
        judge.program, judge.judge_seconds = sleeping, 0.3
        begin = time.monotonic()
        try:
            judge.call("make", "spec", "file")
            fail("a judge that never ends has ended")
        except Fault as fault:
            equal(str(fault), "the judge of saxpy did not end in 0.3 s: make", "what is told")
        holds(time.monotonic() - begin < 30, "it was waited for")


@test
def points_for_times(_):
    """points for speed: all up to 1.2 times the rung's time, none from 10 times on, falling in between"""
    equal([share_for(ratio) for ratio in (0.5, 1.0, 1.2, 10.0, 50.0)], [1, 1, 1, 0, 0], "shares")
    shares = [share_for(1.2 + step * 0.4) for step in range(22)]
    equal(shares, sorted(shares, reverse=True), "shares fall")
    holds(0.4 < share_for(3.464) < 0.6, "half of the points in the middle")
    equal(ratio_of([3, 2, 9], [1, 1, 1]), 2, "one busy moment")
    equal(ratio_of([2, 20, 2], [1, 10, 8]), 2, "a busy minute")


@test
def faulty_exercises(folder):
    """a fault in exercises.toml is told in one line that names it"""
    lab = load(ROOT, "saxpy")
    text = (lab.path / "exercises/exercises.toml").read_text(encoding="utf-8")
    for old, new, word in (('kind = "write"', 'kind = "right"', "kind"), ("points = 1", "points = 0", "points"),
                           ("opencl/02_one_item.cl", "opencl/none.cl", "none.cl"), ("visible = true", "", "see"),
                           ('check = "speed"', 'check = "sped"', "sped"), ("[[exercise]]", "[[exercise", "line"),
                           ('name = "distances"', 'name = "many-blocks"', "twice"), ("hints = ", "hint = ", "hint"),
                           ('"opencl/distances.cl"', '"opencl/02_one_item.cl"', "two exercises"),
                           ("withhold =", "with_hold =", "with_hold"), ("withhold =", "pocl_threads = 0 #", "pocl_threads")):
        shutil.rmtree(folder / "labs", ignore_errors=True)
        shutil.copytree(lab.path, folder / "labs/01_saxpy")
        (folder / "labs/01_saxpy/exercises/exercises.toml").write_text(text.replace(old, new))
        try:
            load(folder, "saxpy")
            fail(f"{new} is accepted")
        except Fault as fault:
            holds(word in str(fault) and "\n" not in str(fault), str(fault))


if __name__ == "__main__":
    sentence, *rest = sys.argv[1:]
    if sentence not in TESTS:
        fail(f"no test of that name: {sentence}")
    with tempfile.TemporaryDirectory() as scratch:
        TESTS[sentence](Path(scratch), *rest)
