// A group of 32 items has 32 numbers. After five steps, in which all items take part, each writes the sum of all 32
// into b.
kernel void puzzle(global const int* a, global int* b) {
    local int x[32];
    const int i = get_global_id(0);
    const int me = get_local_id(0);
    int sum = a[i];
    // EXERCISE exchange
    //| x[me] = sum; // TODO: in each step each item adds the sum of its partner to its own. Five steps reach all 32.
    for (int distance = 1; distance < 32; distance *= 2) {
        x[me] = sum;
        barrier(CLK_LOCAL_MEM_FENCE); // all have written
        sum += x[me ^ distance];
        barrier(CLK_LOCAL_MEM_FENCE); // all have read
    }
    // END EXERCISE
    b[i] = sum;
}
