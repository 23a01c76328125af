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
    // TODO: down the rows, eliminate the unknown before: c' goes to c_new, d' to x. Note the first row whose pivot
    // is 0 in `zero`. Then up the rows: subtract c' times the unknown after. a of row 0 and c of row n - 1 have no
    // meaning.
    for (uint i = 0; i < n; ++i) x[begin + i] = 0;
    // END TODO
    zero_pivot[s] = zero;
}
