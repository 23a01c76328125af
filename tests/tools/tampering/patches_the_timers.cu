// Slow, but every clock that its process asks runs a thousand times too slowly.
// most: 0
// tests: as fast as the rung
#include <chrono>
#include <ctime>
#include <sys/syscall.h>
#include <sys/time.h>
#include <thread>
#include <unistd.h>

#include "gpulab/cuda/buffer.hpp"
#include "gpulab/cuda/check.hpp"
#include "gpulab/math.hpp"
#include "saxpy.hpp"

extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
    const long result = syscall(SYS_clock_gettime, clock, time);
    const long long ns = (time->tv_sec * 1000000000LL + time->tv_nsec) / 1000;
    time->tv_sec = ns / 1000000000;
    time->tv_nsec = ns % 1000000000;
    return static_cast<int>(result);
}

namespace saxpy {

__global__ void saxpy(float k, const float* a, const float* b, float* c, std::size_t n) {
    const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < n) c[i] = k * a[i] + b[i];
}

void cuda_many_blocks(const Problem& p, Output& c, Stopwatch& watch) {
    gpulab::DeviceBuffer<float> a(p.a), b(p.b), out(p.size());
    const timespec seconds{5, 0};
    syscall(SYS_nanosleep, &seconds, nullptr);
    for (int run = 0; run < watch.repeats(); ++run) {
        saxpy<<<gpulab::grid_size(p.size(), 256), 256>>>(p.k, a.data(), b.data(), out.data(), p.size());
        CUDA_CHECK_LAUNCH();
    }
    CUDA_CHECK(cudaMemcpy(c.data(), out.data(), p.size() * sizeof(float), cudaMemcpyDeviceToHost));
}

} // namespace saxpy
