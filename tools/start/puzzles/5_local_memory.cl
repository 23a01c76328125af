// A group of 8 items reverses its 8 elements of a into b, through the local array x.
kernel void puzzle(global const int* a, global int* b) {
    local int x[8]; // one for each group: all its items share it
    const int i = get_global_id(0);
    const int me = get_local_id(0);
    // EXERCISE local-memory
    //| x[me] = a[i];
    //| b[i] = x[7 - me]; // TODO: which item writes x[7 - me], and has it done so by now?
    x[me] = a[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    b[i] = x[7 - me];
    // END EXERCISE
}
