// The iteration in three kernels for a CPU. An item has the rows first[t] ... first[t + 1] - 1, and goes over them from
// front to back. Sums are added up in blocks of rows, so that rounding errors do not grow with the length of the range.
#ifdef REAL_IS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double8 REAL8;
#else
typedef float8 REAL8;
#endif

// Rows of a block: its pieces of the vectors stay in the first-level cache.
constant size_t block_rows = 512;

REAL sum_of(REAL8 v) {
    const REAL8 w = v + v.s45670123;
    return (w.s0 + w.s2) + (w.s1 + w.s3);
}

// q = A p, and this item's share of p . q.
kernel void multiply(global const ulong* first, global const int* row_start, global const int* column,
                     global const REAL* value, global const REAL* p, global REAL* q, global REAL* partial) {
    const size_t t = get_global_id(0);
    const size_t end = first[t + 1];
    REAL pq = 0;
    for (size_t block = first[t]; block < end; block += block_rows) {
        REAL pq_of_block = 0;
        for (size_t i = block; i < min(block + block_rows, end); ++i) {
            REAL product = 0;
            for (int k = row_start[i]; k < row_start[i + 1]; ++k) product += value[k] * p[column[k]];
            q[i] = product;
            pq_of_block += p[i] * product;
        }
        pq += pq_of_block;
    }
    partial[t] = pq;
}

// x += alpha p and r -= alpha q, and this item's shares of r . r and r . z with z = inverse * r (Jacobi) or r.
// Eight elements at a time, in vector instructions; what is left of a block one by one.
// partial: r . r of all items, then r . z of all items.
kernel void update(global const ulong* first, global REAL* x, global REAL* r, global const REAL* p,
                   global const REAL* q, global const REAL* inverse, uint jacobi, REAL alpha, global REAL* partial) {
    const size_t t = get_global_id(0);
    const size_t end = first[t + 1];
    REAL rr = 0, rho = 0;
    for (size_t block = first[t]; block < end; block += block_rows) {
        const size_t block_end = min(block + block_rows, end);
        REAL8 rr8 = 0, rho8 = 0;
        size_t i = block;
        for (; i + 8 <= block_end; i += 8) {
            vstore8(vload8(0, x + i) + alpha * vload8(0, p + i), 0, x + i);
            const REAL8 r8 = vload8(0, r + i) - alpha * vload8(0, q + i);
            vstore8(r8, 0, r + i);
            rr8 += r8 * r8;
            rho8 += r8 * (jacobi ? vload8(0, inverse + i) * r8 : r8);
        }
        REAL rr_left = 0, rho_left = 0;
        for (; i < block_end; ++i) {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
            rr_left += r[i] * r[i];
            rho_left += r[i] * (jacobi ? inverse[i] * r[i] : r[i]);
        }
        rr += sum_of(rr8) + rr_left;
        rho += sum_of(rho8) + rho_left;
    }
    partial[t] = rr;
    partial[get_global_size(0) + t] = rho;
}

// p = z + beta p
kernel void next_p(global const ulong* first, global REAL* p, global const REAL* r, global const REAL* inverse,
                   uint jacobi, REAL beta) {
    const size_t t = get_global_id(0);
    const size_t end = first[t + 1];
    size_t i = first[t];
    for (; i + 8 <= end; i += 8) {
        const REAL8 r8 = vload8(0, r + i);
        vstore8((jacobi ? vload8(0, inverse + i) * r8 : r8) + beta * vload8(0, p + i), 0, p + i);
    }
    for (; i < end; ++i) p[i] = (jacobi ? inverse[i] * r[i] : r[i]) + beta * p[i];
}
