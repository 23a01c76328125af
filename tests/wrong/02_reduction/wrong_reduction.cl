// Each kernel has one mistake. The right ones are labs/02_reduction/opencl/04_multi_stage.cl and scan_two_level.cl.
#define ARGUMENTS_AFTER ulong n, local float *x, global float *sums
#define ARGUMENTS global const float *a, ARGUMENTS_AFTER

// Keeps all items of a group but the first 32 busy for a while. On hardware that runs 32 items in step, a missing
// barrier does harm only when the other items are late; here they are.
void late(size_t me) {
    volatile int i = 0;
    if (me >= 32)
        while (i < 500) ++i;
}

void tree(local float* x, size_t me) {
    for (size_t step = get_local_size(0) / 2; step > 0; step /= 2) {
        if (me < step) x[me] += x[me + step];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

void finish(float mine, local float* x, global float* sums) { // right
    const size_t me = get_local_id(0);
    x[me] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    tree(x, me);
    if (me == 0) sums[get_group_id(0)] = x[0];
}

float private_sum(global const float* a, ulong n) {
    float mine = 0;
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0)) mine += a[i];
    return mine;
}

kernel void right_sum(ARGUMENTS) { // for comparison: no mistake
    finish(private_sum(a, n), x, sums);
}

kernel void last_tile_of_one(ARGUMENTS) { // a last tile of a single element is not seen; a tile has 640
    finish(private_sum(a, n % 640 == 1 && n > 1 ? n - 1 : n), x, sums);
}

kernel void nan_lost_in_a_lane(ARGUMENTS) { // one lane of 32 takes NaN for 0
    float mine = 0;
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0))
        mine += get_local_id(0) % 32 == 13 && isnan(a[i]) ? 0 : a[i];
    finish(mine, x, sums);
}

kernel void flushes_denormals(ARGUMENTS) {
    float mine = 0;
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0)) mine += fabs(a[i]) < FLT_MIN ? 0 : a[i];
    finish(mine, x, sums);
}

kernel void reads_past_end(ARGUMENTS) { // no test for the end: the last group reads on
    const size_t me = get_local_id(0);
    x[me] = a[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    tree(x, me);
    if (me == 0) sums[get_group_id(0)] = x[0];
}

kernel void group_sums(ARGUMENTS) { // right: one element per item; the host drops what fills no group
    const size_t me = get_local_id(0);
    x[me] = get_global_id(0) < n ? a[get_global_id(0)] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    tree(x, me);
    if (me == 0) sums[get_group_id(0)] = x[0];
}

kernel void no_barrier_before_tree(ARGUMENTS) {
    const size_t me = get_local_id(0);
    const float mine = private_sum(a, n);
    x[me] = -1; // what an item finds that reads too early
    barrier(CLK_LOCAL_MEM_FENCE);
    late(me);
    x[me] = mine;
    tree(x, me);
    if (me == 0) sums[get_group_id(0)] = x[0];
}

kernel void no_barrier_in_tree(ARGUMENTS) {
    const size_t me = get_local_id(0);
    x[me] = private_sum(a, n);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t step = get_local_size(0) / 2; step > 0; step /= 2) {
        late(me);
        if (me < step) x[me] += x[me + step];
    }
    if (me == 0) sums[get_group_id(0)] = x[0];
}

kernel void not_cleared(ARGUMENTS) { // adds to what an earlier run left
    const size_t me = get_local_id(0);
    x[me] = private_sum(a, n);
    barrier(CLK_LOCAL_MEM_FENCE);
    tree(x, me);
    if (me == 0) sums[get_group_id(0)] += x[0];
}

kernel void int_accumulator(ARGUMENTS) { // each addition cuts off the fraction
    const size_t me = get_local_id(0);
    int mine = 0;
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0)) mine += a[i];
    x[me] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    tree(x, me);
    if (me == 0) sums[get_group_id(0)] = x[0];
}

kernel void tail_dropped(ARGUMENTS) { // whole vectors of four only
    const size_t me = get_local_id(0);
    x[me] = private_sum(a, n / 4 * 4);
    barrier(CLK_LOCAL_MEM_FENCE);
    tree(x, me);
    if (me == 0) sums[get_group_id(0)] = x[0];
}

