#pragma OPENCL EXTENSION cl_khr_fp64 : enable

#define WIDTH 32 // columns of a panel
#define SIDE 32  // rows and columns of a group's tile in the update
#define SPREAD 8 // work-items along each side of the group
#define EACH (SIDE / SPREAD)

// Factorises the columns k0 ... k0 + width - 1, from row k0 down. One group of ITEMS.
kernel void panel(global double* lu, global int* pivots, int n, int k0, int width) {
    local double best[ITEMS];
    local int row[ITEMS];
    const int t = get_local_id(0);
    for (int k = k0; k < k0 + width; ++k) {
        double largest = -1;
        int where = k;
        for (int j = k + t; j < n; j += ITEMS) {
            const double magnitude = fabs(lu[(size_t)j * n + k]);
            if (magnitude > largest) { // never true for NaN
                largest = magnitude;
                where = j;
            }
        }
        best[t] = largest;
        row[t] = where;
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); // all have read the column, which the exchange writes
        for (int distance = ITEMS / 2; distance > 0; distance /= 2) {
            if (t < distance) {
                const double other = best[t + distance];
                if (other > best[t] || (other == best[t] && row[t + distance] < row[t])) {
                    best[t] = other;
                    row[t] = row[t + distance];
                }
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        const int p = row[0];
        if (t == 0) pivots[k] = p;
        if (t < width && p != k) {
            const double kept = lu[(size_t)k * n + k0 + t];
            lu[(size_t)k * n + k0 + t] = lu[(size_t)p * n + k0 + t];
            lu[(size_t)p * n + k0 + t] = kept;
        }
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE); // the rows are exchanged, and nobody needs row[] any more

        for (int i = k + 1 + t; i < n; i += ITEMS) { // each item its own rows
            const double factor = lu[(size_t)i * n + k] / lu[(size_t)k * n + k];
            lu[(size_t)i * n + k] = factor;
            for (int j = k + 1; j < k0 + width; ++j) lu[(size_t)i * n + j] -= factor * lu[(size_t)k * n + j];
        }
        // No barrier: in the next column each item searches the rows that it has just changed.
    }
}

// Applies the steps of the panel to one column outside it: exchanges, and to the right of the panel the rows of U. One
// item per column.
kernel void follow(global double* lu, global const int* pivots, int n, int k0, int width) {
    int j = get_global_id(0);
    if (j >= n - width) return;
    if (j >= k0) j += width;
    for (int k = k0; k < k0 + width; ++k) {
        const int p = pivots[k];
        const double kept = lu[(size_t)k * n + j];
        lu[(size_t)k * n + j] = lu[(size_t)p * n + j];
        lu[(size_t)p * n + j] = kept;
    }
    if (j < k0) return;
    for (int i = k0 + 1; i < k0 + width; ++i) {
        double x = lu[(size_t)i * n + j];
        for (int k = k0; k < i; ++k) x -= lu[(size_t)i * n + k] * lu[(size_t)k * n + j];
        lu[(size_t)i * n + j] = x;
    }
}

// A22 -= L21 U12; a group computes SIDE x SIDE elements, an item EACH x EACH of them, SPREAD apart.
kernel void update(global double* lu, int n, int k0, int width) {
    local double l[SIDE][WIDTH + 1];
    local double u[WIDTH][SIDE];
    const int k1 = k0 + width, x = get_local_id(0), y = get_local_id(1);
    const int row = k1 + get_group_id(1) * SIDE, column = k1 + get_group_id(0) * SIDE;
    for (int e = y * SPREAD + x; e < SIDE * WIDTH; e += SPREAD * SPREAD) { // outside the matrix: 0
        const int i = e / WIDTH, j = e % WIDTH;
        l[i][j] = row + i < n && j < width ? lu[(size_t)(row + i) * n + k0 + j] : 0;
    }
    for (int e = y * SPREAD + x; e < WIDTH * SIDE; e += SPREAD * SPREAD) {
        const int i = e / SIDE, j = e % SIDE;
        u[i][j] = i < width && column + j < n ? lu[(size_t)(k0 + i) * n + column + j] : 0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    for (int a = 0; a < EACH; ++a)
        for (int b = 0; b < EACH; ++b) {
            const int i = y + a * SPREAD, j = x + b * SPREAD;
            double sum = 0;
            for (int k = 0; k < WIDTH; ++k) sum += l[i][k] * u[k][j];
            if (row + i < n && column + j < n) lu[(size_t)(row + i) * n + column + j] -= sum;
        }
}
