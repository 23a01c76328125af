"""What puzzles and exercises say alike: of kernels that do not end, of what kernels print, and of words of CUDA in OpenCL."""

from __future__ import annotations

import re

ENDLESS = "it does not seem to end. Does each loop end? Do all items reach each barrier?"
SHOWN, READ = 40, 1 << 16  # lines that a kernel has printed; characters of them
IN_OPENCL = {
    "__syncthreads": "barrier(CLK_LOCAL_MEM_FENCE)", "__shared__": "local", "__global__": "kernel", "__restrict__": "restrict",
    "threadIdx": "get_local_id(0)", "blockIdx": "get_group_id(0)", "blockDim": "get_local_size(0)", "gridDim": "get_num_groups(0)",
    "atomicAdd": "atomic_add, which takes whole numbers", "atomicMax": "atomic_max", "atomicMin": "atomic_min",
    "__syncwarp": "barrier(CLK_LOCAL_MEM_FENCE)", "__device__": "no word: a function needs none", "fmaf": "fma",
}


def in_opencl(log: str) -> str:
    """What the first unknown word of CUDA is called in OpenCL, to go behind a compiler's error; "" where there is none."""
    for line in log.splitlines():
        for word in re.findall(r"'(\w+)'", line) if "error" in line or "warning: implicit" in line else []:
            if word in IN_OPENCL:
                return f" ({word} is a word of CUDA; in OpenCL: {IN_OPENCL[word]})"
    return ""


def lines_of(printed: str) -> list[str]:
    """What a kernel has printed, as it is shown: its first lines, without what would move a terminal's cursor."""
    lines = [re.sub(r"[^\x20-\x7e\x80-\uffff]", "?", line.expandtabs()) for line in printed[:READ].rstrip("\n").split("\n") if printed]
    return lines[:SHOWN] + ([f"... cut after {SHOWN} lines"] if len(lines) > SHOWN or len(printed) > READ else [])
