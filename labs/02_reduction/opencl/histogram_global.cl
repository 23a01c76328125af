#ifdef REAL_IS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

// One work-item per element, which adds 1 to the count of its bin. Any n. `counts` must hold zeros.
kernel void histogram_global(global const REAL* a, ulong n, global uint* counts) {
    const size_t i = get_global_id(0);
    if (i < n) atomic_inc(&counts[(uint)a[i]]); // without its fraction x is the number of its bin
}
