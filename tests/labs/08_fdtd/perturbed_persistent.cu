#include "perturbed_blocks.hpp"

#include <algorithm>
#include <cuda/atomic>
#include <string>

#include "cuda/fields.hpp"
#include "gpulab/cuda/occupancy.hpp"
#include "gpulab/error.hpp"
#include "gpulab_testing/perturbed_threads.cuh"

namespace perturbed {
using namespace fdtd;
}
// The lab's own kernels once more, in namespace perturbed. In a file of its own, because both rungs have a
// kernel_for().
#define fdtd perturbed
#include "cuda/07_persistent.cu"
#undef fdtd

namespace perturbed {

template <unsigned period, unsigned remainder>
void persistent(const fdtd::Problem<float>& p, fdtd::Output<float>& out, gpulab::Stopwatch& watch) {
    gpulab::testing::set_perturbed({gpulab::testing::LateThreads::all, period, remainder, false});
    cuda_persistent(p, out, watch);
}

template fdtd::Run<float> persistent<2, 0>;
template fdtd::Run<float> persistent<17, 3>;

} // namespace perturbed
