#pragma OPENCL EXTENSION cl_khr_fp64 : enable

// Finds the pivot of column k, from row k down. One group; `best` and `row` have a place for each of its items.
kernel void search(global const double* lu, global int* pivots, int n, int k, local double* best, local int* row) {
    const int t = get_local_id(0), items = get_local_size(0);
    double largest = -1;
    int where = k;
    for (int j = k + t; j < n; j += items) {
        const double magnitude = fabs(lu[(size_t)j * n + k]);
        if (magnitude > largest) { // never true for NaN
            largest = magnitude;
            where = j;
        }
    }
    best[t] = largest;
    row[t] = where;
    barrier(CLK_LOCAL_MEM_FENCE);

    for (int distance = items / 2; distance > 0; distance /= 2) {
        if (t < distance) {
            const double other = best[t + distance];
            if (other > best[t] || (other == best[t] && row[t + distance] < row[t])) {
                best[t] = other;
                row[t] = row[t + distance];
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE); // outside the branch: every item arrives
    }
    if (t == 0) pivots[k] = row[0];
}

// Exchanges row k with the pivot's row; one work-item per column.
kernel void exchange(global double* lu, global const int* pivots, int n, int k) {
    const int j = get_global_id(0), p = pivots[k];
    if (j >= n || p == k) return;
    const double kept = lu[(size_t)k * n + j];
    lu[(size_t)k * n + j] = lu[(size_t)p * n + j];
    lu[(size_t)p * n + j] = kept;
}

kernel void scale(global double* lu, int n, int k) {
    // ANSWER two-kernels
    const int j = k + 1 + get_global_id(0);
    if (j < n) lu[(size_t)j * n + k] /= lu[(size_t)k * n + k];
    // END ANSWER
}

kernel void update(global double* lu, int n, int k) {
    // ANSWER two-kernels
    const int i = k + 1 + get_global_id(1);
    const int j = k + 1 + get_global_id(0);
    if (i < n && j < n) lu[(size_t)i * n + j] -= lu[(size_t)i * n + k] * lu[(size_t)k * n + j];
    // END ANSWER
}
