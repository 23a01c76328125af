// 32 items, 128 elements: each item takes 4 of them. b[i] = 2 a[i] for all i. The number of items stays as it is.
kernel void puzzle(global const int* a, global int* b) {
    const int me = get_global_id(0);
    // EXERCISE in-flight
    //| // TODO: right, but an item has one number under way, and waits for it before it asks for the next.
    //| for (int k = 0; k < 4; ++k) b[32 * k + me] = 2 * a[32 * k + me];
    const int4 four = vload4(me, a); // 16 bytes with one request
    vstore4(2 * four, me, b);
    // END EXERCISE
}
