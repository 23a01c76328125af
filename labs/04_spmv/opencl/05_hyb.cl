#ifdef REAL_IS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

// One work-item per entry of the COO part, whose rows rise. The item of a row's first entry adds up all of them, so no
// two items add to the same element of y. The others do nothing.
kernel void add_coo(global const int* row, global const int* column, global const REAL* value, global const REAL* x,
                    global REAL* y, ulong entries) {
    size_t k = get_global_id(0);
    if (k >= entries || (k > 0 && row[k - 1] == row[k])) return;
    const int i = row[k];
    REAL sum = 0;
    for (; k < entries && row[k] == i; ++k) sum += value[k] * x[column[k]];
    y[i] += sum;
}
