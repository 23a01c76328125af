"""What the compiler knows of the CUDA kernels of a lab, without a GPU: registers, spills, occupancy, the loop's instructions.

The figures are those of the build: its objects hold PTX, the GPU's intermediate code, from which the toolkit's ptxas makes
the machine code of the device chosen, as a driver does when a program starts. Where the object is absent, older than its
source, or holds no PTX that the device can take, the source is compiled for the device.
"""

import concurrent.futures
import dataclasses
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

from command import Refusal, whole_number
from launches import launched_block, launches_of
from machine_code import counts_of, innermost_loop, parse_ptx, parse_ptxas, parse_sass
from occupancy import (DEVICES, LIMITS, MAX_THREADS, USUAL_BLOCK, USUAL_DEVICE, WARP, blocks_by, capability_of,
                       device_here, next_step)

# ---- The rungs of a lab -----------------------------------------------------------------------------------------------------

DEFINITION = re.compile(r"^(?:template <[^>]*>\s+)?void (cuda_[a-z0-9_]+)\(", re.MULTILINE)
RUNG = re.compile(r"^CUDA_\w*RUNG\((cuda_\w+),(.*?)\)$", re.MULTILINE | re.DOTALL)


@dataclasses.dataclass
class Rung:
    """A source file with the variants it defines, and how the build compiles it."""
    variants: list
    source: pathlib.Path
    object: pathlib.Path
    command: list
    directory: str
    needs: tuple  # compute capability


def compiled_sources(build, folder):
    """The .cu files of the lab that the build compiles, with its entry of compile_commands.json."""
    file = build / "compile_commands.json"
    if not file.is_file():
        raise Refusal(f"{build} is no build folder: it has no compile_commands.json")
    sources = {}
    for entry in json.loads(file.read_text(encoding="utf-8")):
        source = pathlib.Path(entry["directory"], entry["file"])
        if source.suffix == ".cu" and folder in source.parents:
            sources.setdefault(source, entry)
    if not sources:
        raise Refusal("this build has no CUDA variants: ./lab setup --cuda installs a compiler for them, without a GPU or root")
    return sources


def rungs_of(root, build, lab, variant):
    folders = sorted((root / "labs").glob("[0-9][0-9]_*"))
    folder = next((folder for folder in folders if folder.name[3:] == lab), None)
    if not folder:
        raise Refusal(f"no lab is named '{lab}'; there are: {' '.join(folder.name[3:] for folder in folders)}")
    included = (folder / "rungs.hpp").read_text(encoding="utf-8") if (folder / "rungs.hpp").is_file() else ""
    listed = {}  # name of a variant: the rest of its line; in reading order
    for file in sorted(folder.glob("rungs*.inc"), key=lambda file: included.find(f'"{file.name}"')):
        listed.update(RUNG.findall(file.read_text(encoding="utf-8")))
    if variant and variant not in listed:
        raise Refusal(f"{lab} has no CUDA variant '{variant}'; there are: {' '.join(listed)}")
    rungs = []
    for source, entry in compiled_sources(build, folder).items():
        names = list(dict.fromkeys(DEFINITION.findall(source.read_text(encoding="utf-8"))))
        if variant:
            chosen = [name for name in names if name == variant]
        else:
            chosen = [name for name in names if name in listed and ".baseline" not in listed[name]]
        if not chosen:
            continue
        words = entry.get("arguments") or shlex.split(entry["command"])
        output = pathlib.Path(entry["directory"], words[words.index("-o") + 1])
        needed = max((int(n) for name in chosen for n in re.findall(r"compute_capability = (\d+)", listed[name])), default=0)
        rungs.append(Rung(chosen, source, output, words, entry["directory"], divmod(needed, 10)))
    order = list(listed)
    return sorted(rungs, key=lambda rung: order.index(rung.variants[0]))


# ---- The toolkit ------------------------------------------------------------------------------------------------------------


