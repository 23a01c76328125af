#ifdef REAL_IS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

// A group of GROUP >= n items per system. A compiler that is not told the size may use so many registers that only a
// small group fits: NVIDIA's then takes 256 items. a, b, c, d: n numbers each, the copies that the neighbours read.
kernel __attribute__((reqd_work_group_size(GROUP, 1, 1))) void
pcr(global const REAL* a_in, global const REAL* b_in, global const REAL* c_in, global const REAL* d_in,
    global REAL* x_out, global int* zero_pivot, uint n, local REAL* a, local REAL* b, local REAL* c, local REAL* d) {
    local uint zero;
    const uint i = get_local_id(0);
    const bool inside = i < n; // items beyond the last equation only take part in barriers
    const size_t at = (size_t)get_group_id(0) * n + i;

    REAL my_a = 0, my_b = 1, my_c = 0, my_d = 0;
    if (i == 0) zero = 0xFFFFFFFF;
    if (inside) {
        if (i > 0) my_a = a_in[at];
        if (i + 1 < n) my_c = c_in[at];
        my_b = b_in[at];
        my_d = d_in[at];
        a[i] = my_a;
        b[i] = my_b;
        c[i] = my_c;
        d[i] = my_d;
    }
    barrier(CLK_LOCAL_MEM_FENCE);

    for (uint step = 1; step < n; step *= 2) {
        if (inside) {
            // EXERCISE pcr
            //| // TODO: note a pivot of 0 with atomic_min(&zero, i). Eliminate the unknowns i - step and i + step from
            //| // my equation with the equations of these two neighbours. A neighbour outside the system is left out.
            if (my_b == 0) atomic_min(&zero, i); // the neighbours divide by it now
            REAL new_a = 0, new_c = 0;
            if (i >= step) {
                const uint left = i - step;
                const REAL alpha = my_a / b[left];
                my_b -= alpha * c[left];
                my_d -= alpha * d[left];
                new_a = -alpha * a[left];
            }
            if (i + step < n) {
                const uint right = i + step;
                const REAL beta = my_c / b[right];
                my_b -= beta * a[right];
                my_d -= beta * d[right];
                new_c = -beta * c[right];
            }
            my_a = new_a;
            my_c = new_c;
            // END EXERCISE
        }
        barrier(CLK_LOCAL_MEM_FENCE); // everyone has read its neighbours
        if (inside) {
            a[i] = my_a;
            b[i] = my_b;
            c[i] = my_c;
            d[i] = my_d;
        }
        barrier(CLK_LOCAL_MEM_FENCE); // and everyone has written
    }
    if (inside) {
        if (my_b == 0) atomic_min(&zero, i);
        x_out[at] = my_d / my_b;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i == 0) zero_pivot[get_group_id(0)] = (int)zero;
}
