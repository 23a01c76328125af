#ifdef REAL_IS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#define MAX_BINS 512
#define COPIES 8

// As histogram_private, with COPIES counts for each bin.
kernel void histogram_copies(global const REAL* a, ulong n, uint bins, global uint* counts) {
    // ANSWER histogram
    const size_t me = get_local_id(0);
    local uint all[COPIES * (MAX_BINS + 1)];
    const uint pitch = bins | 1; // odd: the copies of a bin lie in different banks
    for (size_t b = me; b < COPIES * pitch; b += get_local_size(0)) all[b] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    local uint* mine = all + me % COPIES * pitch;
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0)) atomic_inc(&mine[(uint)a[i]]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t b = me; b < bins; b += get_local_size(0)) {
        uint count = 0;
        for (uint k = 0; k < COPIES; ++k) count += all[k * pitch + b];
        atomic_add(&counts[b], count);
    }
    // END ANSWER
}
