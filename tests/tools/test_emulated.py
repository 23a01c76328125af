"""CUDA rungs without a GPU: a lab's program starts itself again with the emulator, and shows results, but no times."""

import json
import os
import pathlib
import re
import subprocess

import pytest

READS_ALL = True  # see judged_once.py

PROGRAM = pathlib.Path(os.environ.get("GPULAB_BUILD", "build/default"), "bin/saxpy")
LABS = ("saxpy", "reduction", "matmul", "spmv", "streams", "tridiagonal", "lu", "fdtd", "cg")
EMULATOR = PROGRAM.parent.parent / "emulator/run"
pytestmark = pytest.mark.skipif(not (PROGRAM.is_file() and EMULATOR.is_file()), reason="not built with the emulator")


def saxpy(*options, emulator="always", lab="saxpy"):
    return subprocess.run([PROGRAM.with_name(lab), *options], env=os.environ | {"GPULAB_EMULATOR": emulator}, text=True, capture_output=True,
                          check=False, stdin=subprocess.DEVNULL)


def test_cuda_rungs_run_at_a_small_size_which_the_program_says():
    ran = saxpy("--backend", "cuda")
    assert ran.returncode == 0 and "Small, because it is emulated: --n 65536\n" in ran.stdout, ran
    assert "cuda:emulated  CUDA emulator (no GPU: results and counts, no times)" in ran.stdout
    assert "cuda_cublas               skipped: needs a GPU" in ran.stdout


def test_where_the_GPU_is_another_than_that_of_the_build_one_line_says_so(tmp_path):
    """A library in the place of a driver with a GPU of compute capability 7.5, or with none; the build here is PTX for 9.0."""
    cache = (PROGRAM.parent.parent / "CMakeCache.txt").read_text(encoding="utf-8")
    nvcc = re.search(r"(?m)^CMAKE_CUDA_COMPILER:\w+=(.*)", cache)
    if not nvcc or "CMAKE_CUDA_ARCHITECTURES:STRING=90-virtual\n" not in cache:
        pytest.skip("built for a GPU")
    (tmp_path / "gpu.cpp").write_text("""
#include <cuda_runtime_api.h>
#include <cstdlib>
extern "C" cudaError_t cudaGetDeviceCount(int* n) { return (*n = !getenv("CUDA_VISIBLE_DEVICES")) ? cudaSuccess : cudaErrorNoDevice; }
extern "C" cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int) { *p = {.name = "Old GPU", .major = 7, .minor = 5}; return cudaSuccess; }
""")
    include = pathlib.Path(os.path.realpath(nvcc[1])).parents[1] / "include"
    subprocess.run(["c++", "-std=c++20", "-w", "-shared", "-fPIC", f"-I{include}", tmp_path / "gpu.cpp", "-o", tmp_path / "gpu.so"], check=True)
    for hidden, told in (({}, "this build is for other GPUs (90-virtual) than Old GPU: ./lab builds it again, or configure with "
                              "-DCMAKE_CUDA_ARCHITECTURES=75"),
                         ({"CUDA_VISIBLE_DEVICES": ""}, "no NVIDIA GPU among CUDA_VISIBLE_DEVICES")):
        environment = os.environ | {"GPULAB_EMULATOR": "never", "LD_PRELOAD": str(tmp_path / "gpu.so"), **hidden}
        ran = subprocess.run([PROGRAM, "--backend", "cuda"], env=environment, text=True, capture_output=True, check=False)
        assert (ran.returncode, ran.stdout, ran.stderr) == (2, "", f"saxpy: back end cuda: {told}\n"), ran


def test_a_given_size_stays():
    ran = saxpy("--device", "cuda:emulated", "--n", "1000")
    assert ran.returncode == 0 and "Small" not in ran.stdout and "saxpy: n = 1000\n" in ran.stdout, ran
    assert "6 right, 0 wrong, 1 skipped" in ran.stdout


@pytest.mark.parametrize("lab", LABS)
def test_every_lab_shows_results_and_no_time(lab, tmp_path):
    file = tmp_path / "results.json"
    ran = saxpy("--backend", "cuda", "--json", str(file), lab=lab)
    assert ran.returncode == 0 and " right, 0 wrong, " in ran.stdout and " ms to " not in ran.stdout, ran
    results = json.loads(file.read_text(encoding="utf-8"))
    (device,) = results["devices"]
    assert all(ceiling is None for ceiling in device["ceilings"].values()), device
    passed = [row for row in results["variants"] if row["status"] == "passed"]
    assert len(passed) >= 5, results["variants"]
    for row in passed:
        assert (row["device"], row["repeats"]) == ("cuda:emulated", 1), row
        timed = [name for name, value in row.items() if value is not None and re.search("_ms$|^ms_|percent|per_|speedup", name)]
        assert timed == [], row
    for row in results["variants"]:
        assert row in passed or row["status"] == "skipped", row


def test_another_order_of_blocks_adds_up_in_another_order():
    def total(order):
        ran = saxpy("--variant", "cuda_atomics", "--n", "65536", "--order", str(order), lab="reduction")
        assert ran.returncode == 0, ran
        return next(line.split()[-2] for line in ran.stdout.splitlines() if line.startswith("  cuda_atomics"))

    assert total(3) == total(3) and len({total(order) for order in range(4)}) > 1
    ran = saxpy("--backend", "cpu", "--order", "3")
    assert ran.returncode == 2 and "--order: orders can be chosen in the CUDA emulator only" in ran.stderr, ran


def test_the_emulator_must_be_asked_for():
    ran = saxpy("--n", "1000")
    assert ran.returncode == 0 and "cuda  no NVIDIA GPU; --backend cuda runs it in the emulator" in ran.stdout, ran
    assert "Small" not in ran.stdout


def test_studies_measure_and_so_need_a_gpu():
    ran = saxpy("--study", "memories", "--backend", "cuda")
    assert ran.returncode == 2 and "cuda: no NVIDIA GPU, and studies measure" in ran.stderr, ran


def test_nothing_is_emulated_where_the_environment_forbids_it():
    ran = saxpy("--device", "cuda:emulated", emulator="never")
    assert ran.returncode == 2 and "no device is 'cuda:emulated'" in ran.stderr, ran
