"""The figures of the lessons (docs/lessons), and those that two labs share with them. draw.py draws them with its own."""
import json
import math
import pathlib
import struct

from draw import figure, figures, plural  # noqa: F401: draw.py takes them from here

RESULTS = pathlib.Path(__file__).resolve().parents[1] / "results"


def curve(f, points, colour, width=2, dash=False):
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    extra = ' stroke-dasharray="5 4"' if dash else ""
    f.parts.append(f'<polyline points="{places}" class="line-{colour}" stroke-width="{width}"{extra}/>')


def dot(f, x, y, colour, radius=3.5):
    f.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" class="{colour}"/>')


def key(f, x, y, entries, size=11):
    """Coloured squares, each with its words, in one line: (colour, words, width)."""
    for colour, words, width in entries:
        f.box(x, y - 10, 12, 12, colour, radius=1)
        f.text(x + 18, y, words, size)
        x += width


def raised(number):
    """A whole number as an exponent."""
    return str(number).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def powers_of_ten(f, x0, x1, place, powers):
    """The level lines of a logarithmic axis from x0 to x1; place: where a value is."""
    for power in powers:
        y = place(10.0**power)
        f.line(x0, y, x1, y, width=0.4)
        f.text(x0 - 8, y + 4, "10" + raised(power), 11, "end")


# ---- CPU and GPU -----------------------------------------------------------------------------------------------------------

@figure("lesson-cpu-gpu", "What a core and a multiprocessor do while a load is on its way",
        "Above, a core: most of its area is caches and control, and it works on one task after the other. Below, a "
        "multiprocessor: most of its area is arithmetic and registers, and while one warp waits for memory another works.")
