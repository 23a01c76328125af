// The copy rates of an OpenCL device, each direction alone and both at once; the kernel alone; and page-locked memory.
#include "link.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "gpulab/opencl/timing.hpp"
#include "kernel.hpp"
#include "pass.hpp"

namespace streams {

Link opencl_copy_rates() {
    const bool is_cpu = gpulab::opencl().description().is_cpu;
    const std::size_t bytes = std::size_t{is_cpu ? 16u : 64u} << 20;
    const int copies = 4, rounds = is_cpu ? 3 : 7, pieces = 16;
    const gpulab::ClBuffer<unsigned char> device_up(bytes), device_down(bytes);
    const HostMemory host_up(bytes), host_down(bytes);
    std::memset(host_up.data(), 1, bytes); // so that every page exists
    std::memset(host_down.data(), 2, bytes);
    const cl::CommandQueue up = new_queue(), down = new_queue();

    // Milliseconds of both directions from a common start, for that many copies of `size` bytes each. A direction that
    // only keeps the link busy gets more copies, so that it is still at work when the other one ends. The host's clock
    // is used, because the timed passes run without events and without profiling too.
    const auto once = [&](int up_copies, int down_copies, std::size_t size) {
        const auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < std::max(up_copies, down_copies); ++i) {
            const std::size_t at = static_cast<std::size_t>(i) * size % bytes; // the whole buffer, then again
            if (i < up_copies) up.enqueueWriteBuffer(device_up.data(), CL_FALSE, at, size, host_up.data() + at);
            if (i < down_copies) down.enqueueReadBuffer(device_down.data(), CL_FALSE, at, size, host_down.data() + at);
        }
        up.flush();
        down.flush();
        const auto ms_until_done = [&](const cl::CommandQueue& queue) {
            queue.finish();
            return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
        };
        if (up_copies <= down_copies) { // the one with fewer copies ends first, so it is waited for first
            const double up_ms = ms_until_done(up);
            return std::pair{up_ms, ms_until_done(down)};
        }
        const double down_ms = ms_until_done(down);
        return std::pair{ms_until_done(up), down_ms};
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
        const double unit = 1e-6 * static_cast<double>(bytes);
        return std::pair{unit * up_copies / up_ms, unit * down_copies / down_ms};
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

double opencl_pin_ms(std::size_t bytes) {
    std::vector<double> times;
    for (int i = 0; i < 4; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        { const HostMemory image(bytes), result(bytes); }
        const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
        if (i > 0) times.push_back(took.count());
    }
    return gpulab::summarise(times).median;
}

double opencl_kernel_ms(const Problem& p) {
    const gpulab::ClBuffer<unsigned char> in(p.image.pixels), out(p.bytes());
    const cl::Kernel kernel = invert_kernel(in.data(), out.data(), 0, p.bytes(), p);
    Stopwatch watch(1, 5, 1.0);
    gpulab::watch_kernel(watch, kernel, strip_items(p.bytes()), group_items);
    return watch.kernel().median;
}

} // namespace streams