class Toolkit:
    """nvcc, ptxas and cuobjdump: beside the compiler of the build, on the PATH, or where they usually are."""

    def __init__(self, root, build):
        cache = build / "CMakeCache.txt"
        text = cache.read_text(encoding="utf-8") if cache.is_file() else ""
        nvcc = re.search(r"^CMAKE_CUDA_COMPILER:\w+=(.+)$", text, re.MULTILINE)
        self.folders = [os.path.dirname(os.path.realpath(nvcc[1]))] if nvcc else []
        self.folders += [*os.environ.get("PATH", "").split(os.pathsep), "/usr/local/cuda/bin", str(root / ".cuda/bin")]
        self.ptxas = self.find("ptxas")
        self.cuobjdump = self.find("cuobjdump")
        if not self.ptxas:
            raise Refusal("ptxas of the CUDA toolkit is not installed: ./lab setup --cuda")

    def find(self, program):
        return shutil.which(program, path=os.pathsep.join(self.folders))

    def run(self, *words, cwd=None):
        environment = {**os.environ, "PATH": os.pathsep.join(self.folders)}  # cuobjdump calls nvdisasm
        done = subprocess.run([str(word) for word in words], cwd=cwd, env=environment, text=True, capture_output=True,
                              stdin=subprocess.DEVNULL, check=False)
        if done.returncode != 0:
            printed = (done.stderr or done.stdout).strip().splitlines()
            raise Refusal(f"{pathlib.Path(words[0]).name} failed: {printed[0] if printed else 'it printed nothing'}")
        return done.stdout + done.stderr


def ptx_capability(text):
    target = re.search(r"^\.target sm_(\d+)(\d)(\w?)", text, re.MULTILINE)
    return (int(target[1]), int(target[2])) if target and not target[3] else (99, 0)  # sm_90a runs on nothing else


def architecture(rung, capability):
    """The device for the compiler: "90", or "90a" where the build compiles the rung for that too: its kernels use
    instructions of that device alone, and are empty for "90"."""
    plain = f"{capability[0]}{capability[1]}"
    return plain + "a" if any(f"compute_{plain}a" in word for word in rung.command) else plain


def ptx_of_object(toolkit, rung, capability, scratch):
    """The newest PTX in the rung's object that the device can take, or nothing."""
    if architecture(rung, capability).endswith("a"):
        return None
    if not toolkit.cuobjdump or not rung.object.is_file() or rung.object.stat().st_mtime < rung.source.stat().st_mtime:
        return None
    toolkit.run(toolkit.cuobjdump, "-xptx", "all", rung.object.resolve(), cwd=scratch)
    fitting = {}
    for file in scratch.glob("*.ptx"):
        text = file.read_text(encoding="utf-8")
        if max(rung.needs, (0, 0)) <= ptx_capability(text) <= capability:
            fitting[ptx_capability(text)] = file, text
    return fitting[max(fitting)] if fitting else None


def ptx_of_source(toolkit, rung, capability, scratch):
    """The same from the source, compiled as the build compiles it but for the device."""
    if not (pathlib.Path(rung.command[0]).is_file() or toolkit.find(rung.command[0])):
        raise Refusal(f"the compiler of this build is gone: {rung.command[0]}")
    words, left_out = [], False
    for word in rung.command:
        if not left_out and word not in ("-c", "-o", "-MD", "-MT", "-MF", "-gencode", "--generate-code", "-arch") and \
                not re.match("(--generate-code|-gencode|-arch|--gpu-architecture)=", word):
            words.append(word)
        left_out = word in ("-o", "-MT", "-MF", "-gencode", "--generate-code", "-arch")
    print(f"explain: compiling {rung.source.name} for compute capability {capability[0]}.{capability[1]}", file=sys.stderr)
    file = scratch / "compiled.ptx"
    toolkit.run(*words, f"-arch=compute_{architecture(rung, capability)}", "-ptx", "-o", file, cwd=rung.directory)
    return file, file.read_text(encoding="utf-8")


# ---- The kernels ------------------------------------------------------------------------------------------------------------


def short_names(mangled):
    """{mangled: readable, without namespaces and parameters}"""
    if not mangled or not shutil.which("c++filt"):
        return {name: name for name in mangled}
    told = subprocess.run(["c++filt"], input="\n".join(mangled), text=True, capture_output=True, check=False).stdout
    return {name: shorten(readable) for name, readable in zip(mangled, told.splitlines())}


def shorten(name):
    """void lab::(anonymous namespace)::kernel<float, lab::Sum>(int) becomes kernel<float, Sum>."""
    name = name.replace("(anonymous namespace)::", "")
    name = re.sub(r"(?<!\w)\((?:unsigned )?(?:int|long|bool|char|unsigned)\)(?=-?\d)", "", name)  # a parameter: (int)16
    depth = 0
    for k, letter in enumerate(name):
        depth += (letter == "<") - (letter == ">")
        if letter == "(" and depth == 0:
            name = name[:k]
            break
    name = re.sub(r"\w+::", "", name)
    head = name.split("<")[0]
    return name[head.rindex(" ") + 1:] if " " in head else name


