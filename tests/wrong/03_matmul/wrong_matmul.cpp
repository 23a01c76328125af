#include <array>

#include "gpulab/math.hpp"
#include "gpulab/opencl/buffer.hpp"
#include "gpulab/opencl/timing.hpp"
#include "gpulab/poisoning.hpp"
#include "wrong_matmul.cl.hpp"
#include "wrong_matmul.hpp"

namespace matmul::wrong {

namespace {

/// How often a kernel runs, and whether the output is poisoned before each run.
enum class Runs { all, first_only, first_only_unpoisoned };

void launch(const char* name, const Problem<float>& p, Output<float>& c, Stopwatch& watch, Runs runs = Runs::all) {
    const gpulab::ClBuffer<float> a(p.a), b(p.b);
    gpulab::ClBuffer<float> out(p.size());
    cl::Kernel kernel = gpulab::opencl_kernel(wrong_matmul_cl, name);
    const auto number = [](std::size_t x) { return static_cast<cl_int>(x); };
    gpulab::set_args(kernel, a.data(), b.data(), out.data(), number(p.m), number(p.k), number(p.n));
    const cl::NDRange global(gpulab::round_up(p.n, 16), gpulab::round_up(p.m + 1, 16)), local(16, 16);
    watch.tile(16, "m"), watch.tile(16, "k"), watch.tile(16, "n");
    bool done = false;
    const auto body = [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
        if (p.size() == 0 || (done && runs != Runs::all)) return;
        queue.enqueueNDRangeKernel(kernel, cl::NullRange, global, local, nullptr, events.add());
        done = true;
    };
    if (runs == Runs::first_only_unpoisoned) gpulab::watch_queue(watch, body);
    else gpulab::watch_queue(watch, body, gpulab::poisoning(out));
    out.copy_to(c);
}

#define WRONG(kernel) [](const Problem<float>& p, Output<float>& c, Stopwatch& w) { launch(kernel, p, c, w); }

void first_run_only(const Problem<float>& p, Output<float>& c, Stopwatch& watch) {
    launch("right", p, c, watch, Runs::first_only);
}
void keeps_its_answer(const Problem<float>& p, Output<float>& c, Stopwatch& watch) {
    launch("right", p, c, watch, Runs::first_only_unpoisoned);
}

} // namespace

void opencl_right(const Problem<float>& p, Output<float>& c, Stopwatch& watch) { launch("right", p, c, watch); }

std::span<const WrongVariant> opencl_variants() {
    static const std::array table = {
        WrongVariant{"no_first_barrier", "tiles are read before they are complete", WRONG("no_first_barrier"), "",
                     Forgiven::by_all},
        WrongVariant{"no_second_barrier", "tiles are overwritten while read", WRONG("no_second_barrier"), "",
                     Forgiven::by_all},
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
        WrongVariant{"first_run_only", "the kernel runs once", first_run_only, by_shapes},
        WrongVariant{"keeps_its_answer", "it runs once and nothing is poisoned", keeps_its_answer, by_manners},
        WrongVariant{"full_row_lost", "a row of 1024: the last is missing", WRONG("full_row_lost"), by_shapes},
        WrongVariant{"short_last_tile_lost", "a last tile of one product is left out", WRONG("short_last_tile_lost"),
                     by_tiles},
        WrongVariant{"zeros_skipped", "products with 16 zeros of A are left out", WRONG("zeros_skipped"), by_zeros},
        WrongVariant{"reads_on", "the last tile holds a number of the next row", WRONG("reads_on"), by_edges},
        WrongVariant{"denormals_flushed", "sums below the smallest normal number are 0", WRONG("denormals_flushed"),
                     by_denormals},
        WrongVariant{"reads_columns_too_many", "<= n for < n where B is read", WRONG("reads_columns_too_many"), "",
                     Forgiven::by_all},
    };
    return table;
}

} // namespace matmul::wrong
