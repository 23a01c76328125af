// The kernels of labs/07_lu/opencl/02_columns_pivot.cl, with one mistake chosen by a build option. Without: right.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

#if defined(NO_ABSOLUTE_VALUE)
#define MAGNITUDE(x) (x)
#else
#define MAGNITUDE(x) fabs(x)
#endif

kernel void search(global const double* lu, global int* pivots, int n, int k, local double* best, local int* row) {
    const int t = get_local_id(0), items = get_local_size(0);
    double largest = -1;
    int where = k;
#if defined(READS_A_ROW_TOO_MANY)
    const int end = n + 1;
#else
    const int end = n;
#endif
#if defined(ONE_ROW_PER_ITEM)
    for (int j = k + t; j < min(end, k + items); j += items) {
#else
    for (int j = k + t; j < end; j += items) {
#endif
        const double magnitude = MAGNITUDE(lu[(size_t)j * n + k]);
        if (magnitude > largest && j < n) largest = magnitude, where = j;
    }
    best[t] = largest, row[t] = where;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int distance = items / 2; distance > 0; distance /= 2) {
        if (t < distance) {
            const double other = best[t + distance];
#if defined(FIRST_OF_NO_ORDER)
            if (other > best[t]) best[t] = other, row[t] = row[t + distance];
#else
            if (other > best[t] || (other == best[t] && row[t + distance] < row[t]))
                best[t] = other, row[t] = row[t + distance];
#endif
        }
#if !defined(NO_BARRIER)
        barrier(CLK_LOCAL_MEM_FENCE);
#endif
    }
    if (t == 0) pivots[k] = row[0];
}

kernel void exchange(global double* lu, global const int* pivots, int n, int k) {
    const int p = pivots[k];
#if defined(RIGHT_ONLY)
    const int j = k + get_global_id(0);
#else
    const int j = get_global_id(0);
#endif
    if (j >= n || p == k) return;
    const double kept = lu[(size_t)k * n + j];
    lu[(size_t)k * n + j] = lu[(size_t)p * n + j];
#if !defined(HALF_AN_EXCHANGE)
    lu[(size_t)p * n + j] = kept;
#endif
}

kernel void scale(global double* lu, int n, int k) {
    const int j = k + 1 + get_global_id(0);
    if (j < n) lu[(size_t)j * n + k] /= lu[(size_t)k * n + k];
}

kernel void update(global double* lu, int n, int k) {
    const int i = k + 1 + get_global_id(1);
    const int j = k + 1 + get_global_id(0);
#if defined(PAST_THE_EDGE)
    if (i < n && j <= n) lu[(size_t)i * n + j] -= lu[(size_t)i * n + k] * lu[(size_t)k * n + j];
#elif defined(WHOLE_TILES_ONLY)
    const int whole = k + 1 + (n - k - 1) / 8 * 8;
    if (i < n && j < max(whole, k + 2) && j < n) lu[(size_t)i * n + j] -= lu[(size_t)i * n + k] * lu[(size_t)k * n + j];
#elif defined(ROW_FOR_COLUMN)
    if (i < n && j < n) lu[(size_t)i * n + j] -= lu[(size_t)j * n + k] * lu[(size_t)k * n + i];
#else
    if (i < n && j < n) lu[(size_t)i * n + j] -= lu[(size_t)i * n + k] * lu[(size_t)k * n + j];
#endif
}
