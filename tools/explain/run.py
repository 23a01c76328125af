"""Runs a variant of a lab in Oclgrind and reads what the plugin (counts.cpp) has counted."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from command import Refusal

# Sizes that show what a kernel does and take seconds: several groups, several warps in each, and no ragged end.
SIZES = {"saxpy": ["--n", "4096"], "reduction": ["--n", "4096"], "matmul": ["--m", "64", "--k", "32", "--n", "64"],
         "spmv": ["--generate", "laplace2d:32"], "streams": ["--width", "64", "--height", "32", "--streams", "2"],
         "tridiagonal": ["--n", "64", "--systems", "64"], "lu": ["--n", "40"],
         "fdtd": ["--nx", "64", "--ny", "16", "--steps", "2"],
         "cg": ["--generate", "laplace2d:16", "--limit", "2", "--tolerance", "0"]}
# Variants of another operation than the one that the program chooses by itself.
OPERATIONS = {"saxpy": {"distances": ["--op", "distances"]},
              "reduction": {"opencl_dot": ["--op", "dot"], "scan": ["--op", "inclusive-scan"], "series": ["--op", "pi"]},
              "lu": {"solve": ["--op", "solve"]}}


# What takes a file, whose size counts.
FILES = {"spmv": "--matrix", "streams": "--input", "tridiagonal": "--input", "lu": "--matrix", "cg": "--matrix"}
SIZES_OF_FILES = {"--generate", "--n", "--systems", "--width", "--height"}


def options_for(lab, variant, given):
    """The options of a run: those given, and the lab's small size for each that they leave open."""
    options = list(given)
    names = {word.partition("=")[0] for word in given if word.startswith("--")}
    for part, more in OPERATIONS.get(lab, {}).items():
        if part in variant and not names & set(more):
            options += more
    fixed = names | SIZES_OF_FILES if FILES.get(lab) in names else names
    small = SIZES.get(lab, [])
    for name, value in zip(small[::2], small[1::2]):
        if name not in fixed:
            options += [name, value]
    return options


def plugin(root, build):
    """The plugin, compiled when it is first used or when something has changed."""
    source = root / "tools/explain/counts.cpp"
    library = oclgrind_library()
    needed = subprocess.run(["ldd", library], capture_output=True, text=True, check=False).stdout
    version = re.search(r"libLLVM-?(?:\.so\.)?(\d+)", needed)
    headers = Path(f"/usr/lib/llvm-{version[1]}/include") if version else Path("/nonexistent")
    if not (headers / "llvm/IR/Instructions.h").is_file() or not Path("/usr/include/oclgrind/Plugin.h").is_file():
        package = f"llvm-{version[1]}-dev" if version else "llvm-dev"
        raise Refusal(f"the headers of Oclgrind and LLVM are missing: install the packages liboclgrind-dev and {package}")
    made = build / "explain/libcounts.so"
    if made.is_file() and made.stat().st_mtime > max(source.stat().st_mtime, Path(library).stat().st_mtime):
        return made
    made.parent.mkdir(parents=True, exist_ok=True)
    print("explain: building its plugin for Oclgrind, once", file=sys.stderr)
    compiler = os.environ.get("CXX", "c++").split()
    with tempfile.NamedTemporaryFile(dir=made.parent, suffix=".so", delete=False) as unfinished:
        command = [*compiler, "-std=c++17", "-O1", "-shared", "-fPIC", "-fno-rtti", "-isystem", "/usr/include/oclgrind",
                   "-isystem", str(headers), str(source), "-o", unfinished.name]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if ran.returncode:
        Path(unfinished.name).unlink(missing_ok=True)
        raise Refusal(f"the plugin for Oclgrind does not compile: {first_error(ran.stderr)}")
    Path(unfinished.name).rename(made)
    return made


def first_error(text):
    lines = text.splitlines() or ["the compiler gives no reason"]
    return next((line for line in lines if "error" in line), lines[0])


def oclgrind_library():
    program = shutil.which("oclgrind")
    if not program:
        raise Refusal("explain runs kernels in Oclgrind, which is not installed (package oclgrind of Debian 12 and Ubuntu; "
                      "Debian 13 has none)")
    for folder in (Path(program).resolve().parents[1] / "lib", Path("/usr/lib"), *Path("/usr/lib").glob("*-linux-gnu")):
        for library in sorted(folder.glob("liboclgrind*.so*")):
            if "-rt" not in library.name:
                return str(library)
    raise Refusal("the library liboclgrind.so is not where Oclgrind's program is")


def variants(program):
    """The OpenCL variants of a lab."""
    ran = subprocess.run([program, "--list"], capture_output=True, text=True, check=False)
    if ran.returncode:
        raise Refusal(f"{program.name} --list: {(ran.stderr or ran.stdout).strip().splitlines()[-1:]}")
    return [line.split()[0] for line in ran.stdout.splitlines() if line.split()[1:2] == ["opencl"]]


def launches(root, build, lab, variant, options, warp=32, steps=0, seconds=120):
    """What the kernels of one run of a variant were asked for, a dictionary for each launch; and the program's row of results."""
    program = build / "bin" / lab
    library = plugin(root, build)
    with tempfile.TemporaryDirectory(prefix="gpulab-explain-") as scratch:
        file, results = Path(scratch, "launches"), Path(scratch, "results.json")
        environment = os.environ | {"OCLGRIND_PLUGINS": str(library), "GPULAB_EXPLAIN_FILE": str(file),
                                    "GPULAB_EXPLAIN_WARP": str(warp), "GPULAB_EXPLAIN_STEPS": str(steps),
                                    "GPULAB_GUARD_BYTES": "0", "NO_COLOR": "1"}
        # Without optimisation, so that each access is counted that the text names, also one that a compiler would save.
        command = ["oclgrind", "--build-options", "-cl-opt-disable", "--global-mem-size", str(2 << 30), str(program), "--variant", variant, "--repeat", "1", "--warmup", "0", "--json", str(results),
                   *options]
        try:
            ran = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds, env=environment)
        except subprocess.TimeoutExpired:
            raise Refusal(f"{variant} takes longer than {seconds} s in Oclgrind, which is some thousand times slower than a "
                        "device: choose a smaller size") from None
        if not results.is_file():
            said = (ran.stderr.strip() or ran.stdout.strip() or f"it ended with {ran.returncode}").splitlines()
            raise Refusal(said[-1])
        written = json.loads(results.read_text(encoding="utf-8"))
        found = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if file.is_file() else []
    outcome = (written[0] if isinstance(written, list) else written)["variants"][0]
    own = [one for one in found if any(site["file"].startswith("labs/") for site in one["sites"])]
    if not own and outcome["status"] == "failed":
        raise Refusal(f"{variant} accesses no memory: its kernel is still to be written, or returns at once")
    if not own:
        raise Refusal(f"{variant} has launched no kernel: {outcome.get('reason') or outcome.get('status')}")
    return one_run(own), outcome


def one_run(found):
    """A program runs a variant once for its answer and once for its time: the launches of the first run."""
    half = len(found) // 2
    if len(found) % 2 == 0 and [k["kernel"] for k in found[:half]] == [k["kernel"] for k in found[half:]]:
        return found[:half]
    return found
