#ifdef REAL_IS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

// One work-item per row of an ELL matrix, whose slots are stored column-major: neighbouring items read neighbours.
kernel void spmv(global const int* column, global const REAL* value, global const REAL* x, global REAL* y, ulong rows,
                 ulong width) {
    const size_t i = get_global_id(0);
    if (i >= rows) return;
    REAL sum = 0;
    // EXERCISE repair-ell
    //| // TODO: these lines have a mistake. Find it and repair it.
    for (size_t s = 0; s < width; ++s) {
        const int j = column[s * rows + i];
        if (j >= 0) sum += value[s * rows + i] * x[j]; // padding has column -1
    }
    // END EXERCISE
    y[i] = sum;
}
