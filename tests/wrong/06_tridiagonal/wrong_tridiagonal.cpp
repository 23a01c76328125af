#include <array>

#include "gpulab/math.hpp"
#include "gpulab/opencl/timing.hpp"
#include "gpulab/poisoning.hpp"
#include "opencl/launch.hpp"
#include "wrong_tridiagonal.cl.hpp"
#include "wrong_tridiagonal.hpp"

namespace tridiagonal::wrong {

namespace {

void launch(Mistake mistake, const Problem<double>& p, Output<double>& out, Stopwatch& watch) {
    const bool pcr = mistake >= a_of_row_0;
    const std::size_t local = pcr ? gpulab::round_up(p.n, 32) : 64;
    if (p.n > 1024) throw gpulab::Unsupported("too large for this harness");
    const ClProblem<double> in(p);
    ClOutput<double> result(p);
    cl::Kernel kernel = gpulab::opencl_kernel(wrong_tridiagonal_cl, pcr ? "wrong_pcr" : "wrong_cr");
    const auto numbers = cl::Local(p.n * sizeof(double));
    gpulab::set_args(kernel, in.a.data(), in.b.data(), in.c.data(), in.d.data(), result.x.data(),
                     result.zero_pivot.data(), in.n, numbers, numbers, numbers, numbers, cl_int{mistake});
    watch.tile(64, "unknowns");
    gpulab::watch_queue(
        watch,
        [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
            queue.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(p.systems * local), cl::NDRange(local),
                                       nullptr, events.add());
        },
        gpulab::poisoning(result));
    result.copy_to(out);
}

template <Mistake mistake> void variant(const Problem<double>& p, Output<double>& out, Stopwatch& watch) {
    launch(mistake, p, out, watch);
}

} // namespace

void opencl_right(const Problem<double>& p, Output<double>& out, Stopwatch& watch) { launch(none, p, out, watch); }

std::span<const WrongVariant<Run<double>>> opencl_variants() {
    static constexpr std::array table = {
        WrongVariant<Run<double>>{"printed_c", "c[i] for c[i1] on the way back (Book 3.2)", variant<printed_c>},
        WrongVariant<Run<double>>{"printed_x", "x[i +- var] for x[i1 +- var] (Book 3.2)", variant<printed_x>},
        WrongVariant<Run<double>>{"clamped", "the last row for a neighbour outside (Book 3.2)", variant<clamped>},
        WrongVariant<Run<double>>{"power_of_two", "only the equations that a power of two would have",
                                  variant<power_of_two>},
        WrongVariant<Run<double>>{"edge_from_neighbour", "the next system's first equation",
                                  variant<edge_from_neighbour>},
        WrongVariant<Run<double>>{"silent_zero", "a zero pivot is not reported", variant<silent_zero>, "zero pivots"},
        WrongVariant<Run<double>>{"row_of_thread", "the item's number for the row of a zero pivot",
                                  variant<row_of_thread>, "zero pivots"},
        WrongVariant<Run<double>>{"a_of_row_0", "a of row 0 times 0 is NaN when a is", variant<a_of_row_0>},
        WrongVariant<Run<double>>{"stale", "b that was changed in this step", variant<stale>},
        WrongVariant<Run<double>>{"no_barrier", "no barrier before the neighbours are overwritten", variant<no_barrier>,
                                  "", Forgiven::by_all},
        WrongVariant<Run<double>>{"barrier_in_branch", "a barrier that not all items reach", variant<barrier_in_branch>,
                                  "", Forgiven::by_all},
    };
    return table;
}

} // namespace tridiagonal::wrong
