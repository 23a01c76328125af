// Items in two dimensions: 6 along x, 4 along y. The matrix b has 4 rows of 6 elements, one row after the other in
// memory. The element in row y and column x becomes 10 y + x.
kernel void puzzle(global int* b, int width) {
    // EXERCISE two-dimensions
    //| // TODO: find x and y of this item. Write the element in row y and column x.
    const int x = get_global_id(0);
    const int y = get_global_id(1);
    b[y * width + x] = 10 * y + x;
    // END EXERCISE
}
