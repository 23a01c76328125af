// Each kernel has one mistake. The right one is labs/01_saxpy/opencl/1_one_item.cl.
#define ARGUMENTS float k, global const float *a, global const float *b, global float *c, ulong n

kernel void no_bounds_check(ARGUMENTS) { // the ragged group writes past the end
    const size_t i = get_global_id(0);
    c[i] = i < n ? k * a[i] + b[i] : 0;
}

kernel void less_or_equal(ARGUMENTS) { // one element too many
    const size_t i = get_global_id(0);
    if (i <= n) c[i] = i < n ? k * a[i] + b[i] : 0;
}

kernel void first_group_only(ARGUMENTS) { // the local index taken for the global one
    const size_t i = get_local_id(0);
    if (i < n) c[i] = k * a[i] + b[i];
}

kernel void wrong_stride(ARGUMENTS) { // strides by the group instead of by the whole grid, and stops after one step
    const size_t i = get_group_id(0) * (get_local_size(0) + 1) + get_local_id(0);
    if (i < n) c[i] = k * a[i] + b[i];
}

kernel void swapped(ARGUMENTS) { // a and b exchanged
    const size_t i = get_global_id(0);
    if (i < n) c[i] = k * b[i] + a[i];
}

kernel void tail_unwritten(ARGUMENTS) { // whole vectors of four only
    const size_t i = get_global_id(0);
    if (i < n / 4 * 4) c[i] = k * a[i] + b[i];
}

kernel void writes_nothing(ARGUMENTS) {}

kernel void accumulates(ARGUMENTS) { // right on zeroed memory and only once
    const size_t i = get_global_id(0);
    if (i < n) c[i] += k * a[i] + b[i];
}

kernel void last_element_lost(ARGUMENTS) { // n - 1 for n
    const size_t i = get_global_id(0);
    if (i + 1 < n) c[i] = k * a[i] + b[i];
}

kernel void rounded_to_half(ARGUMENTS) { // loses bits on the way: 11 of them are left
    const size_t i = get_global_id(0);
    if (i < n) c[i] = as_float(as_uint(k * a[i] + b[i]) & 0xFFFFE000u);
}

kernel void before_the_start(ARGUMENTS) { // right, and one stray write in front
    const size_t i = get_global_id(0);
    if (i < n) c[i] = k * a[i] + b[i];
    if (i == 0) (c - 1)[0] = 0;
}
