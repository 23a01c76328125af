// Rung 10: 64 x 64 elements per warp, 8 x 16 per thread.
//
// Changed: the sizes. The kernel, in warp_tile.cuh, is the pipeline of the rung before for any sizes; it can also cut k
// into parts, which the next rung does. A block still computes 128 x 128 elements, but a warp a square of 64 x 64, with
// its lanes in 8 rows of 4. It reads 64 numbers of A and 64 of B for 4096 products, instead of 64 and 32 for 2048. A
// thread needs six 16-byte loads for 128 multiply-adds.
// Registers: the 128 sums of a thread leave room for two blocks on a multiprocessor. While one block waits at its
// barrier, the other works.
// Limit: how the blocks fill the device, because nearly all instructions in the loop are multiply-adds now. Blocks that
// run at the same time are a wave. At n = 4096 the last of four waves is not full. Small products leave multiprocessors
// without a block, and the others with few warps to work on while one waits (question 7 of the hand-out).
#include "gpulab/cuda/timing.hpp"
#include "gpulab/error.hpp"
#include "matmul.hpp"
#include "warp_tile.cuh"

namespace matmul {

void cuda_warp_tiles(const Problem<float>& p, Output<float>& c, Stopwatch& watch) {
    using Square = WarpTile<128, 128, 16, 64, 64, 8, 3, 2>;
    if (!prepare_warp_tile<Square>()) throw gpulab::Unsupported("needs 49 KiB of shared memory per block");

    const gpulab::DeviceBuffer<float> a(p.a), b(p.b);
    gpulab::DeviceBuffer<float> out(p.size());
    name_tiles<Square>(watch);
    const auto launch = [&](cudaStream_t stream) {
        if (p.size() == 0) return;
        const int whole = gpulab::round_up(p.k, Square::depth); // all of k in one part
        launch_warp_tile<Square>(a.data(), b.data(), out.data(), p.m, p.k, p.n, p.n % 4 == 0, whole, 1, stream);
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(out));
    out.copy_to(c);
}

} // namespace matmul
