// Rung 3: blocks that stay in the cache.
//
// Changed: the loops over j and l are cut into blocks. A block of B is loaded once and used by every row of C before
// the next block is loaded. Four rows of C share each number of B that is loaded; without that, the blocks would save
// memory traffic but no load instruction.
// Tiles in a GPU's shared memory are the same idea. There the program moves the tile, here the hardware keeps it.
// Limit: one core.
#include <algorithm>
#include <cstddef>

#include "matmul.hpp"

namespace matmul {

namespace {

constexpr std::size_t depth = 64;  // rows of B in a block
constexpr std::size_t width = 512; // columns of B in a block
constexpr std::size_t rows = 4;    // rows of C that share a number of B

/// A block of B, 64 rows of 512 columns (128 KiB of float), stays in the second-level cache while all rows of C pass
/// over it, four at a time: a number of B, once loaded, serves four sums.
template <class T> void multiply_in_blocks(const Problem<T>& p, Output<T>& c) {
    std::fill(c.begin(), c.end(), T{0});
    for (std::size_t j0 = 0; j0 < p.n; j0 += width) {
        const std::size_t columns = std::min(width, p.n - j0);
        for (std::size_t l0 = 0; l0 < p.k; l0 += depth) {
            const std::size_t l1 = std::min(l0 + depth, p.k);
            std::size_t i = 0;
            for (; i + rows <= p.m; i += rows) {
                T* __restrict c0 = c.data() + i * p.n + j0;
                T* __restrict c1 = c0 + p.n;
                T* __restrict c2 = c1 + p.n;
                T* __restrict c3 = c2 + p.n;
                const T* const a = p.a.data() + i * p.k;
                for (std::size_t l = l0; l < l1; ++l) {
                    const T* __restrict b = p.b.data() + l * p.n + j0;
                    const T a0 = a[l], a1 = a[p.k + l], a2 = a[2 * p.k + l], a3 = a[3 * p.k + l];
                    for (std::size_t j = 0; j < columns; ++j) {
                        c0[j] += a0 * b[j];
                        c1[j] += a1 * b[j];
                        c2[j] += a2 * b[j];
                        c3[j] += a3 * b[j];
                    }
                }
            }
            for (; i < p.m; ++i) // up to three rows are left over
                for (std::size_t l = l0; l < l1; ++l)
                    for (std::size_t j = j0; j < j0 + columns; ++j)
                        c[i * p.n + j] += p.a[i * p.k + l] * p.b[l * p.n + j];
        }
    }
}

} // namespace

template <class T> void cpu_blocked(const Problem<T>& p, Output<T>& c, Stopwatch& watch) {
    watch.tile(rows, "m").tile(depth, "k").tile(width, "n");
    watch.time([&] { multiply_in_blocks(p, c); }, gpulab::poisoning(c));
}

INSTANTIATE_RUNG(cpu_blocked);

} // namespace matmul
