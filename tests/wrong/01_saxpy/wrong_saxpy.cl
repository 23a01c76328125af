// Each kernel has one mistake. The right one is labs/01_saxpy/opencl/02_one_item.cl.
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

kernel void wrong_stride(ARGUMENTS) { // groups one element too far apart
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

kernel void two_bits_short(ARGUMENTS) { // the last two bits of each result are lost
    const size_t i = get_global_id(0);
    if (i < n) c[i] = as_float(as_uint(k * a[i] + b[i]) & 0xFFFFFFFCu);
}

kernel void right_the_second_time(ARGUMENTS) { // needs an earlier run
    const size_t i = get_global_id(0);
    if (i < n) c[i] = isnan(c[i]) ? 0 : k * a[i] + b[i];
}

kernel void clears_its_input(ARGUMENTS) { // right the first time only
    const size_t i = get_global_id(0);
    if (i < n) {
        c[i] = k * a[i] + b[i];
        ((global float*)a)[i] = 0;
    }
}

kernel void writes_past_its_input(ARGUMENTS) { // the output is right
    const size_t i = get_global_id(0);
    if (i < n) c[i] = k * a[i] + b[i];
    if (i == 0) ((global float*)a)[n] = 7;
}

kernel void loses_the_sign(ARGUMENTS) { // right for factors that are not negative
    const size_t i = get_global_id(0);
    if (i < n) c[i] = fabs(k) * a[i] + b[i];
}

kernel void tail_of_two_lost(ARGUMENTS) { // a tail of two elements after whole vectors
    const size_t i = get_global_id(0);
    if (i < n && !(n % 4 == 2 && n > 4 && i >= n - 2)) c[i] = k * a[i] + b[i];
}

kernel void right(ARGUMENTS) { // for comparison: no mistake
    const size_t i = get_global_id(0);
    if (i < n) c[i] = k * a[i] + b[i];
}

kernel void clamps(ARGUMENTS) { // NaN and infinities are lost
    const size_t i = get_global_id(0);
    if (i < n) c[i] = fmin(fmax(k * a[i] + b[i], -FLT_MAX), FLT_MAX);
}

kernel void nan_not_written(ARGUMENTS) { // leaves the poison where it computes NaN
    const size_t i = get_global_id(0);
    if (i < n && !isnan(k * a[i] + b[i])) c[i] = k * a[i] + b[i];
}

kernel void skips_zero(ARGUMENTS) { // 0 times NaN is lost
    const size_t i = get_global_id(0);
    if (i < n) c[i] = k == 0 ? b[i] : k * a[i] + b[i];
}

kernel void before_the_start(ARGUMENTS) { // right, and one stray write in front
    const size_t i = get_global_id(0);
    if (i < n) c[i] = k * a[i] + b[i];
    if (i == 0) (c - 1)[0] = 0;
}

kernel void index_in_int(ARGUMENTS) { // beyond 2^31 elements negative, and as a ulong too large for n
    const int i = get_global_id(0);
    if ((ulong)i < n) c[i] = k * a[i] + b[i];
}

kernel void index_in_uint(ARGUMENTS) { // beyond 2^32 elements it begins at 0 again
    const uint i = get_global_id(0);
    if (i < n) c[i] = k * a[i] + b[i];
}

// Distances; the right ones are labs/01_saxpy/opencl/distances.cl.
#define DISTANCE_ARGUMENTS float x, float y, float z, global const float *points, global float *d, ulong n

float3 difference(float x, float y, float z, global const float* point) {
    return (float3)(point[0] - x, point[1] - y, point[2] - z);
}

kernel void right_distance(DISTANCE_ARGUMENTS) { // for comparison: no mistake
    const size_t i = get_global_id(0);
    if (i >= n) return;
    const float3 v = difference(x, y, z, points + 3 * i);
    d[i] = sqrt(v.x * v.x + v.y * v.y + v.z * v.z);
}

kernel void distance_without_z(DISTANCE_ARGUMENTS) { // in the plane
    const size_t i = get_global_id(0);
    if (i >= n) return;
    const float3 v = difference(x, y, z, points + 3 * i);
    d[i] = sqrt(v.x * v.x + v.y * v.y);
}

kernel void distance_without_root(DISTANCE_ARGUMENTS) { // squared
    const size_t i = get_global_id(0);
    if (i >= n) return;
    const float3 v = difference(x, y, z, points + 3 * i);
    d[i] = v.x * v.x + v.y * v.y + v.z * v.z;
}

kernel void distance_no_bounds_check(DISTANCE_ARGUMENTS) { // the ragged group writes past the end
    const size_t i = get_global_id(0);
    const float3 v = difference(x, y, z, points + 3 * min(i, n > 0 ? n - 1 : 0));
    d[i] = sqrt(v.x * v.x + v.y * v.y + v.z * v.z);
}

kernel void distance_of_aligned_points(DISTANCE_ARGUMENTS) { // packed points taken for points of 16 bytes
    const size_t i = get_global_id(0);
    if (i >= n) return;
    const float3 v = difference(x, y, z, points + min(4 * i, 3 * n - 3));
    d[i] = sqrt(v.x * v.x + v.y * v.y + v.z * v.z);
}

kernel void distance_nan_is_zero(DISTANCE_ARGUMENTS) { // NaN is lost
    const size_t i = get_global_id(0);
    if (i >= n) return;
    const float3 v = difference(x, y, z, points + 3 * i);
    d[i] = fmax(0.0f, sqrt(v.x * v.x + v.y * v.y + v.z * v.z));
}
