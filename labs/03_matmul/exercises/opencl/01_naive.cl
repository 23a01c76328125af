// One work-item per element of C; dimension 0 runs along the columns. REAL is float or double (a build option).
#if defined(REAL_IS_DOUBLE)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

kernel void multiply(global const REAL* a, global const REAL* b, global REAL* c, int m, int k, int n) {
    // TODO: which element of C is this item's? Items beyond the edges do nothing. Add up the products of row i of
    // A and column j of B; an empty sum is 0.
    // END TODO
}
