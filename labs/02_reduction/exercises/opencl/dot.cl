#ifdef REAL_IS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

// multi_stage with the products of two arrays.
kernel void dot_product(global const REAL* a, global const REAL* b, ulong n, local REAL* x, global REAL* sums) {
    const size_t me = get_local_id(0);
    // TODO: each item first adds up the products of its own elements: every G-th one, G being the global size.
    // Then the items of a group add up these sums in a tree in local memory, and item 0 writes the sum of the
    // group.
    x[me] = 0;
    sums[get_group_id(0)] = 0;
    // END TODO
}
