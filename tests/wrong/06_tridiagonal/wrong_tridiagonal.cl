// The kernels of labs/06_tridiagonal/opencl with one mistake, chosen by `mistake`: see enum Mistake in
// wrong_tridiagonal.hpp. Stray indices are pulled back, so that only the mistake itself is at fault.
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

enum {
    none,
    printed_c,
    printed_x,
    clamped,
    power_of_two,
    edge_from_neighbour,
    silent_zero,
    row_of_thread,
    a_of_row_0,
    stale,
    no_barrier,
    barrier_in_branch
};

uint inside(uint i, uint n) { return i < n ? i : n - 1; }

kernel void wrong_cr(global const double* a_in, global const double* b_in, global const double* c_in,
                     global const double* d_in, global double* x_out, global int* zero_pivot, uint n, local double* a,
                     local double* b, local double* c, local double* d, int mistake) {
    local uint zero;
    const uint k = get_local_id(0), items = get_local_size(0), systems = get_num_groups(0);
    const size_t begin = (size_t)get_group_id(0) * n;
    if (k == 0) zero = 0xFFFFFFFF;
    for (uint i = k; i < n; i += items) {
        a[i] = a_in[begin + i], b[i] = b_in[begin + i];
        c[i] = c_in[begin + i], d[i] = d_in[begin + i];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    uint step = 1;
    for (; 2 * step <= n; step *= 2) {
        for (uint j = k; (j + 1) * 2 * step - 1 < n; j += items) {
            const uint i = (j + 1) * 2 * step - 1, left = i - step;
            uint right = i + step;
            const double alpha = a[i] / b[left];
            double new_b = b[i] - alpha * c[left], new_d = d[i] - alpha * d[left], new_c = 0;
            const double new_a = left < step ? 0 : -alpha * a[left];
            if (mistake == clamped && right >= n) right = n - 1;
            if (right < n) {
                const double beta = c[i] / b[right];
                new_b -= beta * a[right];
                new_d -= beta * d[right];
                if (right + step < n || mistake == clamped) new_c = -beta * c[right];
            } else if (mistake == edge_from_neighbour && get_group_id(0) + 1 < systems) {
                const size_t next = begin + n;
                const double beta = c[i] / b_in[next];
                new_b -= beta * a_in[next];
                new_d -= beta * d_in[next];
            }
            a[i] = new_a, b[i] = new_b, c[i] = new_c, d[i] = new_d;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    uint count = 1; // equations in this step back, if n were a power of two
    for (; step > 0; step /= 2, count *= 2) {
        for (uint j = k; j * 2 * step + step - 1 < n; j += items) {
            const uint i = j * 2 * step + step - 1;
            if (mistake == power_of_two && j >= max(count / 2, 1u)) continue;
            double sum = d[i];
            if (i >= step) sum -= a[i] * d[mistake == printed_x && j >= step ? j - step : i - step];
            if (i + step < n)
                sum -= c[mistake == printed_c ? j : i] * d[mistake == printed_x ? inside(j + step, n) : i + step];
            d[i] = sum / b[i];
            if (b[i] == 0 && mistake != silent_zero) atomic_min(&zero, mistake == row_of_thread ? j : i);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (uint i = k; i < n; i += items) x_out[begin + i] = d[i];
    if (k == 0) zero_pivot[get_group_id(0)] = (int)zero;
}

kernel void wrong_pcr(global const double* a_in, global const double* b_in, global const double* c_in,
                      global const double* d_in, global double* x_out, global int* zero_pivot, uint n, local double* a,
                      local double* b, local double* c, local double* d, int mistake) {
    local uint zero;
    const uint i = get_local_id(0);
    const bool mine = i < n;
    const size_t at = (size_t)get_group_id(0) * n + i;
    double my_a = 0, my_b = 1, my_c = 0, my_d = 0;
    if (i == 0) zero = 0xFFFFFFFF;
    if (mine) {
        if (i > 0 || mistake == a_of_row_0) my_a = a_in[at];
        if (i + 1 < n) my_c = c_in[at];
        my_b = b_in[at], my_d = d_in[at];
        a[i] = my_a, b[i] = my_b, c[i] = my_c, d[i] = my_d;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint step = 1; step < n; step *= 2) {
        if (mine) {
            if (my_b == 0) atomic_min(&zero, i);
            double new_a = 0, new_c = 0;
            if (i >= step) {
                const uint left = i - step;
                const double alpha = my_a / b[left];
                my_b -= alpha * c[left];
                my_d -= alpha * d[left];
                new_a = -alpha * a[left];
            } else if (mistake == a_of_row_0) {
                my_d -= my_a * 0;
            }
            if (i + step < n) {
                const uint right = i + step;
                const double beta = my_c / (mistake == stale ? my_b : b[right]);
                my_b -= beta * a[right];
                my_d -= beta * d[right];
                new_c = -beta * c[right];
            }
            my_a = new_a, my_c = new_c;
            if (mistake == barrier_in_branch) barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (mistake != no_barrier && mistake != barrier_in_branch) barrier(CLK_LOCAL_MEM_FENCE);
        if (mine) a[i] = my_a, b[i] = my_b, c[i] = my_c, d[i] = my_d;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (mine) {
        if (my_b == 0) atomic_min(&zero, i);
        x_out[at] = my_d / my_b;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i == 0) zero_pivot[get_group_id(0)] = (int)zero;
}
