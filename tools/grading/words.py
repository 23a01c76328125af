"""Words of CUDA that a compiler of OpenCL does not know, and what they are called there."""

from __future__ import annotations

import re

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
