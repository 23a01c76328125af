// A group computes SIDE x SIDE elements of C, a work-item EACH x EACH of them, in eight vectors of eight.
// REAL and REAL8 are float and float8, or double and double8.
#if defined(FP64)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#define EACH 8  // rows and columns of one work-item
#define ITEMS 8 // work-items along each side of the group
#define SIDE (EACH * ITEMS)
#define DEPTH 16 // columns of A and rows of B in a tile

// Eight neighbours of a row, from index `first` of `length` on; zeros beyond its end, and outside the matrix.
void load_line(REAL* line, global const REAL* row, int first, int length, int inside) {
    if (inside && first + EACH <= length) {
        vstore8(vload8(0, row + first), 0, line);
    } else {
        for (int s = 0; s < EACH; ++s) line[s] = inside && first + s < length ? row[first + s] : 0;
    }
}

kernel void multiply(global const REAL* a, global const REAL* b, global REAL* c, int m, int k, int n) {
    local REAL a_tile[DEPTH][SIDE]; // transposed: the eight rows of an item stand side by side
    local REAL b_tile[DEPTH][SIDE];
    const int x = get_local_id(0), y = get_local_id(1), item = y * ITEMS + x;
    const int row = get_group_id(1) * SIDE, column = get_group_id(0) * SIDE;

    REAL8 sum[EACH];
    for (int i = 0; i < EACH; ++i) sum[i] = 0;

    for (int l0 = 0; l0 < k; l0 += DEPTH) {
        // Each item brings eight neighbours of a row at a time; outside the matrices the tiles hold 0.
        for (int e = item; e < SIDE * DEPTH / EACH; e += ITEMS * ITEMS) {
            const int i = e / (DEPTH / EACH), l = e % (DEPTH / EACH) * EACH;
            REAL line[EACH];
            load_line(line, a + (size_t)(row + i) * k, l0 + l, k, row + i < m);
            for (int s = 0; s < EACH; ++s) a_tile[l + s][i] = line[s];
        }
        for (int e = item; e < SIDE * DEPTH / EACH; e += ITEMS * ITEMS) {
            const int l = e / ITEMS, j = e % ITEMS;
            REAL line[EACH];
            load_line(line, b + (size_t)(l0 + l) * n, column + j * EACH, n, l0 + l < k);
            vstore8(vload8(0, line), j, b_tile[l]);
        }
        barrier(CLK_LOCAL_MEM_FENCE); // the tiles are complete

        for (int l = 0; l < DEPTH; ++l) {
            const REAL8 left = vload8(y, a_tile[l]);
            const REAL8 right = vload8(x, b_tile[l]);
            sum[0] = mad((REAL8)(left.s0), right, sum[0]);
            sum[1] = mad((REAL8)(left.s1), right, sum[1]);
            sum[2] = mad((REAL8)(left.s2), right, sum[2]);
            sum[3] = mad((REAL8)(left.s3), right, sum[3]);
            sum[4] = mad((REAL8)(left.s4), right, sum[4]);
            sum[5] = mad((REAL8)(left.s5), right, sum[5]);
            sum[6] = mad((REAL8)(left.s6), right, sum[6]);
            sum[7] = mad((REAL8)(left.s7), right, sum[7]);
        }
        barrier(CLK_LOCAL_MEM_FENCE); // the tiles may be overwritten
    }

    for (int i = 0; i < EACH; ++i) {
        const int r = row + y * EACH + i;
        if (r >= m) break;
        REAL line[EACH];
        vstore8(sum[i], 0, line);
        for (int j = 0; j < EACH && column + x * EACH + j < n; ++j) c[(size_t)r * n + column + x * EACH + j] = line[j];
    }
}
