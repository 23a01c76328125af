"""Runs a variant of a lab in Oclgrind or in the CUDA emulator, and reads what the plugin (counts.cpp) or the emulator
(emulator/checks/counts.cpp) has counted."""

import json
import os
import signal
import subprocess
import tempfile
from pathlib import Path

from command import Refusal
from plugin import plugin

# Sizes that show what a kernel does and take seconds: several groups, several warps in each, and no ragged end.
SIZES = {"saxpy": ["--n", "4096"], "reduction": ["--n", "4096"], "matmul": ["--m", "64", "--k", "32", "--n", "64"],
         "spmv": ["--generate", "laplace2d:32"], "streams": ["--width", "64", "--height", "32", "--streams", "2"],
         "tridiagonal": ["--n", "64", "--systems", "64"], "lu": ["--n", "40"],
         "fdtd": ["--nx", "64", "--ny", "16", "--steps", "2"],
         "cg": ["--generate", "laplace2d:16", "--limit", "2", "--tolerance", "0"]}
# Variants of another operation than the one that the program chooses by itself.
OPERATIONS = {"saxpy": {"distances": ["--op", "distances"]},
              "reduction": {"opencl_dot": ["--op", "dot"], "scan": ["--op", "inclusive-scan"], "series": ["--op", "pi"],
                            "histogram": ["--op", "histogram"]},
              "lu": {"solve": ["--op", "solve"], "batch": ["--op", "batch"], "_batch": ["--matrices", "4"]}}
# What takes a file, whose size counts.
FILES = {"spmv": "--matrix", "streams": "--input", "tridiagonal": "--input", "lu": "--matrix", "cg": "--matrix"}
OUT_OF_TIME = (-signal.SIGXCPU, 128 + signal.SIGXCPU)  # how it ends
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


def variants(program, backend="opencl"):
    """The variants of a lab for a back end."""
    ran = subprocess.run([program, "--list"], capture_output=True, text=True, check=False)
    if ran.returncode:
        raise Refusal(f"{program.name} --list: {(ran.stderr or ran.stdout).strip().splitlines()[-1:]}")
    return [line.split()[0] for line in ran.stdout.splitlines() if line.split()[1:2] == [backend]]


def simulated(library, command, options=(), warp=32, steps=0, seconds=None, **environment):
    """Runs a program in Oclgrind: what the kernels were asked for, a dictionary for each launch; and how the program ended.

    @param library the plugin; None: nothing is counted
    @param seconds by the clock
    @throws subprocess.TimeoutExpired
    """
    counting = {"OCLGRIND_PLUGINS": str(library), "GPULAB_EXPLAIN_WARP": str(warp), "GPULAB_EXPLAIN_STEPS": str(steps)} if library else {}
    # Without optimisation, so that each access is counted that the text names, also one that a compiler would save.
    return counted(["oclgrind", "--build-options", "-cl-opt-disable", *options, *command], "GPULAB_EXPLAIN_FILE", seconds, counting | environment)


def counted(command, variable, seconds, environment):
    """Runs a program that adds a line for each launch to the file that this variable names: what they say, and how it ended."""
    with tempfile.TemporaryDirectory(prefix="gpulab-explain-") as scratch:
        file = Path(scratch, "launches")
        ran = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=seconds, stdin=subprocess.DEVNULL,
                             env=os.environ | {"NO_COLOR": "1", variable: str(file)} | environment)
        whole = file.is_file() and ran.returncode not in OUT_OF_TIME
        return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()] if whole else [], ran


def has_emulator(build):
    return bool(list((build / "emulator").glob("libcudart.so.*")))


def on_a_gpu():
    """The environment of a program that runs on a GPU or not at all."""
    return os.environ | {"GPULAB_EMULATOR": "never"}


def emulated(root, build, command, steps=0, seconds=None, **environment):
    """The same in the CUDA emulator, whose library takes the place of the CUDA runtime."""
    path = ":".join(filter(None, (str(build / "emulator"), os.environ.get("LD_LIBRARY_PATH"))))
    counting = {"LD_LIBRARY_PATH": path, "CUDA_EMULATOR_STEPS": str(steps), "CUDA_EMULATOR_CHECK": "off"}
    found, ran = counted(command, "CUDA_EMULATOR_COUNTS", seconds, counting | environment)
    for site in (site for one in found for site in one["sites"]):
        file = Path(os.path.normpath(site["file"]))
        site["file"] = str(file.relative_to(root)) if file.is_relative_to(root) else site["file"]
    return found, ran


def launches(root, build, lab, variant, options, warp=32, steps=0, seconds=300):
    """What the kernels of one run of a variant were asked for, a dictionary for each launch; and the program's row of results.

    @param seconds of processor time, of each processor in the emulator
    """
    program = build / "bin" / lab
    cuda = variant.startswith("cuda_")
    library = None if cuda else plugin(root, build)
    with tempfile.TemporaryDirectory(prefix="gpulab-explain-") as scratch:
        results = Path(scratch, "results.json")
        simulator, seconds = ("the emulator", seconds * (os.cpu_count() or 1)) if cuda else ("Oclgrind", seconds)
        command = ["sh", "-c", f'ulimit -S -t {seconds}; exec "$@"', "sh",
                   str(program), "--variant", variant, "--repeat", "1", "--warmup", "0", "--json", str(results), *options]
        try:
            if cuda:  # without the kernel that measures the device
                found, ran = emulated(root, build, command, steps, 20 * seconds, GPULAB_GUARD_BYTES="0", GPULAB_TEST_CEILINGS="1")
            else:
                found, ran = simulated(library, command, ["--global-mem-size", str(2 << 30)], warp, steps, 20 * seconds,
                                       GPULAB_GUARD_BYTES="0")
        except subprocess.TimeoutExpired:
            raise Refusal(f"{variant} waits for ever in {simulator}") from None
        if ran.returncode in OUT_OF_TIME:
            raise Refusal(f"{variant} takes more than {seconds} s of processor time in {simulator}, which is some thousand times slower "
                          "than a device: choose a smaller size")
        if not results.is_file():
            printed = (ran.stderr.strip() or ran.stdout.strip() or f"it ended with {ran.returncode}").splitlines()
            raise Refusal(printed[-1])
        written = json.loads(results.read_text(encoding="utf-8"))
    outcome = (written[0] if isinstance(written, list) else written)["variants"][0]
    own = [one for one in found if any(site["file"].startswith("labs/") for site in one["sites"])]
    if not all(one["whole"] for one in own):
        raise Refusal(f"a work-group of {variant} does too much between two barriers to be counted: choose a smaller size")
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
