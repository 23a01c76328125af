// Hz, Ex and Ey in one kernel, Hz in local memory: the counterpart of cuda_fused. A group computes Hz of its LX x LY
// cells, and again of the column to the left and the row below, which belong to other groups. The old field stays until
// all groups are done; the new one goes to a second set of arrays.

// Hz of cell (i, j) one step later; 0 outside the grid.
REAL new_hz(Book g, int i, int j, global const REAL* hz, global const REAL* ex, global const REAL* ey, REAL source) {
    if (i < 0 || j < 0 || i >= g.nx || j >= g.ny) return 0;
    const size_t at = (size_t)j * g.pitch + i;
    // ANSWER update
    const REAL h = g.a * hz[at] + (g.b_dy * (ex[at + g.pitch] - ex[at]) - g.b_dx * (ey[at + 1] - ey[at]));
    return i == g.source_i && j == g.source_j ? source : h;
    // END ANSWER
}

kernel void one_step(Book g, global const REAL* hz, global const REAL* ex, global const REAL* ey, global REAL* next_hz,
                     global REAL* next_ex, global REAL* next_ey, REAL source) {
    local REAL tile[LY + 1][LX + 1]; // row 0 and column 0: computed again
    const int x = get_local_id(0), y = get_local_id(1);
    const int i = get_global_id(0), j = get_global_id(1);
    const REAL h = new_hz(g, i, j, hz, ex, ey, source);
    tile[y + 1][x + 1] = h;
    if (y == 0) tile[0][x + 1] = new_hz(g, i, j - 1, hz, ex, ey, source);
    if (x == 0) tile[y + 1][0] = new_hz(g, i - 1, j, hz, ex, ey, source);
    barrier(CLK_LOCAL_MEM_FENCE); // Hz is complete

    // There is an item for each of the (nx + 1) x (ny + 1) places that hold numbers: the edges on the border get to the
    // other field, too.
    const size_t at = (size_t)j * g.pitch + i;
    const bool column = i < g.nx, row = j < g.ny;
    // ANSWER update
    if (column && row) next_hz[at] = h;
    if (column && j <= g.ny) next_ex[at] = j > 0 && row ? g.c * ex[at] + g.d_dy * (h - tile[y][x + 1]) : ex[at];
    if (row && i <= g.nx) next_ey[at] = i > 0 && column ? g.c * ey[at] - g.d_dx * (h - tile[y + 1][x]) : ey[at];
    // END ANSWER
}
