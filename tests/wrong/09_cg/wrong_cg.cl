// The dot product and the updates of lab 09 with one mistake each (MISTAKE), in double.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

// 1: no barrier before other items' sums are read. 2: the items beyond half the group are left out. 3: without the
// tail.
kernel void dot_product(global const double* a, global const double* b, ulong n, global double* partial,
                        local double* sums) {
    const uint item = get_local_id(0), size = get_local_size(0);
    double sum = 0;
    const ulong end = MISTAKE == 3 ? n / size * size : n;
    for (size_t i = get_global_id(0); i < end; i += get_global_size(0)) sum += a[i] * b[i];
    sums[item] = sum;
    if (MISTAKE != 1) barrier(CLK_LOCAL_MEM_FENCE);
    for (uint half_size = size / (MISTAKE == 2 ? 4 : 2); half_size > 0; half_size /= 2) {
        if (item < half_size) sums[item] += sums[item + half_size];
        if (MISTAKE != 1) barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (item == 0) partial[get_group_id(0)] = sums[0];
}

// y += factor x. 4: each item takes one element only.
kernel void add(global double* y, global const double* x, double factor, ulong n) {
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0)) {
        y[i] += factor * x[i];
        if (MISTAKE == 4) break;
    }
}

// p = r + beta p. 5: beta p is forgotten in the last element.
kernel void next_p(global double* p, global const double* r, double beta, ulong n) {
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0))
        p[i] = r[i] + (MISTAKE == 5 && i + 1 == n ? 0 : beta) * p[i];
}

// q = A p. 6: q is added to, as in the thesis's figure 4.5. 7: reads one offset too many.
kernel void spmv(global const int* row_start, global const int* column, global const double* value,
                 global const double* p, global double* q, ulong rows) {
    for (size_t i = get_global_id(0); i < rows + (MISTAKE == 7 ? 1 : 0); i += get_global_size(0)) {
        double sum = MISTAKE == 6 ? q[i] : 0;
        for (int k = row_start[i]; k < row_start[i + 1]; ++k) sum += value[k] * p[column[k]];
        if (i < rows) q[i] = sum;
    }
}
