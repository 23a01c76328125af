"""What students are told of a data race."""

import itertools
import re
import time

import pytest
from grading_support import exercise_of, hidden_races, judge_of, needs_oclgrind, results_of, told

from grading import report
from grading.judge import FAILED
from grading.races import MAX_READ, in_words
from grading.submission import MAX_BYTES

KERNEL = """kernel void f(global const float* a, ulong n, local float* x, global float* sums) {
    local float tile[4][4];
    local float* row = x + 4;
    x[get_local_id(0)] = a[n];
    row[0] = tile[1][2];
    sums[get_group_id(0)]++;
}
"""


def race(first, second, kind="Read-write", address="local memory address 0x1000000000014"):
    """A report of oclgrind. The two sides: item, group, instruction, line, column, file."""
    sides = []
    for word, (item, group, access, line, column, file) in zip(("First entity: ", "Second entity:"), (first, second)):
        sides.append(f"\t{word} Global(0,0,0) Local{item} Group{group}\n\t  {access}\n\tAt line {line} (column {column}) of {file}:\n"
                     "\t  the line\n\t\n")
    return f"{kind} data race at {address}\n\tKernel: f\n\t\n{''.join(sides)}\n"


def in_cuda(report):
    """The same as the CUDA emulator tells it."""
    report = re.sub(r"Global\S+ Local(\S+) Group", r"Thread\1 Block", report)
    return report.replace("Kernel: f\n", "Kernel: f<float>\n")


LOAD, STORE = "%4 = load float, float addrspace(3)* %x, align 4, !dbg !9", "store float %4, float addrspace(3)* %x, align 4, !dbg !8"
WRITES = ("(5,0,0)", "(2,0,0)", STORE, 4, 24, "f.cl")
READS = ("(4,0,0)", "(2,0,0)", LOAD, 5, 14, "f.cl")


