"""The complete program of lab 03: arrays of different types in dynamic shared memory."""

import re

import pytest
from complete import changed, compiled, ends_with, gpu
from conftest import passed, run

SOURCE = "labs/03_matmul/complete/shared_arrays.cu"
PAGE = "labs/03_matmul/MEASURED.md"


def test_every_array_begins_at_a_multiple_of_its_elements_size(scratch):
    program = compiled(scratch, SOURCE, PAGE)
    for shorts, floats, ints, end in ((1, 4, 260, 1284), (2, 4, 260, 1284), (127, 256, 512, 1536), (128, 256, 512, 1536),
                                      (129, 260, 516, 1540), (20000, 40000, 40256, 41280)):
        done = run(program, shorts)
        assert done.stdout.splitlines()[0] == (f"{shorts} shorts from byte 0, 64 floats from byte {floats}, "
                                               f"256 ints from byte {ints}: {end} bytes"), done
        if gpu():
            assert done.returncode == 0 and done.stdout.endswith("\nall 256 elements are right\n"), done
        else:
            ends_with(done, 2, "shared_arrays: allocating the result: ")


def test_bad_arguments_are_refused(scratch):
    program = compiled(scratch, SOURCE, PAGE)
    for arguments in (["0"], ["-1"], ["x"], [""], ["127x"], ["20001"], ["127", "misprinted"], ["127", "printed", "x"]):
        ends_with(run(program, *arguments), 2, "usage: shared_arrays [SHORTS [printed]], with SHORTS = 1 ... 20000")


def test_arrays_as_printed_are_right_for_128_shorts_and_misaligned_for_127(scratch):
    program = compiled(scratch, SOURCE, PAGE)
    assert re.search("floats from byte 254, .* from byte 510: 1534 bytes", run(program, 127, "printed").stdout)
    if not gpu():
        pytest.skip("no GPU")
    assert passed(program, 128, "printed").stdout.endswith("\nall 256 elements are right\n")
    ends_with(run(program, 127, "printed"), 2, "running the kernel: misaligned address")


def test_arrays_that_overlap_are_wrong(scratch):
    program = compiled(scratch, SOURCE, PAGE, changed("aligned(shorts);", "aligned(shorts - 8);"))
    if not gpu():
        pytest.skip("no GPU")
    ends_with(run(program, 127), 1, "elements are wrong")
