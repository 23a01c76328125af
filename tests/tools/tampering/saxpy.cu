// Submissions in CUDA to many-blocks of lab 01, as in saxpy.cl. What stands before the first one is put before each.
#include <cstdint>
#include <ctime>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gpulab/cuda/buffer.hpp"
#include "gpulab/cuda/check.hpp"
#include "gpulab/math.hpp"
#include "saxpy.hpp"

namespace saxpy {
void cuda_many_blocks(const Problem& p, Output& c, Stopwatch& watch);
}

#define SUBMISSION                                                                              \
    void saxpy::cuda_many_blocks([[maybe_unused]] const Problem& p, [[maybe_unused]] Output& c, \
                                 [[maybe_unused]] Stopwatch& watch)

inline void on_the_cpu(const saxpy::Problem& p, saxpy::Output& c) {
    for (std::size_t i = 0; i < p.size(); ++i) c[i] = p.k * p.a[i] + p.b[i];
}

// computes_on_the_cpu: most 0; outcome failed; tests values, no access outside the arrays, as fast as the rung
// There is no kernel in which a tool could find something.
SUBMISSION { on_the_cpu(p, c); }

// forges_the_count: most 0; outcome failed; tests values
// Computes on the CPU and writes an answer to each socket that is open: 16 bytes, no trouble, one kernel.
SUBMISSION {
    const std::uint64_t answer[4] = {0, 0, 0, 1};
    for (int file = 0; file < 64; ++file) {
        struct stat about = {};
        if (::fstat(file, &about) == 0 && S_ISSOCK(about.st_mode) && ::write(file, answer, sizeof answer) < 0) continue;
    }
    on_the_cpu(p, c);
}

// launches_an_empty_kernel: most 0; outcome failed; tests values, as fast as the rung
// Launches a kernel of the right shape that does nothing, and computes on the CPU.
__global__ void nothing() {}

SUBMISSION {
    nothing<<<gpulab::grid_size(p.size(), 256), 256>>>();
    CUDA_CHECK_LAUNCH();
    on_the_cpu(p, c);
    CUDA_CHECK(cudaDeviceSynchronize());
}

// patches_the_timers: most 0; tests as fast as the rung
// Slow, but every clock that its process asks runs a thousand times too slowly.
extern "C" int clock_gettime(clockid_t clock, timespec* time) noexcept {
    const long result = syscall(SYS_clock_gettime, clock, time);
    const long long ns = (time->tv_sec * 1000000000LL + time->tv_nsec) / 1000;
    time->tv_sec = ns / 1000000000;
    time->tv_nsec = ns % 1000000000;
    return static_cast<int>(result);
}

__global__ void scaled(float k, const float* a, const float* b, float* c, std::size_t n) {
    const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < n) c[i] = k * a[i] + b[i];
}

SUBMISSION {
    gpulab::DeviceBuffer<float> a(p.a), b(p.b), out(p.size());
    const timespec seconds{5, 0};
    syscall(SYS_nanosleep, &seconds, nullptr);
    for (int run = 0; run < watch.repeats(); ++run) {
        scaled<<<gpulab::grid_size(p.size(), 256), 256>>>(p.k, a.data(), b.data(), out.data(), p.size());
        CUDA_CHECK_LAUNCH();
    }
    CUDA_CHECK(cudaMemcpy(c.data(), out.data(), p.size() * sizeof(float), cudaMemcpyDeviceToHost));
}
