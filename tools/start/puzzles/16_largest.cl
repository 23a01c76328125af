// A group of 32 items finds the largest of n numbers, at most 32. None of them is negative.
kernel void puzzle(global const int* a, global int* largest, int n) {
    local int x[32];
    const int me = get_local_id(0);
    // EXERCISE largest
    //| if (me < n) x[me] = a[me];
    //| for (int distance = 16; distance > 0; distance /= 2) {
    //|     barrier(CLK_LOCAL_MEM_FENCE);
    //|     if (me < distance) x[me] = max(x[me], x[me + distance]);
    //| }
    x[me] = me < n ? a[me] : 0; // what changes no maximum
    for (int distance = 16; distance > 0; distance /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (me < distance) x[me] = max(x[me], x[me + distance]);
    }
    // END EXERCISE
    if (me == 0) *largest = x[0];
}
