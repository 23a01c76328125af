"""CUDA rungs without a GPU: a lab's program starts itself again with the emulator, and shows results, but no times."""

import json
import os
import pathlib
import subprocess

import pytest

PROGRAM = pathlib.Path(os.environ.get("GPULAB_BUILD", "build/default"), "bin/saxpy")
EMULATOR = PROGRAM.parent.parent / "emulator/run"
pytestmark = pytest.mark.skipif(not (PROGRAM.is_file() and EMULATOR.is_file()), reason="not built with the emulator")


def saxpy(*options, emulator="always"):
    return subprocess.run([PROGRAM, *options], env=os.environ | {"GPULAB_EMULATOR": emulator}, text=True, capture_output=True,
                          check=False, stdin=subprocess.DEVNULL)


def test_cuda_rungs_run_at_a_small_size_which_the_program_says():
    ran = saxpy("--backend", "cuda")
    assert ran.returncode == 0 and "Small, because it is emulated: --n 65536\n" in ran.stdout, ran
    assert "cuda:emulated  CUDA emulator (no GPU: results and counts, no times)" in ran.stdout
    assert "cuda_cublas               skipped: needs a GPU" in ran.stdout


def test_a_given_size_stays():
    ran = saxpy("--device", "cuda:emulated", "--n", "1000")
    assert ran.returncode == 0 and "Small" not in ran.stdout and "saxpy: n = 1000\n" in ran.stdout, ran
    assert "6 right, 0 wrong, 1 skipped" in ran.stdout


def test_no_time_is_told(tmp_path):
    file = tmp_path / "results.json"
    assert saxpy("--variant", "cuda_raw", "--json", str(file)).returncode == 0
    results = json.loads(file.read_text(encoding="utf-8"))
    (row,), (device,) = results["variants"], results["devices"]
    assert (row["status"], row["device"], row["repeats"], row["bytes"]) == ("passed", "cuda:emulated", 1, 12 * 65536), row
    assert all(row[name] is None for name in ("kernel_ms", "total_ms", "gb_per_s", "gflop_per_s", "percent_of_ceiling", "speedup"))
    assert all(ceiling is None for ceiling in device["ceilings"].values()), device


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
