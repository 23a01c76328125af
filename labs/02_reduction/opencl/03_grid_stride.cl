#ifdef REAL_IS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

// Any n with any number of groups; the group size is a power of two. It runs twice: over the array, then with one group
// over the groups' sums.
kernel void grid_stride(global const REAL* a, ulong n, local REAL* x, global REAL* sums) {
    // ANSWER tree dot
    const size_t me = get_local_id(0);
    REAL mine = 0; // a private sum of every G-th element, G being the global size
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0)) mine += a[i];
    x[me] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t step = get_local_size(0) / 2; step > 0; step /= 2) {
        if (me < step) x[me] += x[me + step];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (me == 0) sums[get_group_id(0)] = x[0];
    // END ANSWER
}
