/// @file
/// The sum of one thread's elements of an array, by 16-byte loads: as in rung 7, for the later rungs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>

namespace reduction {

/// 16 bytes that one instruction loads: four floats or two doubles.
template <class T> struct alignas(16) Vector {
    static constexpr unsigned width = 16 / sizeof(T);
    T x[width];
};

template <class T> __device__ Vector<T> load(const Vector<T>* from) {
    using Bits = std::conditional_t<std::is_same_v<T, double>, double2, float4>;
    const Bits bits = __ldg(reinterpret_cast<const Bits*>(from)); // read-only data: one 16-byte load
    Vector<T> v;
    if constexpr (std::is_same_v<T, double>) {
        v.x[0] = bits.x;
        v.x[1] = bits.y;
    } else {
        v.x[0] = bits.x;
        v.x[1] = bits.y;
        v.x[2] = bits.z;
        v.x[3] = bits.w;
    }
    return v;
}

template <class T> __device__ void operator+=(Vector<T>& sum, const Vector<T>& v) {
#pragma unroll
    for (unsigned k = 0; k < Vector<T>::width; ++k) sum.x[k] += v.x[k];
}

/// The elements that belong to this thread, added up.
///
/// The array is cut into tiles of threads x loads 16-byte vectors, and block b owns the tiles b, b + B, b + 2B, ...
/// with B blocks in the grid. Thread t takes the vectors t, t + threads, ... of a tile: a warp always reads 512
/// neighbouring bytes. All `loads` of them are in flight before the first is used. The rest, which does not fill a
/// tile, is divided among all threads of the grid, first by vectors, then by elements.
/// @pre blockDim.x == threads; `a` starts at a multiple of 16 bytes
template <unsigned threads, unsigned loads, class T> __device__ T private_sum(const T* a, std::size_t n) {
    constexpr unsigned width = Vector<T>::width;
    constexpr unsigned tile = threads * loads;
    const auto* vectors = reinterpret_cast<const Vector<T>*>(a);
    const std::size_t count = n / width;
    const std::size_t tiles = count / tile;

    Vector<T> sum{};
    for (std::size_t t = blockIdx.x; t < tiles; t += gridDim.x) {
        Vector<T> v[loads];
#pragma unroll
        for (unsigned j = 0; j < loads; ++j) v[j] = load(&vectors[t * tile + j * threads + threadIdx.x]);
#pragma unroll
        for (unsigned j = 0; j < loads; ++j) sum += v[j];
    }

    const std::size_t grid = gridDim.x * std::size_t{threads};
    const std::size_t me = blockIdx.x * std::size_t{threads} + threadIdx.x;
    for (std::size_t i = tiles * tile + me; i < count; i += grid) sum += load(&vectors[i]);
    T total = 0;
#pragma unroll
    for (unsigned k = 0; k < width; ++k) total += sum.x[k];
    for (std::size_t i = count * width + me; i < n; i += grid) total += a[i];
    return total;
}

/// Elements of T in a tile of private_sum().
template <unsigned threads, unsigned loads, class T>
constexpr std::size_t tile_size = std::size_t{Vector<T>::width} * threads* loads;

/// Blocks for private_sum(): one for each tile, but no more than the device runs at once.
/// @param resident blocks that the device runs at once
template <unsigned threads, unsigned loads, class T> unsigned block_count(std::size_t n, unsigned resident) {
    return static_cast<unsigned>(std::clamp<std::size_t>(n / tile_size<threads, loads, T>, 1, resident));
}

} // namespace reduction