def cpu_gpu(f):
    f.heading("Eight tasks on a core, and 256 on a multiprocessor: compute, load, compute")
    key(f, 20, 50, (("green", "computes", 110), ("orange", "waits for memory", 160), ("blue", "caches and control", 165),
                    ("purple", "registers", 100)))

    y = 76
    f.text(20, y, "one core of a CPU: made to end each task soon", 12, bold=True)
    f.box(20, y + 12, 150, 96, "idle")
    f.box(26, y + 18, 96, 84, "blue", "cache, control", 11)
    f.box(126, y + 18, 38, 60, "green", "ALU", 11)
    f.box(126, y + 82, 38, 20, "purple", "reg.", 11)
    x = 200
    for task in range(8):
        f.box(x, y + 44, 22, 22, "green", radius=1)
        f.box(x + 22, y + 44, 8, 22, "orange", radius=1)
        f.box(x + 30, y + 44, 22, 22, "green", radius=1)
        f.text(x + 26, y + 82, str(task), 11, "middle", quiet=True)
        x += 60
    f.text(200, y + 30, "the cache has nearly everything: short waits, one task after the other", 11, quiet=True)

    y = 214
    f.text(20, y, "one multiprocessor of a GPU: made to end many tasks per second", 12, bold=True)
    f.box(20, y + 12, 150, 150, "idle")
    f.box(26, y + 18, 138, 16, "blue", "cache, control", 11)
    for k in range(24):
        f.box(26 + k % 8 * 17.4, y + 38 + k // 8 * 24, 15, 21, "green", radius=1)
    f.box(26, y + 112, 138, 44, "purple", "registers", 11)
    f.text(200, y + 24, "eight warps of 32 tasks each: every one waits long, but then another one computes", 11, quiet=True)
    for warp in range(8):
        top = y + 34 + 16 * warp
        x = 200 + 26 * warp
        f.box(x, top, 26, 13, "green", radius=1)
        f.box(x + 26, top, 182, 13, "orange", radius=1)
        f.box(x + 208, top, 26, 13, "green", radius=1)
        f.text(x - 6 if warp else x + 240, top + 11, str(warp), 11, "end" if warp else "start", quiet=True)
    f.line(200, y + 174, 668, y + 174, arrow=True)
    f.text(668, y + 192, "time", 11, "end", quiet=True)
    f.text(20, y + 192, "a drawing, not to scale", 11, quiet=True)
    return y + 208


# ---- Little's law ----------------------------------------------------------------------------------------------------------

@figure("lesson-in-flight", "Little's law as a pipe",
        "A pipe whose length is the latency and whose width is the bandwidth. With one request in it at a time it delivers "
        "little; when it is full it delivers all it can, and more requests only wait at its entrance.")
def in_flight(f):
    f.heading("A memory is a pipe: its length is the latency, its width the bandwidth", "a square is a request in flight; the pipe holds 4 x 12 = 48 of them")
    cell, left = 26, 176
    for row, (name, note, filled) in enumerate((
            ("one load at a time", "1 in flight", lambda c, r: c == 5 and r == 1),
            ("some threads", "12 in flight", lambda c, r: (c + 3 * r) % 4 == 0),
            ("enough threads", "48 in flight: full", lambda c, r: True))):
        y = 66 + row * 92
        f.text(20, y + 24, name, 12, bold=True)
        f.text(20, y + 42, note, 11)
        f.box(left - 4, y, 12 * cell + 8, 4 * 18 + 4, "idle", radius=6)
        for c in range(12):
            for r in range(4):
                if filled(c, r):
                    f.box(left + c * cell + 2, y + 4 + r * 18, cell - 6, 13, "blue", radius=1)
        f.line(left + 12 * cell + 10, y + 38, left + 12 * cell + 52, y + 38, arrow=True)
        f.text(left + 12 * cell + 60, y + 34, ("1/48", "1/4", "all")[row], 12, bold=True)
        f.text(left + 12 * cell + 60, y + 50, "of the bandwidth", 11)
    f.brace(left, left + 12 * cell, 336, up=False)
    f.text(left + 6 * cell, 354, "latency: the time from a request to its data", 11, "middle", quiet=True)

    y = 376
    f.text(20, y, "bytes per second = bytes in flight / latency, until the pipe is full", 12, bold=True)
    x0, y0, w, h = 176, y + 130, 312, 100
    f.line(x0, y0, x0 + w + 20, y0, arrow=True)
    f.line(x0, y0, x0, y0 - h - 14, arrow=True)
    curve(f, [(x0, y0), (x0 + w / 2, y0 - h), (x0 + w, y0 - h)], "blue")
    f.line(x0 + w / 2, y0, x0 + w / 2, y0 - h, dash=True)
    f.text(x0 + w / 2, y0 + 16, "bandwidth x latency", 11, "middle", quiet=True)
    f.text(x0 + w + 20, y0 + 16, "in flight", 11, "end", quiet=True)
    f.text(x0 - 8, y0 - h + 4, "bandwidth", 11, "end", quiet=True)
    f.text(x0 + 12, y0 - h + 20, "more threads help", 11)
    f.text(x0 + w * 0.58, y0 - h + 20, "more threads only wait longer", 11)
    return y0 + 34


# ---- Races -----------------------------------------------------------------------------------------------------------------

@figure("lesson-race", "A race with and without a barrier",
        "Two warps store to shared memory and then read what the other one stored. Without a barrier warp 0 reads before "
        "warp 1 has stored, and gets an old value. With a barrier warp 0 waits for warp 1.")
def race(f):
    f.text(20, 28, "x[me] = me;  out[i] = x[(me + 1) % 64];", 13, mono=True, bold=True)
    f.text(20, 46, "warp 0 has items 0 to 31, warp 1 has 32 to 63. Item 31 of warp 0 reads x[32], which warp 1 stores.", 11, quiet=True)
    y, x0 = 66, 90
    for barrier in (False, True):
        f.text(20, y + 6, "with a barrier between the two" if barrier else "without a barrier", 12, bold=True)
        y += 18
        for warp in range(2):
            f.text(20, y + 19 + 40 * warp, f"warp {warp}", 12)
            f.line(x0, y + 14 + 40 * warp, 668, y + 14 + 40 * warp)
        f.box(x0, y, 120, 28, "blue", "stores x[0 … 31]", 11)
        if barrier:
            f.box(x0 + 124, y, 256, 28, "idle", "waits at the barrier", 11)
            f.box(x0 + 392, y, 150, 28, "green", "reads x[1 … 32]", 11)
            f.line(x0 + 386, y - 4, x0 + 386, y + 72, "purple", 3)
            f.text(x0 + 386, y + 88, "barrier: all have stored", 11, "middle")
        else:
            f.box(x0 + 124, y, 150, 28, "orange", "reads x[1 … 32]", 11)
            f.text(x0 + 282, y - 4 + 14, "x[32] is old", 11)
        f.box(x0 + 220, y + 40, 160, 28, "blue", "late: stores x[32 … 63]", 11)
        if barrier:
            f.box(x0 + 392, y + 40, 150, 28, "green", "reads x[33 … 63, 0]", 11)
        else:
            f.box(x0 + 384, y + 40, 150, 28, "green", "reads x[33 … 63, 0]", 11)
        y += 112
    f.line(x0, y - 8, 668, y - 8, arrow=True)
    f.text(668, y + 10, "time", 11, "end", quiet=True)
    f.text(20, y + 10, "If warp 1 is not late, both results are right: the fault is in every run, but shows only in some.", 11)
    return y + 26


# ---- Errors ----------------------------------------------------------------------------------------------------------------

@figure("lesson-errors", "When an error of a kernel is told",
        "The host launches a kernel, and the launch returns at once without an error. The kernel fails on the device later. The "
        "next call that waits for the device returns the error. In CUDA all later calls return it too.")
def errors(f):
    f.heading("A kernel fails after the call that launched it has returned")
    f.text(20, 66, "host", 12, bold=True)
    f.text(20, 136, "device", 12, bold=True)
    f.line(90, 62, 672, 62)
    f.line(90, 132, 672, 132)
    f.box(96, 48, 88, 28, "green", "launch", 11)
    f.box(190, 48, 112, 28, "green", "another call", 11)
    f.box(308, 48, 150, 28, "idle", "synchronize: waits", 11)
    f.box(470, 48, 90, 28, "orange", "next call", 11)
    f.box(566, 48, 90, 28, "orange", "next call", 11)
    f.box(200, 118, 190, 28, "blue", "the kernel runs", 11)
    f.box(390, 118, 58, 28, "orange", "fault", 11)
    f.line(160, 78, 204, 114, arrow=True)
    f.line(430, 116, 448, 80, arrow=True)
    for x, words in ((140, "no error"), (246, "no error"), (383, "the error")):
        f.text(x, 98, words, 11, "middle")
    f.text(562, 98, "CUDA: the same error again", 11, "middle")
    f.text(20, 176, "CUDA", 12, bold=True)
    f.text(90, 176, "The error is sticky: the process cannot use the device again. The call that returns it need not be to blame.", 11)
    f.text(20, 200, "OpenCL", 12, bold=True)
    f.text(90, 200, "Not every fault of a kernel is an error: a store outside of a buffer may change something else, silently.", 11)
    f.text(20, 224, "either", 12, bold=True)
    f.text(90, 224, "A call with wrong arguments does nothing, says so itself, and does no harm to the next call.", 11)
    return 242


# ---- Profiling -------------------------------------------------------------------------------------------------------------

@figure("lesson-profile", "What Nsight Compute counted for five kernels",
        "For three kernels of lab 01: instructions, requests to global memory and sectors. The vector loads need a quarter of "
        "the requests for the same sectors. For two kernels of lab 03: the tiles in shared memory need a seventh of the sectors.")
def profile(f):
    """Bars of what Nsight Compute counted: docs/results/counts/ncu."""
    f.heading("What the hardware counted", "Nsight Compute on an H100 (docs/results/counts/ncu); bars to scale within a lab and a colour")
    key(f, 20, 70, (("blue", "warp instructions", 160), ("orange", "requests to global memory", 210),
                    ("green", "sectors", 80), ("purple", "passes of shared memory", 190)))
    names = (("instructions", "blue"), ("global_requests", "orange"), ("global_sectors", "green"), ("local_passes", "purple"))
    y = 92
    for lab, number in (("saxpy", "01"), ("matmul", "03")):
        counted = json.loads((RESULTS / f"counts/ncu/{lab}.json").read_text(encoding="utf-8"))["variants"]
        shown = [(field, colour, max(one["sums"][field] for one in counted)) for field, colour in names]
        shown = [(field, colour, most) for field, colour, most in shown if most]
        f.text(20, y + 12, f"lab {number}, {counted[0]['options']}", 12, bold=True)
        y += 24
        for one in counted:
            f.text(20, y + 8 + 8 * len(shown), one["twin"], 11, mono=True)
            for field, colour, most in shown:
                value = one["sums"][field]
                if value:
                    f.box(210, y, max(400 * value / most, 1), 13, colour, radius=1)
                f.text(216 + 400 * value / most, y + 11, f"{value:,}", 11)
                y += 16
            y += 12
        y += 10
    return y


# ---- Floating point --------------------------------------------------------------------------------------------------------

def rounded(x):
    """The nearest float, as IEEE 754 rounds in single precision."""
    return struct.unpack("f", struct.pack("f", x))[0]


def numbers(n):
    """n numbers in [0, 1), the same in every run, each a float."""
    state, out = 12345, []
    for _ in range(n):
        state = (1103515245 * state + 12345) % 2**31
        out.append(rounded(state / 2**31))
    return out


def sum_in_order(a):
    s = 0.0
    for x in a:
        s = rounded(s + x)
    return s


def sum_in_tree(a):
    while len(a) > 1:
        a = [rounded(a[i] + a[i + 1]) for i in range(0, len(a), 2)]
    return a[0]


def sum_in_chains(a, chains):
    """As a grid of `chains` threads does it: each strides over the array; then a tree."""
    return sum_in_tree([sum_in_order(a[t::chains]) for t in range(chains)])


@figure("lesson-rounding", "Where the floats lie, and the error of a sum by its order",
        "Above: the numbers that a float with a fraction of only 3 bits can be, between 1 and 8: the distance doubles at every power "
        "of two. Below: the relative error of the sum of n random numbers in single precision, added one after the other, in "
        "256 chains and in a tree, with the bounds.")
def rounding(f):
    f.heading("The floats between 1 and 8, if the fraction had 3 bits (it has 23)")
    place = lambda v: 40 + (v - 1) * 88
    f.line(place(1), 70, place(8), 70)
    for power in (1, 2, 4):
        for k in range(8):
            v = power * (1 + k / 8)
            f.line(place(v), 60, place(v), 80, "blue", 2)
    for v in (1, 2, 4, 8):
        f.line(place(v), 56, place(v), 84, "blue", 3)
        f.text(place(v), 100, str(v), 12, "middle")
    f.text(place(1.5), 50, "1/8 apart", 11, "middle", quiet=True)
    f.text(place(3), 50, "1/4 apart", 11, "middle", quiet=True)
    f.text(place(6), 50, "1/2 apart", 11, "middle", quiet=True)
    f.text(20, 124, "A result is rounded to the nearest: it moves by at most half a distance, that is, by u of its size. For float u = 2⁻²⁴.", 11)

    y = 160
    f.text(20, y, "The sum of n numbers in single precision: its relative error", 14, bold=True)
    f.text(20, y + 18, "computed for this picture: random numbers between 0 and 1, compared with the exact sum", 11, quiet=True)
    x0, top, w, h = 110, y + 40, 380, 240
    lowest, highest, first, last = -9, -2, 8, 18
    px = lambda power: x0 + w * (power - first) / (last - first)
    py = lambda error: top + h * (highest - math.log10(max(error, 10.0**lowest))) / (highest - lowest)
    powers_of_ten(f, x0, x0 + w, py, range(lowest, highest + 1))
    for power in range(first, last + 1, 2):
        f.text(px(power), top + h + 18, "2" + raised(power), 11, "middle")
    f.text(x0 + w / 2, top + h + 36, "n", 12, "middle")
    a, u = numbers(2**last), 2.0**-24
    measured = {"blue": [], "green": [], "purple": []}
    for power in range(first, last + 1):
        n = 2**power
        exact = math.fsum(a[:n])
        for colour, value in (("blue", sum_in_order(a[:n])), ("green", sum_in_chains(a[:n], 256)), ("purple", sum_in_tree(a[:n]))):
            measured[colour].append((px(power), py(abs(value - exact) / exact)))
    curve(f, [(px(p), py(2**p * u)) for p in range(first, last + 1)], "blue", 1.5, dash=True)
    curve(f, [(px(p), py((2**p / 256 + 8) * u)) for p in range(first, last + 1)], "green", 1.5, dash=True)
    curve(f, [(px(p), py(p * u)) for p in range(first, last + 1)], "purple", 1.5, dash=True)
    for colour, points in measured.items():
        curve(f, points, colour, 2)
        for x, yy in points:
            dot(f, x, yy, colour)
    for k, (colour, name, bound) in enumerate((("blue", "one after the other", "bound n u"),
                                               ("green", "256 chains, then a tree", "bound (n/256 + 8) u"),
                                               ("purple", "a tree", "bound log₂ n · u"))):
        f.box(512, top + 20 + 56 * k, 12, 12, colour, radius=1)
        f.text(532, top + 30 + 56 * k, name, 11)
        f.text(532, top + 46 + 56 * k, bound, 11, quiet=True)
    f.text(512, top + 196, "dashed: the bound;", 11, quiet=True)
    f.text(512, top + 212, "at the lower edge: 10⁻⁹ or less", 11, quiet=True)
    return top + h + 52


# ---- Occupancy -------------------------------------------------------------------------------------------------------------

@figure("lesson-occupancy", "Occupancy bought with registers",
        "A multiprocessor has 64 places for warps. With 128 registers per thread 16 of them are taken, with 80 registers 24, with 64 "
        "registers 32. The times of the same kernel on an H100: the more places are taken, the slower it is, because the compiler "
        "keeps variables in memory.")
def occupancy(f):
    """The study `registers` of lab 03 on an H100: docs/results/h100/matmul-registers.json."""
    f.heading("One multiprocessor: 64 places for warps, 65,536 registers", "cuda_register_2d of lab 03, compiled for 2, 3 and 4 blocks of 256 threads; a square is a warp, a colour a block")
    runs = json.loads((RESULTS / "h100/matmul-registers.json").read_text(encoding="utf-8"))
    variants = {run["problem"]["blocks wanted"]: run["variants"][0] for run in runs}
    longest = max(one["kernel_ms"]["median"] for one in variants.values())
    y = 66
    for wanted in (2, 3, 4):
        one = variants[wanted]
        warps = round(one["occupancy_percent"] * 64 / 100)
        for place in range(64):
            x, top = 20 + place % 16 * 14, y + place // 16 * 14
            f.box(x, top, 12, 12, ("blue", "green", "purple", "orange")[place // 8] if place < warps else "idle", radius=1)
        ms = one["kernel_ms"]["median"]
        f.text(262, y + 14, f"{one['registers']} registers per thread", 12, bold=True)
        f.text(262, y + 32, f"{warps} of 64 warps: {warps * 100 / 64:.0f} %", 11)
        f.text(262, y + 49, f"{one['local_bytes']} bytes per thread in memory", 11)
        f.box(470, y + 4, max(130 * ms / longest, 2), 20, "orange", radius=1)
        f.text(478 + 130 * ms / longest, y + 19, f"{ms:.1f} ms", 12)
        f.text(470, y + 44, f"{one['gflop_per_s'] / 1000:.1f} TFLOP/s", 11)
        y += 74
    f.text(20, y + 2, "n = 4096, on an H100 (docs/results/h100/matmul-registers.json)", 11, quiet=True)
    return y + 18


@figure("lesson-waves", "Waves and their tail",
        "Blocks of equal length on eight places. Sixteen blocks take two full waves. Seventeen take a third wave in which one block "
        "runs alone. Four times as many blocks, each a quarter as long, make the tail shorter.")
def waves(f):
    f.heading("Waves and tail: a GPU that holds 8 blocks at a time", "a row is a place for a block; all blocks of a launch are equally long")
    y, unit, x0 = 62, 96, 196
    for title, note, blocks, length in (("16 blocks", "two waves, no tail", 16, 1.0),
                                        ("17 blocks", "the third wave has one block", 17, 1.0),
                                        ("68 blocks, a quarter as long", "the tail is a quarter as long", 68, 0.25)):
        f.text(20, y + 32, title, 12, bold=True)
        f.text(20, y + 50, note, 11)
        for b in range(blocks):
            wave, place = divmod(b, 8)
            last = wave == (blocks - 1) // 8 and blocks % 8
            f.box(x0 + 30 + wave * length * unit, y + place * 10, length * unit - 2, 8.5,
                  "orange" if last else ("blue", "green")[wave % 2], radius=1)
        waves_needed = -(-blocks // 8)
        end = x0 + 30 + waves_needed * length * unit
        f.line(end, y - 4, end, y + 84, dash=True)
        ideal = blocks * length / 8 / (waves_needed * length)
        f.text(end + 8, y + 46, f"{ideal * 100:.0f} % of the places used", 11)
        y += 104
    f.line(x0 + 30, y - 8, 668, y - 8, arrow=True)
    f.text(668, y + 10, "time", 11, "end", quiet=True)
    key(f, 20, y + 10, (("blue", "a wave", 76), ("green", "the next", 84), ("orange", "the tail", 90)))
    return y + 26


# ---- Memory order ----------------------------------------------------------------------------------------------------------

@figure("lesson-scopes", "Who waits for whom: barriers and fences by their reach",
        "Nested frames: thread, warp, block, cluster, device, system. In each the call of CUDA and of OpenCL that orders accesses for "
        "all who are in it, and whether they also wait for each other.")
def scopes(f):
    f.heading("How far an order reaches")
    f.text(300, 28, "CUDA", 12, bold=True)
    f.text(520, 28, "OpenCL", 12, bold=True)
    rows = (("system: host and all GPUs", "orange", "the end of a command,", "__threadfence_system()", "the end of a command", "(clFinish, an event)"),
            ("device: all blocks of a launch", "purple", "the end of the kernel, grid.sync(),", "__threadfence()", "the end of the kernel;", "2.0: ordered atomics"),
            ("block (work-group)", "blue", "__syncthreads(): all wait,", "__threadfence_block()", "barrier(...): all wait,", "mem_fence(...)"),
            ("warp (sub-group)", "green", "__syncwarp()", "", "sub_group_barrier(...)", "(optional)"),
            ("thread (work-item)", "plain", "its own order, always", "", "its own order, always", ""))
    for k, (name, colour, c1, c2, o1, o2) in enumerate(rows):
        y = 46 + 52 * k
        f.box(16 + 10 * k, y, 668 - 20 * k, 52 * (len(rows) - k) + 6 * (len(rows) - 1 - k), colour, radius=6)
        f.text(28 + 10 * k, y + 22, name, 12, bold=True)
        for x, lines in ((300, (c1, c2)), (520, (o1, o2))):
            for m, words in enumerate(line for line in lines if line):
                f.text(x, y + 20 + 16 * m, words, 11, mono=words.startswith("__") and ":" not in words)
    return 46 + 52 * len(rows) + 6 * (len(rows) - 1) + 14


# ---- Conjugate gradients ---------------------------------------------------------------------------------------------------

@figure("lesson-descent", "Steepest descent and conjugate gradients on f(x)",
        "On the left the level lines of f, ellipses that are not parallel to the axes. Steepest descent goes to the middle in a zigzag of "
        "right angles, conjugate gradients reach it with the second step. On the right f along the first direction, a parabola whose "
        "least point is the end of the step, and the value of f over the steps of both.")
def descent(f):
    """f(x) = x.Ax/2 - b.x for two unknowns: every point is computed."""
    a, b = ((2.0, 2.0), (2.0, 5.0)), (2.0, -1.0)
    det = a[0][0] * a[1][1] - a[0][1] * a[1][0]
    best = ((a[1][1] * b[0] - a[0][1] * b[1]) / det, (a[0][0] * b[1] - a[1][0] * b[0]) / det)
    start = (-2.0, 1.9)

    def times(v):
        return a[0][0] * v[0] + a[0][1] * v[1], a[1][0] * v[0] + a[1][1] * v[1]

    def inner(u, v):
        return u[0] * v[0] + u[1] * v[1]

    def value(x):
        return inner(x, times(x)) / 2 - inner(b, x)

    def path(steps, conjugate):
        x = start
        r = tuple(p - q for p, q in zip(b, times(x)))
        p, points = r, [x]
        for _ in range(steps):
            alpha = inner(r, p) / inner(p, times(p))
            x = tuple(u + alpha * v for u, v in zip(x, p))
            new = tuple(u - v for u, v in zip(b, times(x)))
            beta = inner(new, new) / inner(r, r) if conjugate else 0.0
            p, r = tuple(u + beta * v for u, v in zip(new, p)), new
            points.append(x)
        return points

    steep, conjugate = path(12, False), path(2, True)
    f.heading("f(x) = x·Ax/2 − b·x, with A = (2 2; 2 5) and b = (2, −1)", "left: level lines of f from above, and both paths from one start. Right: f itself")
    place = lambda x: (206 + 38 * (x[0] - best[0]), 216 - 38 * (x[1] - best[1]))

    # Level lines: A = L L^T, so x = best + sqrt(2 h) L^-T (cos, sin) has f = f(best) + h.
    l11 = math.sqrt(a[0][0])
    l21 = a[1][0] / l11
    l22 = math.sqrt(a[1][1] - l21 * l21)
    lowest = value(best)
    for share in (1.0, 0.55, 0.25, 0.08):
        h = (value(start) - lowest) * share
        points = []
        for k in range(73):
            c, s = math.cos(k * math.pi / 36), math.sin(k * math.pi / 36)
            y1 = s / l22
            y0 = (c - l21 * y1) / l11
            points.append(place((best[0] + math.sqrt(2 * h) * y0, best[1] + math.sqrt(2 * h) * y1)))
        places = " ".join(f"{u:.1f},{v:.1f}" for u, v in points)
        f.parts.append(f'<polyline points="{places}" class="line"/>')
    for points, colour in ((steep, "orange"), (conjugate, "blue")):
        curve(f, [place(x) for x in points], colour)
        for x in points:
            dot(f, *place(x), colour)
    sx, sy = place(start)
    f.text(sx - 8, sy - 10, "start", 11, "middle")

    # f along the first direction.
    x0, y0, w, h = 440, 178, 220, 96
    f.text(x0, 76, "f along the first direction", 12, bold=True)
    r = tuple(p - q for p, q in zip(b, times(start)))
    alpha = inner(r, r) / inner(r, times(r))
    along = lambda t: value(tuple(u + t * v for u, v in zip(start, r)))
    high, low = along(0), along(alpha)
    px = lambda t: x0 + w * t / (2 * alpha)
    py = lambda v: y0 - (h - 16) * (v - low) / (high - low) - 8
    f.line(x0, y0, x0 + w, y0, arrow=True)
    curve(f, [(px(alpha * k / 20), py(along(alpha * k / 20))) for k in range(41)], "purple")
    dot(f, px(0), py(high), "blue")
    dot(f, px(alpha), py(low), "blue")
    f.line(px(alpha), py(low) + 4, px(alpha), y0, dash=True)
    f.text(px(alpha), y0 + 16, "α: the least f, the step's end", 11, "middle", quiet=True)

    # f over the steps.
    y0 = 358
    f.text(x0, 236, "f minus its least value, by step", 12, bold=True)
    floor = -5
    px = lambda step: x0 + 10 + (w - 20) * step / 12
    py = lambda v: y0 - 100 * (math.log10(max(v, 10.0**floor)) - floor) / (2 - floor)
    powers_of_ten(f, x0, x0 + w, py, (1, -1, -3, -5))
    for points, colour in ((steep, "orange"), (conjugate, "blue")):
        shown = [(px(k), py(value(x) - lowest)) for k, x in enumerate(points)]
        curve(f, shown, colour)
        for u, v in shown:
            dot(f, u, v, colour, 2.5)
    for step in (0, 2, 4, 8, 12):
        f.text(px(step), y0 + 16, str(step), 11, "middle")
    key(f, 20, 396, (("orange", "steepest descent, twelve steps", 230), ("blue", "conjugate gradients, two steps", 230)))
    return 412


# ---- Shared memory, warps, halos, merge path -------------------------------------------------------------------------------

@figure("lesson-banks", "A column of a tile: bank conflicts, and the column that removes them",
        "A tile of 8 by 8 words in 8 banks. Without padding a column lies in one bank, and takes eight passes. With one unused word per row "
        "the words of a column lie in eight banks, and take one pass.")
def bank_conflicts(f):
    f.heading("Eight threads read a column of a tile: which banks hold it?", "drawn with 8 banks and a tile of 8 x 8 words; a GPU has 32 banks, and the usual tile is 32 x 32")
    cell = 32
    for panel, (x0, pitch, name, note) in enumerate(((40, 8, "float x[8][8]", "all in bank 2: eight passes"),
                                                     (390, 9, "float x[8][9]", "each in another bank: one pass"))):
        f.text(x0, 74, name, 12, mono=True, bold=True)
        for bank in range(8):
            f.text(x0 + bank * cell + cell / 2 - 1, 94, str(bank), 11, "middle", quiet=True)
        for word in range(8 * pitch):
            row, column = divmod(word, pitch)
            line, bank = divmod(word, 8)
            colour = "orange" if column == 2 else "plain" if column == 8 else "idle"
            f.box(x0 + bank * cell, 100 + line * 24, cell - 2, 22, colour, f"{row},{column}" if column < 8 else "–", 11)
        f.text(x0, 100 + pitch * 24 + 18, note, 12)
    f.text(40, 362, "column of numbers: a bank; in a cell: row, column; orange: the column that the threads read; –: never used", 11, quiet=True)
    return 380


@figure("lesson-divergence", "Divergence over time",
        "A warp whose threads take two branches runs first one, then the other; in each the threads of the other branch are idle. If the branch "
        "follows the borders of the warps, each warp runs one branch only.")
def divergence(f):
    f.text(20, 28, "if (condition) A; else B;  A and B take equally long", 14, mono=True, bold=True)
    f.text(20, 46, "two warps, drawn with 8 threads each; a row is a thread", 11, quiet=True)
    y, unit, x0 = 62, 110, 250
    for title, note, takes_a in (("even threads take A", "both warps run both branches", lambda t: t % 2 == 0),
                                 ("threads 0 to 7 take A", "each warp runs one branch", lambda t: t < 8)):
        f.text(20, y + 40, title, 12, bold=True)
        f.text(20, y + 58, note, 11)
        for warp in range(2):
            threads = range(8 * warp, 8 * warp + 8)
            top = y + 84 * warp
            f.text(x0 - 8, top + 40, f"warp {warp}", 11, "end")
            segments = [("test", 0.4, lambda t: "green")]
            if any(takes_a(t) for t in threads):
                segments.append(("A", 1.0, lambda t: "blue" if takes_a(t) else "idle"))
            if not all(takes_a(t) for t in threads):
                segments.append(("B", 1.0, lambda t: "idle" if takes_a(t) else "orange"))
            segments.append(("after", 0.6, lambda t: "green"))
            x = x0
            for _, length, colour in segments:
                for k, t in enumerate(threads):
                    f.box(x, top + k * 9, length * unit - 2, 7.5, colour(t), radius=1)
                x += length * unit
        y += 180
    f.line(x0, y - 4, 600, y - 4, arrow=True)
    f.text(600, y + 14, "time", 11, "end", quiet=True)
    key(f, 20, y + 14, (("green", "all", 60), ("blue", "A", 50), ("orange", "B", 50), ("idle", "idle", 60)))
    return y + 30


@figure("fdtd-halo", "A halo that shrinks over four steps",
        "A block loads a tile of 16 by 16 cells. After each step the outermost ring is no longer right, because its neighbours are missing: "
        "14, 12, 10 and at last 8 by 8 cells are right, and these are stored.")
def halo(f):
    f.heading("Four steps on one tile: each costs a ring of the halo", "16 x 16 cells are loaded once; what is right after each step is coloured")
    cell, side = 7.4, 16
    for step in range(5):
        x0, y0 = 20 + step * 134, 64
        for row in range(side):
            for column in range(side):
                ring = min(row, column, side - 1 - row, side - 1 - column)
                colour = "green" if ring >= 4 else "blue"
                f.box(x0 + column * cell, y0 + row * cell, cell - 1, cell - 1, colour if ring >= step else "idle", radius=0)
        right = side - 2 * step
        f.text(x0 + side * cell / 2, y0 + side * cell + 18, "loaded" if step == 0 else f"after step {step}", 12, "middle", bold=True)
        f.text(x0 + side * cell / 2, y0 + side * cell + 34, f"{right} x {right} right", 11, "middle")
    key(f, 20, 242, (("green", "stored in the end: 64 of 256 cells", 250), ("blue", "halo that is still right", 180), ("idle", "no longer right", 120)))
    f.text(20, 264, "The memory is read and written once in four steps. The price: cells of the halo are computed by two blocks or more.", 11)
    return 282


@figure("spmv-merge-path", "Merge path: equal pieces of rows and non-zeros",
        "A path through a grid: to the right for a non-zero, down for the end of a row. It is cut by three diagonals into pieces of six "
        "steps each, whatever the lengths of the rows.")
def merge_path(f):
    """Rows with 3, 0, 5, 1, 2 and 1 non-zeros; 18 steps; three threads with six steps each."""
    lengths, pieces = (3, 0, 5, 1, 2, 1), 3
    f.heading("Merge path: to the right a non-zero, down the end of a row", f"rows of {', '.join(map(str, lengths))} non-zeros; 12 + 6 = 18 steps; three threads with six steps each")
    cell, x0, y0 = 36, 120, 84
    nonzeros, rows = sum(lengths), len(lengths)
    share = (nonzeros + rows) // pieces
    for row in range(rows + 1):
        f.line(x0, y0 + row * cell, x0 + nonzeros * cell, y0 + row * cell)
    for k in range(nonzeros + 1):
        f.line(x0 + k * cell, y0, x0 + k * cell, y0 + rows * cell)
    for k in range(nonzeros):
        f.text(x0 + (k + 0.5) * cell, y0 - 8, str(k), 11, "middle", quiet=True)
    for row, length in enumerate(lengths):
        f.text(x0 - 10, y0 + (row + 0.5) * cell + 4, f"row {row}: {length}", 11, "end", quiet=True)
    points, at = [(0, 0)], (0, 0)
    for length in lengths:
        for _ in range(length):
            at = at[0] + 1, at[1]
            points.append(at)
        at = at[0], at[1] + 1
        points.append(at)
    corner = lambda p: (x0 + p[0] * cell, y0 + p[1] * cell)
    for d in range(share, nonzeros + rows, share):  # the diagonals row + non-zero = d
        one = (d, 0) if d <= nonzeros else (nonzeros, d - nonzeros)
        other = (0, d) if d <= rows else (d - rows, rows)
        f.line(*corner(one), *corner(other), dash=True, width=1.5)
    for piece in range(pieces):
        curve(f, [corner(p) for p in points[piece * share:(piece + 1) * share + 1]], ("blue", "orange", "green")[piece], 4)
    for piece in range(pieces + 1):
        dot(f, *corner(points[piece * share]), "plain", 5)
    y = y0 + rows * cell + 30
    names = []
    for piece in range(pieces):
        steps = points[piece * share:(piece + 1) * share + 1]
        across = sum(v[0] > u[0] for u, v in zip(steps, steps[1:]))
        names.append((("blue", "orange", "green")[piece], f"thread {piece}: {across} products, {plural(share - across, 'row')}", 210))
    key(f, 20, y, names)
    f.text(20, y + 22, "dashed: a diagonal row + non-zero = 6, 12. A thread finds by bisection where the path crosses its diagonal.", 11, quiet=True)
    return y + 40




# ---- CUDA's own libraries --------------------------------------------------------------------------------------------------

@figure("lesson-libraries", "What CUDA's own libraries stand on",
        "Four layers. At the top Thrust: containers and algorithms, called from the host. Below it CUB: sums, scans and sorts for a "
        "device, a block or a warp. Below it libcu++: types for host and device. At the bottom the runtime. Beside each layer the "
        "steps of the program that use it.")
def libraries(f):
    f.heading("Each layer uses those below it, and you may enter at any of them")
    f.text(560, 62, "steps of the program", 11, quiet=True)
    layers = (("Thrust", "purple", "called from the host", "device_vector, transform, reduce, sort", "2"),
              ("CUB", "blue", "called from the host, or from all threads of a block or a warp", "DeviceReduce, BlockReduce, WarpReduce", "4"),
              ("libcu++", "green", "types and functions for host and device", "span, mdspan, barrier, pipeline, atomic_ref", "3, 5, 6"),
              ("runtime", "plain", "memory, launches, streams, events", "cudaMalloc, <<< >>>, cudaMemcpyAsync", "1"))
    for k, (name, colour, words, names, steps) in enumerate(layers):
        y = 74 + 58 * k
        f.box(20, y, 520, 50, colour, radius=6)
        f.text(32, y + 30, name, 13, bold=True)
        f.text(120, y + 21, words, 12)
        f.text(120, y + 39, names, 11, mono=True)
        f.text(560, y + 30, steps, 12)
    return 74 + 58 * len(layers) + 8
