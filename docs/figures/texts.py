"""The figures that the texts behind the labs print, drawn anew, and those that show what the texts print. draw.py draws them with its own."""
import json
import math

from draw import DOWN, KERNEL, RESULTS, UP, cells, figure, figures, scheduled, timelines  # noqa: F401: draw.py takes them from here
from lessons import curve, dot, key, powers_of_ten, raised


# ---- The book's chapters 1 and 2 -------------------------------------------------------------------------------------------

@figure("loop-or-threads", "One flow through the whole array, or one for each element",
        "Above, a loop: one arrow runs along the arrays a and b, and computes one element of c after the other. Below, threads: an "
        "arrow for each element, all at the same time.")
def loop_or_threads(f):
    """Figures 1.1 and 1.2 of the book."""
    cell, x0, n = 52, 112, 10
    for y, title, threads in ((28, "a loop: one core computes one element after the other", False),
                              (218, "threads: each computes one element, all at the same time", True)):
        f.text(20, y, title, 14, bold=True)
        for row, (name, colour) in enumerate((("a", "blue"), ("b", "green"), ("c = k a + b", "orange"))):
            top = y + 22 + 28 * row + 46 * (row == 2)
            f.text(x0 - 12, top + 17, name, 12, "end", mono=True)
            cells(f, x0, top, cell, 24, [str(i) for i in range(n)], lambda i, colour=colour: colour, 12)
        for i in range(n):
            x = x0 + (i + 0.5) * cell - 1
            if threads:
                f.line(x, y + 80, x, y + 118, arrow=True, width=1.5)
            elif i < n - 1:
                f.line(x, y + 82, x, y + 116)
                f.line(x + 3, y + 114, x + cell - 4, y + 84, arrow=True)
            else:
                f.line(x, y + 82, x, y + 118, arrow=True, width=1.5)
    return 386


@figure("barrier", "Four threads at a barrier",
        "Threads A to D work for different times and come to the barrier at different times. A, B and D wait until C, the slowest, has come. "
        "Then all go on at the same time.")
def barrier(f):
    """Figure 1.4 of the book."""
    f.heading("A barrier: nobody goes on before all have come")
    x0, unit = 110, 34
    there = (5, 3, 10, 7)  # when a thread reaches the barrier
    last = max(there)
    for row, (name, work) in enumerate(zip("ABCD", there)):
        y = 52 + 38 * row
        f.text(20, y + 18, f"thread {name}", 12, bold=True)
        f.box(x0, y, work * unit - 2, 26, "blue", "works", 11)
        if work < last:
            f.box(x0 + work * unit, y, (last - work) * unit - 4, 26, "idle", "waits", 11)
        f.box(x0 + last * unit + 6, y, 5 * unit, 26, "green", "goes on", 11)
    f.line(x0 + last * unit + 1, 44, x0 + last * unit + 1, 206, "purple", 4)
    f.text(x0 + last * unit, 224, "barrier", 12, "middle", bold=True)
    f.line(x0, 240, 668, 240, arrow=True)
    f.text(668, 258, "time", 11, "end", quiet=True)
    return 270


@figure("grid-2d", "A grid of two dimensions with blocks of two dimensions",
        "A grid of three by two blocks, each of four by three threads. Block (1, 1) is enlarged: its threads have the numbers (0, 0) to (3, 2). "
        "Thread (2, 1) of block (1, 1) has column 1 times 4 plus 2, 6, and row 1 times 3 plus 1, 4.")
