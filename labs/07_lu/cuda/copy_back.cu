// For the study figure-3-10: the kernels of cuda_two_kernels_16 and cuda_two_kernels_32 and the copy of the factors to
// the host, in one time. (Alfaro Vigo & Rossetto, figure 3.10)
#include "../studies.hpp"
#include "device_factors.hpp"
#include "gpulab/cuda/timing.hpp"
#include "steps.hpp"

namespace lu {

namespace {

template <int TILE> void factorise_and_copy_back(const Problem& p, Factors& f, Stopwatch& watch) {
    DeviceFactors d(p);
    const auto launch = [&](cudaStream_t stream) {
        eliminate_by_rows<TILE>(d.lu.data(), static_cast<int>(p.n), stream);
        CUDA_CHECK(cudaMemcpyAsync(f.lu.data(), d.lu.data(), d.lu.bytes(), cudaMemcpyDeviceToHost, stream));
    };
    const auto reset = [&](cudaStream_t stream) { d.restore(stream); };
    gpulab::watch_stream(watch, launch, reset);
    d.lu.check_guard_bands();
    no_exchanges(f);
    check_pivots(f, false);
}

} // namespace

void cuda_kernels_and_copy_16(const Problem& p, Factors& f, Stopwatch& watch) {
    factorise_and_copy_back<16>(p, f, watch);
}
void cuda_kernels_and_copy_32(const Problem& p, Factors& f, Stopwatch& watch) {
    factorise_and_copy_back<32>(p, f, watch);
}

} // namespace lu
