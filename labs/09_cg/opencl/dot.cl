// The fifth kernel of the thesis, section 4.2: the dot product. Any number of work-items, and any number of groups.
#ifdef REAL_IS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

// One partial sum for each group; the host adds them up.
// partial: as many numbers as there are groups; sums: one REAL per item of the group, a power of two.
void reduce(REAL sum, global REAL* partial, local REAL* sums) {
    // EXERCISE dot
    //| // TODO: add up the sums of all items of this group in local memory. One item writes the result to the group's
    //| // place in `partial`.
    //| if (get_local_id(0) == 0) partial[get_group_id(0)] = 0;
    const uint item = get_local_id(0);
    sums[item] = sum;
    barrier(CLK_LOCAL_MEM_FENCE); // all sums are there before any item reads another's
    for (uint half_size = get_local_size(0) / 2; half_size > 0; half_size /= 2) {
        if (item < half_size) sums[item] += sums[item + half_size];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (item == 0) partial[get_group_id(0)] = sums[0];
    // END EXERCISE
}

// a . b; a begins at element `first` of its array.
kernel void dot_product(global const REAL* a, ulong first, global const REAL* b, ulong n, global REAL* partial,
                        local REAL* sums) {
    REAL sum = 0;
    // EXERCISE dot
    //| // TODO: this item's share of the sum: its own element, the one a whole grid further, and so on.
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0)) sum += a[first + i] * b[i];
    // END EXERCISE
    reduce(sum, partial, sums);
}

// r . z with z = inverse * r (Jacobi).
kernel void dot_jacobi(global const REAL* r, global const REAL* inverse, ulong n, global REAL* partial,
                       local REAL* sums) {
    REAL sum = 0;
    // EXERCISE dot
    //| // TODO: the same for r . z.
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0)) sum += r[i] * (inverse[i] * r[i]);
    // END EXERCISE
    reduce(sum, partial, sums);
}
