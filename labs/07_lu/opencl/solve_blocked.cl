#pragma OPENCL EXTENSION cl_khr_fp64 : enable

// X = L^-1 X for the unknowns k0 ... k1 - 1; one work-item per right-hand side.
kernel void lower(global const double* lu, global double* x, int n, int count, int k0, int k1) {
    const int c = get_global_id(0);
    if (c >= count) return;
    // EXERCISE triangular-solve
    //| // TODO: substitution from the top down with the unit lower triangle of the factors,
    //| // for the unknowns k0 ... k1 - 1.
    for (int i = k0 + 1; i < k1; ++i) {
        double sum = x[(size_t)i * count + c];
        for (int j = k0; j < i; ++j) sum -= lu[(size_t)i * n + j] * x[(size_t)j * count + c];
        x[(size_t)i * count + c] = sum;
    }
    // END EXERCISE
}

// X = U^-1 X for the unknowns k0 ... k1 - 1; one work-item per right-hand side.
kernel void upper(global const double* lu, global double* x, int n, int count, int k0, int k1) {
    const int c = get_global_id(0);
    if (c >= count) return;
    // EXERCISE triangular-solve
    //| // TODO: substitution from the bottom up with the upper triangle of the factors,
    //| // for the unknowns k0 ... k1 - 1.
    for (int i = k1 - 1; i >= k0; --i) {
        double sum = x[(size_t)i * count + c];
        for (int j = i + 1; j < k1; ++j) sum -= lu[(size_t)i * n + j] * x[(size_t)j * count + c];
        x[(size_t)i * count + c] = sum / lu[(size_t)i * n + i];
    }
    // END EXERCISE
}

// Eliminates the unknowns k0 ... k1 - 1 from the rows begin ... end - 1; one work-item per element.
kernel void eliminate(global const double* lu, global double* x, int n, int count, int k0, int k1, int begin, int end) {
    const int c = get_global_id(0), i = begin + get_global_id(1);
    if (c >= count || i >= end) return;
    double sum = 0;
    for (int j = k0; j < k1; ++j) sum += lu[(size_t)i * n + j] * x[(size_t)j * count + c];
    x[(size_t)i * count + c] -= sum;
}