def grid_2d(f):
    """Figure 2.3 of the book."""
    across, down, size = 4, 3, 20
    f.heading("A grid of 3 × 2 blocks, a block of 4 × 3 threads", "in brackets: x, y. A pair is one thread or one block")
    x0, y0 = 66, 104
    place = lambda block, thread, threads: block * (threads * size + 14) + thread * size
    f.text(x0, 76, "blockIdx.x", 11, mono=True)
    for bx in range(3):
        f.text(x0 + place(bx, across / 2, across), 96, str(bx), 12, "middle", quiet=True)
    for by in range(2):
        f.text(x0 - 14, y0 + place(by, down / 2, down) + 4, str(by), 12, "middle", quiet=True)
        for bx in range(3):
            mine = (bx, by) == (1, 1)
            for ty in range(down):
                for tx in range(across):
                    f.box(x0 + place(bx, tx, across), y0 + place(by, ty, down), size - 2, size - 2,
                          "orange" if mine and (tx, ty) == (2, 1) else "blue" if mine else "idle", radius=1)
    f.text(20, 250, "blockIdx.y", 11, mono=True)
    x1, wide, high = 440, 58, 36
    f.text(x1 - 42, 76, "block (1, 1): threadIdx.x", 11, mono=True)
    for tx in range(across):
        f.text(x1 + (tx + 0.5) * wide - 1, 96, str(tx), 12, "middle", quiet=True)
    for ty in range(down):
        f.text(x1 - 14, y0 + ty * high + 22, str(ty), 12, "middle", quiet=True)
        cells(f, x1, y0 + ty * high, wide, high - 2, [f"({tx}, {ty})" for tx in range(across)],
              lambda tx, ty=ty: "orange" if (tx, ty) == (2, 1) else "blue", 12)
    f.text(x1 - 42, 232, "threadIdx.y", 11, mono=True)
    right, bottom = x0 + place(1, across, across), y0 + place(1, down, down)
    f.line(right, bottom - down * size, x1 - 24, y0, dash=True)
    f.line(right, bottom, x1 - 24, y0 + down * high, dash=True)
    f.box(20, 266, 660, 64, "orange")
    f.text(32, 290, "column = blockIdx.x * blockDim.x + threadIdx.x = 1 * 4 + 2 = 6", 12, mono=True)
    f.text(32, 314, "row    = blockIdx.y * blockDim.y + threadIdx.y = 1 * 3 + 1 = 4", 12, mono=True)
    return 346


# ---- Streams ---------------------------------------------------------------------------------------------------------------

@figure("streams-one-engine", "Three schedules on one copy engine, and two on two engines",
        "Three strips; a copy or kernel of a strip takes one unit of time. One copy engine, the whole image in one stream: 9 units. Version I, "
        "depth first: 9 units, because the engine waits for each kernel; it is busy for 6. Version II, breadth first: 6 units, always busy. "
        "Two copy engines: 5 units with either version.")
def streams_one_engine(f):
    """Figure 2 of Aula 17, for a Tesla C1060."""
    whole = [(lane, 3, 3) for lane in (UP, KERNEL, DOWN)]
    depth_first = [(lane, strip, 1) for strip in range(3) for lane in (UP, KERNEL, DOWN)]
    breadth_first = [(lane, strip, 1) for lane in (UP, KERNEL, DOWN) for strip in range(3)]
    f.heading("Three strips on one copy engine: the order of the calls decides",
              "a copy or a kernel of a strip takes one unit of time; an engine serves copies in the order of their calls")
    y, unit = 84, 49
    for title, versions, engines in (("sequential: the whole image, one command after the other", [whole], 1),
                                     ("version I, depth first: up 0, kernel 0, down 0, up 1, …", [depth_first], 1),
                                     ("version II, breadth first: up 0, up 1, up 2, kernel 0, …", [breadth_first], 1),
                                     ("two copy engines: version I and version II", [depth_first, breadth_first], 2)):
        placed, *same = [scheduled(commands, engine_of=lambda lane: lane if engines == 2 else lane % 2) for commands in versions]
        assert all(sorted(one) == sorted(placed) for one in same), "with two engines the order matters"
        copies = sorted((start, start + length) for lane, _, start, length in placed if lane != KERNEL)
        f.text(20, y - 10, title, 12, bold=True)
        names = ("copy engine", "kernel") if engines == 1 else ("engine: up", "kernel", "engine: down")
        rows = (0, 1, 0) if engines == 1 else (0, 1, 2)
        time = timelines(f, y, names, placed, unit, 9, rows,
                         lambda lane, strip: ("up", "", "down")[lane] + f" {strip}" * (strip < 3) if lane != KERNEL else str(strip) * (strip < 3), 11)
        if engines == 1:
            for (_, end), (start, _) in zip(copies, copies[1:]):
                if start > end:
                    f.text(138 + (end + start) / 2 * unit, y + 17, "waits", 11, "middle", quiet=True)
            f.text(590, y + 17, f"busy {sum(end - start for start, end in copies)} of {time}", 11)
        else:
            f.text(590, y + 17, f"{time} units", 11)
        y += 30 * len(names) + 36
    return y - 18


