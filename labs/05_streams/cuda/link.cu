// The copy rates of a CUDA device, each direction alone and both at once; the kernel alone; and page-locked memory.
#include <algorithm>
#include <memory>
#include <utility>

#include "link.hpp"
#include "pass.cuh"

namespace streams {

Link cuda_copy_rates() {
    constexpr std::size_t bytes = std::size_t{64} << 20;
    constexpr int copies = 4, rounds = 7, pieces = 16;
    gpulab::DeviceBuffer<unsigned char> device_up(bytes), device_down(bytes);
    gpulab::PinnedBuffer<unsigned char> host_up(bytes), host_down(bytes);
    std::memset(host_up.data(), 1, bytes); // so that every page exists
    std::memset(host_down.data(), 2, bytes);
    gpulab::Stream up, down;
    gpulab::Event begin, up_end, down_end;

    // Milliseconds of both directions from a common start, for that many copies of `size` bytes each. A direction that
    // only keeps the link busy gets more copies, so that it is still at work when the other one ends.
    const auto once = [&](int up_copies, int down_copies, std::size_t size) {
        begin.record(up);
        CUDA_CHECK(cudaStreamWaitEvent(down, begin, 0));
        for (int i = 0; i < std::max(up_copies, down_copies); ++i) {
            const std::size_t at = static_cast<std::size_t>(i) * size % bytes; // the whole buffer, then again
            if (i < up_copies)
                CUDA_CHECK(
                    cudaMemcpyAsync(device_up.data() + at, host_up.data() + at, size, cudaMemcpyHostToDevice, up));
            if (i < down_copies)
                CUDA_CHECK(cudaMemcpyAsync(host_down.data() + at, device_down.data() + at, size, cudaMemcpyDeviceToHost,
                                           down));
        }
        up_end.record(up);
        down_end.record(down);
        up.synchronize();
        down.synchronize();
        return std::pair{gpulab::Event::ms_between(begin, up_end), gpulab::Event::ms_between(begin, down_end)};
    };
    const auto medians = [&](int up_copies, int down_copies, std::size_t size) {
        std::vector<double> up_ms, down_ms;
        once(up_copies, down_copies, size);
        for (int i = 0; i < rounds; ++i) {
            const auto [u, d] = once(up_copies, down_copies, size);
            up_ms.push_back(u);
            down_ms.push_back(d);
        }
        return std::pair{gpulab::summarise(up_ms).median, gpulab::summarise(down_ms).median};
    };
    // Bytes per millisecond times 1e-6 are GB/s.
    const auto rates = [&](int up_copies, int down_copies) {
        const auto [up_ms, down_ms] = medians(up_copies, down_copies, bytes);
        return std::pair{1e-6 * up_copies * static_cast<double>(bytes) / up_ms,
                         1e-6 * down_copies * static_cast<double>(bytes) / down_ms};
    };
    Link link;
    link.up_alone = rates(copies, 0).first;
    link.down_alone = rates(0, copies).second;
    link.up = rates(copies, 2 * copies).first;
    link.down = rates(2 * copies, copies).second;
    const auto [together_up, together_down] = rates(copies, copies);
    link.together = std::min(together_up, together_down);

    // The same bytes in one piece and in many pieces: the difference is the pauses.
    const auto through = [&](int count) {
        const auto [up_ms, down_ms] = medians(count, count, bytes / static_cast<std::size_t>(count));
        return std::max(up_ms, down_ms);
    };
    link.pause_ms = std::max(0.0, (through(pieces) - through(1)) / (pieces - 1));
    return link;
}

namespace {
struct FreeHost {
    void operator()(void* memory) const { cudaFreeHost(memory); }
};
using Pinned = std::unique_ptr<void, FreeHost>;

Pinned pinned(std::size_t bytes) {
    void* memory = nullptr;
    CUDA_CHECK(cudaHostAlloc(&memory, bytes, cudaHostAllocDefault));
    return Pinned(memory);
}
} // namespace

double cuda_pin_ms(std::size_t bytes) {
    std::vector<double> times;
    for (int i = 0; i < 4; ++i) {
        const double begin = gpulab::clock_ms();
        { const Pinned image = pinned(bytes), result = pinned(bytes); }
        const double took_ms = gpulab::clock_ms() - begin;
        if (i > 0) times.push_back(took_ms);
    }
    return gpulab::summarise(times).median;
}

double cuda_kernel_ms(const Problem& p) {
    const gpulab::DeviceBuffer<unsigned char> in(p.image.pixels);
    gpulab::DeviceBuffer<unsigned char> out(p.bytes());
    const gpulab::Stream stream;
    gpulab::Event begin, end;
    std::vector<double> times;
    for (int i = 0; i < 6; ++i) {
        begin.record(stream);
        invert_kernel<<<strip_blocks({0, p.bytes()}), block_threads, 0, stream>>>(
            in.data(), out.data(), p.bytes(), colour_bytes(p.image.channels), p.work);
        CUDA_CHECK_LAUNCH();
        end.record(stream);
        end.synchronize();
        if (i > 0) times.push_back(gpulab::Event::ms_between(begin, end)); // the first launch loads the code
    }
    return gpulab::summarise(times).median;
}

} // namespace streams