@pytest.mark.parametrize("report_of_tool, exact, roughly", [
    (race(WRITES, READS), "work-item 5 of group 2 writes x[5] at line 4 while work-item 4 of the same group reads it at line 5: "
     "no barrier stands between",
     "a work-item writes an element of x at line 4 while its neighbour reads it at line 5: no barrier stands between"),
    (race(READS, WRITES), "work-item 5 of group 2 writes x[5] at line 4 while work-item 4 ", "a work-item writes an element of x "),
    (race(WRITES, READS) + race(READS, READS) + "Oclgrind: 5 errors generated - suppressing further errors", "work-item 5 of group 2 ",
     "a work-item "),
    (race(("(9,1,0)", "(2,1,0)", STORE, 5, 12, "f.cl"), ("(4,3,0)", "(2,1,0)", STORE, 5, 12, "f.cl"), "Write-write"),
     "work-item (9, 1) of group (2, 1) writes the element at byte 20 of local memory at line 5 while work-item (4, 3) of the same",
     "a work-item writes an element of local memory at line 5 while another one of the same group writes it at line 5: "),
    (race(("(0,0,0)", "(7,0,0)", STORE, 6, 26, "f.cl"), ("(1,0,0)", "(8,0,0)", STORE, 6, 26, "f.cl"), "Write-write",
          "global memory address 0x200000000001d"),
     "work-item 0 of group 7 writes sums[7] at line 6 while work-item 1 of group 8 writes it at line 6: groups do not wait",
     "a work-item writes an element of sums at line 6 while another one of another group writes it at line 6: groups do not"),
    (race(("(0,0,0)", "(0,0,0)", LOAD, 5, 14, "f.cl"), ("(1,0,0)", "(0,0,0)", STORE.replace("float %4", "double %4"), 12, 7, "labs/08_fdtd/opencl/yee.cl")),
     "work-item 1 of group 0 writes element 5 of tile at line 12 of yee.cl while work-item 0 of the same group reads it at line 5: ",
     "a work-item writes an element of tile at line 12 of yee.cl while its neighbour reads it at line 5: "),
    (race(("(5,0,0)", "(2,0,0)", STORE, 400, 24, "f.cl"), ("(4,0,0)", "(2,0,0)", LOAD, 500, 1, "f.cl")),
     "work-item 5 of group 2 writes the element at byte 20 of local memory at line 400 ", "a work-item writes an element of local "),
    (race(WRITES, ("(4,0,0)", "(2,0,0)", "call spir_func void @_Z6vload4()", 5, 1, "f.cl")), "work-item 5 of group 2 writes x[5] ",
     "a work-item writes an element of x "),
    (race(READS, ("(4,0,0)", "(2,0,0)", LOAD, 5, 1, "f.cl")), "", ""),
    (race(WRITES, READS).replace("Second entity: Global(0,0,0) Local(4,0,0) ", "Second entity: "), "", ""),
    (race(WRITES, READS).replace("\tAt line 4 (column 24) of f.cl:\n", "\tDebugging information not available.\n"), "", ""),
    (in_cuda(race(("(5,0,0)", "(2,0,0)", "st.shared.v2.f32 [%r1], {%f1, %f2}", 4, 5, "f.cu"), ("(4,0,0)", "(2,0,0)", "ld.shared.v2.f32 {%f1, %f2}, [%r1]", 5, 5, "f.cu"),
                  address="shared memory address 0x1000000000014")),
     "thread 5 of block 2 writes the element at byte 16 of shared memory at line 4 of f.cu while thread 4 of the same block reads it at line 5 of f.cu: "
     "no barrier stands between", "a thread writes an element of shared memory at line 4 of f.cu while its neighbour reads it at line 5 of f.cu: "),
    (in_cuda(race(("(0,0,0)", "(7,0,0)", "st.global.f64 [%rd1], %fd2", 6, 5, "f.cu"), ("(0,0,0)", "(8,0,0)", "atom.global.add.f64 %fd1, [%rd1], %fd2", 6, 5, "f.cu"),
                  "Write-write", "global memory address 0x200000000001d")),
     "thread 0 of block 7 writes the element at byte 24 of global memory at line 6 of f.cu while thread 0 of block 8 writes it at line 6 of f.cu: "
     "blocks do not wait for each other", "a thread writes an element of global memory at line 6 of f.cu while another one of another block writes it "),
    ("Uninitialized value of size 4 read from shared memory address 0x1000000000004\n\tKernel: f\n\tEntity: Thread(1,0,0) Block(0,0,0)\n"
     "\t  ld.shared.f32 %f1, [%r1]\n\tAt line 7 (column 5) of f.cu:\n", "a thread uses at line 7 what nobody has written so far", "a thread uses at line 7 "),
    ("Invalid read of size 4 at global memory address 0x3000000000004\n\tKernel: f\n", "", ""),
    ("Invalid read of size 4 at global memory address 0x100000000002c\n\tKernel: f\n\tEntity: Global(9,0,0) Local(1,0,0) Group(2,0,0)\n"
     "\t  %4 = load float, float addrspace(1)* %x\n\tAt line 4 (column 26) of f.cl:\n\t  the line\n", "work-item 1 of group 2 reads at line 4 outside "
     "of a, at a[11]", "a work-item reads at line 4 outside of a"),
    ("CUDA emulator: f.cu:36: runs for more than 5000000 instructions: an endless loop? (kernel f, block (0,0,0))", "it does not seem to end. ",
     "it does not seem to end. Does each loop end? Do all items reach each barrier? It is at line 36"),
    ("Invalid write of size 4 at shared memory address 0x1000000000400\n\tKernel: f\n\t0 bytes behind the end of an allocation\n\tEntity: Thread(9,0,0) Block(0,0,0)\n"
     "\t  st.shared.f32 [%r1], %f2\n\tAt line 7 (column 5) of f.cu:\n", "thread 9 of block 0 writes at line 7 of f.cu outside of its array in shared "
     "memory", "a thread writes at line 7 of f.cu outside of its array in shared memory"),
    (race(WRITES, READS) + "Work-group divergence detected (barrier)\n\tKernel:     f\n\tWork-group: (1,0,0)\n\tOnly 32 out of 256 work-items "
     "executed barrier\n\t  call @_Z7barrierj()\n\tAt line 24 (column 9) of f.cl:\n\t  barrier();\n\t\n\n", "only 32 of 256 work-items reach the "
     "barrier at line 24: all work-items of a group have to reach each barrier", "some work-items do not reach the barrier at line 24: "),
    ("Work-group divergence detected (barrier)\n\tKernel: f\n\tWork-group: (1,0,0)\n\t\n\tWork-item:  Global(18,0,0) Local(2,0,0) Group(1,0,0)\n"
     "\t  call\n\tAt line 26 (column 9) of f.cl:\n\t  barrier();\n\tfence=0x1, num_events=0\n\t\n\tPrevious work-items executed:\n\t  call\n"
     "\tAt line 23 (column 20) of f.cl:\n\t  barrier();\n\tfence=0x1, num_events=0\n\t\n\n",
     "some work-items of a group wait at the barrier at line 26, and others at that at line 23: ", "some work-items of a group wait "),
    ("Block divergence detected (barrier)\n\tKernel: f\n\t40 of 64 threads have ended before they reach the barrier\n\tEntity: Thread(0,0,0) "
     "Block(0,0,0)\n\t  bar.sync 0\n\tAt line 9 (column 5) of f.cu:\n\t  __syncthreads();\n", "only 24 of 64 threads reach the barrier at line 9: all "
     "threads of a block have", "some threads do not reach the barrier at line 9: "),
    ("", "", ""),
], ids=itertools.count())
def test_a_report_is_told_in_words(report_of_tool, exact, roughly):
    found = in_words(report_of_tool, {"f.cl": KERNEL})
    assert found[0].startswith(exact) and bool(found[0]) == bool(exact)
    assert found[1].startswith(roughly) and bool(found[1]) == bool(roughly)


