// One thread per byte, as in the lecture, and one mistake each but in the first, which is right.
#include <array>
#include <cstring>

#include "cuda/pass.cuh"
#include "wrong_streams.hpp"

namespace streams::wrong {

namespace {

struct Arguments {
    const unsigned char* in;
    unsigned char* out;
    std::size_t first, bytes;
    unsigned colours, channels, work;
};
using Kernel = void(Arguments);

__device__ std::size_t global_index() { return blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; }

__device__ unsigned char inverted(unsigned v, unsigned work) {
    for (unsigned i = 0; i < work; ++i) {
        v = (v * 181 + 97) & 255;
        v ^= v >> 3;
    }
    return static_cast<unsigned char>(255 - v);
}

__global__ void no_mistake(Arguments a) {
    const std::size_t i = global_index();
    if (i >= a.bytes) return;
    const unsigned char v = a.in[a.first + i];
    a.out[a.first + i] = (a.colours >> i % 4 & 1) ? inverted(v, a.work) : v;
}

__global__ void inverts_alpha(Arguments a) {
    const std::size_t i = global_index();
    if (i < a.bytes) a.out[a.first + i] = inverted(a.in[a.first + i], a.work);
}

__global__ void rgb_as_rgba(Arguments a) {
    const std::size_t i = global_index();
    if (i >= a.bytes) return;
    const unsigned char v = a.in[a.first + i];
    a.out[a.first + i] = i % 4 != 3 ? inverted(v, a.work) : v;
}

__global__ void rgba_as_rgb(Arguments a) {
    const std::size_t i = global_index();
    if (i >= a.bytes / a.channels * (a.channels < 3 ? a.channels : 3)) return;
    const unsigned char v = a.in[a.first + i];
    a.out[a.first + i] = (a.colours >> i % 4 & 1) ? inverted(v, a.work) : v;
}

__global__ void no_bounds_check(Arguments a) {
    const std::size_t i = global_index(); // the read stays inside, so that only the stray write is at fault
    const unsigned char v = i < a.bytes ? a.in[a.first + i] : 0;
    a.out[a.first + i] = (a.colours >> i % 4 & 1) ? inverted(v, a.work) : v;
}

__global__ void one_round_short(Arguments a) {
    const std::size_t i = global_index();
    if (i >= a.bytes) return;
    const unsigned char v = a.in[a.first + i];
    a.out[a.first + i] = (a.colours >> i % 4 & 1) ? inverted(v, a.work > 0 ? a.work - 1 : 0) : v;
}

__global__ void counts_in_a_byte(Arguments a) {
    const std::size_t i = global_index();
    if (i >= a.bytes) return;
    const unsigned char v = a.in[a.first + i];
    a.out[a.first + i] = (a.colours >> i % 4 & 1) ? inverted(v, a.work & 255) : v;
}

__global__ void first_strip_only(Arguments a) {
    const std::size_t i = global_index();
    if (i >= a.bytes) return;
    const unsigned char v = a.in[i];
    a.out[i] = (a.colours >> i % 4 & 1) ? inverted(v, a.work) : v;
}

__global__ void minus_from_256(Arguments a) {
    const std::size_t i = global_index();
    if (i >= a.bytes) return;
    const unsigned char v = a.in[a.first + i];
    a.out[a.first + i] = (a.colours >> i % 4 & 1) ? static_cast<unsigned char>(inverted(v, a.work) + 1) : v;
}

/// Makes whatever stands behind it in its stream late by some milliseconds.
__global__ void late() {
    const long long begin = clock64();
    while (clock64() - begin < 6'000'000) {
    }
}

/// The pipeline of three streams, through the same passes as the right variants.
template <Kernel* kernel, Strips* cut = right_strips, Missing missing = Missing::nothing>
void run(const Problem& p, Output& out, Stopwatch& watch) {
    gpulab::DeviceBuffer<unsigned char> in(p.bytes()), result(p.bytes());
    gpulab::PinnedBuffer<unsigned char> host_in(p.bytes()), landing(p.bytes());
    std::memcpy(host_in.data(), p.image.pixels.data(), p.bytes());
    const auto strips = cut(p);
    const gpulab::Stream up, work, down;
    std::vector<gpulab::Event> uploaded, inverted;
    for (std::size_t i = 0; i < strips.size(); ++i) {
        uploaded.emplace_back(cudaEventDisableTiming);
        inverted.emplace_back(cudaEventDisableTiming);
    }
    int passes = 0;
    watch_passes(watch, out, {&in, &result}, out.pixels, [&](CudaRecorder&) {
        // Whatever the missing wait would have waited for is late.
        if (missing == Missing::kernel_waits_for_copy_up) late<<<1, 1, 0, up>>>();
        if (missing == Missing::copy_down_waits_for_kernel) late<<<1, 1, 0, work>>>();
        if (missing == Missing::host_waits_for_copy_down) late<<<1, 1, 0, down>>>();
        std::memset(landing.data(), gpulab::poison_byte, p.bytes());
        for (std::size_t i = 0; i < strips.size(); ++i) {
            const Strip s = strips[i];
            const std::size_t inside = std::min(s.bytes, p.bytes() - s.first);
            if (missing != Missing::later_copies_up || passes == 0)
                CUDA_CHECK(
                    cudaMemcpyAsync(in.data() + s.first, host_in.data() + s.first, inside, cudaMemcpyHostToDevice, up));
            uploaded[i].record(up);
            if (missing != Missing::kernel_waits_for_copy_up) CUDA_CHECK(cudaStreamWaitEvent(work, uploaded[i], 0));
            kernel<<<gpulab::grid_size(s.bytes, 64), 64, 0, work>>>({in.data(), result.data(), s.first, s.bytes,
                                                                     colour_bytes(p.image.channels),
                                                                     static_cast<unsigned>(p.image.channels), p.work});
            CUDA_CHECK_LAUNCH();
            inverted[i].record(work);
            if (missing != Missing::copy_down_waits_for_kernel) CUDA_CHECK(cudaStreamWaitEvent(down, inverted[i], 0));
            CUDA_CHECK(cudaMemcpyAsync(landing.data() + s.first, result.data() + s.first, inside,
                                       cudaMemcpyDeviceToHost, down));
        }
        if (missing != Missing::host_waits_for_copy_down) down.synchronize();
        std::memcpy(out.pixels.data(), landing.data(), p.bytes());
        CUDA_CHECK(cudaDeviceSynchronize()); // so that nothing is left running
        ++passes;
    });
}

} // namespace

std::span<const WrongVariant> cuda_variants() {
    static const std::array table = {
        WrongVariant{"no_mistake", "none: shows that the launcher is right", run<no_mistake>},
        WrongVariant{"inverts_alpha", "every byte is taken for colour", run<inverts_alpha>},
        WrongVariant{"rgb_as_rgba", "every image is taken for RGBA", run<rgb_as_rgba>},
        WrongVariant{"rgba_as_rgb", "RGBA is taken for RGB, so a quarter is left out", run<rgba_as_rgb>},
        WrongVariant{"no_bounds_check", "the ragged block writes past the strip", run<no_bounds_check>},
        WrongVariant{"one_round_short", "work - 1 rounds", run<one_round_short>},
        WrongVariant{"counts_in_a_byte", "work modulo 256", run<counts_in_a_byte>},
        WrongVariant{"first_strip_only", "the offset is forgotten", run<first_strip_only>},
        WrongVariant{"minus_from_256", "256 - v for 255 - v", run<minus_from_256>},
        WrongVariant{"remainder_lost", "height / N rows each (Aula 17)", run<no_mistake, remainder_lost>},
        WrongVariant{"offset_in_pixels", "pixels for bytes", run<no_mistake, offset_in_pixels>},
        WrongVariant{"one_row_late", "strips begin a row too late", run<no_mistake, one_row_late>},
        WrongVariant{"last_overruns", "the last strip is as large as the others", run<no_mistake, last_overruns>},
        WrongVariant{"kernel_does_not_wait", "the kernel does not wait for the copy up",
                     run<no_mistake, right_strips, Missing::kernel_waits_for_copy_up>},
        WrongVariant{"copies_up_once", "only the first pass copies up, the others use what is there",
                     run<no_mistake, right_strips, Missing::later_copies_up>},
        WrongVariant{"copy_down_does_not_wait", "the copy down does not wait for the kernel",
                     run<no_mistake, right_strips, Missing::copy_down_waits_for_kernel>},
        WrongVariant{"host_does_not_wait", "the host reads before the copy down is done",
                     run<no_mistake, right_strips, Missing::host_waits_for_copy_down>},
    };
    return table;
}

} // namespace streams::wrong
