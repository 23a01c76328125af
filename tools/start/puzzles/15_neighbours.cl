// A group of 8 items: three times, each number but the last becomes the sum of itself and its right neighbour.
kernel void puzzle(global const int* a, global int* b) {
    local int x[8];
    const int i = get_global_id(0);
    const int me = get_local_id(0);
    // EXERCISE neighbours
    //| x[me] = a[i];
    //| for (int round = 0; round < 3; ++round) {
    //|     barrier(CLK_LOCAL_MEM_FENCE);
    //|     if (me < 7) x[me] += x[me + 1];
    //| }
    //| b[i] = x[me];
    x[me] = a[i];
    for (int round = 0; round < 3; ++round) {
        barrier(CLK_LOCAL_MEM_FENCE); // all have written
        const int right = me < 7 ? x[me + 1] : 0;
        barrier(CLK_LOCAL_MEM_FENCE); // all have read
        x[me] += right;
    }
    b[i] = x[me];
    // END EXERCISE
}
