#include <array>
#include <string>

#include "opencl/device_factors.hpp"
#include "wrong_lu.cl.hpp"
#include "wrong_lu.hpp"

namespace lu::wrong {

namespace {

/// Four kernels per column, as opencl_columns_pivot, built with an option that makes the mistake.
void factorise(const std::string& option, const Problem& p, Factors& f, Stopwatch& watch) {
    constexpr std::size_t items = 32, columns = 8, rows = 8;
    const ClFactors d(p);
    cl::Kernel search = gpulab::opencl_kernel(wrong_lu_cl, "search", option);
    cl::Kernel exchange = gpulab::opencl_kernel(wrong_lu_cl, "exchange", option);
    cl::Kernel scale = gpulab::opencl_kernel(wrong_lu_cl, "scale", option);
    cl::Kernel update = gpulab::opencl_kernel(wrong_lu_cl, "update", option);
    const auto n = static_cast<cl_int>(p.n);
    watch.tile(items), watch.tile(columns);
    gpulab::watch_queue(
        watch,
        [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
            for (cl_int k = 0; k < n; ++k) {
                const auto below = static_cast<std::size_t>(n - k - 1);
                gpulab::set_args(search, d.lu.data(), d.pivots.data(), n, k, cl::Local(items * sizeof(double)),
                                 cl::Local(items * sizeof(cl_int)));
                gpulab::set_args(exchange, d.lu.data(), d.pivots.data(), n, k);
                gpulab::set_args(scale, d.lu.data(), n, k);
                gpulab::set_args(update, d.lu.data(), n, k);
                enqueue(queue, events, search, items, 1, items, 1);
                enqueue(queue, events, exchange, p.n, 1, items, 1);
                enqueue(queue, events, scale, below, 1, items, 1);
                enqueue(queue, events, update, below + 1, below, columns, rows);
            }
        },
        [&](const cl::CommandQueue& queue) { d.restore(queue); });
    d.copy_to(f, true);
}

#define WRONG(option) [](const Problem& p, Factors& f, Stopwatch& w) { factorise("-D" option, p, f, w); }

} // namespace

void opencl_right_pivot(const Problem& p, Factors& f, Stopwatch& watch) { factorise("", p, f, watch); }

std::span<const WrongVariant> opencl_pivoting() {
    static const std::array table = {
        WrongVariant{"no_absolute_value", "the largest element, not the largest magnitude", WRONG("NO_ABSOLUTE_VALUE")},
        WrongVariant{"right_only", "the rows are exchanged to the right of the diagonal only", WRONG("RIGHT_ONLY")},
        WrongVariant{"half_an_exchange", "the pivot's row is copied up, the other is lost", WRONG("HALF_AN_EXCHANGE")},
        WrongVariant{"one_row_per_item", "the search has no loop: a column longer than the group is not seen whole",
                     WRONG("ONE_ROW_PER_ITEM")},
        WrongVariant{"first_of_no_order", "of equal candidates any wins, not the first row", WRONG("FIRST_OF_NO_ORDER"),
                     by_special},
        WrongVariant{"past_the_edge", "<= n for < n in the update", WRONG("PAST_THE_EDGE")},
        WrongVariant{"whole_tiles_only", "the update leaves out the columns that fill no tile",
                     WRONG("WHOLE_TILES_ONLY")},
        WrongVariant{"row_for_column", "L and U change places in the update", WRONG("ROW_FOR_COLUMN")},
        WrongVariant{"no_barrier", "a step of the search reads what others may not have written yet",
                     WRONG("NO_BARRIER"), "", Forgiven::by_all},
        WrongVariant{"reads_a_row_too_many", "the search reads a row below the last", WRONG("READS_A_ROW_TOO_MANY"), "",
                     Forgiven::by_all},
    };
    return table;
}

} // namespace lu::wrong