kernel void stops_early(ARGUMENTS) { // the last step is missing: > 1 for > 0
    const size_t me = get_local_id(0);
    x[me] = private_sum(a, n);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t step = get_local_size(0) / 2; step > 1; step /= 2) {
        if (me < step) x[me] += x[me + step];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (me == 0) sums[get_group_id(0)] = x[0];
}

kernel void one_place_for_all(ARGUMENTS) { // every group overwrites the same partial sum
    const size_t me = get_local_id(0);
    x[me] = private_sum(a, n);
    if (me == 0) sums[get_group_id(0)] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    tree(x, me);
    if (me == 0) sums[0] = x[0];
}

kernel void group_stride(ARGUMENTS) { // strides by the group, so that elements count several times
    const size_t me = get_local_id(0);
    float mine = 0;
    for (size_t i = get_global_id(0); i < n; i += get_local_size(0)) mine += a[i];
    x[me] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    tree(x, me);
    if (me == 0) sums[get_group_id(0)] = x[0];
}

// Minima. An item takes every G-th element, G being the global size, up to `end`.
float private_minimum(global const float* a, ulong end) {
    float mine = INFINITY;
    for (size_t i = get_global_id(0); i < end; i += get_global_size(0)) mine = fmin(mine, a[i]);
    return mine;
}

void finish_minimum(float mine, local float* x, global float* minima) { // right
    const size_t me = get_local_id(0);
    x[me] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t step = get_local_size(0) / 2; step > 0; step /= 2) {
        if (me < step) x[me] = fmin(x[me], x[me + step]);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (me == 0) minima[get_group_id(0)] = x[0];
}

kernel void right_minimum(ARGUMENTS) { finish_minimum(private_minimum(a, n), x, sums); }

kernel void minimum_reads_past_end(ARGUMENTS) { // the last round of the loop is taken for a whole one
    const size_t G = get_global_size(0);
    finish_minimum(private_minimum(a, (n + G - 1) / G * G), x, sums);
}

// Scans: one element per item. `barriers` and the choice of the offset are the host's, by -D.
kernel void scan_groups(global const float* a, global float* out, ulong n, local float* x, global float* sums,
                        int inclusive) {
    const size_t me = get_local_id(0);
    const size_t i = get_global_id(0);
    x[me] = i < n ? a[i] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t stride = 1; stride < get_local_size(0); stride *= 2) {
        const float before = me >= stride ? x[me - stride] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (me >= stride) x[me] += before;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i < n) out[i] = inclusive ? x[me] : me > 0 ? x[me - 1] : 0;
    if (me == get_local_size(0) - 1) sums[get_group_id(0)] = x[me];
}

kernel void scan_last_tile_of_one(global const float* a, global float* out, ulong n, local float* x, global float* sums,
                                  int inclusive) { // a last tile of a single element is not written; a tile has 640
    const size_t me = get_local_id(0);
    const size_t i = get_global_id(0);
    x[me] = i < n ? a[i] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t stride = 1; stride < get_local_size(0); stride *= 2) {
        const float before = me >= stride ? x[me - stride] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (me >= stride) x[me] += before;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const bool lost = n % 640 == 1 && n > 1 && i == n - 1;
    if (i < n && !lost) out[i] = inclusive ? x[me] : me > 0 ? x[me - 1] : 0;
    if (me == get_local_size(0) - 1) sums[get_group_id(0)] = x[me];
}

// Exclusive as inclusive minus the element itself: NaN and rounding where there should be none.
kernel void scan_subtracts(global const float* a, global float* out, ulong n, local float* x, global float* sums,
                           int inclusive) {
    const size_t me = get_local_id(0);
    const size_t i = get_global_id(0);
    x[me] = i < n ? a[i] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t stride = 1; stride < get_local_size(0); stride *= 2) {
        const float before = me >= stride ? x[me - stride] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (me >= stride) x[me] += before;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i < n) out[i] = inclusive ? x[me] : x[me] - a[i];
    if (me == get_local_size(0) - 1) sums[get_group_id(0)] = x[me];
}

// Reads and writes in the same step: an item may find what its neighbour has already added to.
kernel void scan_without_barrier(global const float* a, global float* out, ulong n, local float* x, global float* sums,
                                 int inclusive) {
    const size_t me = get_local_id(0);
    const size_t i = get_global_id(0);
    x[me] = i < n ? a[i] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t stride = 1; stride < get_local_size(0); stride *= 2) {
        if (me < 32) late(32);
        if (me >= stride) x[me] += x[me - stride];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < n) out[i] = inclusive ? x[me] : me > 0 ? x[me - 1] : 0;
    if (me == get_local_size(0) - 1) sums[get_group_id(0)] = x[me];
}

