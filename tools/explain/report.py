"""What the plugin has counted, by line of the kernels, in tables and in words."""

import functools
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

# What OpenCL calls a local memory, a work-group and a work-item.
OPENCL = {"local": "local", "group": "work-group", "item": "work-item"}
CUDA = {"local": "shared", "group": "block", "item": "thread"}
COUNTED = ("requests", "lanes", "splits", "bytes", "sectors", "min_sectors", "passes", "min_passes", "same")


@dataclass
class Line:
    """One kind of access, or the branches, of one line of a kernel, over all launches of a run."""
    file: str
    line: int
    kind: str  # load, store, atomic or branch
    space: str  # of memory: global, constant, and local (shared in CUDA); of a branch: ""
    width: int = 0  # bytes for one lane
    counts: Counter = field(default_factory=Counter)
    worst: list = field(default_factory=list)  # lanes and addresses of the request furthest from the least
    excess: int = -1  # of that request
    joined: int = 1  # so many loads of the source count as one, because ptxas makes one of them

    @property
    def what(self):
        return f"{self.space} {self.kind}".strip()

    @property
    def banked(self):
        return self.space in ("local", "shared")

    def mean(self, name):
        return self.counts[name] / self.counts["requests"]


@dataclass
class Explained:
    """One variant: its lines, and its sums."""
    variant: str
    options: list
    warp: int
    lines: list
    launches: list
    sums: Counter

    @property
    def words(self):
        return CUDA if self.variant.startswith("cuda_") else OPENCL


def explained(variant, options, warp, launches):
    lines, sums = {}, Counter()
    for launch in launches:
        for name in ("groups", "warps", "barriers", "idle"):
            sums[name] += launch[name]
        for name in ("instructions", "thread_instructions"):
            if name in launch:
                sums[name] += launch[name]
        sums["launches"] += 1
        sums["items"] += launch["items"][0] * launch["items"][1] * launch["items"][2]
        for site in launch["sites"]:
            space = "" if site["kind"] == "branch" else site["space"]
            line = lines.setdefault((site["file"], site["line"], space, site["kind"]),
                                    Line(site["file"], site["line"], site["kind"], space))
            for name in COUNTED:
                line.counts[name] += site[name]
            line.width = max(line.width, site["width"])
            line.joined = max(line.joined, site.get("joined", 1))
            excess = site["excess"]
            if excess > line.excess:
                line.excess, line.worst = excess, site["worst"]
            if site["kind"] == "branch":
                sums["branches"] += site["requests"]
                sums["splits"] += site["splits"]
            else:
                part = ("local" if space in ("local", "shared") else
                        "constant" if space == "constant" and variant.startswith("cuda_") else "global")
                for name in COUNTED:
                    sums[f"{part}_{name}"] += site[name]
                if "conflicts" in site:
                    sums["conflicts"] += site["conflicts"]
    return Explained(variant, options, warp, sorted(lines.values(), key=lambda l: (l.file, l.line, l.kind, l.space)), launches, sums)


@functools.cache
def text_of(root, file):
    """The lines of a kernel's file; none where it is not at hand."""
    try:
        return (Path(root) / file).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return []


def source_of(root, line):
    text = text_of(root, line.file)
    return text[line.line - 1].strip() if 0 < line.line <= len(text) else ""


def cells(line):
    """The columns of a line: requests, lanes, and per request sectors and passes, with the least possible in brackets."""
    if line.kind == "branch":
        return [f"{line.counts['requests']:,}", f"{line.mean('lanes'):.1f}", f"splits {line.counts['splits']:,}", ""]
    pair = lambda name: f"{line.mean(name):.1f} ({line.mean('min_' + name):.1f})"
    return [f"{line.counts['requests']:,}", f"{line.mean('lanes'):.1f}", "" if line.banked else pair("sectors"),
            pair("passes") if line.banked else ""]


def table(root, one, width=110):
    """The lines of each file of kernels, as text."""
    text = []
    for file in dict.fromkeys(line.file for line in one.lines):
        rows = [line for line in one.lines if line.file == file and (line.kind != "branch" or line.counts["splits"])]
        wide = max(24, width - 66)
        text.append(f"{Path(file).name:<{wide + 5}} {'':<15}{'requests':>10}{'lanes':>7}{'sectors (least)':>17}{'passes (least)':>16}")
        shown = None
        for line in rows:
            source = "" if line.line == shown else source_of(root, line)
            if len(source) > wide:
                source = source[:wide - 3] + "..."
            a, b, c, d = cells(line)
            number = "" if line.line == shown else line.line
            text.append(f"{number:>4} {source:<{wide}} {line.what:<15}{a:>10}{b:>7}{c:>17}{d:>16}".rstrip())
            shown = line.line
        text.append("")
    return text


