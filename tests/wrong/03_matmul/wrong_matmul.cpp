#include <array>

#include "gpulab/math.hpp"
#include "gpulab/opencl/buffer.hpp"
#include "gpulab/opencl/timing.hpp"
#include "wrong_matmul.cl.hpp"
#include "wrong_matmul.hpp"

namespace matmul::wrong {

namespace {

void launch(const char* name, const Problem<float>& p, Output<float>& c, Stopwatch& watch) {
    const gpulab::ClBuffer<float> a(p.a), b(p.b);
    gpulab::ClBuffer<float> out(p.size());
    cl::Kernel kernel = gpulab::opencl_kernel(wrong_matmul_cl, name);
    const auto number = [](std::size_t x) { return static_cast<cl_int>(x); };
    gpulab::set_args(kernel, a.data(), b.data(), out.data(), number(p.m), number(p.k), number(p.n));
    const cl::NDRange global(gpulab::round_up(p.n, 16), gpulab::round_up(p.m + 1, 16)), local(16, 16);
    gpulab::watch_queue(watch, [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
        if (p.size() == 0) return;
        queue.enqueueNDRangeKernel(kernel, cl::NullRange, global, local, nullptr, events.add());
    });
    out.copy_to(c);
}

#define WRONG(kernel) [](const Problem<float>& p, Output<float>& c, Stopwatch& w) { launch(kernel, p, c, w); }

} // namespace

std::span<const WrongVariant> opencl_variants() {
    static const std::array table = {
        WrongVariant{"no_first_barrier", "tiles are read before they are complete", WRONG("no_first_barrier"), true},
        WrongVariant{"no_second_barrier", "tiles are overwritten while read", WRONG("no_second_barrier"), true},
        WrongVariant{"tile_edge_unguarded", "the last tile holds numbers of the next row",
                     WRONG("tile_edge_unguarded")},
        WrongVariant{"tile_overwrites", "= for += from tile to tile", WRONG("tile_overwrites")},
        WrongVariant{"swapped_indices", "C is written transposed", WRONG("swapped_indices")},
        WrongVariant{"int_accumulator", "the sum is an int", WRONG("int_accumulator")},
        WrongVariant{"last_product_lost", "k - 1 for k", WRONG("last_product_lost")},
        WrongVariant{"adds_to_c", "+= on memory that nobody cleared", WRONG("adds_to_c")},
        WrongVariant{"output_edge_unguarded", "<= m for < m", WRONG("output_edge_unguarded")},
        WrongVariant{"reads_past_end", "A's tile is filled past the end of A", WRONG("reads_past_end")},
        WrongVariant{"vector_store_past_edge", "four columns are stored where fewer are left",
                     WRONG("vector_store_past_edge")},
    };
    return table;
}

} // namespace matmul::wrong
