#include <array>
#include <string>

#include "opencl/device_factors.hpp"
#include "wrong_blocked.cl.hpp"
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

/// Three kernels per panel, as opencl_blocked_pivot, with panels of 24 columns.
void factorise_blocked(const std::string& option, const Problem& p, Factors& f, Stopwatch& watch) {
    constexpr std::size_t items = 64, width = 24, side = 8;
    const ClFactors d(p);
    const std::string options = "-DITEMS=" + std::to_string(items) + " " + option;
    cl::Kernel panel = gpulab::opencl_kernel(wrong_blocked_cl, "panel", options);
    cl::Kernel follow = gpulab::opencl_kernel(wrong_blocked_cl, "follow", options);
    cl::Kernel update = gpulab::opencl_kernel(wrong_blocked_cl, "update", options);
    const auto n = static_cast<cl_int>(p.n);
    watch.tile(items), watch.tile(width), watch.tile(side);
    gpulab::watch_queue(
        watch,
        [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
            for (std::size_t k0 = 0; k0 < p.n; k0 += width) {
                const auto columns = std::min(width, p.n - k0), left = p.n - k0 - columns;
                const auto from = static_cast<cl_int>(k0), wide = static_cast<cl_int>(columns);
                gpulab::set_args(panel, d.lu.data(), d.pivots.data(), n, from, wide);
                gpulab::set_args(follow, d.lu.data(), d.pivots.data(), n, from, wide);
                gpulab::set_args(update, d.lu.data(), n, from, wide);
                enqueue(queue, events, panel, items, 1, items, 1);
                enqueue(queue, events, follow, p.n - columns, 1, items, 1);
                enqueue(queue, events, update, left, left, side, side);
            }
        },
        [&](const cl::CommandQueue& queue) { d.restore(queue); });
    d.copy_to(f, true);
}

#define WRONG(option) [](const Problem& p, Factors& f, Stopwatch& w) { factorise("-D" option, p, f, w); }
#define WRONG_BLOCKED(option) \
    [](const Problem& p, Factors& f, Stopwatch& w) { factorise_blocked("-D" option, p, f, w); }

} // namespace

void opencl_right_pivot(const Problem& p, Factors& f, Stopwatch& watch) { factorise("", p, f, watch); }
void opencl_right_blocked(const Problem& p, Factors& f, Stopwatch& watch) { factorise_blocked("", p, f, watch); }

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

std::span<const WrongVariant> opencl_blocked() {
    static const std::array table = {
        WrongVariant{"last_panel_column", "the last column of a panel is left out", WRONG_BLOCKED("LAST_PANEL_COLUMN")},
        WrongVariant{"left_of_the_panel_kept", "L, left of the panel, is not exchanged",
                     WRONG_BLOCKED("LEFT_OF_THE_PANEL_KEPT")},
        WrongVariant{"rows_of_u_not_solved", "no triangular solve", WRONG_BLOCKED("ROWS_OF_U_NOT_SOLVED")},
        WrongVariant{"short_product", "the update leaves out the last column of L and row of U",
                     WRONG_BLOCKED("SHORT_PRODUCT")},
    };
    return table;
}

} // namespace lu::wrong
