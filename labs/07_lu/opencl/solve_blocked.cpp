// OpenCL solver: substitution in blocks. (Alfaro Vigo & Rossetto, exercise 3.5)
//
// There are two kernels per block of 32 unknowns: one solves with the numbers on the diagonal, with an item per
// right-hand side; the other eliminates the solved unknowns from all other equations.
// Limit: with few right-hand sides the first kernel, which has few work-items, and the number of commands.
#include "device_factors.hpp"
#include "solve.hpp"
#include "solve_blocked.cl.hpp"

namespace lu {

void opencl_solve_blocked(const SolveProblem& p, Solution& x, Stopwatch& watch) {
    constexpr std::size_t block = 32, columns = 8, rows = 8;
    const gpulab::ClBuffer<double> lu(p.factors.lu), b(permuted(p));
    gpulab::ClBuffer<double> out(p.b.size());
    cl::Kernel lower = gpulab::opencl_kernel(solve_blocked_cl, "lower");
    cl::Kernel upper = gpulab::opencl_kernel(solve_blocked_cl, "upper");
    cl::Kernel eliminate = gpulab::opencl_kernel(solve_blocked_cl, "eliminate");
    const auto number = [](std::size_t v) { return static_cast<cl_int>(v); };
    const auto solve = [&](const cl::CommandQueue& queue, gpulab::ClEvents& events, cl::Kernel& kernel, std::size_t k0,
                           std::size_t k1, std::size_t begin, std::size_t end) {
        gpulab::set_args(kernel, lu.data(), out.data(), number(p.n), number(p.count), number(k0), number(k1));
        enqueue(queue, events, kernel, p.count, 1, columns, 1);
        gpulab::set_args(eliminate, lu.data(), out.data(), number(p.n), number(p.count), number(k0), number(k1),
                         number(begin), number(end));
        enqueue(queue, events, eliminate, p.count, end - begin, columns, rows);
    };
    watch.tile(block).tile(columns, "right-hand sides");
    const auto launch = [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
        if (p.b.empty()) return;
        queue.enqueueCopyBuffer(b.data(), out.data(), 0, 0, b.bytes(), nullptr, events.add());
        for (std::size_t k0 = 0; k0 < p.n; k0 += block) {
            const std::size_t k1 = std::min(k0 + block, p.n);
            solve(queue, events, lower, k0, k1, k1, p.n);
        }
        for (std::size_t k1 = p.n; k1 > 0;) {
            const std::size_t k0 = (k1 - 1) / block * block;
            solve(queue, events, upper, k0, k1, 0, k0);
            k1 = k0;
        }
    };
    gpulab::watch_queue(watch, launch, gpulab::poisoning(out));
    out.copy_to(x);
}

} // namespace lu
