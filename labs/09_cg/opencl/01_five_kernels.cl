// The five kernels of the thesis, section 4.2: dot product, next x, next r, next p, matrix times vector.
// Any number of work-items: each one takes an element, then the element one whole grid further, and so on.
#ifdef REAL_IS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

// One partial sum for each group; the host adds them up.
// partial: as many numbers as there are groups; sums: one REAL per item of the group, a power of two.
void reduce(REAL sum, global REAL* partial, local REAL* sums) {
    const uint item = get_local_id(0);
    sums[item] = sum;
    barrier(CLK_LOCAL_MEM_FENCE); // all sums are there before any item reads another's
    for (uint half_size = get_local_size(0) / 2; half_size > 0; half_size /= 2) {
        if (item < half_size) sums[item] += sums[item + half_size];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (item == 0) partial[get_group_id(0)] = sums[0];
}

// a . b; a begins at element `first` of its array.
kernel void dot_product(global const REAL* a, ulong first, global const REAL* b, ulong n, global REAL* partial,
                        local REAL* sums) {
    REAL sum = 0;
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0)) sum += a[first + i] * b[i];
    reduce(sum, partial, sums);
}

// r . z with z = inverse * r (Jacobi).
kernel void dot_jacobi(global const REAL* r, global const REAL* inverse, ulong n, global REAL* partial,
                       local REAL* sums) {
    REAL sum = 0;
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0)) sum += r[i] * (inverse[i] * r[i]);
    reduce(sum, partial, sums);
}

// x += alpha p
kernel void next_x(global REAL* x, global const REAL* p, ulong first, REAL alpha, ulong n) {
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0)) x[i] += alpha * p[first + i];
}

// r -= alpha q
kernel void next_r(global REAL* r, global const REAL* q, REAL alpha, ulong n) {
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0)) r[i] -= alpha * q[i];
}

// p = r + beta p
kernel void next_p(global REAL* p, ulong first, global const REAL* r, REAL beta, ulong n) {
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0)) p[first + i] = r[i] + beta * p[first + i];
}

// p = inverse * r + beta p (Jacobi)
kernel void next_p_jacobi(global REAL* p, ulong first, global const REAL* r, global const REAL* inverse, REAL beta,
                          ulong n) {
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0))
        p[first + i] = inverse[i] * r[i] + beta * p[first + i];
}

// q = A p for the rows begin ... end - 1; an item per row.
kernel void spmv(global const int* row_start, global const int* column, global const REAL* value, global const REAL* p,
                 global REAL* q, ulong begin, ulong end) {
    for (size_t i = begin + get_global_id(0); i < end; i += get_global_size(0)) {
        REAL sum = 0;
        for (int k = row_start[i]; k < row_start[i + 1]; ++k) sum += value[k] * p[column[k]];
        q[i] = sum;
    }
}
