// Tiles of A and B in local memory, TILE x TILE. A work-item loads one element of each and computes one of C.
#if defined(REAL_IS_DOUBLE)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

kernel void multiply(global const REAL* a, global const REAL* b, global REAL* c, int m, int k, int n) {
    local REAL a_tile[TILE][TILE];
    local REAL b_tile[TILE][TILE];
    const int x = get_local_id(0), y = get_local_id(1);
    const int j = get_global_id(0), i = get_global_id(1);

    // EXERCISE shared-tile
    //| // TODO: go through the tiles of A and B. In each round every item loads one number of each (0 outside the
    //| // matrices) and then uses a row and a column of the tiles. Where do all items have to wait? The last tile may
    //| // be ragged.
    //| a_tile[y][x] = b_tile[y][x] = 0;
    //| if (i < m && j < n) c[(size_t)i * n + j] = 0;
    REAL sum = 0;
    for (int l0 = 0; l0 < k; l0 += TILE) {
        // Outside A or B the tile holds 0, which adds nothing. No item may return early: all must reach the barriers.
        a_tile[y][x] = i < m && l0 + x < k ? a[(size_t)i * k + l0 + x] : 0;
        b_tile[y][x] = l0 + y < k && j < n ? b[(size_t)(l0 + y) * n + j] : 0;
        barrier(CLK_LOCAL_MEM_FENCE); // the tiles are complete

        for (int l = 0; l < TILE; ++l) sum += a_tile[y][l] * b_tile[l][x];
        barrier(CLK_LOCAL_MEM_FENCE); // no item reads them any more: they may be overwritten
    }
    if (i < m && j < n) c[(size_t)i * n + j] = sum;
    // END EXERCISE
}
