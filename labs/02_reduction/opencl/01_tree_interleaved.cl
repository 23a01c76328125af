#ifdef REAL_IS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

// One work-item per element; the sum of each group goes to sums[get_group_id(0)]. Any n; the group size is a power of
// two. `x` holds one number per item of the group.
kernel void tree_interleaved(global const REAL* a, ulong n, local REAL* x, global REAL* sums) {
    const size_t me = get_local_id(0);
    const size_t i = get_global_id(0);
    x[me] = i < n ? a[i] : 0; // the last group is filled up with zeros
    barrier(CLK_LOCAL_MEM_FENCE);
    // `step` is twice the distance between the two elements. (With the distance as the loop's variable, and me % (2 *
    // distance) in the condition, PoCL 3.1 generates code whose steps add nothing.)
    for (size_t step = 2; step <= get_local_size(0); step *= 2) {
        if (me % step == 0) x[me] += x[me + step / 2];
        barrier(CLK_LOCAL_MEM_FENCE); // outside the branch: every item must come to it
    }
    if (me == 0) sums[get_group_id(0)] = x[0];
}
