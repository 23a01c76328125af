#ifdef REAL_IS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#define MAX_BINS 512

// Adds the counts of `bins` bins to `counts`. Any n, any number of groups, groups of any size; bins <= MAX_BINS.
kernel void histogram_private(global const REAL* a, ulong n, uint bins, global uint* counts) {
    const size_t me = get_local_id(0);
    // EXERCISE histogram
    //| // TODO: set the group's own counts to zero; count the group's elements in them, each item every G-th one, G being
    //| // the global size; then add them to those of the other groups, which lie in `counts`. Which additions must be
    //| // atomic? Where does every item have to wait for the others? A group may have fewer items than there are bins.
    //| local uint mine[MAX_BINS];
    //| mine[me % MAX_BINS] = 0;
    local uint mine[MAX_BINS];
    for (size_t b = me; b < bins; b += get_local_size(0)) mine[b] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0)) atomic_inc(&mine[(uint)a[i]]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t b = me; b < bins; b += get_local_size(0)) atomic_add(&counts[b], mine[b]);
    // END EXERCISE
}
