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

void set_late_threads(int warp, unsigned first) {
    gpulab::testing::set_perturbed({warp < 0 ? gpulab::testing::LateThreads::all : unsigned(warp), 2, first, false});
}

} // namespace perturbed
