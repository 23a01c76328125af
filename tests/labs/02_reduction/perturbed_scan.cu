// cuda_scan_look_back with blocks that begin in another order, or late, and cuda_scan_warp_duties with late ones: for
// test_scan.cpp.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <cuda/atomic>
#include <string>

#include "gpulab/cuda/buffer.hpp"
#include "gpulab/cuda/built_for.hpp"
#include "gpulab/cuda/occupancy.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/math.hpp"
#include "gpulab/poisoning.hpp"
#include "scan.hpp"

#include "gpulab_testing/perturbed_threads.cuh"

namespace perturbed {
using namespace reduction;
}
// The lab's own kernels once more, in namespace perturbed.
#define reduction perturbed
#include "cuda/scan_03_look_back.cu"
#include "cuda/scan_04_warp_duties.cu"
#undef reduction

namespace perturbed {
using gpulab::testing::LateThreads;
using gpulab::testing::set_perturbed;

/// Its blocks are numbered against the order in which they start.
void scan_with_blocks_reversed(const reduction::ScanProblem<int>& p, reduction::Prefixes<int>& out,
                               gpulab::Stopwatch& watch) {
    set_perturbed({LateThreads::none, 1, 0, true});
    cuda_scan_look_back(p, out, watch);
}

/// Every second block is late.
void scan_with_late_blocks(const reduction::ScanProblem<int>& p, reduction::Prefixes<int>& out,
                           gpulab::Stopwatch& watch) {
    set_perturbed({LateThreads::all, 2, 0, false});
    cuda_scan_look_back(p, out, watch);
}

void duties_with_late_blocks(const reduction::ScanProblem<int>& p, reduction::Prefixes<int>& out,
                             gpulab::Stopwatch& watch) {
    set_perturbed({LateThreads::all, 2, 0, false});
    cuda_scan_warp_duties(p, out, watch);
}

} // namespace perturbed
