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
#include "cuda/06_devices.cu"
#include "cuda/07_devices_stores.cu"
#undef cg

namespace late {

template <int warp, int blocks>
void devices(const cg::Problem<double>& p, cg::Output<double>& out, gpulab::Stopwatch& watch) {
    using gpulab::testing::LateThreads;
    gpulab::testing::set_late({warp < 0 ? LateThreads::all : unsigned(warp), 2, blocks, false});
    cuda_devices(p, out, watch);
}
template cg::Run<double> devices<-1, 0>;
template cg::Run<double> devices<-1, 1>;
template cg::Run<double> devices<5, 0>;
template cg::Run<double> devices<5, 1>;

template <int warp, int blocks>
void devices_stores(const cg::Problem<double>& p, cg::Output<double>& out, gpulab::Stopwatch& watch) {
    using gpulab::testing::LateThreads;
    gpulab::testing::set_late({warp < 0 ? LateThreads::all : unsigned(warp), 2, blocks, false});
    cuda_devices_stores(p, out, watch);
}
template cg::Run<double> devices_stores<-1, 0>;
template cg::Run<double> devices_stores<-1, 1>;
template cg::Run<double> devices_stores<5, 0>;
template cg::Run<double> devices_stores<5, 1>;

} // namespace late