# ---- LU --------------------------------------------------------------------------------------------------------------------

@figure("lu-step", "The two kernels of a step of LU, and the blocks of threads that cover them",
        "A matrix of 10 rows in step 2. First kernel: the seven elements of column 2 below the pivot are divided by it; three blocks of three "
        "threads cover them. Second kernel: each element of the submatrix below and to the right needs the element of its row in column 2, and the "
        "element of its column in row 2. Three by three blocks of three by three threads cover the submatrix; the last threads have no element.")
def lu_step(f):
    """Figures 3.3 to 3.6 of the book."""
    n, i, block, size = 10, 2, 3, 17
    f.heading("Step i = 2 of a matrix of 10 rows, with blocks of 3 threads, and of 3 × 3")
    y0 = 92
    covered = i + 1 + -(-(n - i - 1) // block) * block  # rows up to which the blocks reach
    colours = ("blue", "green", "purple")
    panels = ((20, "1: divide the column", "by the pivot; a thread per row", lambda j, k: colours[(j - i - 1) // block] if k == i and j > i else ""),
              (256, "2: update the submatrix", "a[j][k] −= a[j][i] · a[i][k]", lambda j, k: "blue" if min(j, k) == i and j != k else "green" if min(j, k) > i else ""),
              (484, "2: its blocks of threads", "a thread per element",
               lambda j, k: colours[((j - i - 1) // block + (k - i - 1) // block) % 3] if min(j, k) > i else ""))
    for x0, title, note, colour_of in panels:
        f.text(x0, 54, title, 12, bold=True)
        f.text(x0, 72, note, 11, quiet=True)
        for j in range(covered):
            for k in range(covered):
                colour = colour_of(j, k)
                if max(j, k) < n or (colour and x0 != 256):
                    f.box(x0 + k * size, y0 + j * size, size - 2, size - 2, ("orange" if j == k == i else colour or "plain") if max(j, k) < n else "idle", radius=1)
    at = lambda panel, j, k: (panels[panel][0] + (k + 0.5) * size - 1, y0 + (j + 0.5) * size - 1)
    j, k = 7, 6
    x, y = at(1, j, k)
    f.box(x - size / 2 + 1, y - size / 2 + 1, size - 2, size - 2, "orange", radius=1)
    f.line(*at(1, j, i), x - 9, y, arrow=True, width=1.5)
    f.line(*at(1, i, k), x, y - 9, arrow=True, width=1.5)
    for b in range(3):
        x, y = at(0, i + 1 + block * b, n)
        f.text(x, y + size + 4, f"block {b}", 11)
    y = y0 + covered * size + 22
    key(f, 20, y, (("orange", "pivot a[i][i]; in the middle also an a[j][k]", 300), ("idle", "a thread without an element: it does nothing", 300)))
    f.text(20, y + 22, "A colour of the outer pictures is a block. Step i + 1 begins when both kernels have ended.", 11, quiet=True)
    return y + 40


# ---- FDTD ------------------------------------------------------------------------------------------------------------------

@figure("fdtd-steps", "Flow chart of Yee's scheme",
        "The media and the grid are prepared and the fields set to the start. Then in each step: values of the boundary and the sources, H_z "
        "from E_x and E_y, then E_x and E_y from H_z. After N steps the fields are the result.")
def fdtd_steps(f):
    """Figure 4.3 of the book."""
    f.heading("One step after the other, and in each first all of Hz, then all of Ex and Ey")
    y, high = 62, 78
    boxes = ((20, 112, "plain", "start", ("media, grid,", "fields at n = 0")),
             (160, 116, "purple", "boundary", ("and sources:", "their values")),
             (304, 116, "blue", "Hz", ("from Ex and Ey:", "n to n + 1")),
             (448, 116, "green", "Ex, Ey", ("from Hz:", "n + ½ to n + 3/2")),
             (592, 88, "plain", "end", ("after N steps", "")))
    for k, (x, width, colour, name, lines) in enumerate(boxes):
        f.box(x, y, width, high, colour, radius=6)
        f.text(x + width / 2, y + 26, name, 12, "middle", bold=True)
        for m, words in enumerate(line for line in lines if line):
            f.text(x + width / 2, y + 48 + 16 * m, words, 11, "middle")
        if k:
            f.line(boxes[k - 1][0] + boxes[k - 1][1] + 2, y + high / 2, x - 2, y + high / 2, arrow=True)
    f.line(506, y + high + 2, 506, y + high + 30)
    f.line(506, y + high + 30, 218, y + high + 30)
    f.line(218, y + high + 30, 218, y + high + 2, arrow=True)
    f.text(362, y + high + 24, "n = n + 1, while n < N", 12, "middle")
    return y + high + 46


def largest_hz(printed, steps):
    """The largest |Hz| after each step of the book's pulse (section 4.3.3), with program 4.2 as printed, or corrected.

    Hz and Ex, Ey are in units that make both coefficients v dt / dx = 1/2. As in book.hpp of lab 08, ex[j] is below cell j, ey[i] left of i.
    """
    n, middle, largest = 150, 75, []
    hz, ex, ey = ([[0.0] * n for _ in range(n + 1)] for _ in range(3))
    for step in range(1, steps + 1):
        reached = range(max(0, middle - step), min(n, middle + step + 1))  # rows; no other field has begun
        for j in reached:
            hz[j] = [h + 0.5 * (above - below - right + left)
                     for h, above, below, left, right in zip(hz[j], ex[j + 1], ex[j], ey[j], ey[j][1:] + [0.0])]
        angle = step * math.pi / 20
        hz[middle][middle] = (10 - 15 * math.cos(angle) + 6 * math.cos(2 * angle) - math.cos(3 * angle)) / 32 if step <= 40 else 0.0
        largest.append(max(max(map(abs, hz[j])) for j in reached))
        for j in range(max(0, reached.start - 1), min(n, reached.stop + 1)):
            here, below, above = hz[j], hz[j - 1], hz[j + 1]
            if j > 0 and printed:  # DyHz = -Hz
                ex[j] = [e - 0.5 * b for e, b in zip(ex[j], below)]
            elif j > 0:
                ex[j] = [e + 0.5 * (h - b) for e, h, b in zip(ex[j], here, below)]
            extra = above if printed else [0.0] * n  # DxHz has the upper neighbour, too; hz[n] stays 0
            ey[j][1:] = [e - 0.5 * (h - left + more) for e, h, left, more in zip(ey[j][1:], here[1:], here, extra)]
    return largest


@figure("fdtd-printed", "Program 4.2 of the book, as printed and corrected: the largest |Hz|",
        "The largest magnitude of Hz over 200 steps, on a logarithmic axis. Corrected it never exceeds the pulse, 1. As printed it is 123 after 40 "
        "steps and 4.6 times 10 to the 24 after 200.")
def fdtd_printed(f):
    f.heading("Program 4.2 of the book: the largest |Hz| in the grid, by step", "computed for this picture: the pulse of section 4.3.3, 150 × 150 cells")
    x0, top, w, h, steps = 80, 66, 440, 260, 200
    px = lambda step: x0 + w * step / steps
    py = lambda value: top + h * (26 - math.log10(max(value, 1e-6))) / 32
    powers_of_ten(f, x0, x0 + w, py, range(-5, 26, 5))
    for step in range(0, steps + 1, 40):
        f.text(px(step), top + h + 18, str(step), 11, "middle")
    f.text(x0 + w / 2, top + h + 36, "step", 12, "middle")
    for printed, colour in ((False, "blue"), (True, "orange")):
        largest = largest_hz(printed, steps)
        curve(f, [(px(step), py(value)) for step, value in enumerate(largest, 1)], colour)
        for step in (40, 200) if printed else (200,):
            value = largest[step - 1]
            dot(f, px(step), py(value), colour)
            power = math.floor(math.log10(value))
            words = f"{value / 10.0**power:.1f} · 10{raised(power)}" if power > 3 else f"{value:.3g}"
            f.text(px(step) + (10 if step == steps else -8), py(value) + (4 if step == steps else -6), f"{words} after {step}", 11,
                   "start" if step == steps else "end")
    key(f, x0 + 16, top + 18, (("orange", "as printed", 110), ("blue", "corrected", 100)))
    return top + h + 50


# ---- CUDA and OpenCL -------------------------------------------------------------------------------------------------------

def variants_of(name, **problem):
    """The variants of a stored run of an H200, by name, and its problem; of several runs that of this problem."""
    runs = json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))
    run = next(run for run in (runs if isinstance(runs, list) else [runs]) if all(run["problem"].get(key) == value for key, value in problem.items()))
    return {one["name"]: one for one in run["variants"] if one["status"] == "passed"}, run["problem"]


@figure("cuda-opencl", "Kernels of equal design in CUDA and in OpenCL on an H200",
        "For a pair of kernels of six labs the time in OpenCL as a multiple of the time in CUDA, as bars. Neither is faster everywhere.")
def cuda_opencl(f):
    """Figure 3.5 of the thesis, for the rungs that docs/parallel.md compares."""
    f.heading("Kernels of equal design on one H200: time in OpenCL / time in CUDA", "medians of docs/results/h200; longer is slower")
    y, x0, unit = 70, 320, 240
    for lab, file, cuda, opencl, problem in (("01", "saxpy", "many_blocks", "one_item", {}), ("02", "reduction-ladder24", "grid_stride", "grid_stride", {}),
                                             ("03", "matmul-ladder", "grid", "naive", {"m": 4096}),
                                             ("04", "spmv-laplace2d-float", "thread_per_row", "thread_per_row", {}),
                                             ("06", "tridiagonal-run", "cr", "cr", {}), ("07", "lu-figure-3-10", "coalesced", "two_kernels", {"n": 4096})):
        variants, _ = variants_of(file, **problem)
        ratio = variants["opencl_" + opencl]["kernel_ms"]["median"] / variants["cuda_" + cuda]["kernel_ms"]["median"]
        f.text(20, y + 14, f"lab {lab}", 12, bold=True)
        f.text(70, y + 14, f"opencl_{opencl}", 11, mono=True)
        f.box(x0, y, unit * ratio, 20, "orange")
        f.text(670, y + 14, f"{ratio:.2f}", 12, "end")
        y += 28
    f.line(x0 + unit, 60, x0 + unit, y, dash=True)
    f.text(x0 + unit, y + 16, "as CUDA", 11, "middle")
    return y + 30


# ---- Conjugate gradients ---------------------------------------------------------------------------------------------------

PARTS = (("spmv", "blue", "matrix × vector"), ("updates", "green", "three updates"), ("dot", "orange", "dot products"), ("halo", "purple", "halo"),
         ("overhead", "plain", "overhead"))


@figure("cg-platforms", "The time of 100 iterations by kernel: the thesis and an H200",
        "Stacked bars. Above, tables 4.5 and 4.6 of the thesis, in seconds: a Radeon HD 6750M 4.46, one Tesla C1060 1.81, one C2075 1.55, three "
        "C1060 0.67, two C2075 0.91. Below, one and two H200, in milliseconds.")
def cg_platforms(f):
    """Figure 4.21 of the thesis."""
    def ours(file, title):
        for name, one in variants_of(file)[0].items():
            if "ms_dot" in one and one["kernel_ms"]["median"] < 1000:
                times = {"spmv": one["ms_spmv"], "updates": sum(one[f"ms_next_{v}"] for v in "xrp"), "dot": one["ms_dot"],
                         "halo": one.get("ms_pack", 0.0), "overhead": one["ms_overhead"]}
                yield f"{title}, {name}", times, one["kernel_ms"]["median"]

    # platform, matrix times vector, each of the three updates, dot products, overhead, total
    thesis = (("Radeon HD 6750M", 2.16, 0.53, 0.43, 0.26, 4.46), ("Tesla C1060", 0.69, 0.23, 0.29, 0.13, 1.81), ("Tesla C2075", 0.57, 0.20, 0.26, 0.12, 1.55),
              ("three C1060", 0.17, 0.05, 0.07, 0.24, 0.67), ("two C2075", 0.28, 0.09, 0.08, 0.26, 0.91))
    printed = [(name, {"spmv": spmv, "updates": 3 * update, "dot": dot, "overhead": rest}, total) for name, spmv, update, dot, rest, total in thesis]
    variants, problem = variants_of("cg-table-4-6")
    whole = variants["opencl_devices_whole"]["kernel_ms"]["median"]
    f.heading("100 iterations with 10⁷ unknowns")
    key(f, 20, 52, [(colour, words, 40 + 8 * len(words)) for _, colour, words in PARTS])
    y, x0, long = 84, 262, 350
    for title, rows, unit in (("the thesis, in float: seconds", printed, "s"),
                              (f"here, in {problem['type']}: milliseconds", [*ours("cg-table-4-5", "one H200"), *ours("cg-table-4-6", "two H200")], "ms")):
        longest = max(total for _, _, total in rows)
        f.text(20, y, title, 12, bold=True)
        for name, times, total in rows:
            y += 28
            f.text(20, y, name, 11)
            x = x0
            for part, colour, _ in PARTS:
                width = long * times.get(part, 0.0) / longest
                if width:
                    f.box(x, y - 14, width, 20, colour, radius=0)
                x += width
            f.text(x + 8, y, f"{total:.3g} {unit}", 11)
        y += 40
    f.text(20, y - 6, f"Two H200 that exchange the whole vector through the host, as in the thesis (opencl_devices_whole), take {whole / 1000:.3g} s.", 11)
    return y + 12


@figure("cg-percent", "The rate of each kernel in percent of what the memory allows: the thesis and an H200",
        "Bars for the dot product, the updates and the product of matrix and vector on a Radeon HD 6750M, a Tesla C1060, a Tesla C2075 and an "
        "H200. With the right bound the product reached 95 percent on the C1060 and 80 on the C2075, not 51 and 44.")
def cg_percent(f):
    """Figure 4.22 of the thesis."""
    variants, problem = variants_of("cg-table-4-7")

    def ours(rung, kernels):  # kernels that move the same bytes
        return len(kernels) / sum(1 / variants[f"{rung}:{kernel}"]["percent_of_ceiling"] for kernel in kernels)

    f.heading("The rate of each kernel, in percent of what the memory allows", f"the thesis in float, with the bandwidth of the data sheet; the H200 in {problem['type']}, with that of a copy")
    y, x0, unit = 74, 230, 3.6
    right = {"Tesla C1060": 100 * 4.4 / (102 * 2 / 44), "Tesla C2075": 100 * 5.4 / (148 * 2 / 44)}  # rate of tables 4.10, 4.12; 2 operations for 44 bytes
    for title, kernels, printed in (("dot product", ("dot",), (95, 80, 64)), ("updates", ("next_x", "next_r", "next_p"), (60, 78, 62)),
                                    ("matrix × vector", ("spmv",), (53, 51, 44))):
        f.text(20, y + 14, title, 12, bold=True)
        rows = [*zip(("Radeon HD 6750M", "Tesla C1060", "Tesla C2075"), printed, ("blue",) * 3)]
        rows += [(f"H200, {rung}", ours(rung, kernels), "green") for rung in ("opencl_tuned", "cuda_five_kernels")]
        for name, percent, colour in rows:
            y += 22
            f.text(20, y + 12, name, 11)
            end = percent
            if kernels == ("spmv",) and name in right:
                end = right[name]
                f.box(x0, y, unit * end, 16, "orange", radius=0)
            f.box(x0, y, unit * percent, 16, colour, radius=0)
            f.text(x0 + 100 * unit + 10, y + 12, f"{percent:.0f}" + (f", right: {end:.0f}" if end != percent else ""), 11)
        y += 32
    f.line(x0 + 100 * unit, 74, x0 + 100 * unit, y - 8, dash=True)
    f.text(x0 + 100 * unit, y + 6, "100 %", 11, "middle")
    key(f, 20, y + 30, (("blue", "thesis", 90), ("orange", "thesis, with the right bound", 210), ("green", "measured here", 110)))
    return y + 46
