/// @file
/// Loads of data that is read once: the caches should evict it first and keep x instead.
#pragma once

namespace spmv {

/// Loads four consecutive columns, 16 bytes.
/// @pre the address is a multiple of 16
__device__ inline int4 load_once4(const int* address) { return __ldcs(reinterpret_cast<const int4*>(address)); }

/// Loads four consecutive values: 16 bytes of floats, or twice 16 bytes of doubles.
/// @pre the address is a multiple of 16
__device__ inline void load_once4(const float* address, float (&value)[4]) {
    const float4 v = __ldcs(reinterpret_cast<const float4*>(address));
    value[0] = v.x;
    value[1] = v.y;
    value[2] = v.z;
    value[3] = v.w;
}
__device__ inline void load_once4(const double* address, double (&value)[4]) {
    const double2 low = __ldcs(reinterpret_cast<const double2*>(address));
    const double2 high = __ldcs(reinterpret_cast<const double2*>(address) + 1);
    value[0] = low.x;
    value[1] = low.y;
    value[2] = high.x;
    value[3] = high.y;
}

} // namespace spmv
