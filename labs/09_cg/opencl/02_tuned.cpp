// OpenCL rung 2: the number of work-groups found by trying. (Bueno, section 4.3)
//
// Changed: a group has as many work-items as the kernels and the device allow, and the number of groups is found by
// trying: before the solution begins, each kernel runs with 1, 2, 3, ... groups per compute unit, until one more is
// not faster: the first local minimum. More groups hide the latency of memory, up to the number that the device can
// hold at once; beyond it they gain nothing. The best number differs from kernel to kernel and from device to device,
// so each pair is tried; devices of the same name only once. With --tuning FILE the numbers are kept for later runs of
// the program. The time of these trials counts in the total time, not in the kernel time.
//
// Limit: memory; and still the host's share of every iteration.
#include <limits>

#include "solve.hpp"

namespace cg {

template <class T> void opencl_tuned(const Problem<T>& problem, Output<T>& out, Stopwatch& watch) {
    const Part<T> all = make_part(problem.matrix, Split{{0, problem.n()}}, 0);
    ClPart<T> device(gpulab::opencl(), problem, all, false, 0, std::numeric_limits<std::size_t>::max());
    const std::string found = tune(device, problem);
    solve_on_one_device(device, problem, out, watch);
    out.notes.push_back(found);
}

INSTANTIATE_RUNG(opencl_tuned);

} // namespace cg
