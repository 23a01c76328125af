// Four of the five kernels of the thesis, section 4.2: next x, next r, next p, matrix times vector; the fifth is in
// dot.cl. Any number of work-items: each one takes an element, then the element one whole grid further, and so on.
#ifdef REAL_IS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

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
        // EXERCISE product
        //| // TODO: the product of row i and p.
        //| q[i] = 0;
        REAL sum = 0;
        for (int k = row_start[i]; k < row_start[i + 1]; ++k) sum += value[k] * p[column[k]];
        q[i] = sum;
        // END EXERCISE
    }
}
