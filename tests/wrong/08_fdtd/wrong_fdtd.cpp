#include <array>

#include "opencl/launch.hpp"
#include "wrong_fdtd.cl.hpp"
#include "wrong_fdtd.hpp"

namespace fdtd::wrong {

namespace {

template <int mistake> void launch(const Problem<double>& p, Output<double>& out, Stopwatch& watch) {
    ClProblem<double> problem(p);
    cl::Kernel kernel = problem.kernel(wrong_fdtd_cl, "two_steps", fmt::format("-DMISTAKE={}", mistake));
    const std::size_t tile = mistake == 2 ? 14 : 12;
    const cl::NDRange local(16, 16),
        global(gpulab::ceil_div(p.nx() + 1, tile) * 16, gpulab::ceil_div(p.ny() + 1, tile) * 16);
    watch.tile(tile, "nx"), watch.tile(tile, "ny"), watch.tile(2, "steps");
    run_in_turns(p, problem, out, watch, (p.rules.steps + 1) / 2,
                 [&](const cl::CommandQueue& queue, cl_int pass, const ClFields<double>& from,
                     const ClFields<double>& to, cl::Event* event) {
                     const cl_int first = 2 * pass, count = std::min<cl_int>(2, p.rules.steps - first);
                     ClProblem<double>::set_more(kernel, from.u.data(), from.p.data(), from.q.data(), from.v.data(),
                                                 to.u.data(), to.p.data(), to.q.data(), to.v.data(), first, count);
                     queue.enqueueNDRangeKernel(kernel, cl::NullRange, global, local, nullptr, event);
                 });
}

} // namespace

void opencl_right(const Problem<double>& p, Output<double>& out, Stopwatch& watch) { launch<0>(p, out, watch); }

std::span<const WrongVariant> opencl_variants() {
    static const std::array table = {
        WrongVariant{"no_barrier", "P and Q are computed before U is complete", launch<1>, "", Forgiven::by_all},
        WrongVariant{"ring_too_narrow", "two steps with a ring of one cell", launch<2>},
        WrongVariant{"last_column_lost", "the last column is left out", launch<3>},
        WrongVariant{"wrong_neighbour", "P reads U of the cell above", launch<4>},
        WrongVariant{"reads_past_end", "a row of P above the array is read", launch<5>, "", Forgiven::by_all},
        WrongVariant{"split_not_split", "the part of U is the whole", launch<6>},
        WrongVariant{"split_forgotten", "the part of U is not stored", launch<7>},
    };
    return table;
}

} // namespace fdtd::wrong
