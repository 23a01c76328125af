#ifdef REAL_IS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

// One work-item per system. c_new: scratch for c', as large as c; d' is kept in x.
kernel void thomas(global const REAL* a, global const REAL* b, global const REAL* c, global const REAL* d,
                   global REAL* c_new, global REAL* x, global int* zero_pivot, uint n, uint systems) {
    const uint s = get_global_id(0);
    if (s >= systems) return;
    const size_t begin = (size_t)s * n;
    int zero = -1;
    REAL c_before = 0, d_before = 0;
    for (uint i = 0; i < n; ++i) {
        const size_t at = begin + i;
        const REAL pivot = i == 0 ? b[at] : b[at] - a[at] * c_before; // a of row 0 has no meaning
        if (pivot == 0 && zero < 0) zero = (int)i;
        d_before = x[at] = (i == 0 ? d[at] : d[at] - a[at] * d_before) / pivot;
        c_before = c_new[at] = c[at] / pivot;
    }
    REAL x_after = d_before;
    for (uint i = n - 1; i-- > 0;) x_after = x[begin + i] -= c_new[begin + i] * x_after;
    zero_pivot[s] = zero;
}
