#include <algorithm>
#include <array>

#include "gpulab/math.hpp"
#include "gpulab/opencl/buffer.hpp"
#include "gpulab/opencl/timing.hpp"
#include "wrong_spmv.cl.hpp"
#include "wrong_spmv.hpp"

namespace spmv::wrong {

namespace {

void launch(const char* name, unsigned items_per_row, const Problem<float>& p, Output<float>& y, Stopwatch& watch) {
    const gpulab::ClBuffer<std::int32_t> row_start(narrow_offsets(p.matrix)), column(p.matrix.column);
    const gpulab::ClBuffer<float> value(p.matrix.value), x(p.x);
    gpulab::ClBuffer<float> out(p.matrix.rows);
    cl::Kernel kernel = gpulab::opencl_kernel(wrong_spmv_cl, name);
    const cl_ulong rows = p.matrix.rows, columns = p.matrix.columns, nonzeros = p.matrix.nonzeros();
    gpulab::set_args(kernel, row_start.data(), column.data(), value.data(), x.data(), out.data(), rows, columns,
                     nonzeros);
    constexpr std::size_t local = 128;
    const std::size_t global = gpulab::round_up(std::max<std::size_t>(rows, 1) * items_per_row, local);
    gpulab::watch_queue(watch, [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
        queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(global), cl::NDRange(local), nullptr,
                                   events.add());
    });
    out.copy_to(y);
}

#define ITEM(kernel) [](const Problem<float>& p, Output<float>& y, Stopwatch& w) { launch(kernel, 1, p, y, w); }
#define SLICE(kernel) [](const Problem<float>& p, Output<float>& y, Stopwatch& w) { launch(kernel, 32, p, y, w); }

} // namespace

std::span<const WrongVariant> opencl_variants() {
    static const std::array table = {
        WrongVariant{"pointer_as_count", "the cumulative row pointer taken for a count", ITEM("pointer_as_count")},
        WrongVariant{"accumulates", "y += on memory that nobody cleared", ITEM("accumulates")},
        WrongVariant{"no_bounds_check", "items beyond the last row write", ITEM("no_bounds_check")},
        WrongVariant{"last_entry_twice", "<= for < at the end of a row", ITEM("last_entry_twice")},
        WrongVariant{"empty_rows_unwritten", "rows without entries left out", ITEM("empty_rows_unwritten")},
        WrongVariant{"x_by_position", "x[k] for x[column[k]]", ITEM("x_by_position")},
        WrongVariant{"transposed", "x[row] for x[column]", ITEM("transposed")},
        WrongVariant{"writes_nothing", "an empty kernel", ITEM("writes_nothing")},
        WrongVariant{"one_step_short", "the sum over lanes ends too early", SLICE("one_step_short")},
        WrongVariant{"long_rows_cut", "no loop over a row longer than the slice", SLICE("long_rows_cut")},
        WrongVariant{"no_first_barrier", "neighbours' sums read before any barrier", SLICE("no_first_barrier"), true},
        WrongVariant{"barrier_in_branch", "a barrier that not every item reaches", SLICE("barrier_in_branch"), true},
    };
    return table;
}

} // namespace spmv::wrong
