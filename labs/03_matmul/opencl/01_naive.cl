// One work-item per element of C; dimension 0 runs along the columns. REAL is float or double (a build option).
#if defined(REAL_IS_DOUBLE)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

kernel void multiply(global const REAL* a, global const REAL* b, global REAL* c, int m, int k, int n) {
    // EXERCISE one-thread-per-element
    //| // TODO: which element of C is this item's? Items beyond the edges do nothing. Add up the products of row i of
    //| // A and column j of B; an empty sum is 0.
    const int j = get_global_id(0);
    const int i = get_global_id(1);
    if (i >= m || j >= n) return; // groups at the right and lower edge are ragged

    REAL sum = 0;
    for (int l = 0; l < k; ++l) sum += a[(size_t)i * k + l] * b[(size_t)l * n + j];
    c[(size_t)i * n + j] = sum;
    // END EXERCISE
}
