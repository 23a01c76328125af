#!/usr/bin/env python3
"""Draws the figures of the hand-outs: draw.py [FOLDER] writes NAME.svg for each function with `@figure`.

The SVG files stand beside this script in git. Change a figure here, run the script, look at it in light and in dark.
Every figure has a background of its own, so that its text can be read whatever the page around it looks like; the colours
follow the light or dark mode of the browser. All are 700 wide; no text is smaller than 11.
"""
import json
import pathlib
import sys
from html import escape

WIDTH = 700
RESULTS = pathlib.Path(__file__).parents[1] / "results/h200"

# name: (fill, outline) in light mode, then in dark mode
COLOURS = {
    "plain": (("#f0f2f5", "#8b949e"), ("#262c34", "#7d8794")),
    "idle": (("#ffffff", "#c4cad1"), ("#161b22", "#3d4651")),
    "blue": (("#cfe4ff", "#1f6feb"), ("#123c73", "#58a6ff")),
    "orange": (("#ffdfb5", "#b35900"), ("#5e3a08", "#f0a04b")),
    "green": (("#c6efce", "#1a7f37"), ("#124d27", "#56d364")),
    "purple": (("#e6d9fb", "#8250df"), ("#40246f", "#bc8cff")),
}
TEXT = ("#1f2328", "#e6edf3")
QUIET = ("#57606a", "#a5b0bc")  # secondary text, arrows
CARD = ("#ffffff", "#161b22")
EDGE = ("#d0d7de", "#3d4651")


def style(mode):  # 0: light, 1: dark
    rules = [
        f".card{{fill:{CARD[mode]};stroke:{EDGE[mode]}}}",
        f"text{{fill:{TEXT[mode]}}}",
        f".quiet{{fill:{QUIET[mode]}}}",
        f".line{{stroke:{QUIET[mode]};fill:none}}",
        f".head{{fill:{QUIET[mode]}}}",
    ]
    for name, pairs in COLOURS.items():
        fill, outline = pairs[mode]
        rules.append(f".{name}{{fill:{fill};stroke:{outline}}}")
        rules.append(f".line-{name}{{stroke:{outline};fill:none}}")
    return "".join(rules)


class Figure:
    """A picture of WIDTH by `height`; x to the right, y down."""

    def __init__(self, height, title, description):
        self.height, self.parts = height, []
        self.title, self.description = title, description

    def text(self, x, y, words, size=12, anchor="start", quiet=False, bold=False, mono=False):
        extra = ' class="quiet"' if quiet else ""
        if bold:
            extra += ' font-weight="bold"'
        if mono:
            extra += ' font-family="DejaVu Sans Mono, Consolas, Menlo, monospace"'
        if anchor != "start":
            extra += f' text-anchor="{anchor}"'
        self.parts.append(f'<text x="{x:g}" y="{y:g}" font-size="{size}"{extra}>{escape(words)}</text>')

    def lines(self, x, y, lines, step=15, **style):
        """Small lines of text, one below the other."""
        for k, words in enumerate(lines):
            self.text(x, y + step * k, words, 11, **style)

    def heading(self, words, note=""):
        self.text(20, 28, words, 14, bold=True)
        if note:
            self.text(20, 46, note, 11, quiet=True)

    def box(self, x, y, width, height, colour="plain", words="", size=12, radius=2, mono=False, bold=False):
        self.parts.append(f'<rect class="{colour}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="{radius}"/>')
        if words:
            self.text(x + width / 2, y + height / 2 + size * 0.36, words, size, "middle", mono=mono, bold=bold)

    def line(self, x1, y1, x2, y2, colour="", width=1, arrow=False, dash=False):
        extra = ' marker-end="url(#tip)"' if arrow else ""
        if dash:
            extra += ' stroke-dasharray="4 3"'
        self.parts.append(f'<line class="line{"-" + colour if colour else ""}" x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" '
                          f'y2="{y2:g}" stroke-width="{width:g}"{extra}/>')

    def brace(self, x1, x2, y, up=True):
        """A bracket over (or under) the stretch from x1 to x2."""
        d = 5 if up else -5
        self.parts.append(f'<path class="line" d="M{x1:g} {y + d:g}V{y:g}H{x2:g}V{y + d:g}"/>')

    def svg(self):
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{self.height}" '
            f'viewBox="0 0 {WIDTH} {self.height}" role="img" aria-labelledby="title description" '
            'font-family="DejaVu Sans, Verdana, Segoe UI, Helvetica, Arial, sans-serif">\n'
            f'<title id="title">{escape(self.title)}</title>\n<desc id="description">{escape(self.description)}</desc>\n'
            f"<style>{style(0)}\n@media (prefers-color-scheme: dark){{{style(1)}}}</style>\n"
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            'orient="auto-start-reverse"><path class="head" d="M0 0L8 4L0 8z"/></marker></defs>\n'
            f'<rect class="card" x="0.5" y="0.5" width="{WIDTH - 1}" height="{self.height - 1}" rx="6"/>\n'
            + "\n".join(self.parts) + "\n</svg>\n")


figures = {}  # by name: what draws them


def figure(name, title, description, height=0):
    """Makes a figure of the function below, which draws on it, and returns its height where that follows from what it draws."""
    def registered(draw):
        def drawn():
            f = Figure(height, title, description)
            f.height = draw(f) or height
            return f.svg()

        figures[name] = drawn
        return draw

    return registered


@figure("kernel-words", "Grid, block, warp and thread beside GPU, multiprocessor and lane",
        "On the left what a launch makes: a grid of blocks, a block of threads, cut into warps of 32 threads. On the "
        "right where each of them runs: the grid on one GPU, a block on one multiprocessor, a warp on 32 lanes, a "
        "thread on one lane.", height=490)
