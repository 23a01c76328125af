// What several devices need besides the five kernels.
#ifdef REAL_IS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

// Collects the elements of p that others need: out[k] = p[which[k]].
kernel void pack(global const REAL* p, global const int* which, global REAL* out, ulong n) {
    // TODO: collect n elements, with any number of items.
    // END TODO
}

// q = A p for rows that need the halo: columns from `rows` on are elements of others.
kernel void spmv_halo(global const int* row_start, global const int* column, global const REAL* value,
                      global const REAL* p, global const REAL* halo, global REAL* q, ulong begin, ulong end,
                      ulong rows) {
    for (size_t i = begin + get_global_id(0); i < end; i += get_global_size(0)) {
        // TODO: the product of row i and a vector of which `rows` elements are in p and the others in the halo.
        q[i] = 0;
        // END TODO
    }
}
