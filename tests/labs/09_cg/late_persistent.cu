#include <algorithm>
#include <cuda/atomic>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gpulab/cuda/buffer.hpp"
#include "gpulab/cuda/occupancy.hpp"
#include "gpulab/cuda/stream.hpp"
#include "gpulab/cuda/timing.hpp"
#include "gpulab/device.hpp"
#include "gpulab/error.hpp"
#include "gpulab/math.hpp"
#include "gpulab/poisoning.hpp"
#include "gpulab/trace/trace.hpp"
#include "gpulab_testing/late_threads.cuh"
#include "late_threads.hpp"
#include "split.hpp"

namespace late {
using namespace cg;
}
// The lab's own kernels once more, in namespace late.
#define cg late
#include "cuda/05_persistent.cu"
#undef cg

namespace late {

template <int warp, int blocks>
void persistent(const cg::Problem<double>& p, cg::Output<double>& out, gpulab::Stopwatch& watch) {
    using gpulab::testing::LateThreads;
    gpulab::testing::set_late({warp < 0 ? LateThreads::all : unsigned(warp), 2, blocks, false});
    cuda_persistent(p, out, watch);
}
template cg::Run<double> persistent<-1, 0>;
template cg::Run<double> persistent<-1, 1>;
template cg::Run<double> persistent<5, 0>;
template cg::Run<double> persistent<5, 1>;

} // namespace late
