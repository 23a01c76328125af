#ifdef REAL_IS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

// One work-item per row of a JDS matrix. Item r has the r-th longest row, whose entry s is element start[s] + r. The
// jagged diagonals become shorter, so the row ends at the first one that does not reach r.
// width: entries of the longest row.
kernel void spmv(global const int* row, global const long* start, global const int* column, global const REAL* value,
                 global const REAL* x, global REAL* y, ulong rows, ulong width) {
    const size_t r = get_global_id(0);
    if (r >= rows) return;
    REAL sum = 0;
    for (size_t s = 0; s < width && start[s] + (long)r < start[s + 1]; ++s) {
        const long k = start[s] + (long)r;
        sum += value[k] * x[column[k]];
    }
    y[row[r]] = sum;
}
