// A group computes SIDE x SIDE elements of C, a work-item EACH x EACH of them, in eight vectors of eight.
// REAL and REAL8 are float and float8, or double and double8.
#if defined(REAL_IS_DOUBLE)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#define EACH 8  // rows and columns of one work-item
#define ITEMS 8 // work-items along each side of the group
#define SIDE (EACH * ITEMS)
#define DEPTH 16 // columns of A and rows of B in a tile

// Eight neighbours of a row, from index `first` of `length` on; zeros beyond its end and outside the matrix.
// vload8 requires only the alignment of a single number, so a compiler may make eight loads of it. When eight divides
// the lengths of all rows (WHOLE_LINES, which the host defines), every line is aligned to eight numbers, and the cast
// to REAL8 says so. This is decided when the kernel is built: a test in the kernel would be the same in every pass of
// its loop, so LLVM would make two loops of it, each with the barriers, and PoCL 5 fails on these.
REAL8 load_line(global const REAL* row, int first, int length, int inside) {
#if defined(WHOLE_LINES)
    return inside && first < length ? *(global const REAL8*)(row + first) : (REAL8)0;
#else
#define AT(s) (inside && first + s < length ? row[first + s] : 0)
    if (inside && first + EACH <= length) return vload8(0, row + first);
    return (REAL8)(AT(0), AT(1), AT(2), AT(3), AT(4), AT(5), AT(6), AT(7));
#endif
}

// The steps between two barriers are written out, not in a loop. PoCL runs the items of a group one after another. With
// a loop it does each pass for all items before the next pass, and the sums go to memory in between. Written out, an
// item does all its steps at once, with its sums in registers.

// Column l of A's tile times row l of B's: 64 products, added to the sums s0 ... s7.
#define STEP(l)                           \
    {                                     \
        const REAL8 left = a_tile[l][y];  \
        const REAL8 right = b_tile[l][x]; \
        s0 += left.s0 * right;            \
        s1 += left.s1 * right;            \
        s2 += left.s2 * right;            \
        s3 += left.s3 * right;            \
        s4 += left.s4 * right;            \
        s5 += left.s5 * right;            \
        s6 += left.s6 * right;            \
        s7 += left.s7 * right;            \
    }

// Line e of A's tile, which becomes a column of it, and line e of B's.
#define LOAD_A(e)                                                                        \
    {                                                                                    \
        const int i = (e) / (DEPTH / EACH), l = (e) % (DEPTH / EACH) * EACH;             \
        const REAL8 line = load_line(a + (size_t)(row + i) * k, l0 + l, k, row + i < m); \
        local REAL* const down = (local REAL*)a_tile[l] + i;                             \
        down[0 * SIDE] = line.s0, down[1 * SIDE] = line.s1;                              \
        down[2 * SIDE] = line.s2, down[3 * SIDE] = line.s3;                              \
        down[4 * SIDE] = line.s4, down[5 * SIDE] = line.s5;                              \
        down[6 * SIDE] = line.s6, down[7 * SIDE] = line.s7;                              \
    }
#define LOAD_B(e)                                                                             \
    {                                                                                         \
        const int l = (e) / ITEMS, j = (e) % ITEMS;                                           \
        b_tile[l][j] = load_line(b + (size_t)(l0 + l) * n, column + j * EACH, n, l0 + l < k); \
    }

kernel void multiply(global const REAL* a, global const REAL* b, global REAL* c, int m, int k, int n) {
    // ANSWER shared-tile
    local REAL8 a_tile[DEPTH][ITEMS]; // transposed: the eight rows of an item lie side by side, in one REAL8
    local REAL8 b_tile[DEPTH][ITEMS];
    const int x = get_local_id(0), y = get_local_id(1), item = y * ITEMS + x;
    const int row = get_group_id(1) * SIDE, column = get_group_id(0) * SIDE;

    REAL8 sum[EACH];
    for (int i = 0; i < EACH; ++i) sum[i] = 0;

    for (int l0 = 0; l0 < k; l0 += DEPTH) {
        // Each item loads eight neighbours of a row at a time; outside the matrices the tiles hold 0.
        // clang-format off
        LOAD_A(item) LOAD_A(item + ITEMS * ITEMS)
        LOAD_B(item) LOAD_B(item + ITEMS * ITEMS)
        barrier(CLK_LOCAL_MEM_FENCE); // the tiles are complete

        REAL8 s0 = sum[0], s1 = sum[1], s2 = sum[2], s3 = sum[3], s4 = sum[4], s5 = sum[5], s6 = sum[6], s7 = sum[7];
        STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7)
        STEP(8) STEP(9) STEP(10) STEP(11) STEP(12) STEP(13) STEP(14) STEP(15) // DEPTH of them
        sum[0] = s0, sum[1] = s1, sum[2] = s2, sum[3] = s3, sum[4] = s4, sum[5] = s5, sum[6] = s6, sum[7] = s7;
        barrier(CLK_LOCAL_MEM_FENCE); // no item reads them any more
        // clang-format on
    }

    for (int i = 0; i < EACH && row + y * EACH + i < m; ++i) {
        const int r = row + y * EACH + i;
        REAL line[EACH];
        vstore8(sum[i], 0, line);
        for (int j = 0; j < EACH && column + x * EACH + j < n; ++j) c[(size_t)r * n + column + x * EACH + j] = line[j];
    }
    // END ANSWER
}