def test_a_report_that_is_cut_off_anywhere_breaks_nothing():
    whole = race(WRITES, READS)
    for end in range(len(whole)):
        exact, roughly = in_words(whole[:end], {"f.cl": KERNEL})
        assert not exact or (exact, roughly) == in_words(whole, {"f.cl": KERNEL}), whole[:end]


def test_an_array_has_the_name_by_which_the_kernel_knows_it():
    """A pointer to another place than its beginning, or a parameter of another function, is no name for it."""
    for old, new in (("x[get_local_id(0)]", "(x)[get_local_id(0)]"), ("    x[", "x++; x["), ("x[get", "s.x[get"), ("= a[n]", "= a[n];x += 1"),
                     ("kernel void f", "void f"), ("x[get_local_id(0)] =", "x[get_local_id(0)].s =")):
        assert KERNEL.count(old) == 1
        text = KERNEL.replace(old, new)
        side = (*WRITES[:4], text.split("\n")[3].index(" = ") + 2, "f.cl")
        exact, _ = in_words(race(side, ("(4,0,0)", "(2,0,0)", LOAD, 1, 1, "f.cl")), {"f.cl": text})
        assert "writes the element at byte 20 of local memory" in exact, new
    text = KERNEL.replace("x[get_local_id(0)] =", "x[a[n]] =")
    assert "x[5]" in in_words(race((*WRITES[:4], text.split("\n")[3].index("=") + 1, "f.cl"), READS), {"f.cl": text})[0]


