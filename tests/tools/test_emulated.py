"""CUDA rungs without a GPU: a lab's program starts itself again with the emulator, and shows results, but no times."""

import json
import pathlib
import re

import pytest
from conftest import BUILD, LABS, built, passed, run

READS_ALL = True  # see judged_once.py

pytestmark = pytest.mark.skipif(not (BUILD / "emulator/run").is_file(), reason="not built with the emulator")


def saxpy(*options, lab="saxpy", **environment):
    return run(built(lab), *options, **{"GPULAB_EMULATOR": "always", **environment})


def test_cuda_rungs_run_at_a_small_size_which_the_program_says():
    ran = saxpy("--backend", "cuda")
    assert ran.returncode == 0 and "Small, because it is emulated: --n 65536\n" in ran.stdout, ran
    assert "cuda:emulated  CUDA emulator (no GPU: results and counts, no times)" in ran.stdout
    assert "cuda_cublas               skipped: needs a GPU" in ran.stdout


def test_where_the_GPU_is_another_than_that_of_the_build_one_line_says_so(scratch):
    """A library in the place of a driver with a GPU of compute capability 7.5, or with none; the build here is PTX for 9.0."""
    cache = (BUILD / "CMakeCache.txt").read_text(encoding="utf-8")
    nvcc = re.search(r"(?m)^CMAKE_CUDA_COMPILER:\w+=(.*)", cache)
    if not nvcc or "CMAKE_CUDA_ARCHITECTURES:STRING=90-virtual\n" not in cache:
        pytest.skip("built for a GPU")
    (scratch / "gpu.cpp").write_text("""
#include <cuda_runtime_api.h>
#include <cstdlib>
extern "C" cudaError_t cudaGetDeviceCount(int* n) { return (*n = !getenv("CUDA_VISIBLE_DEVICES")) ? cudaSuccess : cudaErrorNoDevice; }
extern "C" cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int) { *p = {.name = "Old GPU", .major = 7, .minor = 5}; return cudaSuccess; }
""")
    include = pathlib.Path(nvcc[1]).resolve().parents[1] / "include"
    passed("c++", "-std=c++20", "-w", "-shared", "-fPIC", f"-I{include}", scratch / "gpu.cpp", "-o", scratch / "gpu.so")
    for hidden, told in (({}, "this build is for other GPUs (90-virtual) than Old GPU: ./lab builds it again, or configure with "
                              "-DCMAKE_CUDA_ARCHITECTURES=75"),
                         ({"CUDA_VISIBLE_DEVICES": ""}, "no NVIDIA GPU among CUDA_VISIBLE_DEVICES")):
        ran = saxpy("--backend", "cuda", GPULAB_EMULATOR="never", LD_PRELOAD=scratch / "gpu.so", **hidden)
        assert (ran.returncode, ran.stdout, ran.stderr) == (2, "", f"saxpy: back end cuda: {told}\n"), ran


@pytest.mark.parametrize("options, told", [
    ("--device cuda:emulated --n 1000", ["saxpy: n = 1000\n", "6 right, 0 wrong, 1 skipped"]),  # a given size stays
    ("--n 1000", ["cuda  no NVIDIA GPU; --backend cuda runs it in the emulator"])])
def test_it_must_be_asked_for_and_takes_a_size_that_is_given(options, told):
    ran = saxpy(*options.split())
    assert ran.returncode == 0 and "Small" not in ran.stdout and not [words for words in told if words not in ran.stdout], ran


@pytest.mark.parametrize("options, emulator, told", [
    ("--backend cpu --order 3", "always", "--order: orders can be chosen in the CUDA emulator only"),
    ("--study memories --backend cuda", "always", "cuda: no NVIDIA GPU, and studies measure"),
    ("--device cuda:emulated", "never", "no device is 'cuda:emulated'")])
def test_what_it_cannot_do_is_refused(options, emulator, told):
    ran = saxpy(*options.split(), GPULAB_EMULATOR=emulator)
    assert ran.returncode == 2 and told in ran.stderr, ran


@pytest.mark.parametrize("lab", LABS)
def test_every_lab_shows_results_and_no_time(lab, scratch):
    file = scratch / "results.json"
    ran = saxpy("--backend", "cuda", "--json", file, lab=lab)
    assert ran.returncode == 0 and " right, 0 wrong, " in ran.stdout and " ms to " not in ran.stdout, ran
    results = json.loads(file.read_text(encoding="utf-8"))
    (device,) = results["devices"]
    assert all(ceiling is None for ceiling in device["ceilings"].values()), device
    right = [row for row in results["variants"] if row["status"] == "passed"]
    assert len(right) >= 5, results["variants"]
    for row in right:
        assert (row["device"], row["repeats"]) == ("cuda:emulated", 1), row
        timed = [name for name, value in row.items() if value is not None and re.search("_ms$|^ms_|percent|per_|speedup", name)]
        assert timed == [], row
    for row in results["variants"]:
        assert row in right or row["status"] == "skipped", row


def test_another_order_of_blocks_adds_up_in_another_order():
    def total(order):
        ran = saxpy("--variant", "cuda_atomics", "--n", "65536", "--order", order, lab="reduction")
        assert ran.returncode == 0, ran
        return next(line.split()[-2] for line in ran.stdout.splitlines() if line.startswith("  cuda_atomics"))

    assert total(3) == total(3) and len({total(order) for order in range(4)}) > 1
