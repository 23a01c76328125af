// The product of two matrices, c = a b, each with width rows of width numbers, in groups of 4 x 4 items. Each item
// computes one number of c.
kernel void puzzle(global const int* a, global const int* b, global int* c, int width) {
    local int s[4][4], t[4][4]; // a tile of a, and one of b
    const int x = get_global_id(0), me_x = get_local_id(0);
    const int y = get_global_id(1), me_y = get_local_id(1);
    int sum = 0;
    for (int k = 0; k < width; k += 4) { // the tiles in row y of a, and those in column x of b
        // EXERCISE tile
        //| // TODO: right, but four items of the group read the same number. Let each be read once, into s or t.
        //| for (int j = 0; j < 4; ++j) sum += a[y * width + k + j] * b[(k + j) * width + x];
        s[me_y][me_x] = a[y * width + k + me_x];
        t[me_y][me_x] = b[(k + me_y) * width + x];
        barrier(CLK_LOCAL_MEM_FENCE); // both tiles are complete
        for (int j = 0; j < 4; ++j) sum += s[me_y][j] * t[j][me_x];
        barrier(CLK_LOCAL_MEM_FENCE); // and nobody needs them any more
        // END EXERCISE
    }
    c[y * width + x] = sum;
}
