#ifdef REAL_IS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

// One work-item per element; the sum of each group goes to sums[get_group_id(0)]. Any n; the group size is a power of
// two.
kernel void tree_sequential(global const REAL* a, ulong n, local REAL* x, global REAL* sums) {
    const size_t me = get_local_id(0);
    const size_t i = get_global_id(0);
    // EXERCISE tree
    //| // TODO: copy one element to local memory, or 0 beyond the end. Add up x[0], x[1], ... in a tree with the
    //| // working items side by side. Item 0 writes the sum of the group. Where does every item have to wait for the
    //| // others?
    //| x[me] = i < n ? 0 : 0;
    //| sums[get_group_id(0)] = 0;
    x[me] = i < n ? a[i] : 0; // the last group is filled up with zeros
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t stride = get_local_size(0) / 2; stride > 0; stride /= 2) {
        if (me < stride) x[me] += x[me + stride];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (me == 0) sums[get_group_id(0)] = x[0];
    // END EXERCISE
}
