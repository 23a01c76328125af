#ifdef REAL_IS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

// Any n with any number of groups, of any size.
kernel void work_group_reduce(global const REAL* a, ulong n, global REAL* sums) {
    // ANSWER tree dot
    REAL mine = 0;
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0)) mine += a[i];

    const REAL all = work_group_reduce_add(mine); // every item of the group must come to it, as to a barrier
    if (get_local_id(0) == 0) sums[get_group_id(0)] = all;
    // END ANSWER
}
