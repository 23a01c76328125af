// Rung 9: a pipeline. Nothing that is needed next is waited for.
//
// Changed, in the kernel (warp_tile.cuh, which the next two rungs launch with other sizes):
// - The copies from global to shared memory are asynchronous (cp.async, compute capability 8.0) and pass no register.
//   There is room for three pairs of tiles, 16 deep: while one is multiplied, the next two are on their way; and one
//   barrier per tile is enough, for nobody writes to the tiles being read.
// - Likewise from shared memory to registers: the numbers of the next step are loaded while those of this one are
//   multiplied, also across the barrier.
// - An asynchronous copy cannot transpose, but a copy of a single float can go anywhere: A's tile is transposed by the
//   addresses. The 32 copies of a warp meet two to a bank; a pitch without conflicts would not keep the 16-byte
//   alignment that the loads need.
// Three smaller changes come with it:
// - A warp has 64 x 32 elements of C where it had 16 x 128: 96 numbers from shared memory for 2048 products, not 144.
// - Blocks are numbered in bands eight tiles high, so that those that run together share more of A and B in the L2.
// - A thread adds its products along a row and back along the next, so that the operand at the turn is still at hand.
// The block still computes 128 x 128 elements with 256 threads, each 8 x 8.
// Limit: four 16-byte loads from shared memory for 64 multiply-adds.
#include "gpulab/cuda/buffer.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/error.hpp"
#include "gpulab/poisoning.hpp"
#include "matmul.hpp"
#include "warp_tile.cuh"

namespace matmul {

void cuda_pipeline(const Problem<float>& p, Output<float>& c, Stopwatch& watch) {
    using Square = WarpTile<128, 128, 16, 64, 32, 8, 3, 2>;
    if (!prepare_warp_tile<Square>()) throw gpulab::Unsupported("needs 49 KiB of shared memory per block");

    const gpulab::DeviceBuffer<float> a(p.a), b(p.b);
    gpulab::DeviceBuffer<float> out(p.size());
    name_tiles<Square>(watch);
    gpulab::watch_stream(
        watch,
        [&](cudaStream_t stream) {
            if (p.size() == 0) return;
            const int whole = gpulab::round_up(p.k, Square::depth); // all of k in one part
            launch_warp_tile<Square>(a.data(), b.data(), out.data(), p.m, p.k, p.n, p.n % 4 == 0, whole, 1, stream);
        },
        gpulab::poisoning(out));
    out.copy_to(c);
}

} // namespace matmul
