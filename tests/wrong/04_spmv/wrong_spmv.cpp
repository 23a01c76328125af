#include <algorithm>
#include <array>

#include "gpulab/math.hpp"
#include "gpulab/opencl/buffer.hpp"
#include "gpulab/opencl/timing.hpp"
#include "gpulab/poisoning.hpp"
#include "gpulab/sparse/convert.hpp"
#include "wrong_spmv.cl.hpp"
#include "wrong_spmv.hpp"

namespace spmv::wrong {

namespace {

/// What is wrong on the host, if anything.
enum class Host { right, first_run_only, last_group_of_one_lost };

/// @param offsets,column,value the matrix as the kernel wants it; `last` is the kernel's last argument
/// @param items of the kernel
template <class T>
void launch(const char* name, const std::vector<std::int32_t>& offsets, const std::vector<std::int32_t>& columns_of,
            const std::vector<T>& values, const std::vector<T>& x_host, std::size_t last, std::size_t items,
            Output<T>& y, Stopwatch& watch, std::size_t local = 128, Host host = Host::right) {
    const gpulab::ClBuffer<std::int32_t> row_start(offsets), column(columns_of);
    const gpulab::ClBuffer<T> value(values), x(x_host);
    gpulab::ClBuffer<T> out(y.size());
    cl::Kernel kernel = gpulab::opencl_kernel(wrong_spmv_cl, name, sizeof(T) == 8 ? "-DREAL_IS_DOUBLE" : "");
    gpulab::set_args(kernel, row_start.data(), column.data(), value.data(), x.data(), out.data(), cl_ulong{y.size()},
                     cl_ulong{x_host.size()}, cl_ulong{last});
    if (host == Host::last_group_of_one_lost && items > 1) --items;
    const std::size_t global = gpulab::round_up(std::max<std::size_t>(items, 1), local);
    watch.tile(local, "rows");
    watch.tile(64, "nnz"); // of nan_left_over_lost
    int run = 0;
    gpulab::watch_queue(
        watch,
        [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
            if (host == Host::first_run_only && run++ > 0) queue.enqueueMarkerWithWaitList(nullptr, events.add());
            else
                queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(global), cl::NDRange(local), nullptr,
                                           events.add());
        },
        gpulab::poisoning(out));
    out.copy_to(y);
}

/// CSR with some work-items per row.
template <class T>
void launch_csr(const char* name, std::size_t items_per_row, const Problem<T>& p, Output<T>& y, Stopwatch& watch) {
    launch(name, narrow_offsets(p.matrix), p.matrix.column, p.matrix.value, p.x, p.matrix.nonzeros(),
           p.matrix.rows * items_per_row, y, watch);
}

/// The right kernel, and a mistake on the host.
void launch_right(Host host, const Problem<float>& p, Output<float>& y, Stopwatch& watch) {
    launch("right", narrow_offsets(p.matrix), p.matrix.column, p.matrix.value, p.x, p.matrix.nonzeros(), p.matrix.rows,
           y, watch, 96, host);
}

void launch_ell(const char* name, const Problem<float>& p, Output<float>& y, Stopwatch& watch) {
    const gpulab::Ell<float> a = gpulab::to_ell(p.matrix);
    launch(name, {}, a.column, a.value, p.x, a.width, a.rows, y, watch);
}

/// COO with a work-item per entry. Entries in order give the right answer, so y must be zero where there are none.
void launch_coo(const char* name, const gpulab::Coo<float>& a, const std::vector<float>& x, Output<float>& y,
                Stopwatch& watch) {
    launch(name, a.row, a.column, a.value, x, a.nonzeros(), a.nonzeros(), y, watch);
    std::vector<bool> used(a.rows);
    for (const std::int32_t i : a.row) used[static_cast<std::size_t>(i)] = true;
    for (std::size_t i = 0; i < a.rows; ++i)
        if (!used[i]) y[i] = 0;
}

#define ITEM(kernel) [](const Problem<float>& p, Output<float>& y, Stopwatch& w) { launch_csr(kernel, 1, p, y, w); }
#define SLICE(kernel) [](const Problem<float>& p, Output<float>& y, Stopwatch& w) { launch_csr(kernel, 32, p, y, w); }

#define HOST(mistake) \
    [](const Problem<float>& p, Output<float>& y, Stopwatch& w) { launch_right(Host::mistake, p, y, w); }

} // namespace

