#pragma OPENCL EXTENSION cl_khr_fp64 : enable

// Factorises one n x n matrix per group of ITEMS items, with partial pivoting, in local memory. Row i begins at
// m[i * stride].
kernel void batch(global double* all, global int* all_pivots, int n, int stride, local double* m) {
    local double best[ITEMS];
    local int row[ITEMS];
    const int t = get_local_id(0);
    global double* const a = all + (size_t)get_group_id(0) * n * n;
    global int* const pivots = all_pivots + (size_t)get_group_id(0) * n;
    for (int e = t; e < n * n; e += ITEMS) m[e / n * stride + e % n] = a[e];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int k = 0; k < n; ++k) {
        double largest = -1;
        int where = k;
        for (int i = k + t; i < n; i += ITEMS) {
            const double magnitude = fabs(m[i * stride + k]);
            if (magnitude > largest) { // never true for NaN
                largest = magnitude;
                where = i;
            }
        }
        best[t] = largest;
        row[t] = where;
        barrier(CLK_LOCAL_MEM_FENCE);
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
        for (int j = t; j < n && p != k; j += ITEMS) {
            const double kept = m[k * stride + j];
            m[k * stride + j] = m[p * stride + j];
            m[p * stride + j] = kept;
        }
        barrier(CLK_LOCAL_MEM_FENCE); // the rows are exchanged, and nobody needs row[] any more

        for (int i = k + 1 + t; i < n; i += ITEMS) { // each item its own rows
            const double factor = m[i * stride + k] / m[k * stride + k];
            m[i * stride + k] = factor;
            for (int j = k + 1; j < n; ++j) m[i * stride + j] -= factor * m[k * stride + j];
        }
        // No barrier: in the next column each item searches the rows that it has just changed.
    }
    // No barrier either: the last column updates nothing, and has waited for the updates of the others.
    for (int e = t; e < n * n; e += ITEMS) a[e] = m[e / n * stride + e % n];
}
