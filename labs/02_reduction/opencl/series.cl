#ifdef REAL_IS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

// Term i of 4 (1 - 1/3 + 1/5 - ...) when `pi` is set, else of x - x^2/2 + x^3/3 - ...
REAL term(int pi, REAL x, ulong i) {
    const bool even = i % 2 == 0;
    if (pi) {
        const REAL size = (REAL)4 / (REAL)(2 * i + 1);
        return even ? size : -size;
    }
    const REAL power = (REAL)(i + 1);
    const REAL size = pow(fabs(x), power) / power; // |x|: a float cannot tell odd exponents from even ones past 2^24
    return x > 0 && even ? size : -size;
}

// multi_stage with elements that are computed instead of read.
kernel void series(int pi, REAL argument, ulong terms, local REAL* x, global REAL* sums) {
    // ANSWER tree dot
    const size_t me = get_local_id(0);
    REAL mine = 0;
    for (size_t i = get_global_id(0); i < terms; i += get_global_size(0)) mine += term(pi, argument, i);
    x[me] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t step = get_local_size(0) / 2; step > 0; step /= 2) {
        if (me < step) x[me] += x[me + step];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (me == 0) sums[get_group_id(0)] = x[0];
    // END ANSWER
}
