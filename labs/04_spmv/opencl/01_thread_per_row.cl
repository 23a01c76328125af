#ifdef REAL_IS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

// One work-item per row; any number of rows.
kernel void spmv(global const int* row_start, global const int* column, global const REAL* value, global const REAL* x,
                 global REAL* y, ulong rows) {
    const size_t i = get_global_id(0);
    if (i >= rows) return;
    // EXERCISE thread-per-row
    //| // TODO: multiply row i by x. Its entries are row_start[i] ... row_start[i + 1] - 1 of column and value.
    //| y[i] = 0;
    REAL sum = 0;
    for (int k = row_start[i]; k < row_start[i + 1]; ++k) sum += value[k] * x[column[k]];
    y[i] = sum;
    // END EXERCISE
}
