"""SAXPY as a CUDA kernel in Python, which Numba compiles: c[i] = k a[i] + b[i].

NUMBA_ENABLE_CUDASIM=1 in the environment runs it without a GPU, thread by thread in Python.
"""

import numpy as np
from numba import cuda


@cuda.jit
def saxpy(k, a, b, c):
    i = cuda.grid(1)  # the thread's element
    if i < c.size:
        c[i] = k * a[i] + b[i]


n, threads = 1000, 256
a = np.arange(n, dtype=np.float32)
b = np.ones(n, dtype=np.float32)
c = np.zeros(n, dtype=np.float32)
saxpy[(n + threads - 1) // threads, threads](np.float32(3), a, b, c)  # copies the arrays to the device and back
print(f"{np.count_nonzero(c == 3 * a + 1)} of {n} elements are right")
