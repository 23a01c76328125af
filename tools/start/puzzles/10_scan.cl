// A group of 32 items, five steps: b[i] becomes a[0] + a[1] + ... + a[i], from the beginning of the group.
kernel void puzzle(global const int* a, global int* b) {
    local int x[32];
    const int i = get_global_id(0);
    const int me = get_local_id(0);
    x[me] = a[i];
    // EXERCISE scan
    //| for (int distance = 1; distance < 2; distance *= 2) { // TODO: one step is too few.
    //|     barrier(CLK_LOCAL_MEM_FENCE);
    //|     if (me >= distance) x[me] += x[me - distance]; // TODO: may an item write x[me] here, while others still read?
    //| }
    for (int distance = 1; distance < 32; distance *= 2) {
        barrier(CLK_LOCAL_MEM_FENCE); // all have written
        const int before = me >= distance ? x[me - distance] : 0;
        barrier(CLK_LOCAL_MEM_FENCE); // all have read
        x[me] += before;
    }
    // END EXERCISE
    b[i] = x[me];
}
