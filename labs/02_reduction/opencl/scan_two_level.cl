#ifdef REAL_IS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

// Scans each group's tile of (group size) x PER_ITEM elements separately; the sum of tile g goes to sums[g].
// Item l owns the PER_ITEM consecutive elements from l x PER_ITEM on. Any n; `out` may be `a`.
#define PER_ITEM 4
kernel void scan_tiles(global const REAL* a, global REAL* out, ulong n, local REAL* x, global REAL* sums,
                       int inclusive) {
    const size_t me = get_local_id(0);
    const size_t first = get_global_id(0) * PER_ITEM;

    REAL mine[PER_ITEM]; // my elements, then their prefix sums
    for (int k = 0; k < PER_ITEM; ++k) mine[k] = first + k < n ? a[first + k] : (REAL)0;
    for (int k = 1; k < PER_ITEM; ++k) mine[k] += mine[k - 1];

    // EXERCISE prefix-sum
    //| // TODO: find `base`, the sum of all elements of the tile that stand before this item's own. The prefix sums of
    //| // the items' sums, mine[PER_ITEM - 1], can be made in local memory by doubling stride. At the end x[me] must
    //| // hold the sum of all elements of the items 0 to me.
    //| x[me] = 0;
    //| const REAL base = 0;
    x[me] = mine[PER_ITEM - 1];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t stride = 1; stride < get_local_size(0); stride *= 2) { // by doubling stride over the items
        const REAL before = me >= stride ? x[me - stride] : (REAL)0;
        barrier(CLK_LOCAL_MEM_FENCE); // all have read
        if (me >= stride) x[me] += before;
        barrier(CLK_LOCAL_MEM_FENCE); // all have written
    }

    const REAL base = me > 0 ? x[me - 1] : (REAL)0;
    // END EXERCISE
    for (int k = 0; k < PER_ITEM; ++k) {
        const REAL exclusive = k > 0 ? base + mine[k - 1] : base;
        if (first + k < n) out[first + k] = inclusive ? base + mine[k] : exclusive;
    }
    if (me == get_local_size(0) - 1) sums[get_group_id(0)] = x[me];
}

// Adds before[g] to every element of tile g. Any n.
kernel void add(global REAL* out, ulong n, global const REAL* before) {
    const size_t first = get_global_id(0) * PER_ITEM;
    // EXERCISE prefix-sum
    //| // TODO: add the sum of all tiles before this one to each element of the tile. It is before[get_group_id(0)].
    const REAL base = before[get_group_id(0)];
    for (int k = 0; k < PER_ITEM; ++k)
        if (first + k < n) out[first + k] += base;
    // END EXERCISE
}