def test_no_text_takes_long():
    begin = time.process_time()
    for part in ("kernel ", "f(", "kernel void f(", "local ", "local x[", "x[", "x[x[0]]", "[]", "a,", "{", "++", "x ", "\n"):
        for length in (MAX_READ, MAX_BYTES // 4):
            line = (part * length)[:length]
            for text in (line, f"kernel void f(int x) {{ {line}", f"kernel void f({line}) {{ x[0] = 1;"):
                for side in (WRITES, READS):
                    in_words(race((*side[:3], 1, length, "f.cl"), (*READS[:3], 1, 1, "f.cl")), {"f.cl": text[:length]})
    assert time.process_time() - begin < 20


# Kernels of labs with a race: what is replaced by what, words of the two lines, and what is told. It matches a pattern: which of
# several races a report begins with is not the same each time.
ITEM, OTHER = r"(\d+|\(\d+, \d+\)) of group [\d(), ]+", r"(?:its neighbour|another one of the same group)"
RACES = {
    "no barrier in the tree": (
        "reduction", "tree", "+= x[me + stride];\n        barrier(CLK_LOCAL_MEM_FENCE);", "+= x[me + stride];", ("+= x[", "+= x["),
        rf"work-item {ITEM} writes x\[\1\] at line L while work-item \d+ of the same group reads it at line M: no barrier stands between",
        rf"a work-item writes an element of x at line L while {OTHER} reads it at line M: no barrier stands between"),
    "two groups write one sum": (
        "reduction", "tree", "sums[get_group_id(0)] = x[0];", "sums[0] = x[0];", ("sums[0] =", "sums[0] ="),
        r"work-item 0 of group 0 writes sums\[0\] at line L while work-item 0 of group [1-3] writes it at line M: groups do not wait for "
        "each other",
        "a work-item writes an element of sums at line L while another one of another group writes it at line M: groups do not wait for "
        "each other"),
    "a neighbour in global memory": (
        "saxpy", "many-blocks", "c[i] = k * a[i] + b[i];", "c[i] = i + 1 < n ? c[i + 1] : 0;", ("c[i + 1]", "c[i + 1]"),
        rf"work-item {ITEM} writes c\[\d+\] at line L while work-item \d+ of .* reads it at line M: "
        "(no barrier for global memory stands between|groups do not wait for each other)",
        "a work-item writes an element of c at line L while .* reads it at line M: "
        "(no barrier for global memory stands between|groups do not wait for each other)"),
    "in a macro": (
        "reduction", "tree", "    x[me] = i < n", "#define PUT(v) (*(x + 2) = v)\n    PUT(i); x[me] = i < n", ("PUT(i)", "PUT(i)"),
        r"work-item \d+ of group \d+ writes the element at byte 8 of local memory at line L while work-item \d+ of the same group writes "
        "it at line M: no barrier stands between",
        rf"a work-item writes an element of local memory at line L while {OTHER} writes it at line M: no barrier stands between"),
    "behind a text that is not the student's": (
        "fdtd", "repair-steps", "        barrier(CLK_LOCAL_MEM_FENCE); // U is complete", "", ("[y][x] = next_", "next_"),
        rf"work-item {ITEM} writes element \d+ of [upq] at line L while work-item .* of the same group reads it at line M: no barrier "
        "stands between",
        rf"a work-item writes an element of [upq] at line L while {OTHER} reads it at line M: no barrier stands between"),
}


@pytest.mark.parametrize("name", RACES)
@needs_oclgrind
def test_a_race_is_told_with_its_lines_and_items(name):
    lab, title, old, new, words, exact, roughly = RACES[name]
    with judge_of(lab) as judge:
        text = judge.lab.rung(exercise_of(judge, title)[1].file).replace(old, new)
        lines = [[number for number, line in enumerate(text.split("\n"), 1) if word in line] for word in words]
        one_of = ["(?:" + "|".join(map(str, numbers)) + r")\b" for numbers in lines]
        exact, roughly = (pattern.replace("line L", f"line {one_of[0]}").replace("line M", f"line {one_of[1]}") for pattern in (exact, roughly))
        [one] = results_of(judge, title, (old, new), tests=hidden_races)
        assert one.outcome == FAILED and re.fullmatch(exact, one.message.split("\n")[0]), told([one])
        assert re.fullmatch(roughly, one.public), one.public
        assert {int(number) for number in re.findall(r"\d+", one.public)} <= {*lines[0], *lines[1]}, "a number that may tell a hidden size"
        said, shown = one.message.split("\n")
        assert text.split("\n")[int(re.search(r"line (\d+)", said)[1]) - 1].strip() == shown.strip(), one.message
        printed = report.shown_to_student({"visible": False, "hint": "hint"}, one.as_dict())
        assert printed == f"wrong: {one.public}\nHint: hint"