def kernels_of(toolkit, rung, capability):
    """The kernels of a rung for a device: a list of dicts, and what their code was made from."""
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder)
        found = ptx_of_object(toolkit, rung, capability, scratch)
        file, ptx = found or ptx_of_source(toolkit, rung, capability, scratch)
        cubin = scratch / "kernels.cubin"
        told = toolkit.run(toolkit.ptxas, "-v", f"-arch=sm_{architecture(rung, capability)}", file, "-o", cubin)
        code = parse_sass(toolkit.run(toolkit.cuobjdump, "-sass", cubin)) if toolkit.cuobjdump else {}
    known, bounds = parse_ptxas(told), parse_ptx(ptx)
    names = short_names(list(known))
    plain, launches = {name: short.split("<")[0] for name, short in names.items()}, launches_of(rung.source)
    kernels = []
    for name in sorted(known, key=lambda name: list(bounds).index(name) if name in bounds else 0):
        kernel = {"kernel": names[name], **known[name], **bounds.get(name, {"max_threads": None, "dynamic": False})}
        kernel["launched"] = launched_block(plain[name], set(plain.values()), launches)
        kernel["code"] = kernel["loop"] = None
        if name in code:
            loop = innermost_loop(code[name])
            kernel["code"], kernel["loop"] = counts_of(code[name]), counts_of(loop) if loop else None
        kernels.append(kernel)
    return kernels, "object" if found else "source"


