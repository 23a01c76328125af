// What several devices need besides the five kernels.
#ifdef REAL_IS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

// Collects the elements of p that others need: out[k] = p[which[k]].
kernel void pack(global const REAL* p, global const int* which, global REAL* out, ulong n) {
    // EXERCISE halo
    //| // TODO: collect n elements, with any number of items.
    for (size_t k = get_global_id(0); k < n; k += get_global_size(0)) out[k] = p[which[k]];
    // END EXERCISE
}

// q = A p for rows that need the halo: columns from `rows` on are elements of others.
kernel void spmv_halo(global const int* row_start, global const int* column, global const REAL* value,
                      global const REAL* p, global const REAL* halo, global REAL* q, ulong begin, ulong end,
                      ulong rows) {
    for (size_t i = begin + get_global_id(0); i < end; i += get_global_size(0)) {
        // EXERCISE halo
        //| // TODO: the product of row i and a vector of which `rows` elements are in p and the others in the halo.
        //| q[i] = 0;
        REAL sum = 0;
        for (int k = row_start[i]; k < row_start[i + 1]; ++k) {
            const uint j = (uint)column[k];
            if (j < rows) sum += value[k] * p[j];
            else sum += value[k] * halo[j - rows];
        }
        q[i] = sum;
        // END EXERCISE
    }
}
