// 16 items, n = 10 elements: b[i] = 2 a[i], and nothing past the end.
kernel void puzzle(global const int* a, global int* b, int n) {
    const int i = get_global_id(0);
    // EXERCISE bounds
    //| b[i] = 2 * a[i]; // TODO: items 10 to 15 have no element.
    if (i < n) b[i] = 2 * a[i];
    // END EXERCISE
}
