// Rung 10: each warp has a square of its own, each thread 8 x 16 elements of it.
//
// Changed, in the kernel (warp_tile.cuh):
// - A warp computes 64 x 64 elements of the block's 128 x 128, its lanes standing 8 x 4. At each step it reads 64
//   numbers of A and 64 of B for 4096 products; the 2 x 16 threads of a warp in the rung before read 16 and 128 for
//   2048.
// - A thread has 8 x 16 elements: 24 numbers, six 16-byte loads, for 128 multiply-adds.
// - The next step's numbers are loaded from shared memory while this step's are multiplied, also across the barrier.
// - Blocks that run at the same time compute a square of C, not a strip.
// 128 threads with 230 registers each leave room for two blocks on a multiprocessor: while one waits at its barrier the
// other works.
// Limit: 97 of 100 instructions in the loop are multiply-adds. What is left is how the tiles fill the device: at
// n = 4096 the last of four waves of blocks, at n = 1024 a single wave that leaves half of the multiprocessors idle.
#include "gpulab/cuda/buffer.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/error.hpp"
#include "matmul.hpp"
#include "warp_tile.cuh"

namespace matmul {

void cuda_warp_tiles(const Problem<float>& p, Output<float>& c, Stopwatch& watch) {
    using Square = WarpTile<128, 128, 16, 64, 64, 8, 3, 2>;
    if (!prepare_warp_tile<Square>()) throw gpulab::Unsupported("needs 50 KiB of shared memory per block");

    const gpulab::DeviceBuffer<float> a(p.a), b(p.b);
    gpulab::DeviceBuffer<float> out(p.size());
    gpulab::watch_stream(watch, [&](cudaStream_t stream) {
        if (p.size() == 0) return;
        const int whole = gpulab::round_up(p.k, Square::depth); // all of k in one part
        launch_warp_tile<Square>(a.data(), b.data(), out.data(), p.m, p.k, p.n, whole, 1, stream);
    });
    out.copy_to(c);
}

} // namespace matmul