def summary(one):
    """What the whole run did, in a few sentences."""
    s, words = one.sums, one.words
    printed = [f"{s['launches']} launch{'es' if s['launches'] > 1 else ''}, {s['groups']:,} {words['group']}s, {s['warps']:,} warps; "
            f"barriers per {words['group']}: {s['barriers'] / max(1, s['groups']):.3g}"]
    if s["global_sectors"]:
        printed.append(f"global memory: {32 * s['global_sectors']:,} bytes moved in sectors for {s['global_bytes']:,} bytes that were "
                    f"asked for ({32 * s['global_sectors'] / s['global_bytes']:.2f} times)")
    if s["local_passes"]:
        printed.append(f"{words['local']} memory: {s['local_passes']:,} passes where {s['local_min_passes']:,} would do")
    for line in one.lines:
        if line.joined > 1:
            printed.append(f"line {line.line}: {line.joined} loads side by side count as one of {line.width} bytes, which ptxas makes of them")
    if s["branches"]:
        printed.append(f"branches that split a warp: {s['splits']:,} of {s['branches']:,}")
    if s["idle"]:
        printed.append(f"{words['item']}s that access no memory: {s['idle']:,} of {s['items']:,}")
    return printed


def distance(line):
    """How many bytes lie between neighbouring lanes of the worst request; 0 where that differs."""
    steps = {(b[1] - a[1]) // (b[0] - a[0]) for a, b in zip(line.worst, line.worst[1:])}
    return abs(steps.pop()) if len(steps) == 1 else 0


def findings(one):
    """What costs most, worst first: requests, sectors or passes too many, the sentence, and the word that explains it."""
    found = []
    for line in one.lines:
        c = line.counts
        where = f"{Path(line.file).name}, line {line.line}"
        lanes = f"a warp's {len(line.worst)} {line.kind}s"
        if line.kind == "branch":
            if c["splits"]:
                found.append((c["splits"], f"{where}: this branch splits a warp {c['splits']:,} of {c['requests']:,} times, and "
                                           "the lanes of one side wait for those of the other", "divergence"))
            continue
        apart = distance(line)
        words = len({address for _, address in line.worst})
        how = (f"{lanes} lie {apart:,} bytes apart" if apart > line.width else
               f"{lanes} go to {words} places" if words < len(line.worst) else f"{lanes} do not lie side by side")
        unit, size, memory, word = ("passes", 128, f" in {line.space} memory", "bank") if line.banked else ("sectors", 32, "", "coalesced")
        if too_many := c[unit] - c[f"min_{unit}"]:
            least = -(-len({a + k for _, a in line.worst for k in range(line.width)}) // size)
            found.append((too_many, f"{where}: {how}{memory}: {least + line.excess} {unit} where {least} would do; in all "
                                    f"{c[unit]:,} {unit} where {c[f'min_{unit}']:,} would do", word))
        if line.kind == "atomic" and c["same"] > c["requests"]:
            found.append((c["same"] - c["requests"], f"{where}: on average {c['same'] / c['requests']:.1f} lanes of a warp change one "
                                                     "address, one after the other", "atomic"))
        full = -(-c["lanes"] // one.warp)
        if c["requests"] > full:
            found.append((c["requests"] - full, f"{where}: on average {line.mean('lanes'):.1f} of {one.warp} lanes {line.kind}: "
                                                f"{c['requests']:,} requests where full warps would need {full:,}", "divergence"))
    if one.sums["idle"] >= one.warp:
        found.append((one.sums["idle"] // one.warp, f"{one.sums['idle']:,} of {one.sums['items']:,} {one.words['item']}s access no memory", "warp"))
    return sorted(found, key=lambda f: -f[0])


LADDER = (("variant", 24), ("global requests", 17), ("bytes moved", 13), ("per byte asked", 16), ("local passes", 14), ("per least", 11),
          ("lanes", 7), ("splits", 8), ("barriers", 10))


def ladder_row(one):
    s = one.sums
    requests = s["global_requests"] + s["local_requests"]
    ratio = lambda a, b: f"{a / b:.2f}" if b else "-"
    return [one.variant, f"{s['global_requests']:,}", f"{32 * s['global_sectors']:,}", ratio(32 * s["global_sectors"], s["global_bytes"]),
            f"{s['local_passes']:,}", ratio(s["local_passes"], s["local_min_passes"]),
            ratio(s["global_lanes"] + s["local_lanes"], requests), f"{s['splits']:,}", ratio(s["barriers"], s["groups"])]


def ladder(all_explained):
    names = [name.replace("local", all_explained[0].words["local"]) for name, _ in LADDER]
    return ["".join(f"{cell:{'>' if n else '<'}{width}}" for n, (cell, (_, width)) in enumerate(zip(row, LADDER)))
            for row in (names, *map(ladder_row, all_explained))]


def as_json(root, lab, one):
    return {"lab": lab, "variant": one.variant, "options": one.options, "warp": one.warp, "sums": dict(sorted(one.sums.items())),
            "lines": [{"file": l.file, "line": l.line, "text": source_of(root, l), "kind": l.kind, "space": l.space or None,
                       "width": l.width, **{name: l.counts[name] for name in COUNTED}} for l in one.lines],
            "findings": [{"cost": cost, "text": text, "word": word} for cost, text, word in findings(one)]}
