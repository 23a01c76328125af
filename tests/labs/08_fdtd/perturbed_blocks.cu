#include "perturbed_blocks.hpp"

#include <algorithm>
#include <climits>
#include <cuda/atomic>
#include <string>

#include "cuda/fields.hpp"
#include "gpulab/cuda/occupancy.hpp"
#include "gpulab/error.hpp"
#include "gpulab_testing/perturbed_threads.cuh"

namespace perturbed {
using namespace fdtd;
}
// The lab's own kernels once more, in namespace perturbed. Both rungs have a kernel_for().
#define fdtd perturbed
#include "cuda/06_steps.cu"
#define kernel_for kernel_for_persistent
#include "cuda/07_persistent.cu"
#undef kernel_for
#undef fdtd

namespace perturbed {

template <unsigned period, unsigned remainder>
void steps(const fdtd::Problem<float>& p, fdtd::Output<float>& out, gpulab::Stopwatch& watch) {
    gpulab::testing::set_perturbed({gpulab::testing::LateThreads::all, period, remainder, false});
    cuda_steps(p, out, watch);
}
template <unsigned period, unsigned remainder>
void persistent(const fdtd::Problem<float>& p, fdtd::Output<float>& out, gpulab::Stopwatch& watch) {
    gpulab::testing::set_perturbed({gpulab::testing::LateThreads::all, period, remainder, false});
    cuda_persistent(p, out, watch);
}

template fdtd::Run<float> steps<2, 0>;
template fdtd::Run<float> steps<2, 1>;
template fdtd::Run<float> persistent<2, 0>;
template fdtd::Run<float> persistent<17, 3>;

} // namespace perturbed
