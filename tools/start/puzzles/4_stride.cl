// 4 items, n = 10 elements: b[i] = 2 a[i] for all i. The launch stays as it is, so an item takes several elements.
kernel void puzzle(global const int* a, global int* b, int n) {
    // EXERCISE stride
    //| // TODO: this item writes one element. Let it go on to the next of its own.
    //| const int i = get_global_id(0);
    //| if (i < n) b[i] = 2 * a[i];
    for (int i = get_global_id(0); i < n; i += get_global_size(0)) b[i] = 2 * a[i];
    // END EXERCISE
}
