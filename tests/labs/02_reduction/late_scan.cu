#include "late_scan.hpp"

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
#include "gpulab_testing/late_threads.cuh"

namespace late {
using namespace reduction;
}
// The lab's own kernels once more, in namespace late.
#define reduction late
#include "cuda/scan_03_look_back.cu"
#include "cuda/scan_04_warp_duties.cu"
#undef reduction

namespace late {
using gpulab::testing::LateThreads;
using gpulab::testing::set_late;

void scan_with_blocks_reversed(const reduction::ScanProblem<int>& p, reduction::Prefixes<int>& out,
                               gpulab::Stopwatch& watch) {
    set_late({LateThreads::none, 1, 0, true});
    cuda_scan_look_back(p, out, watch);
}

void scan_with_late_blocks(const reduction::ScanProblem<int>& p, reduction::Prefixes<int>& out,
                           gpulab::Stopwatch& watch) {
    set_late({LateThreads::all, 2, 0, false});
    cuda_scan_look_back(p, out, watch);
}

void duties_with_late_blocks(const reduction::ScanProblem<int>& p, reduction::Prefixes<int>& out,
                             gpulab::Stopwatch& watch) {
    set_late({LateThreads::all, 2, 0, false});
    cuda_scan_warp_duties(p, out, watch);
}

} // namespace late
