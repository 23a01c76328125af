"""The two complete programs of lab 01, in CUDA and in OpenCL."""

import ctypes
import re
import shutil
import subprocess

import pytest
from complete import changed, compiled, ends_with, gpu
from conftest import passed, run

CUDA = "labs/01_saxpy/complete/saxpy.cu"
OPENCL = "labs/01_saxpy/complete/saxpy_cl.cpp"
PAGE = "docs/kernels.md"


def test_the_CUDA_program_computes_SAXPY_or_says_in_one_line_that_there_is_no_GPU(scratch):
    program = compiled(scratch, CUDA, PAGE)
    for argument in ("0", "-3", "12x", "", "1e5", "100000001", "99999999999999999999"):
        ends_with(run(program, argument), 2, "usage: saxpy [n], with n = 1 ... 100000000")
    ends_with(run(program, "1", "2"), 2, "usage: ")
    if not gpu():
        ends_with(run(program), 2, "saxpy: looking for a GPU: ")
        return
    assert passed(program).stdout.endswith("\nall 1000000 elements are right\n")
    for n in (1, 255, 256, 257, 1000):
        assert passed(program, n).stdout.endswith(f"\nall {n} elements are right\n")


def test_the_CUDA_program_says_that_a_wrong_result_is_wrong(scratch):
    if not gpu():
        pytest.skip("no GPU")
    program = compiled(scratch, CUDA, PAGE, changed("if (i < n)", "if (i < n - 1)"))
    ends_with(run(program, 1000), 1, "saxpy: 1 of 1000 elements are wrong")


def opencl():
    """Skips where programs in OpenCL cannot be compiled."""
    probe = "#define CL_TARGET_OPENCL_VERSION 120\n#include <CL/cl.h>\nint main() { return clGetPlatformIDs(0, 0, 0); }"
    if not shutil.which("g++"):
        pytest.skip("no g++")
    if subprocess.run(["g++", "-x", "c++", "-", "-lOpenCL", "-o", "/dev/null"], input=probe, text=True, capture_output=True,
                      check=False).returncode:
        pytest.skip("no headers or library of OpenCL")


def loader_reads_the_environment():
    """The OpenCL loader of the CUDA toolkit does not; it lacks this function."""
    find = ctypes.CDLL("libOpenCL.so.1").clGetExtensionFunctionAddress
    find.restype = ctypes.c_void_p
    return bool(find(b"clGetICDLoaderInfoOCLICD"))


def test_the_OpenCL_program_lists_all_devices_and_computes_SAXPY_on_each(scratch):
    opencl()
    program = compiled(scratch, OPENCL, PAGE)
    if loader_reads_the_environment():
        ends_with(run(program, OCL_ICD_VENDORS="/nonexistent"), 2, "no OpenCL platform found")
    for arguments in (["x"], ["0", "-1"], ["0", "0", "0"], [""], ["0x"], ["1000"]):
        ends_with(run(program, *arguments), 2, "usage: saxpy_cl [PLATFORM [DEVICE]]")
    first = run(program)
    if first.returncode == 2 and "no OpenCL platform found" in first.stderr:
        pytest.skip("no OpenCL platform")
    ends_with(run(program, "999"), 2, "saxpy_cl: there is no platform 999")
    ends_with(run(program, "0", "999"), 2, "saxpy_cl: platform 0 has no device 999")
    platform, devices = None, []
    for line in first.stdout.splitlines():
        if found := re.match(r"platform (\d+): .", line):
            platform = found[1]
        elif found := re.match(r"    device (\d+): .", line):
            devices.append((platform, found[1]))
    assert devices, first
    for p, d in devices:
        printed = passed(program, p, d).stdout
        assert f"\nchosen: platform {p}, device {d}\n" in printed and printed.endswith("\nall 1000000 elements are right\n"), printed


@pytest.mark.parametrize("old, new, exit_code, words", [
    ("if (i < n)", "if (i < n - 1)", 1, "saxpy_cl: 1 of 1000000 elements are wrong"),
    ("local = 64;", "local = 100000000;", 2, "saxpy_cl: launching: OpenCL error -"),
    ("sizeof k, &k", "sizeof n, &n", 2, "saxpy_cl: setting k: OpenCL error -51"),
])
def test_the_OpenCL_program_says_what_is_wrong(scratch, old, new, exit_code, words):
    opencl()
    program = compiled(scratch, OPENCL, PAGE, changed(old, new))
    done = run(program)
    if "no OpenCL platform found" in done.stderr:
        pytest.skip("no OpenCL platform")
    ends_with(done, exit_code, words)


def test_the_OpenCL_program_shows_the_build_log(scratch):
    opencl()
    program = compiled(scratch, OPENCL, PAGE, changed("kernel void saxpy(float k,", "kernel void saxpy(floating k,"))
    done = run(program)
    if "no OpenCL platform found" in done.stderr:
        pytest.skip("no OpenCL platform")
    assert done.returncode == 2 and "the kernel does not compile:\n" in done.stderr and "floating" in done.stderr, done