// Adds before[g + shift] to group g.
kernel void add_shifted(global float* out, ulong n, global const float* before, int shift) {
    const size_t i = get_global_id(0);
    if (i < n) out[i] += before[get_group_id(0) + shift];
}

// Dot products and series. Right but for the one thing that each name says.

kernel void right_dot(global const float* a, global const float* b, ARGUMENTS_AFTER) {
    float mine = 0;
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0)) mine += a[i] * b[i];
    finish(mine, x, sums);
}

kernel void dot_nan_lost_in_vectors(global const float* a, global const float* b, ARGUMENTS_AFTER) { // not in the tail
    float mine = 0;
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0))
        mine += i < n / 4 * 4 && isnan(a[i] * b[i]) ? 0 : a[i] * b[i];
    finish(mine, x, sums);
}

kernel void dot_skips_zeros(global const float* a, global const float* b, ARGUMENTS_AFTER) { // 0 times NaN is lost
    float mine = 0;
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0)) mine += a[i] == 0 ? 0 : a[i] * b[i];
    finish(mine, x, sums);
}

kernel void dot_squares(global const float* a, global const float* b, ARGUMENTS_AFTER) {
    float mine = 0;
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0)) mine += a[i] * a[i];
    finish(mine, x, sums);
}

kernel void dot_tail_dropped(global const float* a, global const float* b, ARGUMENTS_AFTER) {
    float mine = 0;
    for (size_t i = get_global_id(0); i < n / 4 * 4; i += get_global_size(0)) mine += a[i] * b[i];
    finish(mine, x, sums);
}

kernel void dot_one_too_many(global const float* a, global const float* b, ARGUMENTS_AFTER) {
    float mine = 0;
    for (size_t i = get_global_id(0); i <= n; i += get_global_size(0)) mine += a[i] * b[i];
    finish(mine, x, sums);
}

float size_of_term(int pi, float x, size_t i) {
    return pi ? 4.0f / (2 * i + 1) : pow(fabs(x), (float)(i + 1)) / (i + 1);
}
float term(int pi, float x, size_t i) {
    return (pi || x > 0) && i % 2 == 0 ? size_of_term(pi, x, i) : -size_of_term(pi, x, i);
}

kernel void right_series(int pi, float argument, ARGUMENTS_AFTER) {
    float mine = 0;
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0)) mine += term(pi, argument, i);
    finish(mine, x, sums);
}

kernel void series_one_sign(int pi, float argument, ARGUMENTS_AFTER) { // the stride is even: no sign should change
    float mine = 0;
    int sign = get_global_id(0) % 2 == 0 ? 1 : -1;
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0), sign = -sign)
        mine += sign * size_of_term(pi, argument, i);
    finish(mine, x, sums);
}

kernel void series_from_one(int pi, float argument, ARGUMENTS_AFTER) {
    float mine = 0;
    for (size_t i = get_global_id(0) + 1; i < n; i += get_global_size(0)) mine += term(pi, argument, i);
    finish(mine, x, sums);
}

kernel void series_one_too_many(int pi, float argument, ARGUMENTS_AFTER) {
    float mine = 0;
    for (size_t i = get_global_id(0); i <= n; i += get_global_size(0)) mine += term(pi, argument, i);
    finish(mine, x, sums);
}

#if defined(REAL_IS_DOUBLE)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
void finish_in_double(double mine, local double* x, global double* sums) { // right
    const size_t me = get_local_id(0);
    x[me] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t step = get_local_size(0) / 2; step > 0; step /= 2) {
        if (me < step) x[me] += x[me + step];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (me == 0) sums[get_group_id(0)] = x[0];
}

kernel void added_in_double(global const double* a, ulong n, local double* x, global double* sums) { // right
    double mine = 0;
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0)) mine += a[i];
    finish_in_double(mine, x, sums);
}

kernel void added_in_float(global const double* a, ulong n, local double* x, global double* sums) {
    float mine = 0;
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0)) mine += (float)a[i];
    finish_in_double(mine, x, sums);
}
#endif
