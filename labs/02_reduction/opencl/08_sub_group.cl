#ifdef REAL_IS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

// Any n with any number of groups. `of_sub_group` holds one number per sub-group; there are at most as many as items.
#ifdef cl_intel_required_subgroup_size
__attribute__((intel_reqd_sub_group_size(32))) // as many items as a warp; otherwise PoCL makes the group one sub-group
#endif
kernel void
sub_group(global const REAL* a, ulong n, local REAL* of_sub_group, global REAL* sums) {
    // ANSWER tree dot
    REAL mine = 0;
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0)) mine += a[i];

    mine = sub_group_reduce_add(mine); // the sum of the sub-group, in all its items, as warp_sum() of cuda_shuffle
    if (get_sub_group_local_id() == 0) of_sub_group[get_sub_group_id()] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);

    // All sub-groups add up these sums, though one would do: PoCL 6 can fail in a branch that only some of them take.
    REAL all = 0;
    for (uint s = get_sub_group_local_id(); s < get_num_sub_groups(); s += get_sub_group_size()) all += of_sub_group[s];
    all = sub_group_reduce_add(all);
    if (get_local_id(0) == 0) sums[get_group_id(0)] = all;
    // END ANSWER
}
