#ifdef REAL_IS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

// Any n with any number of groups; the group size is a power of two. `x` holds one number per item of the group.
kernel void multi_stage(global const REAL* a, ulong n, local REAL* x, global REAL* sums) {
    // ANSWER tree dot
    const size_t me = get_local_id(0);

    REAL mine = 0; // stage 1: a private sum of every G-th element, G being the global size
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0)) mine += a[i];

    x[me] = mine; // stage 2: into local memory
    barrier(CLK_LOCAL_MEM_FENCE);

    for (size_t step = get_local_size(0) / 2; step > 0; step /= 2) { // stage 3: add the second half to the first
        if (me < step) x[me] += x[me + step];
        barrier(CLK_LOCAL_MEM_FENCE); // outside the branch: every item must come to it
    }

    if (me == 0) sums[get_group_id(0)] = x[0]; // stage 4: one partial sum per group
    // END ANSWER
}