void opencl_right(const Problem<float>& p, Output<float>& y, Stopwatch& watch) {
    launch_right(Host::right, p, y, watch);
}

std::span<const WrongVariant<Run<double>>> opencl_double_variants() {
    static const std::array table = {WrongVariant<Run<double>>{
        "x_as_float", "x in float on the way",
        [](const Problem<double>& p, Output<double>& y, Stopwatch& w) { launch_csr("x_as_float", 1, p, y, w); }}};
    return table;
}

std::span<const WrongVariant<RunCoo<float>>> opencl_coo_variants() {
    static const std::array table = {
        WrongVariant<RunCoo<float>>{"assumes_rows_in_order", "entries of a row taken to stand together",
                                    [](const gpulab::Coo<float>& a, const std::vector<float>& x, Output<float>& y,
                                       Stopwatch& w) { launch_coo("assumes_rows_in_order", a, x, y, w); }}};
    return table;
}

std::span<const WrongVariant<Run<float>>> opencl_variants() {
    using V = WrongVariant<Run<float>>;
    static const std::array table = {
        V{"pointer_as_count", "the cumulative row pointer taken for a count", ITEM("pointer_as_count")},
        V{"accumulates", "y += on memory that nobody cleared", ITEM("accumulates")},
        V{"no_bounds_check", "items beyond the last row write", ITEM("no_bounds_check")},
        V{"last_entry_twice", "<= for < at the end of a row", ITEM("last_entry_twice")},
        V{"empty_rows_unwritten", "rows without entries left out", ITEM("empty_rows_unwritten")},
        V{"x_by_position", "x[k] for x[column[k]]", ITEM("x_by_position")},
        V{"transposed", "x[row] for x[column]", ITEM("transposed")},
        V{"assumes_sorted", "columns taken to rise along a row", ITEM("assumes_sorted")},
        V{"reads_one_past", "the entry behind the last one multiplied by 0", ITEM("reads_one_past")},
        V{"padding_multiplied", "ELL padding not left out",
          [](const Problem<float>& p, Output<float>& y, Stopwatch& w) { launch_ell("padding_multiplied", p, y, w); }},
        V{"writes_nothing", "an empty kernel", ITEM("writes_nothing")},
        V{"first_run_only", "works in its first run only", HOST(first_run_only)},
        V{"last_group_of_one_lost", "m tile + 1 rows lose the last", HOST(last_group_of_one_lost),
          "sizes next to its tiles"},
        V{"nan_left_over_lost", "a part of a row that is NaN is not carried on", ITEM("nan_left_over_lost"),
          "NaN and infinities"},
        V{"zeros_skipped", "0 times infinity left out", ITEM("zeros_skipped"), "NaN and infinities"},
        V{"columns_in_16_bits", "a distance of 65536 taken for 0", ITEM("columns_in_16_bits"), "columns far apart"},
        V{"one_step_short", "the sum over lanes ends too early", SLICE("one_step_short")},
        V{"long_rows_cut", "no loop over a row longer than the slice", SLICE("long_rows_cut")},
        V{"no_first_barrier", "neighbours' sums read before any barrier", SLICE("no_first_barrier"), "",
          Forgiven::by_all},
        V{"barrier_in_branch", "a barrier that not every item reaches", SLICE("barrier_in_branch"), "",
          Forgiven::by_all},
    };
    return table;
}

} // namespace spmv::wrong
