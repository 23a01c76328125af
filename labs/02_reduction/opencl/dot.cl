#ifdef REAL_IS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

// multi_stage with the products of two arrays.
kernel void dot_product(global const REAL* a, global const REAL* b, ulong n, local REAL* x, global REAL* sums) {
    const size_t me = get_local_id(0);
    // EXERCISE dot
    //| // TODO: each item first adds up the products of its own elements: every G-th one, G being the global size.
    //| // Then the items of a group add up these sums in a tree in local memory, and item 0 writes the sum of the
    //| // group.
    //| x[me] = 0;
    //| sums[get_group_id(0)] = 0;
    REAL mine = 0;
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0)) mine += a[i] * b[i];
    x[me] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t step = get_local_size(0) / 2; step > 0; step /= 2) {
        if (me < step) x[me] += x[me + step];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (me == 0) sums[get_group_id(0)] = x[0];
    // END EXERCISE
}
