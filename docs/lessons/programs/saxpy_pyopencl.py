"""SAXPY from Python: the kernel stays OpenCL C, and PyOpenCL makes the host's calls. c[i] = k a[i] + b[i]"""

import numpy as np
import pyopencl as cl

SOURCE = """
kernel void saxpy(float k, global const float* a, global const float* b, global float* c) {
    const size_t i = get_global_id(0);
    c[i] = k * a[i] + b[i];
}
"""
n = 1000000
a = np.arange(n, dtype=np.float32)
b = np.ones(n, dtype=np.float32)
c = np.empty(n, dtype=np.float32)
context = cl.create_some_context(interactive=False)
queue = cl.CommandQueue(context)
READ, COPY = cl.mem_flags.READ_ONLY, cl.mem_flags.COPY_HOST_PTR
a_there, b_there = (cl.Buffer(context, READ | COPY, hostbuf=array) for array in (a, b))
c_there = cl.Buffer(context, cl.mem_flags.WRITE_ONLY, c.nbytes)
cl.Program(context, SOURCE).build().saxpy(queue, (n,), None, np.float32(3), a_there, b_there, c_there)
cl.enqueue_copy(queue, c, c_there)  # waits for the kernel
print(f"{np.count_nonzero(c == 3 * a + 1)} of {n} elements are right")
