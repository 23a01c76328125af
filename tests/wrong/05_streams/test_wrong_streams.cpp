// A check is worth what it rejects: every variant here is wrong, and the checks of the right ones must say so.
#include "checks.hpp"
#include "gpulab/error.hpp"
#include "late.hpp"
#include "wrong_streams.hpp"

using gpulab::Backend;
using gpulab::testing::RightCase;
using gpulab::testing::WrongCases;

namespace {

/// The first fault that the checks of the right variants find, or "".
std::string fault_of(streams::Run* run, Backend backend) try {
    using namespace streams::testing;
    std::vector<gpulab::Tile> tiles;
    const streams::Problem p = small_grids();
    std::string fault = manners_fault(run, backend, p, tiles);
    if (fault.empty()) fault = by_hand_fault(run);
    if (fault.empty()) fault = first_fault(run, all_cases());
    if (fault.empty()) fault = heavy_fault(run);
    if (fault.empty()) fault = every_byte_fault(run);
    if (fault.empty()) fault = mark_fault(run);
    if (fault.empty()) fault = first_fault(run, cases_next_to(tiles, gpulab::testing::largest_near_tile(backend), p));
#if defined(STREAMS_LATE)
    if (fault.empty() && backend != Backend::cpu) fault = late_fault(run, backend);
#endif
    return fault;
} catch (const gpulab::WrongResult& e) {
    return e.what();
}

template <Backend backend> std::string fault_on(streams::Run* run) { return fault_of(run, backend); }

const WrongCases cpu(Backend::cpu, "CPU variant", streams::wrong::cpu_variants(), fault_on<Backend::cpu>);
const RightCase cpu_right(Backend::cpu, "CPU variant", streams::wrong::cpu_right, fault_on<Backend::cpu>);
#if defined(GPULAB_WITH_OPENCL)
const WrongCases opencl(Backend::opencl, "OpenCL variant", streams::wrong::opencl_variants(),
                        fault_on<Backend::opencl>);
const RightCase opencl_right(Backend::opencl, "OpenCL variant", streams::wrong::opencl_right,
                             fault_on<Backend::opencl>);
#endif
#if defined(GPULAB_WITH_CUDA)
const WrongCases cuda(Backend::cuda, "CUDA variant", streams::wrong::cuda_variants(), fault_on<Backend::cuda>);
const RightCase cuda_right(Backend::cuda, "CUDA variant", streams::wrong::cuda_right, fault_on<Backend::cuda>);
const RightCase cuda_polling(Backend::cuda, "CUDA variant that polls", streams::wrong::cuda_right_polling,
                             fault_on<Backend::cuda>);
#endif

} // namespace
