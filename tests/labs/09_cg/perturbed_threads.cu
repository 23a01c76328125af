#include "perturbed_threads.hpp"

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
#include "gpulab_testing/perturbed_threads.cuh"
#include "split.hpp"

namespace perturbed {
using namespace cg;
}
// The lab's own kernels once more, in namespace perturbed.
#define cg perturbed
#include "cuda/06_persistent.cu"
#include "cuda/07_devices.cu"
#include "cuda/08_devices_stores.cu"
#undef cg

namespace perturbed {

namespace {
template <int warp, int blocks, class RunOfLab>
void run_perturbed(const RunOfLab& run, const cg::Problem<double>& p, cg::Output<double>& out,
                   gpulab::Stopwatch& watch) {
    gpulab::testing::set_perturbed({warp < 0 ? gpulab::testing::LateThreads::all : unsigned(warp), 2, blocks, false});
    run(p, out, watch);
}
} // namespace

template <int warp, int blocks>
void persistent(const cg::Problem<double>& p, cg::Output<double>& out, gpulab::Stopwatch& watch) {
    run_perturbed<warp, blocks>(cuda_persistent<double>, p, out, watch);
}
template <int warp, int blocks>
void devices(const cg::Problem<double>& p, cg::Output<double>& out, gpulab::Stopwatch& watch) {
    run_perturbed<warp, blocks>(cuda_devices<double>, p, out, watch);
}
template <int warp, int blocks>
void devices_stores(const cg::Problem<double>& p, cg::Output<double>& out, gpulab::Stopwatch& watch) {
    run_perturbed<warp, blocks>(cuda_devices_stores<double>, p, out, watch);
}
template cg::Run<double> persistent<-1, 0>;
template cg::Run<double> persistent<-1, 1>;
template cg::Run<double> persistent<5, 0>;
template cg::Run<double> persistent<5, 1>;
template cg::Run<double> devices<-1, 0>;
template cg::Run<double> devices<-1, 1>;
template cg::Run<double> devices<5, 0>;
template cg::Run<double> devices<5, 1>;
template cg::Run<double> devices_stores<-1, 0>;
template cg::Run<double> devices_stores<-1, 1>;
template cg::Run<double> devices_stores<5, 0>;
template cg::Run<double> devices_stores<5, 1>;

} // namespace perturbed
