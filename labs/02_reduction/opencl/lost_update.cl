// The counterparts of the kernels in cuda/lost_update.cu.
kernel void add_unprotected(volatile global uint* total, ulong n) {
    if (get_global_id(0) < n) *total = *total + 1;
}

kernel void add_atomic(volatile global uint* total, ulong n) {
    if (get_global_id(0) < n) atomic_add(total, 1);
}
