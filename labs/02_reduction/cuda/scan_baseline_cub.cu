// Baseline: the vendor's library, cub::DeviceScan. In its own file, because CUB takes long to compile.
#include <cub/device/device_scan.cuh>
#include <limits>

#include "gpulab/cuda/timing.hpp"
#include "gpulab/error.hpp"
#include "scan.hpp"

namespace reduction {

template <class T> void cuda_scan_cub(const ScanProblem<T>& p, Prefixes<T>& out, Stopwatch& watch) {
    if (p.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
        throw gpulab::Unsupported("this baseline counts in 32 bits");
    const gpulab::DeviceBuffer<T> a(p.a);
    gpulab::DeviceBuffer<T> result(p.size());
    const auto n = static_cast<int>(p.size());
    const auto scan = [&](void* scratch, std::size_t& bytes, cudaStream_t stream) {
        return p.kind == Scan::inclusive
                   ? cub::DeviceScan::InclusiveSum(scratch, bytes, a.data(), result.data(), n, stream)
                   : cub::DeviceScan::ExclusiveSum(scratch, bytes, a.data(), result.data(), n, stream);
    };
    std::size_t bytes = 0;
    CUDA_CHECK(scan(nullptr, bytes, nullptr)); // asks how much scratch memory it needs
    gpulab::DeviceBuffer<unsigned char> scratch(bytes);
    const auto launch = [&](cudaStream_t stream) { CUDA_CHECK(scan(scratch.data(), bytes, stream)); };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(result, scratch));
    result.copy_to(out);
}

template ScanRun<float> cuda_scan_cub<float>;
template ScanRun<double> cuda_scan_cub<double>;
template ScanRun<int> cuda_scan_cub<int>;

} // namespace reduction
