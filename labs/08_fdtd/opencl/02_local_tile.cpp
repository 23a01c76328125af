// Rung 2: U, P and Q in one kernel, with U in local memory; OpenCL's counterpart of cuda_fused.
//
// Changed: one launch per step, and U is not read again: a group keeps U of its cells in local memory, and recomputes
// what it needs from its neighbours. Two sets of arrays take turns.
// Limit: memory: 6 numbers per cell and step instead of 9. On a CPU local memory is ordinary memory, and the
// barrier splits the kernel into two loops.
#include "02_local_tile.cl.hpp"
#include "launch.hpp"

namespace fdtd {

template <class T> void opencl_local_tile(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    constexpr std::size_t local_x = 64, local_y = 4;
    ClProblem<T> problem(p);
    cl::Kernel kernel = problem.kernel(local_tile_cl, "one_step", fmt::format("-DLX={} -DLY={}", local_x, local_y));
    check_group(kernel, local_x * local_y);
    const cl::NDRange local(local_x, local_y);
    const cl::NDRange global(gpulab::round_up(p.nx() + 1, local_x), gpulab::round_up(p.ny() + 1, local_y));
    watch.tile(local_x, "nx"), watch.tile(local_y, "ny");
    run_in_turns(p, problem, out, watch, p.rules.steps,
                 [&](const cl::CommandQueue& queue, cl_int step, const ClFields<T>& from, const ClFields<T>& to,
                     cl::Event* event) {
                     ClProblem<T>::set_more(kernel, from.u.data(), from.p.data(), from.q.data(), from.v.data(),
                                            to.u.data(), to.p.data(), to.q.data(), to.v.data(), step);
                     gpulab::enqueue(queue, kernel, global, local, event);
                 });
}

template void opencl_local_tile(const Problem<float>&, Output<float>&, Stopwatch&);
template void opencl_local_tile(const Problem<double>&, Output<double>&, Stopwatch&);

} // namespace fdtd
