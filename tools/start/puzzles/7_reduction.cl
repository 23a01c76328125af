// A group of 8 items adds up 8 numbers in three steps: 8 numbers become 4, then 2, then 1.
kernel void puzzle(global const int* a, global int* sum) {
    local int x[8];
    const int me = get_local_id(0);
    x[me] = a[me];
    // EXERCISE reduction
    //| // TODO: let the first 4 items each add the number 4 places further on to their own; then the first 2, then the first.
    for (int distance = 4; distance > 0; distance /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE); // the step before is complete
        if (me < distance) x[me] += x[me + distance];
    }
    // END EXERCISE
    if (me == 0) *sum = x[0];
}