def kernel_words(f):
    left, right, y = 20, 440, 30
    f.text(left, y, "What a launch makes", 14, bold=True)
    f.text(right, y, "Where it runs", 14, bold=True)
    f.text(left, y + 17, "in brackets: OpenCL's word", 11, quiet=True)

    def between(y, words, more):
        f.line(282, y, 428, y, arrow=True)
        f.text(355, y - 7, words, 12, "middle")
        f.text(355, y + 17, more, 11, "middle", quiet=True)

    # grid, GPU
    y = 64
    f.box(left, y, 250, 88)
    f.text(left + 8, y + 17, "grid (NDRange)", 12, bold=True)
    for b in range(5):
        f.box(left + 8 + b * 47, y + 28, 43, 50, "blue" if b == 1 else "idle")
        f.text(left + 29.5 + b * 47, y + 48, "block", 11, "middle")
        f.text(left + 29.5 + b * 47, y + 66, str(b) if b < 4 else "…", 12, "middle")
    between(y + 44, "a grid runs", "on one GPU")
    f.box(right, y, 240, 88)
    f.text(right + 8, y + 17, "GPU (device)", 12, bold=True)
    for b in range(12):
        f.box(right + 8 + b % 6 * 38, y + 26 + b // 6 * 20, 34, 16, "blue" if b == 3 else "idle")
    f.text(right + 8, y + 81, "e.g. 132 multiprocessors on an H200", 11, quiet=True)

    # block, multiprocessor
    y = 176
    f.box(left, y, 250, 112, "blue")
    f.text(left + 8, y + 17, "block (work-group)", 12, bold=True)
    for w in range(4):
        f.box(left + 8, y + 26 + w * 20, 234, 16, "orange" if w == 2 else "idle")
        f.text(left + 125, y + 38 + w * 20, f"warp {w}: threads {32 * w} to {32 * w + 31}", 11, "middle")
    between(y + 48, "a block stays", "on one multiprocessor;")
    f.text(355, y + 80, "others run beside it", 11, "middle", quiet=True)
    f.box(right, y, 240, 112, "blue")
    f.text(right + 8, y + 17, "multiprocessor (compute unit)", 12, bold=True)
    for q in range(4):
        f.box(right + 6 + q * 58, y + 26, 55, 24, "orange" if q == 2 else "idle", "32 lanes", 11)
    f.box(right + 8, y + 56, 226, 20, "idle", "registers: each thread has its own", 11)
    f.box(right + 8, y + 82, 226, 20, "idle", "shared memory: for the whole block", 11)

    # warp, lanes
    y = 312
    f.box(left, y, 250, 60, "orange")
    f.text(left + 8, y + 17, "warp (sub-group): 32 threads", 12, bold=True)
    f.box(right, y, 240, 60, "orange")
    f.text(right + 8, y + 17, "32 lanes", 12, bold=True)
    for t in range(32):
        f.box(left + 8 + t * 7.3, y + 28, 5.6, 22, "green" if t == 5 else "idle", radius=1)
        f.box(right + 8 + t * 7, y + 28, 5.4, 22, "green" if t == 5 else "idle", radius=1)
    between(y + 30, "a warp executes", "one instruction at a time")

    # thread, lane
    y = 396
    f.box(left, y, 250, 74, "green")
    f.text(left + 8, y + 18, "thread (work-item)", 12, bold=True)
    f.text(left + 8, y + 39, "blockIdx.x = 1, threadIdx.x = 69", 11, mono=True)
    f.text(left + 8, y + 59, "warp 69 / 32 = 2, lane 69 mod 32 = 5", 11)
    f.box(right, y, 240, 74, "green")
    f.text(right + 8, y + 18, "lane (processing element)", 12, bold=True)
    f.text(right + 8, y + 39, "one addition or multiplication", 11)
    f.text(right + 8, y + 57, "of the warp's instruction", 11)
    between(y + 37, "a thread computes", "in one lane of its warp")


@figure("memory-hierarchy", "The memory hierarchy of an H200 and its host",
        "From top to bottom: registers, shared memory and L1 cache, L2 cache, device memory, the link to the host, host "
        "memory; each with its size, its speed, and the rungs of the labs that work on it.", height=502)
def memory_hierarchy(f):
    f.text(20, 30, "The memories of one NVIDIA H200 and its host", 14, bold=True)
    columns = (232, 368, 500)
    for x, words in zip(columns, ("size", "speed", "what the labs keep there")):
        f.text(x, 54, words, 11, quiet=True)
    measured = json.loads((RESULTS / "matmul-growth.json").read_text(encoding="utf-8"))[0]["devices"][0]
    rate = measured["ceilings"]["fp32_gflop_per_s"]
    ghz = rate / 2 / (132 * 128)
    rows = [
        ("green", "registers", ("of one thread",), ("256 KiB per", "multiprocessor"), (f"{rate / 2 * 12 / 1000:.0f} TB/s of", "operands ¹"),
         ("02 shuffle: partial sums", "03 register_2d: 64 sums", "per thread")),
        ("green", "shared memory, L1 cache", ("of one block; of one", "multiprocessor"), ("256 KiB together,", "228 KiB of it shared"),
         (f"about {132 * 128 * ghz / 1000:.0f} TB/s ¹",), ("02 tree_*: the tree", "03 shared_*: tiles of", "A and B")),
        ("blue", "L2 cache", ("of the whole GPU",), ("60 MiB ²",), ("not measured here",),
         ("data of small problems:", "01 at n = 2²⁰ (12 MiB);", "04: the vector x")),
        ("blue", "device memory", ("of the whole GPU",), ("141 GB",), ("about 4200 GB/s ²", "(copy: read + write)"),
         ("01 from many_blocks on", "02 from grid_stride on", "04 lanes: values, columns")),
        ("orange", "link (PCI Express)", ("between the two",), ("–",), ("about 55 GB/s ²", "each way"),
         ("05 depth_first, pipeline:", "pinned memory", "01 total ms")),
        ("orange", "host memory, pageable", ("through the driver's", "own buffer"), ("that of the host",),
         ("17 GB/s ²: 33 MB", "up, then down"), ("05 sync_pageable",)),
    ]
    y = 64
    for colour, name, of, size, speed, rungs in rows:
        f.box(16, y, 668, 60, "idle")
        f.box(16, y, 196, 60, colour)
        f.text(26, y + 20, name, 12, bold=True)
        f.lines(26, y + 37, of, 14)
        for x, lines in zip(columns, (size, speed, rungs)):
            f.lines(x, y + 41 - 7 * len(lines), lines)
        y += 66
    notes = (f"¹ computed for 132 multiprocessors at {ghz:.2f} GHz, where 128 multiply-adds a cycle each make the {rate / 1000:.1f} TFLOP/s",
             "of lab 03. 12 bytes of operands per multiply-add, 32 banks of 4 bytes in shared memory.",
             "² reported by the device, or measured: docs/results/h200 (saxpy, streams-streams). The other sizes: NVIDIA.")
    f.lines(20, y + 14, notes, quiet=True)
    return y + 14 + 15 * len(notes)


@figure("saxpy-indices", "Threads and indices",
        "Three blocks of eight threads over an array of 21 elements. Thread 5 of block 1 has the index 1 times 8 plus "
        "5, 13. The last three threads of block 2 have no element and do nothing.", height=330)
def saxpy_indices(f):
    f.text(20, 30, "i = blockIdx.x * blockDim.x + threadIdx.x", 14, mono=True, bold=True)
    f.text(20, 50, "drawn with 8 threads per block and n = 21; the rungs take 256", 11, quiet=True)
    cell, x0 = 26, 26
    colours = ("blue", "green", "purple")
    at = lambda i: x0 + i * cell + i // 8 * 12
    for b in range(3):
        f.brace(at(8 * b), at(8 * b + 7) + cell - 2, 78)
        f.text(at(8 * b) + 4 * cell, 72, f"block {b}", 12, "middle", bold=True)
    f.text(x0, 104, "threadIdx.x of each thread", 11, quiet=True)
    for i in range(24):
        off = i >= 21
        f.box(at(i), 112, cell - 2, 24, "idle" if off else "orange" if i == 13 else colours[i // 8], str(i % 8), 12)
        if not off:
            f.line(at(i) + cell / 2 - 1, 139, at(i) + cell / 2 - 1, 165, arrow=True)
    for i in range(21):
        f.box(at(i), 168, cell - 2, 24, "orange" if i == 13 else colours[i // 8], str(i), 12)
    f.text(x0, 210, "element i of the arrays a, b and c", 11, quiet=True)
    f.text(at(21) + 36, 160, "no", 11, "middle")
    f.text(at(21) + 36, 174, "element:", 11, "middle")
    f.text(at(21) + 36, 188, "i >= n", 11, "middle", mono=True)
    f.box(x0, 232, 320, 80, "orange")
    f.text(x0 + 12, 254, "thread 5 of block 1", 12, bold=True)
    f.text(x0 + 12, 275, "i = 1 * 8 + 5 = 13", 12, mono=True)
    f.text(x0 + 12, 296, "13 < 21: c[13] = k * a[13] + b[13]", 12, mono=True)
    f.box(x0 + 334, 232, 314, 80, "idle")
    f.text(x0 + 346, 254, "thread 6 of block 2", 12, bold=True)
    f.text(x0 + 346, 275, "i = 2 * 8 + 6 = 22", 12, mono=True)
    f.text(x0 + 346, 296, "22 >= 21: does nothing", 12, mono=True)


@figure("saxpy-sectors", "A warp's 32 loads on sectors of 32 bytes, beside one core's cache line",
        "At stride 1 the 32 loads of a warp touch 4 sectors and use all of their bytes, at stride 2 8 sectors and half "
        "of their bytes, at stride 8 32 sectors and an eighth. A core that walks along an array uses all of a cache line; "
        "four threads that take every fourth element each use a quarter of it, and all four fetch it.", height=568)
def sectors(f):
    f.text(20, 30, "One load instruction of a warp: 32 threads, 4 bytes each", 14, bold=True)
    f.text(20, 48, "a frame is a sector of 32 bytes, the smallest piece that a GPU reads; a coloured cell is a word that is used", 11, quiet=True)
    word, x0 = 7.25, 176
    sector = 8 * word + 4
    y = 66
    for stride, count in ((1, 4), (2, 8), (8, 32)):
        f.text(20, y + 12, f"stride {stride}: {count} sectors", 12, bold=True)
        f.text(20, y + 28, f"128 of {32 * count} bytes used", 11)
        for s in range(count):
            sx, sy = x0 + s % 8 * sector, y + s // 8 * 22
            f.box(sx - 1, sy - 1, 8 * word + 1, 18, "plain")
            for w in range(8):
                if (8 * s + w) % stride == 0:
                    f.box(sx + w * word + 0.5, sy + 1, word - 2, 14, "blue", radius=1)
        y += max(-(-count // 8) * 22, 34) + 14
    f.text(x0, y + 4, "coalesced: neighbouring threads read neighbouring words, as at stride 1", 11, quiet=True)

    y += 40
    f.line(20, y - 20, 680, y - 20)
    f.text(20, y + 6, "Four cores of a CPU: each loads one word after the other", 14, bold=True)
    f.text(20, y + 24, "a frame is a cache line of 64 bytes; each colour is one thread, on a core of its own", 11, quiet=True)
    y += 42
    word, line = 7.25, 16 * 7.25 + 8
    colours = ("blue", "orange", "green", "purple")
    for name, note, owner in (
            ("cpu_blocks", "a core fetches its own lines only, and uses all 16 words of each", lambda l, w: l),
            ("cpu_interleaved", "every core fetches every line, for 4 of its 16 words; lines of c go from core to core",
             lambda l, w: w % 4)):
        f.text(20, y + 12, name, 11, mono=True)
        for l in range(4):
            sx = x0 + l * line
            f.box(sx - 1, y - 1, 16 * word + 1, 18, "plain")
            for w in range(16):
                f.box(sx + w * word + 0.5, y + 1, word - 2, 14, colours[owner(l, w)], radius=1)
        f.text(x0, y + 34, note, 11)
        y += 54
    return y


def cells(f, x, y, width, height, labels, colour_of, size=11):
    for i, label in enumerate(labels):
        f.box(x + i * width, y, width - 1.5, height, colour_of(i), label, size, radius=1)


@figure("reduction-trees", "Doubling stride, interleaved addressing and sequential addressing on 16 elements",
        "Three ways to add 16 numbers with 16 threads. Doubling stride makes 49 additions; both trees make 15. In "
        "interleaved addressing the working threads are spread over all warps, in sequential addressing they stand side "
        "by side.", height=478)
def reduction_trees(f):
    f.heading("Sixteen numbers, sixteen threads, four rounds", "coloured: the thread adds in this round; a line comes from the other number that it adds. Warps are")
    f.text(20, 60, "drawn with 4 threads (a frame); real ones have 32.", 11, quiet=True)
    c = 13
    panels = [
        (20, "doubling stride", "blue", (1, 2, 4, 8), lambda t, s: t >= s, lambda t, s: t - s),
        (247, "interleaved addressing", "orange", (1, 2, 4, 8), lambda t, s: t % (2 * s) == 0, lambda t, s: t + s),
        (474, "sequential addressing", "green", (8, 4, 2, 1), lambda t, s: t < s, lambda t, s: t + s),
    ]
    notes = [("49 additions, two barriers a round;", "makes all 16 prefix sums", "cuda_one_block, cuda_two_level"),
             ("15 additions, one barrier a round;", "few threads in many warps", "cuda_tree_interleaved"),
             ("15 additions, one barrier a round;", "all threads of few warps", "cuda_tree_sequential")]
    for (x, name, colour, strides, works, other), note in zip(panels, notes):
        f.text(x, 86, name, 12, bold=True)
        y = 96
        for t in range(16):
            if t % 4 == 0 or t == 15:
                f.text(x + t * c + c / 2 - 1, y + 10, str(t), 11, "middle", quiet=True)
        y += 16
        for w in range(4):
            f.box(x + w * 4 * c - 1, y - 2, 4 * c, 17, "idle", radius=2)
        cells(f, x, y, c, 13, [""] * 16, lambda t: "plain")
        for s in strides:
            top = y + 14
            y += 42
            for t in range(16):
                if works(t, s):
                    f.line(x + other(t, s) * c + c / 2 - 1, top + 1, x + t * c + c / 2 - 1, y - 3, colour, 1.2)
            for w in range(4):
                f.box(x + w * 4 * c - 1, y - 2, 4 * c, 17, "idle", radius=2)
            cells(f, x, y, c, 13, [""] * 16, lambda t: colour if works(t, s) else "idle")
            count = sum(works(t, s) for t in range(16))
            warps = len({t // 4 for t in range(16) if works(t, s)})
            y += 28
            f.text(x, y, f"stride {s}: {count} thread{'s' * (count > 1)} in {warps} warp{'s' * (warps > 1)}", 11)
        for k, words in enumerate(note):
            f.text(x, y + 26 + 15 * k, words, 11, mono=k == 2)
    return y + 72


@figure("reduction-shuffle", "The sum of a warp by shuffles",
        "Eight lanes. In each step every lane adds the number of the lane whose number differs in one bit: 4 apart, then "
        "2, then 1. After three steps each lane holds the sum of all eight.", height=330)
def reduction_shuffle(f):
    f.heading("The sum of a warp by shuffles: no shared memory, no barrier", "drawn with 8 lanes and 3 steps; a warp of 32 takes 5 (16, 8, 4, 2, 1). In a cell: whose numbers it has summed")
    c, x, y = 68, 140, 62
    held = [{t} for t in range(8)]
    f.text(20, y + 17, "lane", 11, quiet=True)
    for t in range(8):
        f.text(x + t * c + c / 2, y + 17, str(t), 12, "middle", quiet=True)
    y += 26
    cells(f, x, y, c, 24, [str(t) for t in range(8)], lambda t: "plain", 12)
    for step in (4, 2, 1):
        top, y = y + 24, y + 66
        for t in range(8):
            f.line(x + (t ^ step) * c + c / 2, top + 2, x + t * c + c / 2, y - 3, "orange" if t ^ step < t else "blue", 1.2, arrow=True)
        held = [held[t] | held[t ^ step] for t in range(8)]
        label = ["0 … 7" if len(h) == 8 else " ".join(str(k) for k in sorted(h)) for h in held]
        cells(f, x, y, c, 24, label, lambda t: "green" if step == 1 else "plain", 12)
        f.text(20, top + 18, f"step {step}", 12, bold=True)
        f.text(20, top + 34, f"from lane ^ {step}", 11, mono=True)
    f.text(20, y + 50, "x += __shfl_xor_sync(0xFFFFFFFF, x, step);", 12, mono=True)
    f.text(380, y + 50, "each lane reads a register of another", 11, quiet=True)
    return y + 68


@figure("matmul-tiles", "Tiles in shared memory and in registers",
        "A block computes one tile of C. Step by step it loads a tile of A and a tile of B into shared memory. Each thread "
        "takes a few numbers of both into registers and multiplies each with each.", height=400)
def matmul_tiles(f):
    f.heading("C = A B: every number that is loaded is used again")
    heads = ((20, "global memory", "a block computes one tile of C"), (268, "shared memory", "the tiles of this step"),
             (478, "registers", "of one thread"))
    for x, a, b in heads:
        f.text(x, 56, a, 12, bold=True)
        f.text(x, 72, b, 11, quiet=True)
    # global memory: B above C, A left of C
    bx, by, ax, ay, s = 130, 88, 20, 198, 100
    f.box(bx, by, s, s, "idle")
    f.box(ax, ay, s, s, "idle")
    f.box(bx, ay, s, s, "idle")
    f.box(bx + 50, by, 25, s, "plain")
    f.box(ax, ay + 25, s, 25, "plain")
    f.box(bx + 50, by + 25, 25, 25, "orange")
    f.box(ax + 25, ay + 25, 25, 25, "blue")
    f.box(bx + 50, ay + 25, 25, 25, "green")
    f.text(bx + 8, by + 18, "B", 14, bold=True)
    f.text(ax + 8, ay + 18, "A", 14, bold=True)
    f.text(bx + 8, ay + 18, "C", 14, bold=True)
    f.line(ax + 54, ay + 37.5, ax + 92, ay + 37.5, arrow=True)
    f.line(bx + 62.5, by + 54, bx + 62.5, by + 92, arrow=True)
    f.lines(20, 318, ("step by step the tiles move", "along A and down B"))
    # shared memory
    tile, n = 17, 8
    f.line(236, 145, 258, 145, arrow=True)
    f.line(236, 245, 258, 245, arrow=True)
    f.text(268, 98, "tile of B", 11)
    f.text(268, 198, "tile of A", 11)
    for k in range(4):
        for j in range(8):
            f.box(268 + j * tile, 106 + k * tile, tile - 2, tile - 2, "purple" if k == 1 and j in (1, 3, 5, 7) else "orange", radius=1)
    for i in range(8):
        for k in range(4):
            f.box(268 + k * tile, 206 + i * 13, tile - 2, 11, "purple" if k == 1 and i in (1, 3, 5, 7) else "blue", radius=1)
    f.lines(346, 262, ("loaded once by the", "block, read by", "many threads"))
    # registers
    rx, ry, c = 520, 116, 32
    f.line(412, 140, 508, 126, arrow=True)
    for j in range(4):
        f.box(rx + j * c, ry, c - 3, 22, "purple", f"b{j}", 11, radius=1)
    for i in range(4):
        f.box(rx - 40, ry + 30 + i * c, c - 3, c - 3, "purple", f"a{i}", 11, radius=1)
        for j in range(4):
            f.box(rx + j * c, ry + 30 + i * c, c - 3, c - 3, "green", f"{i}{j}", 11, radius=1)
    f.line(346, 232, 470, 220, arrow=True)
    f.text(478, 292, "sum[i][j] += a[i] * b[j]", 11, mono=True)
    f.text(478, 310, "8 loads, 16 multiply-adds", 11)
    f.text(478, 325, "(drawn 4 × 4)", 11, quiet=True)
    f.line(20, 346, 680, 346)
    f.lines(20, 366, ("shared_static: a 16 × 16 tile, so each number from global memory serves 16 threads.",
                      "register_2d: 8 × 8 sums per thread, so 16 numbers from shared memory serve 64 multiply-adds."), 16)


@figure("spmv-formats", "One matrix as CSR, COO and ELL",
        "A 4 by 4 matrix with eight non-zeros a to h in three formats, and which word each thread reads first. In CSR with "
        "a thread per row the first words lie a row apart; in COO and ELL the threads read neighbours.", height=520)
def spmv_formats(f):
    colours = ("blue", "orange", "green", "purple")
    matrix = ["a.b.", ".c..", "d.ef", ".g.h"]
    entries = [(r, c, v) for r, row in enumerate(matrix) for c, v in enumerate(row) if v != "."]
    f.heading("One matrix, three formats: which thread reads which word first?")
    cell = 28
    for r, row in enumerate(matrix):
        for c, v in enumerate(row):
            f.box(60 + c * cell, 62 + r * cell, cell - 2, cell - 2, "idle" if v == "." else colours[r], "" if v == "." else v, 13, mono=True)
        f.text(52, 62 + r * cell + 18, f"{r}", 11, "end", quiet=True)
    for c in range(4):
        f.text(60 + c * cell + 13, 56, str(c), 11, "middle", quiet=True)
    f.lines(200, 78, ("The colour is the row. t0, t1, t2, t3 are the first four threads;",
                      "each t stands under the column and the value that it reads first."), 16)
    f.lines(200, 120, ("CSR, COO: 8 entries.", "ELL: 12 slots, of which 4 are padding (column −1), because",
                       "every row is as long as the longest."), 16)

    w, x0 = 34, 150

    def array(y, name, values, colour_of):
        f.text(20, y + 17, name, 11, mono=True)
        for i, v in enumerate(values):
            f.box(x0 + i * w, y, w - 2, 24, colour_of(i), v, 12, mono=True)

    def marks(y, where):
        for t, i in enumerate(where):
            f.line(x0 + i * w + w / 2 - 1, y + 14, x0 + i * w + w / 2 - 1, y + 3, arrow=True)
            f.text(x0 + i * w + w / 2 - 1, y + 26, f"t{t}", 11, "middle", bold=True)

    row = lambda i: colours[entries[i][0]]
    y = 204
    f.text(20, y - 8, "CSR, a thread per row: the words lie a row apart", 12, bold=True)
    starts = [0, 2, 3, 6, 8]
    array(y, "row_start", [str(s) for s in starts], lambda i: colours[i] if i < 4 else "plain")
    array(y + 28, "column", [str(e[1]) for e in entries], row)
    array(y + 56, "value", [e[2] for e in entries], row)
    marks(y + 80, starts[:4])
    f.text(x0 + 8 * w + 14, y + 44, "row 2 is the entries 3, 4 and 5:", 11)
    f.text(x0 + 8 * w + 14, y + 59, "row_start[2] … row_start[3] − 1", 11, mono=True)

    y = 336
    f.text(20, y - 8, "COO, a thread per entry: neighbours, but the sums of a row must be joined", 12, bold=True)
    array(y, "row", [str(e[0]) for e in entries], row)
    array(y + 28, "column", [str(e[1]) for e in entries], row)
    array(y + 56, "value", [e[2] for e in entries], row)
    marks(y + 80, range(4))
    f.text(x0 + 8 * w + 14, y + 44, "t0 and t1 both add to y[0]", 11)

    y = 468
    f.text(20, y - 8, "ELL, a thread per row, stored slot by slot: neighbours at every step", 12, bold=True)
    slots = [[e for e in entries if e[0] == r] for r in range(4)]
    flat = [(r, slots[r][s] if s < len(slots[r]) else None) for s in range(3) for r in range(4)]
    paint = lambda i: colours[flat[i][0]] if flat[i][1] else "idle"
    for s in range(3):
        f.brace(x0 + 4 * s * w, x0 + (4 * s + 4) * w - 4, y + 16)
        f.text(x0 + 4 * s * w + 2 * w - 2, y + 12, f"slot {s} of rows 0 to 3", 11, "middle", quiet=True)
    y += 24
    array(y, "column", [str(e[1]) if e else "−1" for _, e in flat], paint)
    array(y + 28, "value", [e[2] if e else "0" for _, e in flat], paint)
    marks(y + 52, range(4))
    return y + 90


@figure("tridiagonal-dependencies", "Which equations each step of cyclic reduction and of parallel cyclic reduction reads",
        "Eight equations. Cyclic reduction halves the number of equations in three steps and finds the unknowns in four "
        "steps on the way back: 4, 2 and 1 reductions, then 1, 1, 2 and 4 unknowns. Parallel cyclic reduction reduces "
        "all eight equations in each of three steps and then has all unknowns.", height=470)
def tridiagonal_dependencies(f):
    f.heading("Eight equations: who reads whom", "a line comes from what the equation or the unknown below needs, besides its own equation; rows count from 0")
    c, left, right = 38, 20, 376
    down, gap = 44, 22

    def row(x, y, colour_of, words):
        cells(f, x, y, c, gap, words, colour_of, 12)

    def link(x, y, source, target, colour):
        if 0 <= source < 8:
            f.line(x + source * c + c / 2, y + 1, x + target * c + c / 2, y + down - gap - 1, colour, 1.2)

    # cyclic reduction
    f.text(left, 76, "CR", 13, bold=True)
    f.text(left + 30, 76, "7 reductions and 8 substitutions, 7 steps", 11)
    y = 98
    numbers = [str(i) for i in range(8)]
    row(left, y, lambda i: "plain", numbers)
    step = 1
    while 2 * step <= 8:
        kept = [i for i in range(8) if (i + 1) % (2 * step) == 0]
        for i in kept:
            for source in (i - step, i, i + step):
                link(left, y + gap, source, i, "blue")
        y += down
        row(left, y, lambda i: "blue" if i in kept else "idle", [str(i) if i in kept else "" for i in range(8)])
        step *= 2
    known = []
    while step > 0:
        now = [i for i in range(step - 1, 8, 2 * step)]
        for i in now:
            for source in (i - step, i + step) if known else (i,):
                if source in known or not known:
                    link(left, y + gap, source, i, "green")
        y += down
        known = known + now
        row(left, y, lambda i: "green" if i in now else "plain" if i in known else "idle",
            [f"x{i}" if i in known else "" for i in range(8)])
        step //= 2
    bottom = y + gap

    # parallel cyclic reduction
    f.text(right, 76, "PCR", 13, bold=True)
    f.text(right + 38, 76, "24 reductions, 3 steps", 11)
    y = 98
    row(right, y, lambda i: "plain", numbers)
    for step in (1, 2, 4):
        for i in range(8):
            for source in (i - step, i + step):
                link(right, y + gap, source, i, "orange")
        y += down
        row(right, y, lambda i: "orange", numbers)
    y += down
    for i in range(8):
        f.line(right + i * c + c / 2, y - down + gap + 1, right + i * c + c / 2, y - 1, "green", 1.2)
    row(right, y, lambda i: "green", [f"x{i}" for i in range(8)])

    y += gap + 34
    for colour, words in (("blue", "CR: every second equation is reduced"),
                          ("orange", "PCR: every equation is reduced in every step"),
                          ("green", "an unknown is found; the others are known")):
        f.box(right, y - 11, 16, 14, colour)
        f.text(right + 24, y, words, 11)
        y += 22
    return bottom + 24


def scheduled(commands, engine_of=lambda lane: lane, stream_of=lambda strip: strip):
    """Commands (lane, strip, length), in the order of their calls, as (lane, strip, start, length): each begins when the command before it
    on its engine, and the one before it in its stream, have ended."""
    free, placed = {}, []
    for lane, strip, length in commands:
        needs = ("engine", engine_of(lane)), ("stream", stream_of(strip))
        start = max(free.get(one, 0) for one in needs)
        free.update(dict.fromkeys(needs, start + length))
        placed.append((lane, strip, start, length))
    return placed


def timelines(f, y, names, placed, unit, units, rows=(0, 1, 2), words=lambda lane, strip: str(strip), size=12):
    """Rows of `units` units of time, with the lanes of what is `scheduled`. Returns when it ends."""
    x0 = 138
    for i, name in enumerate(names):
        f.box(x0, y + i * 30, units * unit, 26, "idle")
        f.text(20, y + i * 30 + 17, name, 11)
    for lane, strip, start, length in placed:
        f.box(x0 + start * unit, y + rows[lane] * 30, length * unit - 1.5, 26, ("blue", "orange", "green", "purple")[strip],
              words(lane, strip), size)
    time = max(start + length for _, _, start, length in placed)
    f.line(x0 + time * unit, y - 4, x0 + time * unit, y + 30 * len(names) + 2, dash=True)
    return time


UP, KERNEL, DOWN = range(3)  # lanes


@figure("streams-lanes", "Copies and kernels one after the other, and overlapped",
        "Four strips. One after the other: copy up, kernel, copy down of each strip in turn. Overlapped, in three lanes: "
        "while one strip is inverted the next goes up and the one before comes down. At the beginning (fill) nothing "
        "comes down, at the end (drain) nothing goes up.", height=392)
def streams_lanes(f):
    unit, x0 = 19.2, 138
    f.heading("Four strips of an image", "the colour is the strip; drawn for a kernel that takes a third of the time of a copy")
    lanes = ("H2D: copy up", "kernel", "D2H: copy down")
    commands = [(lane, strip, length) for strip in range(4) for lane, length in ((UP, 3), (KERNEL, 1), (DOWN, 3))]
    f.text(20, 74, "one stream: every command waits for the one before", 12, bold=True)
    timelines(f, 84, lanes, scheduled(commands, stream_of=lambda strip: 0), unit, 28)

    y = 222
    f.text(20, y - 10, "a stream for each strip, page-locked memory: three things at a time", 12, bold=True)
    timelines(f, y, lanes, scheduled(commands), unit, 28)
    f.brace(x0, x0 + 4 * unit, y + 102, up=False)
    f.text(x0 + 2 * unit, y + 117, "fill", 11, "middle")
    f.brace(x0 + 12 * unit, x0 + 16 * unit, y + 102, up=False)
    f.text(x0 + 14 * unit, y + 117, "drain", 11, "middle")
    f.line(20, y + 132, 680, y + 132)
    f.text(20, y + 152, "28 units of time become 16. More and shorter strips make fill and drain shorter; the copies in one direction remain.", 11)
    return y + 168


@figure("lu-blocks", "A step of blocked elimination",
        "The matrix in the middle of the elimination. On the left and on top the finished columns of L and rows of U. "
        "Then the panel with the diagonal block and L21, to its right the rows U12, and the trailing matrix A22, which "
        "loses the product of L21 and U12.", height=330)
def lu_blocks(f):
    x0, y0, done, width, rest = 24, 62, 70, 56, 114
    size = done + width + rest
    f.heading("One step: the panel, the triangular solve, the update")
    f.text(x0, 50, "the matrix, in place", 11, quiet=True)
    f.box(x0, y0, size, done, "idle")
    f.box(x0, y0 + done, done, size - done, "idle")
    f.line(x0, y0, x0 + done, y0 + done)
    f.text(x0 + done + 40, y0 + done / 2 + 4, "U, finished", 11, quiet=True)
    f.text(x0 + 8, y0 + done + 100, "L, finished", 11, quiet=True)
    px, py = x0 + done, y0 + done
    f.box(px, py, width, width, "blue")
    f.line(px, py, px + width, py + width, "blue")
    f.text(px + 6, py + width - 8, "L11", 11)
    f.text(px + width - 28, py + 16, "U11", 11)
    f.box(px, py + width, width, rest, "blue", "L21", 12)
    f.box(px + width, py, rest, width, "orange", "U12", 12)
    f.box(px + width, py + width, rest, rest, "green", "A22", 12)
    f.line(px + width - 14, py + width + 84, px + width + 34, py + width + 74, arrow=True)
    f.line(px + width + 84, py + width - 12, px + width + 74, py + width + 34, arrow=True)

    tx = 300
    rows = (("blue", "1  panel", ("for each column: search the pivot,", "exchange two rows, divide, update.",
                                  "A chain of dependent steps.")),
            ("plain", "2  exchanges", ("the same rows in all other columns,", "in L on the left as well.")),
            ("orange", "3  triangular solve", ("the rows of U: U12 = L11⁻¹ A12,", "each column by itself.")),
            ("green", "4  update", ("the trailing matrix: A22 − L21 U12,", "a matrix product: most operations.")))
    y = 58
    for colour, head, lines in rows:
        f.box(tx, y, 14, 14, colour)
        f.text(tx + 24, y + 12, head, 12, bold=True)
        f.lines(tx + 160, y + 12, lines)
        y += 24 + 15 * len(lines)
    f.line(tx, y - 6, 680, y - 6)
    f.text(tx, y + 14, "Look-ahead: the update of the next panel's columns comes", 11)
    f.text(tx, y + 29, "first; that panel then runs during the rest of the update.", 11)
    return max(330, y + 44)


@figure("fdtd-cell", "The cells of Yee's scheme",
        "Left: three by three cells. U is at the centre of each cell, P at its lower edge, Q at its left edge. Right: "
        "U needs the four edges of its cell; P and Q need the two cells beside them.", height=330)
def fdtd_cell(f):
    size, x0, y0 = 78, 40, 40
    for j in range(3):
        for i in range(3):
            f.box(x0 + i * size, y0 + j * size, size, size, "idle", radius=0)
    for j in range(4):
        for i in range(4):
            x, y = x0 + i * size, y0 + j * size
            if i < 3:
                border = j in (0, 3)
                f.box(x + size / 2 - 11, y - 9, 22, 18, "plain" if border else "orange", "P", 11)
            if j < 3:
                border = i in (0, 3)
                f.box(x - 9, y + size / 2 - 11, 18, 22, "plain" if border else "green", "Q", 11)
            if i < 3 and j < 3:
                f.box(x + size / 2 - 11, y + size / 2 - 11, 22, 22, "blue", "U", 11)
    f.text(x0, 316, "x \u2192  (index i);  y upwards (index j). Grey: border edges, which never change.", 11, quiet=True)

    f.text(330, 46, "A step of U: from time n to n + 1", 12, bold=True)
    x, y = 372, 76
    f.box(x, y, 60, 60, "idle", radius=0)
    f.box(x + 18, y + 18, 24, 24, "blue", "U", 11)
    for (dx, dy, name, colour) in ((19, -9, "P", "orange"), (19, 51, "P", "orange"), (-9, 19, "Q", "green"), (51, 19, "Q", "green")):
        f.box(x + dx, y + dy, 22, 18 if name == "P" else 22, colour, name, 11)
    f.text(460, 92, "keep \u00b7 U", 12)
    f.text(460, 112, "+ (P above \u2212 P below) \u00b7 \u0394t / (m \u0394y)", 12)
    f.text(460, 132, "\u2212 (Q right \u2212 Q left) \u00b7 \u0394t / (m \u0394x)", 12)

    f.text(330, 180, "A step of P and Q: from n + \u00bd to n + 3/2", 12, bold=True)
    x, y = 372, 200
    f.box(x, y, 60, 60, "idle", radius=0)
    f.box(x + 19, y + 51, 22, 18, "orange", "P", 11)
    f.box(x - 9, y + 19, 18, 22, "green", "Q", 11)
    f.box(x + 18, y + 18, 24, 24, "blue", "U", 11)
    f.box(x - 46, y + 18, 24, 24, "blue", "U", 11)
    f.text(460, 214, "P: + (U \u2212 U below) \u00b7 \u0394t / (e \u0394y)", 12)
    f.text(460, 234, "Q: \u2212 (U \u2212 U left) \u00b7 \u0394t / (e \u0394x)", 12)
    f.text(440, 260, "TE: U = Hz, P = Ex, Q = Ey, m = \u00b5, e = \u03b5", 11, quiet=True)
    f.text(440, 276, "TM: U = Ez, P = \u2212Hx, Q = \u2212Hy, m = \u03b5, e = \u00b5", 11, quiet=True)
    f.box(x + 18, y + 72, 24, 18, "blue", "U", 11)


@figure("cg-split", "A grid shared out over two devices",
        "The rows of the grid are cut into two parts. Each part needs one grid line of the other: its halo. The lines beside "
        "the cut are the border; all others are inner rows, which are multiplied while the halo travels.", height=330)
def cg_split(f):
    size, x0, y0 = 26, 40, 52
    f.text(x0, 34, "p, on device 0", 12, bold=True)
    for j in range(4):
        for i in range(8):
            f.box(x0 + i * size, y0 + j * size, size, size, "orange" if j == 3 else "blue", radius=0)
    for i in range(8):
        f.box(x0 + i * size, y0 + 4 * size + 14, size, size, "idle", radius=0)
    f.text(x0, y0 + 5 * size + 34, "halo: a copy of device 1's first line", 11, quiet=True)
    x1 = 410
    f.text(x1, 34, "p, on device 1", 12, bold=True)
    for i in range(8):
        f.box(x1 + i * size, y0, size, size, "idle", radius=0)
    for j in range(4):
        for i in range(8):
            f.box(x1 + i * size, y0 + size + 14 + j * size, size, size, "orange" if j == 0 else "green", radius=0)
    f.text(x1, y0 + 5 * size + 34, "halo above: a copy of device 0's last line", 11, quiet=True)
    right = x0 + 8 * size
    f.line(right + 6, y0 + 3.5 * size, x1 - 6, y0 + 0.5 * size, arrow=True, width=1.5)
    f.line(x1 - 6, y0 + 1.5 * size + 14, right + 6, y0 + 4.5 * size + 14, arrow=True, width=1.5)
    f.text((right + x1) / 2, y0 + 20, "8 numbers", 11, "middle", quiet=True)
    f.text((right + x1) / 2, y0 + 5 * size + 14, "8 numbers", 11, "middle", quiet=True)
    y = 256
    f.box(x0, y, 18, 18, "blue", radius=0)
    f.box(x0 + 20, y, 18, 18, "green", radius=0)
    f.text(x0 + 46, y + 13, "inner rows: their product needs no halo, so it runs while the halo travels", 12)
    f.box(x0, y + 28, 18, 18, "orange", radius=0)
    f.text(x0 + 46, y + 41, "border: sent to the other device, and multiplied when the halo is there", 12)


@figure("cg-iteration", "One iteration on two devices",
        "Both devices collect their border, multiply inner rows while the halo travels, multiply the border rows, share "
        "p.q, update the residual, share r.r, and update x and p. Arrows cross between the devices three times.", height=300)
def cg_iteration(f):
    steps = (("collect", 48, "plain"), ("inner rows of A p", 150, "blue"), ("border", 56, "orange"), ("r, r\u00b7r", 92, "green"),
             ("x and p", 92, "purple"))
    gap = (2, 2, 34, 34)
    for lane, (y, name) in enumerate(((60, "device 0"), (200, "device 1"))):
        f.text(24, y + 20, name, 12, bold=True)
        x = 104
        places = []
        for k, (words, width, colour) in enumerate(steps):
            f.box(x, y, width, 32, colour, words, 11)
            places.append((x, x + width))
            x += width + (gap[k] if k < len(gap) else 0)
        copy = (places[1][0] + 8, 104)
        f.box(copy[0], y + (40 if lane == 0 else -30), copy[1], 22, "idle", "halo", 11)
    y0, y1 = 92, 200
    for k, words in ((2, "p\u00b7q"), (3, "r\u00b7r")):
        x = places[k][1]
        f.line(x + 3, y0, x + 31, y1, arrow=True)
        f.line(x + 3, y1, x + 31, y0, arrow=True)
        f.text(x + 17, y0 - 12, words, 11, "middle", quiet=True)
    middle = copy[0] + copy[1] / 2
    f.line(middle - 12, y0 + 32, middle + 12, y1 - 32, arrow=True)
    f.line(middle - 12, y1 - 32, middle + 12, y0 + 32, arrow=True)
    f.line(104, 262, 640, 262, arrow=True)
    f.text(640, 280, "time", 11, "end", quiet=True)
    f.text(104, 30, "The halo travels beside the inner rows; the two sums are waited for.", 12, quiet=True)


# Pictures of single requests, as ./lab explain --page shows them. They are drawn from what tools/counts has counted.

COUNTED = json.loads((pathlib.Path(__file__).parents[1] / "results/counts/requests.json").read_text(encoding="utf-8"))
LARGE = 22  # text that can be read on a phone, too


def plural(count, noun):
    return f"{count} {noun}{'' if count == 1 else 's' if noun[-1] != 's' else 'es'}"


def request_heading(f, y, one, words):
    """The name of a rung and what its request does. Returns where the picture below it begins."""
    f.text(20, y, one["variant"], LARGE, bold=True, mono=True)
    f.text(20, y + 30, words, LARGE)
    return y + 44


@figure("word-coalesced", "A load of a warp that is coalesced, and one that is not",
        "Words of memory in sectors of eight. In the first load neighbouring lanes read neighbouring words and use all of "
        "their sectors, in the second they read every third word and use a third.")
def word_coalesced(f):
    y, cell = 34, 19
    for one in COUNTED["coalesced"]:
        request = one["requests"][0]
        lane_at = {at // 4: lane for lane, at in request["lanes"]}
        sectors = sorted({word // 8 for word in lane_at})
        y = request_heading(f, y, one, f"{len(lane_at)} lanes read in {plural(len(sectors), 'sector')}; {4 * len(lane_at)} of "
                                       f"{32 * len(sectors)} bytes are used")
        for n, sector in enumerate(sectors):
            x, top = 20 + n % 4 * (8 * cell + 15), y + n // 4 * 34
            f.box(x - 3, top - 3, 8 * cell + 4, 30)
            for w in range(8):
                lane = lane_at.get(8 * sector + w)
                f.box(x + w * cell, top, cell - 2, 24, "idle" if lane is None else "blue", "" if lane is None else str(lane), 13)
        y += -(-len(sectors) // 4) * 34 + 34
    f.text(20, y - 8, "frame: a sector, 32 bytes; number: the lane", LARGE, quiet=True)
    return y + 12


@figure("word-bank", "A request to local memory without bank conflicts, and one with them",
        "Words of local memory, 32 banks as columns. In the first request no bank has two words to deliver, so one pass "
        "is enough. In the second all lanes meet in a few banks, and each row takes a pass of its own.")
def word_bank(f):
    y, cell = 34, 20.6
    for one in COUNTED["bank"]:
        request = one["requests"][0]
        lanes = [(lane, at // 4) for lane, at in request["lanes"] if lane < 16]
        wide = request["bytes"] // 4
        rows = {}
        for _, word in lanes:
            for w in range(word, word + wide):
                rows.setdefault(w % 32, set()).add(w // 32)
        passes = max(map(len, rows.values()))
        y = request_heading(f, y, one, f"{len(lanes)} lanes use {len(rows)} of 32 banks: {plural(passes, 'pass')}")
        last = max(word // 32 for _, word in lanes)
        for bank in range(32 * (last + 1)):
            f.box(20 + bank % 32 * cell, y + bank // 32 * 30, cell - 2, 26, "idle")
        for lane, word in lanes:
            f.box(20 + word % 32 * cell, y + word // 32 * 30, wide * cell - 2, 26,
                  ("blue", "orange", "green", "purple")[word // 32 % 4], str(lane), 18)
        y += (last + 1) * 30 + 34
    f.text(20, y - 8, "column: a bank; colour: a pass", LARGE, quiet=True)
    f.text(20, y + 20, "number: the lane (half a warp, 8 bytes each)", LARGE, quiet=True)
    return y + 38


@figure("word-divergence", "The same additions in one warp, and spread over eight",
        "Eight warps of 32 lanes, one above the other. In the first rung the lanes that add stand side by side in one "
        "warp; the other warps have nothing to do. In the second each warp has two of them, and its other lanes wait.")
def word_divergence(f):
    y, cell = 34, 18
    for one in COUNTED["divergence"]:
        adding = {request["warp"]: [lane for lane, _ in request["lanes"]] for request in one["requests"]}
        y = request_heading(f, y, one, f"{sum(map(len, adding.values()))} lanes add: {plural(len(adding), 'request')}")
        for warp in range(one["warps"]):
            f.text(20, y + 17, f"warp {warp}", LARGE - 2)
            for lane in range(32):
                colour = "idle" if warp not in adding else "blue" if lane in adding[warp] else "orange"
                f.box(100 + lane * cell, y, cell - 2, 22, colour)
            y += 26
        y += 36
    f.text(20, y - 8, "blue: adds; orange: waits while its warp runs", LARGE, quiet=True)
    f.text(20, y + 20, "empty: its warp does not run", LARGE, quiet=True)
    return y + 38


FIRST_RUN = json.loads((RESULTS / "reduction-ladder28.json").read_text(encoding="utf-8"))[0]


@figure("first-run", f"The ladder of lab 02 on an {FIRST_RUN['devices'][0]['name'].removeprefix('NVIDIA ')}",
        "A run in a terminal: for each CUDA variant the time of the kernel, the bandwidth, and a bar as long as its percentage of the "
        "device's limit. From the first to the last variant the bars grow fivefold.")
def first_run(f):
    """The stored run of lab 02 on an H200, as the program shows it, with a bar for each percentage."""
    size, y, left = 12, 30, 20
    f.text(left, y, f"$ ./lab run reduction --n 2^28   # the sum of {FIRST_RUN['problem']['n']:,} floats", size, mono=True)
    y += 26
    for x, words, anchor in ((left, "variant", "start"), (270, "kernel ms", "end"), (340, "GB/s", "end"), (410, "% bound", "end"),
                             (640, "result", "start")):
        f.text(x, y, words, size, anchor, quiet=True, mono=True)
    for one in FIRST_RUN["variants"]:
        if one["backend"] != "cuda" or one["status"] != "passed":
            continue
        y += 21
        f.text(left, y, one["name"], size, mono=True)
        for x, words in ((270, f"{one['kernel_ms']['median']:.4f}"), (340, f"{one['gb_per_s']:.0f}"),
                         (410, f"{one['percent_of_ceiling']:.1f}")):
            f.text(x, y, words, size, "end", mono=True)
        f.box(425, y - 11, 1.9 * one["percent_of_ceiling"], 14, "purple" if "cub" in one["name"] else "blue")
        f.text(640, y, "right", size, mono=True)
    f.line(615, 44, 615, y + 6, dash=True)
    y += 28
    f.text(left, y, "dashed: what the memory allows, measured by copying in the same run; purple: NVIDIA's own library", 11.5, quiet=True)
    return y + 18


if __name__ == "__main__":
    from texts import figures  # with those of this file and of lessons.py

    folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
    for name, drawn in figures.items():
        (folder / f"{name}.svg").write_text(drawn(), encoding="utf-8")
