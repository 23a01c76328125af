#ifdef REAL_IS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

// A group per system, any n that local memory holds. a, b, c, d: n numbers each; x takes the place of d.
kernel void cr(global const REAL* a_in, global const REAL* b_in, global const REAL* c_in, global const REAL* d_in,
               global REAL* x_out, global int* zero_pivot, uint n, local REAL* a, local REAL* b, local REAL* c,
               local REAL* d) {
    local uint zero; // the lowest row whose pivot is zero
    const uint k = get_local_id(0), items = get_local_size(0);
    const size_t begin = (size_t)get_group_id(0) * n;

    if (k == 0) zero = 0xFFFFFFFF; // as an int -1: none
    for (uint i = k; i < n; i += items) {
        a[i] = a_in[begin + i];
        b[i] = b_in[begin + i];
        c[i] = c_in[begin + i];
        d[i] = d_in[begin + i];
    }
    barrier(CLK_LOCAL_MEM_FENCE); // all equations are here before anyone reads a neighbour

    // EXERCISE cr
    //| // TODO: with step = 1, 2, 4, ... eliminate from every (2 step)-th equation the unknowns of its two neighbours
    //| // at distance step, as long as 2 step <= n. Any n: a neighbour to the right may not exist. Afterwards `step`
    //| // must be what the back substitution begins with.
    //| uint step = 1;
    //| while (2 * step <= n) step *= 2;
    uint step = 1;
    for (; 2 * step <= n; step *= 2) {
        for (uint i = (k + 1) * 2 * step - 1; i < n; i += items * 2 * step) {
            const uint left = i - step, right = i + step;
            const REAL alpha = a[i] / b[left];
            REAL new_b = b[i] - alpha * c[left], new_d = d[i] - alpha * d[left], new_c = 0;
            const REAL new_a = left < step ? 0 : -alpha * a[left];
            if (right < n) {
                const REAL beta = c[i] / b[right];
                new_b -= beta * a[right];
                new_d -= beta * d[right];
                if (right + step < n) new_c = -beta * c[right];
            }
            a[i] = new_a;
            b[i] = new_b;
            c[i] = new_c;
            d[i] = new_d;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    // END EXERCISE
    for (; step > 0; step /= 2) { // begins with the one equation that is left
        for (uint i = k * 2 * step + step - 1; i < n; i += items * 2 * step) {
            REAL sum = d[i];
            if (i >= step) sum -= a[i] * d[i - step];
            if (i + step < n) sum -= c[i] * d[i + step];
            d[i] = sum / b[i];
            if (b[i] == 0) atomic_min(&zero, i);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (uint i = k; i < n; i += items) x_out[begin + i] = d[i];
    if (k == 0) zero_pivot[get_group_id(0)] = (int)zero;
}
