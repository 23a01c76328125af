#ifdef REAL_IS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

// One work-item per element; the sum of each group goes to sums[get_group_id(0)]. Any n; the group size is a power of
// two.
kernel void tree_sequential(global const REAL* a, ulong n, local REAL* x, global REAL* sums) {
    const size_t me = get_local_id(0);
    const size_t i = get_global_id(0);
    x[me] = i < n ? a[i] : 0; // the last group is filled up with zeros
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t stride = get_local_size(0) / 2; stride > 0; stride /= 2) {
        if (me < stride) x[me] += x[me + stride];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (me == 0) sums[get_group_id(0)] = x[0];
}
