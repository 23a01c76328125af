#ifdef REAL_IS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

// One work-item per row of a DIA matrix. All items read the same offset; neighbours read neighbouring values and
// neighbouring elements of x.
kernel void spmv(global const int* offset, global const REAL* value, global const REAL* x, global REAL* y, ulong rows,
                 ulong columns, ulong diagonals) {
    const size_t i = get_global_id(0);
    if (i >= rows) return;
    REAL sum = 0;
    for (size_t d = 0; d < diagonals; ++d) {
        const long j = (long)i + offset[d];
        if (j >= 0 && j < (long)columns) sum += value[d * rows + i] * x[j]; // else the diagonal has left the matrix
    }
    y[i] = sum;
}
