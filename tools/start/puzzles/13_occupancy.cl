// A group of 64 items reverses each of its pieces of 64 numbers, one piece after the other.
kernel void puzzle(global const int* a, global int* b, int pieces) {
    const int me = get_local_id(0);
    const int first = get_group_id(0) * pieces * 64; // of the numbers of this group
    // EXERCISE occupancy
    //| local int x[128 * 64]; // TODO: right, but a place for each of up to 128 pieces leaves no room for other groups.
    //| for (int p = 0; p < pieces; ++p) {
    //|     x[64 * p + me] = a[first + 64 * p + me];
    //|     barrier(CLK_LOCAL_MEM_FENCE);
    //|     b[first + 64 * p + me] = x[64 * p + 63 - me];
    //| }
    local int x[2][64]; // while some items still read one, others already write the other
    for (int p = 0; p < pieces; ++p) {
        x[p % 2][me] = a[first + 64 * p + me];
        barrier(CLK_LOCAL_MEM_FENCE);
        b[first + 64 * p + me] = x[p % 2][63 - me];
    }
    // END EXERCISE
}
