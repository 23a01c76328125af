// The kernels of labs/07_lu/opencl/03_blocked_pivot.cl, with one mistake chosen by a build option. Without: right. The
// update is without tiles.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

kernel void panel(global double* lu, global int* pivots, int n, int k0, int width) {
    local double best[ITEMS];
    local int row[ITEMS];
    const int t = get_local_id(0);
    int end = k0 + width; // of the columns to update
#if defined(LAST_PANEL_COLUMN)
    if (end < n) --end;
#endif
    for (int k = k0; k < k0 + width; ++k) {
        double largest = -1;
        int where = k;
        for (int j = k + t; j < n; j += ITEMS) {
            const double magnitude = fabs(lu[(size_t)j * n + k]);
            if (magnitude > largest) largest = magnitude, where = j;
        }
        best[t] = largest, row[t] = where;
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        for (int distance = ITEMS / 2; distance > 0; distance /= 2) {
            if (t < distance) {
                const double other = best[t + distance];
                if (other > best[t] || (other == best[t] && row[t + distance] < row[t]))
                    best[t] = other, row[t] = row[t + distance];
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
        barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
        for (int i = k + 1 + t; i < n; i += ITEMS) {
            const double factor = lu[(size_t)i * n + k] / lu[(size_t)k * n + k];
            lu[(size_t)i * n + k] = factor;
            for (int j = k + 1; j < end; ++j) lu[(size_t)i * n + j] -= factor * lu[(size_t)k * n + j];
        }
        barrier(CLK_GLOBAL_MEM_FENCE);
    }
}

kernel void follow(global double* lu, global const int* pivots, int n, int k0, int width) {
    int j = get_global_id(0);
    if (j >= n - width) return;
    if (j >= k0) j += width;
#if defined(LEFT_OF_THE_PANEL_KEPT)
    if (j < k0) return;
#endif
    for (int k = k0; k < k0 + width; ++k) {
        const int p = pivots[k];
        const double kept = lu[(size_t)k * n + j];
        lu[(size_t)k * n + j] = lu[(size_t)p * n + j];
        lu[(size_t)p * n + j] = kept;
    }
#if !defined(ROWS_OF_U_NOT_SOLVED)
    if (j < k0) return;
    for (int i = k0 + 1; i < k0 + width; ++i) {
        double x = lu[(size_t)i * n + j];
        for (int k = k0; k < i; ++k) x -= lu[(size_t)i * n + k] * lu[(size_t)k * n + j];
        lu[(size_t)i * n + j] = x;
    }
#endif
}

kernel void update(global double* lu, int n, int k0, int width) {
    const int i = k0 + width + get_global_id(1), j = k0 + width + get_global_id(0);
    if (i >= n || j >= n) return;
#if defined(SHORT_PRODUCT)
    const int end = k0 + width - 1;
#else
    const int end = k0 + width;
#endif
    double sum = 0;
    for (int k = k0; k < end; ++k) sum += lu[(size_t)i * n + k] * lu[(size_t)k * n + j];
    lu[(size_t)i * n + j] -= sum;
}
