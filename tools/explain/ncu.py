"""./lab profile: what a GPU counts while a CUDA variant runs, by NVIDIA's profiler Nsight Compute, beside what explain counts
without a GPU."""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

import page
import report
import run
from command import Parser, Refusal, refusing, write

LAUNCHES = 200  # at most so many are profiled: each runs some forty times
# What the hardware counts, by the name of the same count of ./lab explain. Several metrics are added.
METRICS = {
    "global_requests": ["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"],
    "global_sectors": ["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"],
    "local_passes": ["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
                     "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"],
    "conflicts": ["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
                  "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"],
    "warps": ["sm__warps_launched.sum"],
    "instructions": ["smsp__inst_executed.sum"],
    "thread_instructions": ["smsp__thread_inst_executed.sum"],
}
# The columns of ncu's page of the source that are added up.
COLUMNS = {"samples": "# Samples", "executed": "Instructions Executed", "lanes": "Predicated-On Thread Instructions Executed",
           "requests": "L1 Tag Requests Global", "sectors": "L2 Theoretical Sectors Global",
           "min_sectors": "L2 Theoretical Sectors Global Ideal", "passes": "L1 Wavefronts Shared",
           "min_passes": "L1 Wavefronts Shared Ideal"}
KERNEL = ("kernel", "launches", "us", "memory", "DRAM", "units", "warps", "registers", "limited by")
HEADINGS = ("requests", "sectors each", "passes per least", "lanes", "waits")
SECTIONS = ("SourceCounters", "WarpStateStats", "Occupancy", "SpeedOfLight", "LaunchStats")
TIME, MEMORY, DRAM, ARITHMETIC, ACTIVE = (
    "gpu__time_duration.sum", "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
    "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed", "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "sm__warps_active.avg.pct_of_peak_sustained_active")
FITTING = "sm__maximum_warps_per_active_cycle_pct"
LIMITS = {"registers": "registers", "shared_mem": "shared memory", "warps": "the size of its blocks", "blocks": "the number of blocks"}
WAITED = re.compile(r"smsp__average_warps_issue_stalled_(\w+)_per_issue_active\.ratio")
# What a warp waits for, by Nsight Compute's word (its documentation, "Warp Stall Reasons"), and the word of docs/kernels.md that
# says what helps.
WAITS = {"long_scoreboard": ("data from global memory", "in-flight"), "short_scoreboard": ("data from shared memory", "bank"),
         "mio_throttle": ("room in the queue to shared memory", "bank"), "lg_throttle": ("room in the queue to global memory", "vectorized"),
         "barrier": ("other warps at a barrier", "barrier"), "membar": ("a memory fence", "barrier"),
         "math_pipe_throttle": ("an arithmetic unit", "memory-bound"), "wait": ("the instruction before, a few cycles", "latency"),
         "no_instruction": ("instructions that are not in the cache yet", "unroll"), "imc_miss": ("constants and arguments", "cache"),
         "branch_resolving": ("the target of a branch", "divergence"), "drain": ("its last stores", "coalesced"),
         "dispatch_stall": ("the dispatcher", "latency"), "tex_throttle": ("the texture unit", "cache"),
         "sleeping": ("a sleep that it asked for", "latency"), "gmma": ("the tensor cores", "tensor-core"),
         "not_selected": ("its turn: another warp was chosen", "warp")}


def number(text):
    return float(text.replace(",", "")) if re.fullmatch(r"[\d,.]+", text or "") else 0.0


def launches_of(table):
    """Of ncu --page raw --csv: a dictionary for each launch. After the line of headings comes one of units."""
    launches = list(csv.DictReader(line for line in table.splitlines() if line.startswith('"')))[1:]
    launches = [one for one in launches if "fma_kernel" not in one["Kernel Name"]]  # which measures the device
    if not launches:
        raise Refusal("ncu has seen no kernel")
    return [{"kernel": one["Kernel Name"], **one} for one in launches]


def sums_of(launches):
    """The counts of ./lab explain, of these launches."""
    if missing := [name for names in METRICS.values() for name in names if name not in launches[0]]:
        raise Refusal(f"ncu does not count {missing[0]} on this device")
    sums = {what: sum(int(number(one[name])) for one in launches for name in names) for what, names in METRICS.items()}
    return {**sums, "launches": len(launches)}


def lines_of(root, table, part):
    """Of ncu --page source --print-source cuda,sass --csv: {(file, line): counts}. Each launch has a block for each file, with
    headings of its own; below a line stand its machine instructions, which are skipped.
    @param part of all counts that belongs to the first run, because a program runs a variant twice"""
    counts, names, file = defaultdict(Counter), [], ""
    for row in csv.reader(table.splitlines()):
        if row[:1] == ["File Path"]:
            file = os.path.relpath(row[1], root)
        elif row[:1] == ["Line No"]:
            names = row
        elif len(row) == len(names) and row[0].isdigit():
            here, line = dict(zip(names, row)), counts[file, int(row[0])]
            for what, name in COLUMNS.items():
                line[what] += part * number(here.get(name))
    return {place: line for place, line in counts.items() if line["executed"]}


@dataclass
class Profile:
    """A variant as a GPU has run it."""
    variant: str
    options: list
    device: str
    launches: list
    sums: dict
    lines: dict  # {(file, line): counts}
    explained: report.Explained | None = None  # the same variant at a small size, without a GPU
    without: str = "the build has no CUDA emulator"  # why it was not explained
    whole: bool = True  # whether all launches were profiled

    def kernels(self):
        """{name: its launches}, the longest first."""
        kernels = defaultdict(list)
        for one in self.launches:
            kernels[re.sub(r"<.*|\(.*", "", one["kernel"].removeprefix("void ")).split("::")[-1]].append(one)
        return dict(sorted(kernels.items(), key=lambda kernel: -total(kernel[1], TIME)))

    def counted(self, place):
        """What explain counts of a line: least and actual sectors and passes, and requests; or nothing."""
        sums = Counter()
        for line in self.explained.lines if self.explained else ():
            if (line.file, line.line) == place and line.kind != "branch":
                sums.update(line.counts if line.banked else {**line.counts, "global_requests": line.counts["requests"]})
        return sums


def total(launches, metric):
    return sum(number(one.get(metric)) for one in launches)


def mean(launches, metric):
    """Of a percentage, by the time of each launch."""
    return sum(number(one.get(metric)) * number(one[TIME]) for one in launches) / max(1.0, total(launches, TIME))


def waits(launches):
    """[(share, what a warp waits for)] of the time that warps wait, the longest first."""
    sums = Counter()
    for one in launches:
        for name in one:
            if (found := WAITED.fullmatch(name)) and found[1] != "selected":
                sums[found[1]] += number(one[name]) * number(one[TIME])
    all_of_them = sum(sums.values())
    return [(value / all_of_them, name) for name, value in sums.most_common() if value]


def limit_of(launch):
    """What limits the number of warps on a multiprocessor."""
    blocks = {words: number(launch[name]) for part, words in LIMITS.items() if (name := f"launch__occupancy_limit_{part}") in launch}
    return min(blocks, key=blocks.get) if blocks else "?"


def ran(words, environment=None):
    try:
        return subprocess.run(words, capture_output=True, text=True, errors="replace", check=False, env=environment, stdin=subprocess.DEVNULL)
    except OSError as error:
        raise Refusal(f"cannot run {words[0]}: {error.strerror}") from None


def profiler():
    found = shutil.which("ncu") or next(iter(sorted(map(str, Path("/usr/local/cuda/bin").glob("ncu")))), None)
    if not found:
        raise Refusal("NVIDIA's profiler ncu is not installed; it comes with the CUDA toolkit, or as nsight-compute. "
                      "./lab explain LAB --cuda counts without it")
    return found


def profiled(build, lab, variant, options, sections=SECTIONS):
    """Profiles one run of a variant. Without sections only the sums are counted, which takes less time.
    @returns all launches, the source lines as ncu prints them, and the program's results"""
    with tempfile.TemporaryDirectory(prefix="gpulab-profile-") as scratch:
        results, counted = Path(scratch, "results.json"), Path(scratch, "counted.ncu-rep")
        program = [str(build / "bin" / lab), "--variant", variant, "--repeat", "1", "--warmup", "0", "--json", str(results), *options]
        metrics = ",".join([name for names in METRICS.values() for name in names] + [TIME])
        done = ran([profiler(), "-f", "-o", str(counted), "--clock-control", "none", "--launch-count", str(LAUNCHES), "--metrics", metrics,
                    *(word for section in sections for word in ("--section", section)), *program],
                   run.on_a_gpu() | {"GPULAB_GUARD_BYTES": "0", "GPULAB_TEST_CEILINGS": "1", "NO_COLOR": "1"})
        printed = done.stdout + done.stderr
        if "ERR_NVGPUCTRPERM" in printed:
            raise Refusal("this system lets only root read the GPU's counters; its administrator can allow it to all (NVIDIA: "
                          "\"ERR_NVGPUCTRPERM\"). ./lab explain LAB --cuda counts without them")
        if not results.is_file():
            lines = printed.strip().splitlines()
            raise Refusal(f"{variant}: no result: {' '.join(([line for line in lines if not line.startswith('==')] or lines)[-1:])}")
        outcome = json.loads(results.read_text(encoding="utf-8"))
        if outcome["variants"][0]["status"] != "passed":
            raise Refusal(f"{variant}: its result is {outcome['variants'][0]['status']}: {outcome['variants'][0].get('reason') or ''}".rstrip(": "))
        pages = [ran([profiler(), "-i", str(counted), "--page", *words, "--csv"]).stdout
                 for words in (["raw", "--print-units", "base"], ["source", "--print-source", "cuda,sass"])[:1 + bool(sections)]]
    launches = launches_of(pages[0])
    return launches, "".join(pages[1:]), outcome


def device_of(outcome):
    return next(one["name"] for one in outcome["devices"] if one["id"] == outcome["variants"][0]["device"])


def profile(root, build, lab, variant, options, emulated=True):
    found, source, outcome = profiled(build, lab, variant, options)
    launches = run.one_run(found)
    lines = lines_of(root, source, len(launches) / len(found))
    one = Profile(variant, options, device_of(outcome), launches, sums_of(launches), lines, whole=len(found) < LAUNCHES)
    if emulated and run.has_emulator(build):
        small = run.options_for(lab, variant, [])
        try:
            one.explained = report.explained(variant, small, 32, run.launches(root, build, lab, variant, small)[0])
        except Refusal as refusal:
            one.without = str(refusal)
    return one


def kernel_cells(name, launches):
    """What the table of kernels has of one: its columns as text."""
    percent = [f"{mean(launches, metric):.0f}%" for metric in (MEMORY, DRAM, ARITHMETIC, ACTIVE)]
    return [name, str(len(launches)), f"{total(launches, TIME) / 1000:.1f}", *percent,
            f"{number(launches[0].get('launch__registers_per_thread')):.0f}", limit_of(launches[0])]


def table_of_kernels(profiles):
    rows = [KERNEL, *(kernel_cells(*kernel) for one in profiles for kernel in one.kernels().items())]
    return [f"{row[0][:35]:<36}" + "".join(f"{cell:>10}" for cell in row[1:-1]) + f"  {row[-1]}" for row in rows]


def cells(one, place, line):
    """The columns of a line: requests, sectors for each and passes per least, both with explain's in brackets; lanes; waits."""
    counted, samples = one.counted(place), sum(each["samples"] for each in one.lines.values())
    ratio = lambda a, b: f"{a / b:.2f}" if b else ""
    bracket = lambda value: f" ({value})" if value else ""
    return [f"{line['requests']:,.0f}" if line["requests"] else "",
            ratio(line["sectors"], line["requests"]) + bracket(ratio(counted["sectors"], counted["global_requests"])),
            ratio(line["passes"], line["min_passes"]) + bracket(ratio(counted["passes"], counted["min_passes"])),
            f"{line['lanes'] / line['executed']:.1f}", f"{100 * line['samples'] / samples:.0f}%" if samples else ""]


def table_of_lines(root, one, wide=52):
    text = []
    for file in dict.fromkeys(file for file, _ in one.lines):
        text.append(f"{Path(file).name:<{wide + 5}}" + "".join(f"{name:>{width}}" for name, width in zip(HEADINGS, (11, 17, 17, 7, 7))))
        for place, line in sorted(one.lines.items()):
            if place[0] == file:
                source = report.source_of(root, report.Line(file, place[1], "", ""))
                source = source if len(source) <= wide else source[:wide - 3] + "..."
                text.append((f"{place[1]:>4} {source:<{wide}}" + "".join(
                    f"{cell:>{width}}" for cell, width in zip(cells(one, place, line), (11, 17, 17, 7, 7)))).rstrip())
        text.append("")
    return text


def findings(one):
    """What the numbers say: a sentence, and the word of docs/kernels.md that explains it."""
    found, launches = [], one.launches
    memory, dram, units, active = (mean(launches, metric) for metric in (MEMORY, DRAM, ARITHMETIC, ACTIVE))
    if dram >= 75:
        found.append((f"the device's memory is busy {dram:.0f}% of the time: only fewer bytes help now", "memory-bound"))
    elif memory >= 75:
        found.append((f"caches or shared memory are busy {memory:.0f}% of the time: ask for less, or keep it in registers", "register"))
    if units >= 75:
        found.append((f"the arithmetic units are busy {units:.0f}% of the time: only fewer or cheaper instructions help now", "memory-bound"))
    blocks, multiprocessors = (max(number(one.get(name)) for one in launches) for name in ("launch__grid_size", "launch__sm_count"))
    if multiprocessors and blocks < multiprocessors:
        found.append((f"the largest launch has {blocks:.0f} blocks for {multiprocessors:.0f} multiprocessors: most of them idle", "grid"))
    for (file, number_of_line), line in one.lines.items():
        where = f"{Path(file).name}, line {number_of_line}"
        if line["sectors"] > 1.1 * line["min_sectors"] > 0:
            found.append((f"{where}: {line['sectors']:,.0f} sectors where {line['min_sectors']:,.0f} would do", "coalesced"))
        if line["passes"] > 1.1 * line["min_passes"] > 0:
            found.append((f"{where}: {line['passes']:,.0f} passes of shared memory where {line['min_passes']:,.0f} would do", "bank"))
    executed = sum(line["executed"] for line in one.lines.values())
    for (file, number_of_line), line in one.lines.items():
        if line["executed"] > 0.2 * executed and line["lanes"] < 24 * line["executed"]:
            found.append((f"{Path(file).name}, line {number_of_line}: {100 * line['executed'] / executed:.0f}% of all instructions run with "
                          f"{line['lanes'] / line['executed']:.1f} of 32 lanes on average", "divergence"))
    if max(dram, memory, units) < 75:
        for share, name in waits(launches)[:2]:
            what, word = WAITS.get(name, (name.replace("_", " "), "latency"))
            found.append((f"{100 * share:.0f}% of the time that warps wait, they wait for {what}", word))
        if active < 50:
            fitting = mean(launches, FITTING)
            why = f"{limit_of(launches[0])} leaves room for {fitting:.0f}%" if fitting < 90 else "more would fit: the launches have too few blocks"
            found.append((f"on average {active:.0f}% of the warps that a multiprocessor can hold are there; {why}", "occupancy"))
    return found


def timeline(build, lab, variant, options):
    """What copies and kernels of lab 05 did at the same time: a profiler runs one after another."""
    if lab != "streams":
        return ""
    done = ran([str(build / "bin" / lab), "--variant", variant, "--lanes", *options], run.on_a_gpu() | {"NO_COLOR": "1"})
    drawn = re.search(rf"(?m)^{variant}.*: overlap .*\n(?: .*\n)+", done.stdout)
    return "" if not drawn else (f"\nAt the same time, without the profiler:\n{drawn[0]}"
                                 "Nsight Systems shows the same commands by name: nsys profile --trace=cuda,nvtx "
                                 f"{os.path.relpath(build)}/bin/{lab} --variant {variant}\n")


def show(root, profiles):
    one = profiles[0]
    print(f"{' '.join([one.variant, *one.options])} on {one.device}, counted by Nsight Compute\n")
    print("\n".join([*table_of_kernels(profiles), "", *table_of_lines(root, one)]))
    print("What it says:")
    for text, word in findings(one):
        print(f"- {text} (docs/kernels.md#{word})")
    if not one.whole:
        print(f"- only the first {LAUNCHES} launches were counted")
    print(f"\nIn brackets: what ./lab explain counts without a GPU, at {' '.join(one.explained.options)}." if one.explained else
          f"\nNo counts of ./lab explain beside these: {one.without}")
    print("Times under a profiler are longer than others: compare them with each other only (./lab run measures).")


def as_page(root, lab, profiles):
    """The page of explain, with the hardware's counts. The redder a line, the longer warps wait there."""
    content = []
    for one in profiles:
        files = {}
        for (file, at), line in sorted(one.lines.items()):
            counts = files.setdefault(file, {"name": Path(file).name, "text": report.text_of(root, file), "counts": {}})["counts"]
            requests, sectors, passes, lanes, waited = cells(one, (file, at), line)
            counts[at] = [{"what": waited, "requests": requests, "lanes": lanes, "sectors": sectors, "passes": passes, "waste": line["samples"]}]
        content.append({"variant": one.variant, "options": " ".join(one.options), "warp": 32, "summary": [", ".join(map(" ".join, zip(KERNEL, kernel_cells(*kernel)))) for kernel in one.kernels().items()],
                        "findings": [text for text, _ in findings(one)], "files": files, "kernels": []})
    return page.filled(lab, content, f"Counted on an {profiles[0].device} by Nsight Compute; in brackets what explain counts without a GPU.",
                       ["waits", "requests", "lanes", "sectors a request", "passes per least"], "The redder a line, the longer warps wait there.")


def baseline_of(root, lab, variant):
    """The library's variant that a lab measures beside a variant: of the same list of rungs, and, if there is one, of its precision."""
    for file in sorted(root.glob(f"labs/[0-9][0-9]_{lab}/rungs*.inc")):
        text = file.read_text(encoding="utf-8")
        names = re.findall(r"(?ms)^CUDA_\w*RUNG\((\w+),(?:(?!^\w+RUNG).)*?\.baseline = true", text)
        if names and re.search(rf"\({variant},", text):
            return next((name for name in names if name.split("_")[-1] == variant.split("_")[-1]), names[0])
    raise Refusal(f"no library stands beside {variant}")


def main(root, build, words):
    parser = Parser(prog="./lab profile", usage="./lab profile LAB --variant NAME [options]",
                    description="Runs a CUDA variant under NVIDIA's profiler Nsight Compute, and shows what the GPU counted: for each kernel "
                    "its time, how busy memory and arithmetic units were, and what warps waited for; for each line requests, sectors and "
                    "passes, beside what ./lab explain counts without a GPU. What the program takes, such as --n, is passed on.")
    parser.add_argument("lab")
    parser.add_argument("--variant", metavar="NAME", required=True, help="the variant: one of your own, or of the lab")
    parser.add_argument("--baseline", action="store_true", help="show the kernels of the vendor's library below")
    parser.add_argument("--json", metavar="FILE", help="write the counts to this file as JSON")
    parser.add_argument("--page", metavar="FILE", help="write a page to look at in a browser")
    arguments, options = parser.parse_known_args(words)
    profiler()
    known = run.variants(build / "bin" / arguments.lab, "cuda")
    if arguments.variant not in known:
        raise Refusal(f"no CUDA variant '{arguments.variant}'; there are: {' '.join(known)}")
    names = [arguments.variant] + ([baseline_of(root, arguments.lab, arguments.variant)] if arguments.baseline else [])
    profiles = [profile(root, build, arguments.lab, name, options, emulated=name == arguments.variant) for name in names]
    show(root, profiles)
    print(timeline(build, arguments.lab, arguments.variant, options), end="")
    if arguments.json:
        write(arguments.json, json.dumps([{"lab": arguments.lab, "variant": one.variant, "options": options, "device": one.device,
                                           "sums": one.sums, "waits": dict((name, round(share, 4)) for share, name in waits(one.launches)),
                                           "lines": [{"file": place[0], "line": place[1], **line, "explained": one.counted(place)}
                                                     for place, line in sorted(one.lines.items())]}
                                          for one in profiles], indent=1) + "\n")
    if arguments.page:
        write(arguments.page, as_page(root, arguments.lab, profiles))


if __name__ == "__main__":
    sys.exit(refusing(main, Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:], name="profile"))
