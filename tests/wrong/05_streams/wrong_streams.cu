// Kernels with one mistake each, except those whose name says that they have none. One thread per byte, as in the
// lecture, or per word or vector where kernels poll.
#include <array>
#include <chrono>
#include <cstring>
#include <thread>

#include "cuda/arrival.cuh"
#include "cuda/pass.cuh"
#include "wrong_arrival.cuh"
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

__global__ void counts_in_16_bits(Arguments a) {
    const std::size_t i = global_index();
    if (i >= a.bytes) return;
    const unsigned char v = a.in[a.first + i];
    a.out[a.first + i] = (a.colours >> i % 4 & 1) ? inverted(v, a.work & 0xFFFF) : v;
}

/// Whole vectors of 16 bytes, or the bytes after them, get at most 4096 rounds.
template <bool vectors> __global__ void at_most_4096(Arguments a) {
    const std::size_t i = global_index();
    if (i >= a.bytes) return;
    const unsigned char v = a.in[a.first + i];
    const bool in_whole_vector = i / 16 * 16 + 16 <= a.bytes;
    const unsigned work = in_whole_vector == vectors && a.work > 4096 ? 4096 : a.work;
    a.out[a.first + i] = (a.colours >> i % 4 & 1) ? inverted(v, work) : v;
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

/// Delays the commands behind it in its stream by some milliseconds.
__global__ void late() {
    const long long begin = clock64();
    while (clock64() - begin < 6'000'000) {
    }
}

/// The mistakes that a kernel of cuda_polling can make.
enum class Polling { does_not_look, takes_an_old_flag, leaves_no_mark };

template <Polling mistake>
__global__ void polls(unsigned char* in, unsigned char* out, std::size_t words, unsigned colours, unsigned work,
                      const unsigned* last_complete, unsigned pass) {
    const std::size_t i = global_index();
    if (i >= words) return;
    unsigned* const at = reinterpret_cast<unsigned*>(in) + i;
    unsigned v = __ldcv(at);
    while (mistake != Polling::does_not_look && v == nothing_yet) {
        const unsigned flag = __ldcv(last_complete);
        const bool all_there = mistake == Polling::takes_an_old_flag ? flag != 0 : flag == pass;
        __threadfence_system();
        v = __ldcv(at);
        if (all_there) break;
    }
    if (mistake != Polling::leaves_no_mark) *at = nothing_yet;
    reinterpret_cast<unsigned*>(out)[i] = transform_word(v, colours, work);
}

/// Delays the commands behind it in its stream without a multiprocessor: a polling kernel may occupy all of them.
void CUDART_CB late_on_host(void*) { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }

/// One copy up, which is late, and one polling kernel for the whole image.
template <Polling mistake> void run_polling(const Problem& p, Output& out, Stopwatch& watch) {
    const std::size_t padded = gpulab::round_up(p.bytes(), 4);
    const std::vector<unsigned char> marks = marked_bytes(padded);
    gpulab::DeviceBuffer<unsigned char> in(marks), result(padded);
    gpulab::PinnedBuffer<unsigned char> host_in(padded);
    std::memset(host_in.data(), 0, padded);
    std::memcpy(host_in.data(), p.image.pixels.data(), p.bytes());
    gpulab::DeviceBuffer<unsigned> last_complete(std::vector<unsigned>{0});
    gpulab::PinnedBuffer<unsigned> pass(1);
    pass[0] = 0;
    const gpulab::Stream up, work;
    watch.tile(64 * sizeof(unsigned), "bytes");
    watch_passes(watch, out, {&result}, out.pixels, [&](CudaRecorder&) {
        ++pass[0];
        CUDA_CHECK(cudaLaunchHostFunc(up, late_on_host, nullptr));
        CUDA_CHECK(cudaMemcpyAsync(in.data(), host_in.data(), padded, cudaMemcpyHostToDevice, up));
        CUDA_CHECK(cudaMemcpyAsync(last_complete.data(), pass.data(), pass.bytes(), cudaMemcpyHostToDevice, up));
        polls<mistake><<<gpulab::grid_size(padded / 4, 64), 64, 0, work>>>(in.data(), result.data(), padded / 4,
                                                                           colour_bytes(p.image.channels), p.work,
                                                                           last_complete.data(), pass[0]);
        CUDA_CHECK_LAUNCH();
        work.synchronize();
        up.synchronize();
        CUDA_CHECK(cudaMemcpy(out.pixels.data(), result.data(), p.bytes(), cudaMemcpyDeviceToHost));
    });
    expect_marks(in, marks);
}

struct WhenArrived {
#pragma nv_exec_check_disable
    template <class Look, class AllThere, class Rest>
    __host__ __device__ uint4 operator()(const Look& look, const AllThere& all_there, const Rest& rest) const {
        return when_arrived(look, all_there, rest);
    }
};

/// 16 bytes per thread, taken when `Arrived` returns them.
template <class Arrived>
__global__ void polls_vectors(unsigned char* in, unsigned char* out, std::size_t vectors, unsigned colours,
                              unsigned work, const unsigned* last_complete, unsigned pass) {
    const std::size_t i = global_index();
    if (i >= vectors) return;
    uint4* const at = reinterpret_cast<uint4*>(in) + i;
    const auto all_there = [&] {
        if (__ldcv(last_complete) != pass) return false;
        __threadfence_system();
        return true;
    };
    const uint4 v = Arrived()([&] { return __ldcv(at); }, all_there, [] {});
    *at = make_uint4(nothing_yet, nothing_yet, nothing_yet, nothing_yet);
    reinterpret_cast<uint4*>(out)[i] = transform_16(v, colours, work);
}

/// One copy up and one polling kernel for the whole image.
template <class Arrived> void run_polling_vectors(const Problem& p, Output& out, Stopwatch& watch) {
    const std::size_t padded = gpulab::round_up(p.bytes(), 16);
    const std::vector<unsigned char> marks = marked_bytes(padded);
    gpulab::DeviceBuffer<unsigned char> in(marks), result(padded);
    gpulab::PinnedBuffer<unsigned char> host_in(padded);
    std::memset(host_in.data(), 0, padded);
    std::memcpy(host_in.data(), p.image.pixels.data(), p.bytes());
    gpulab::DeviceBuffer<unsigned> last_complete(std::vector<unsigned>{0});
    gpulab::PinnedBuffer<unsigned> pass(1);
    pass[0] = 0;
    const gpulab::Stream up, work;
    watch.tile(64 * 16, "bytes");
    watch_passes(watch, out, {&result}, out.pixels, [&](CudaRecorder&) {
        ++pass[0];
        CUDA_CHECK(cudaMemcpyAsync(in.data(), host_in.data(), padded, cudaMemcpyHostToDevice, up));
        CUDA_CHECK(cudaMemcpyAsync(last_complete.data(), pass.data(), pass.bytes(), cudaMemcpyHostToDevice, up));
        polls_vectors<Arrived><<<gpulab::grid_size(padded / 16, 64), 64, 0, work>>>(
            in.data(), result.data(), padded / 16, colour_bytes(p.image.channels), p.work, last_complete.data(),
            pass[0]);
        CUDA_CHECK_LAUNCH();
        work.synchronize();
        up.synchronize();
        CUDA_CHECK(cudaMemcpy(out.pixels.data(), result.data(), p.bytes(), cudaMemcpyDeviceToHost));
    });
    expect_marks(in, marks);
}

/// A stream for each strip, of which the last is not waited for.
void last_strip_not_waited_for(const Problem& p, Output& out, Stopwatch& watch) {
    gpulab::DeviceBuffer<unsigned char> in(p.bytes()), result(p.bytes());
    gpulab::PinnedBuffer<unsigned char> host_in(p.bytes()), landing(p.bytes());
    std::memcpy(host_in.data(), p.image.pixels.data(), p.bytes());
    const auto strips = right_strips(p);
    const std::vector<gpulab::Stream> streams(strips.size());
    watch.tile(64, "bytes");
    watch_passes(watch, out, {&in, &result}, out.pixels, [&](CudaRecorder&) {
        std::memset(landing.data(), gpulab::poison_byte_for<unsigned char>(), p.bytes());
        for (std::size_t i = 0; i < strips.size(); ++i) {
            const Strip s = strips[i];
            CUDA_CHECK(cudaMemcpyAsync(in.data() + s.first, host_in.data() + s.first, s.bytes, cudaMemcpyHostToDevice,
                                       streams[i]));
            no_mistake<<<gpulab::grid_size(s.bytes, 64), 64, 0, streams[i]>>>(
                {in.data(), result.data(), s.first, s.bytes, colour_bytes(p.image.channels),
                 static_cast<unsigned>(p.image.channels), p.work});
            CUDA_CHECK_LAUNCH();
            CUDA_CHECK(cudaMemcpyAsync(landing.data() + s.first, result.data() + s.first, s.bytes,
                                       cudaMemcpyDeviceToHost, streams[i]));
        }
        for (std::size_t i = 0; i + 1 < streams.size(); ++i) streams[i].synchronize();
        std::memcpy(out.pixels.data(), landing.data(), p.bytes());
        CUDA_CHECK(cudaDeviceSynchronize()); // so that nothing is left running
    });
}

/// A kernel that works in host memory, beside one in another stream. Only the other is waited for.
void mapped_not_waited_for(const Problem& p, Output& out, Stopwatch& watch) {
    gpulab::PinnedBuffer<unsigned char> in(p.bytes(), cudaHostAllocMapped), landing(p.bytes(), cudaHostAllocMapped);
    std::memcpy(in.data(), p.image.pixels.data(), p.bytes());
    const unsigned char* const in_there = in.on_device();
    unsigned char* const landing_there = landing.on_device();
    const std::size_t half = p.image.height / 2 * p.image.row_bytes();
    const gpulab::Stream waited_for, beside;
    watch.tile(block_threads * thread_bytes, "bytes");
    watch_passes(watch, out, {}, out.pixels, [&](CudaRecorder&) {
        std::memset(landing.data(), gpulab::poison_byte_for<unsigned char>(), p.bytes());
        const unsigned colours = colour_bytes(p.image.channels);
        invert_stride_kernel<<<link_blocks(p), block_threads, 0, beside>>>(in_there, landing_there, half, colours,
                                                                           p.work);
        invert_stride_kernel<<<link_blocks(p), block_threads, 0, waited_for>>>(in_there + half, landing_there + half,
                                                                               p.bytes() - half, colours, p.work);
        CUDA_CHECK_LAUNCH();
        waited_for.synchronize();
        std::memcpy(out.pixels.data(), landing.data(), p.bytes());
        CUDA_CHECK(cudaDeviceSynchronize()); // so that nothing is left running
    });
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
    watch.tile(64, "bytes");
    watch_passes(watch, out, {&in, &result}, out.pixels, [&](CudaRecorder&) {
        // The command that should have been waited for is late.
        if (missing == Missing::kernel_waits_for_copy_up) late<<<1, 1, 0, up>>>();
        if (missing == Missing::copy_down_waits_for_kernel) late<<<1, 1, 0, work>>>();
        if (missing == Missing::host_waits_for_copy_down) late<<<1, 1, 0, down>>>();
        std::memset(landing.data(), gpulab::poison_byte_for<unsigned char>(), p.bytes());
        for (std::size_t i = 0; i < strips.size(); ++i) {
            const Strip s = strips[i];
            const std::size_t inside = std::min(s.bytes, p.bytes() - s.first);
            if (missing != Missing::later_copies_up || passes == 0)
                CUDA_CHECK(
                    cudaMemcpyAsync(in.data() + s.first, host_in.data() + s.first, inside, cudaMemcpyHostToDevice, up));
            uploaded[i].record(up);
            if (missing != Missing::kernel_waits_for_copy_up) CUDA_CHECK(cudaStreamWaitEvent(work, uploaded[i], 0));
            if (missing != Missing::later_kernels || passes == 0)
                kernel<<<gpulab::grid_size(s.bytes, 64), 64, 0, work>>>(
                    {in.data(), result.data(), s.first, s.bytes, colour_bytes(p.image.channels),
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

void cuda_right(const Problem& p, Output& out, Stopwatch& watch) { run<no_mistake>(p, out, watch); }
void cuda_right_polling(const Problem& p, Output& out, Stopwatch& watch) {
    run_polling_vectors<WhenArrived>(p, out, watch);
}

std::span<const WrongVariant> cuda_variants() {
    static const std::array table = {
        WrongVariant{"inverts_alpha", "treats every byte as colour", run<inverts_alpha>},
        WrongVariant{"rgb_as_rgba", "treats every image as RGBA", run<rgb_as_rgba>},
        WrongVariant{"rgba_as_rgb", "treats RGBA as RGB, so a quarter is left out", run<rgba_as_rgb>},
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
        WrongVariant{"first_run_only", "only the first pass launches kernels",
                     run<no_mistake, right_strips, Missing::later_kernels>},
        WrongVariant{"last_strip_not_waited_for", "all streams are waited for but the last", last_strip_not_waited_for},
        WrongVariant{"mapped_not_waited_for", "a kernel in another stream is not waited for", mapped_not_waited_for},
        WrongVariant{"counts_in_16_bits", "work modulo 65536", run<counts_in_16_bits>},
        WrongVariant{"at_most_4096_in_vectors", "whole vectors get at most 4096 rounds", run<at_most_4096<true>>},
        WrongVariant{"at_most_4096_in_the_end", "the bytes after the vectors get at most 4096 rounds",
                     run<at_most_4096<false>>},
        WrongVariant{"does_not_look", "a polling kernel takes what is there", run_polling<Polling::does_not_look>},
        WrongVariant{"takes_an_old_flag", "a flag of an earlier pass counts for this one",
                     run_polling<Polling::takes_an_old_flag>},
        WrongVariant{"leaves_no_mark", "the mark is not put back", run_polling<Polling::leaves_no_mark>},
    };
    return table;
}

} // namespace streams::wrong
