#ifdef REAL_IS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

// One work-item per row of a BCSR matrix of 2 x 2 blocks. The two items of a row of blocks read the same columns and,
// of each block, the upper and the lower half: neighbouring addresses.
kernel void spmv(global const long* block_start, global const int* block_column, global const REAL* value,
                 global const REAL* x, global REAL* y, ulong rows, ulong columns) {
    const size_t i = get_global_id(0);
    if (i >= rows) return;
    REAL sum = 0;
    for (long k = block_start[i / 2]; k < block_start[i / 2 + 1]; ++k) {
        const size_t j = 2 * (size_t)block_column[k];
        global const REAL* const row_of_block = value + 4 * k + 2 * (i % 2);
        sum += row_of_block[0] * x[j];
        if (j + 1 < columns) sum += row_of_block[1] * x[j + 1]; // the number of columns may be odd
    }
    y[i] = sum;
}
