// 32 items, 128 elements: each item takes 4 of them. b[i] = 2 a[i] for all i.
kernel void puzzle(global const int* a, global int* b) {
    const int me = get_global_id(0);
    for (int k = 0; k < 4; ++k) {
        // EXERCISE coalesced
        //| const int i = 4 * me + k; // TODO: right, but which elements do the 32 items read at the same time?
        const int i = 32 * k + me;
        // END EXERCISE
        b[i] = 2 * a[i];
    }
}