def with_occupancy(kernel, device, block, shared):
    """Adds what follows from the launch. block, shared: what the user says of it, or None."""
    kernel["block"] = block or kernel["launched"] or kernel["max_threads"] or USUAL_BLOCK
    kernel["block_from"] = ("--block" if block else "launch" if kernel["launched"] else
                            "launch bounds" if kernel["max_threads"] else "assumed")
    kernel["dynamic_shared"] = shared if shared is not None and kernel["dynamic"] else 0
    launch = kernel["registers"], kernel["block"], kernel["static_shared"] + kernel["dynamic_shared"]
    blocks = blocks_by(device, *launch)
    if kernel["max_threads"] and kernel["block"] > kernel["max_threads"]:
        blocks["launch bounds"] = 0
    least = min(blocks.values())
    kernel["blocks"] = least
    kernel["occupancy"] = 100 * least * -(-kernel["block"] // WARP) / device.warps
    kernel["limited_by"] = [name for name, number in blocks.items() if number == least]
    kernel["next_blocks"], kernel["next_needs"] = 0, []
    if kernel["occupancy"] < 100 and "launch bounds" not in blocks:
        kernel["next_blocks"], kernel["next_needs"] = next_step(device, *launch)
    return kernel


# ---- What is shown ----------------------------------------------------------------------------------------------------------


def table(rows, left):
    """Rows of words as lines, in columns. left: the columns that are not numbers."""
    widths = [max(len(row[k]) for row in rows if len(row) > 1) for k in range(len(rows[-1]))]
    for row in rows:
        if len(row) == 1:
            yield row[0]
        else:
            yield "  ".join(word.ljust(width) if k in left else word.rjust(width)
                            for k, (word, width) in enumerate(zip(row, widths))).rstrip()


def loads(counts):
    return " ".join(f"{number}x{width}" for width, number in counts.items() if number) or "-"


def limit_of(kernel):
    words = " and ".join(kernel["limited_by"])
    if kernel["occupancy"] == 100:
        return "-"
    if kernel["next_needs"]:
        return f"{words}; {kernel['next_blocks']} blocks with {' and '.join(kernel['next_needs'])}"
    return words


def show(rungs):
    """The two tables, and what must be said of their figures. rungs: [(variants, kernels)]"""
    rows = [["kernel", "registers", "spill", "stack", "shared", "block", "blocks", "occupancy", "limited by"]]
    code_rows = [["kernel", "code", "loop", "FMA", "of loop", "MMA", "global loads", "shared loads"]]
    notes = {}
    for variants, kernels in rungs:
        for lines in rows, code_rows:
            lines.append([", ".join(variants) + ("" if kernels else ": no kernel of its own")])
        for kernel in kernels:
            assumed, dynamic = kernel["block_from"] == "assumed", kernel["dynamic"]
            spill = kernel["spill_stores"] + kernel["spill_loads"]
            shared = f"{kernel['static_shared']}+{kernel['dynamic_shared'] or '?'}" if dynamic else str(kernel["static_shared"])
            rows.append(["  " + kernel["kernel"], str(kernel["registers"]), str(spill), str(kernel["stack"]), shared,
                         f"{kernel['block']}{'?' if assumed else ''}", str(kernel["blocks"]), f"{kernel['occupancy']:.0f} %",
                         limit_of(kernel)])
            if assumed:
                notes["block"] = f"block ?: no constant in the code, so {USUAL_BLOCK} threads are assumed: --block N"
            if dynamic and not kernel["dynamic_shared"]:
                notes["shared"] = "shared +?: more is chosen at the launch, none is assumed: --shared BYTES"
            if spill:
                notes["spill"] = "spill: bytes of stores and loads in the code, in all"
            if not kernel["code"]:
                notes["code"] = "no table of instructions: cuobjdump is not installed (./lab setup --cuda)"
                continue
            counts = kernel["loop"] or kernel["code"]
            if not kernel["loop"]:
                notes["loop"] = "loop -: there is none, so the counts are of all the code"
            code_rows.append(["  " + kernel["kernel"], str(kernel["code"]["instructions"]),
                              str(kernel["loop"]["instructions"]) if kernel["loop"] else "-", str(counts["fma"]),
                              f"{100 * counts['fma'] / counts['instructions']:.0f} %", str(counts["mma"]),
                              loads(counts["global_loads"]), loads(counts["shared_loads"])])
    lines = [*table(rows, {0, 8})] if any(kernels for _, kernels in rungs) else [row[0] for row in rows[1:]]
    if all(len(row) == 1 or row[5] == "0" for row in code_rows[1:]):
        code_rows = [row[:5] + row[6:] for row in code_rows]
    if any(len(row) > 1 for row in code_rows[1:]):
        lines += ["", "Instructions: of all the code, and of its innermost loop (if several, that with the most multiply-adds,",
                  "then the longest); in this loop multiply-adds (MMA: on tensor cores), and loads as number x bytes per",
                  "thread.", "",
                  *table(code_rows, {0, len(code_rows[0]) - 2, len(code_rows[0]) - 1})]
    return lines + ([""] if notes else []) + list(notes.values())


def add_options(parser):
    parser.add_argument("--on", metavar="DEVICE", help=f"CUDA: registers and occupancy on which device: {', '.join(DEVICES)}, or a "
                        f"compute capability as 9.0 (default: this machine's, else {USUAL_DEVICE})")
    parser.add_argument("--block", metavar="N", type=whole_number(1),
                        help=f"CUDA: threads per block of the launch (default: those of the launch in the "
                        f"source, else of the launch bounds, else {USUAL_BLOCK})")
    parser.add_argument("--shared", metavar="BYTES", type=whole_number(0),
                        help="CUDA: shared memory that the launch adds, where a kernel uses such (default: 0)")


def explain(root, build, lab, options):
    """Prints what the compiler knows of the CUDA rungs of a lab. @return the same for --json"""
    name = options.on or device_here()
    capability = capability_of(name)
    if options.block and options.block > MAX_THREADS:
        raise Refusal(f"--block {options.block}: a block has at most {MAX_THREADS} threads")
    root, build = pathlib.Path(root).resolve(), pathlib.Path(build).resolve()
    rungs = rungs_of(root, build, lab, options.variant)
    able = [rung for rung in rungs if rung.needs <= capability]
    toolkit = Toolkit(root, build)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        made = list(pool.map(lambda rung: kernels_of(toolkit, rung, capability), able))
    shown = [(rung.variants, [with_occupancy(kernel, LIMITS[capability], options.block, options.shared) for kernel in kernels])
             for rung, (kernels, _) in zip(able, made)]

    from_source = [", ".join(rung.variants) for rung, (_, origin) in zip(able, made) if origin == "source"]
    capability_text = f"{capability[0]}.{capability[1]}"
    device = f"compute capability {capability_text}"
    title = f"{lab} on {device if name == capability_text else f'{name.upper()} ({device})'}"
    print(f"{title}: at most {LIMITS[capability].warps} warps and {LIMITS[capability].blocks} blocks per multiprocessor\n")
    for line in show(shown) if shown else []:
        print(line)
    for rung in rungs:
        if rung not in able:
            print(f"{', '.join(rung.variants)}: needs compute capability {rung.needs[0]}.{rung.needs[1]}")
    if from_source:
        print(f"compiled for this device now, not taken from the build: {', '.join(from_source)}")
    return {"lab": lab, "device": name, "compute_capability": capability_text,
            "kernels": [{"variants": variants, **kernel} for variants, kernels in shown for kernel in kernels]}
