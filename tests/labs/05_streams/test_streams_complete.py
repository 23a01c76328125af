"""The complete program of lab 05: the same pass with eight kinds of memory."""

import os
import pathlib
import re

import pytest
from complete import changed, compiled, ends_with, gpu
from conftest import ROOT, passed, run

SOURCE = "labs/05_streams/complete/memory.cu"
PAGE = "labs/05_streams/MEASURED.md"
EMULATOR = pathlib.Path(os.environ.get("GPULAB_BUILD", ROOT / "build/default")) / "emulator/run"
WAYS = ["pageable", "page-locked", "malloc", "pool", "pool-kept", "managed", "managed-prefetch", "managed-on-host"]


def program(scratch, change=lambda text: text):
    """The words that run it: on the GPU, or in the emulator."""
    path = compiled(scratch, SOURCE, PAGE, change)
    if gpu():
        return [path]
    if not EMULATOR.is_file():
        pytest.skip("no emulator")
    passed("nvcc", "-cudart", "shared", scratch / "memory.cu", "-o", path)
    return ["env", "CUDA_EMULATOR_CHECK=fail", EMULATOR, path]


def test_every_way_gives_the_right_image(scratch):
    words = program(scratch)
    for size in (4, 4096, 100_004):
        printed = passed(*words, size).stdout
        assert printed.startswith("GPU: ") and f"; {size} bytes\n" in printed, printed
        assert re.findall(r"(?m)^(\S+) +\d+\.\d{3} ms  right$", printed) == WAYS, printed
    for arguments in (["0"], ["-4"], ["6"], ["x"], [""], ["4x"], ["1000000004"], ["4", "4"]):
        ends_with(run(*words, *arguments), 2, "memory: usage: memory [bytes], a multiple of 4 from 4 to 1000000000")


@pytest.mark.parametrize("old, new, wrong", [
    ("if (i < n) out", "if (i + 1 < n) out", WAYS),
    ("check(cudaMemcpyAsync(to, out", "if (!in) check(cudaMemcpyAsync(to, out", WAYS[:5]),  # nothing comes down
])
def test_a_wrong_image_is_told_in_each_way_that_has_it(scratch, old, new, wrong):
    done = run(*program(scratch, changed(old, new)), 4096)
    assert done.returncode == 1 and re.findall(r"(?m)^(\S+) .* ms  WRONG$", done.stdout) == wrong, done
