// A group of 32 items and a matrix a of 32 rows with 32 numbers: item me adds up row me. The matrix goes through local
// memory, so that the reads of a are coalesced.
kernel void puzzle(global const int* a, global int* sums) {
    // EXERCISE banks
    //| local int x[32 * 32];
    //| const int row = 32; // TODO: right, but in which banks are the numbers that the 32 items read at the same time?
    local int x[32 * 33];
    const int row = 33; // from one row to the next
    // END EXERCISE
    const int me = get_local_id(0);
    for (int k = 0; k < 32; ++k) x[row * k + me] = a[32 * k + me];
    barrier(CLK_LOCAL_MEM_FENCE);
    int sum = 0;
    for (int k = 0; k < 32; ++k) sum += x[row * me + k];
    sums[me] = sum;
}
