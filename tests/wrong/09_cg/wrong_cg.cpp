#include <array>
#include <fmt/format.h>
#include <numeric>

#include "gpulab/opencl/buffer.hpp"
#include "gpulab/opencl/context.hpp"
#include "scalars.hpp"
#include "wrong_cg.cl.hpp"
#include "wrong_cg.hpp"

namespace cg::wrong {

namespace {

constexpr std::size_t local = 64, groups = 3;

/// Three groups of 64 items, without Jacobi: with it, the preconditioned residual is computed on the host.
template <int mistake> void solve(const Problem<double>& problem, Output<double>& out, Stopwatch& watch) {
    const std::size_t n = problem.n();
    const gpulab::ClBuffer<std::int32_t> row_start(narrow_offsets(problem.matrix)), column(problem.matrix.column);
    const gpulab::ClBuffer<double> value(problem.matrix.value);
    gpulab::ClBuffer<double> x(n), r(n), p(n), q(n), z(n), partial(groups);
    const std::string options = fmt::format("-DMISTAKE={}", mistake);
    const auto kernel = [&](const char* name) { return gpulab::opencl_kernel(wrong_cg_cl, name, options); };
    cl::Kernel dot_kernel = kernel("dot_product"), add = kernel("add"), next_p = kernel("next_p"),
               spmv = kernel("spmv");
    const cl::CommandQueue& queue = gpulab::opencl().queue();
    const cl_ulong size = n;
    const auto run = [&](cl::Kernel& k, const auto&... arguments) {
        gpulab::set_args(k, arguments...);
        queue.enqueueNDRangeKernel(k, cl::NullRange, groups * local, local);
    };
    const auto dot = [&](const gpulab::ClBuffer<double>& a, const gpulab::ClBuffer<double>& b) {
        run(dot_kernel, a.data(), b.data(), size, partial.data(), cl::Local(local * sizeof(double)));
        std::vector<double> sums(groups);
        partial.copy_to(sums);
        return std::accumulate(sums.begin(), sums.end(), 0.0);
    };
    const auto precondition = [&] {
        std::vector<double> host(n);
        r.copy_to(host);
        for (std::size_t i = 0; i < n; ++i)
            if (problem.jacobi()) host[i] *= problem.inverse_diagonal[i];
        z.copy_from(host);
    };
    const auto multiply = [&] { run(spmv, row_start.data(), column.data(), value.data(), p.data(), q.data(), size); };
    const auto solution = [&] {
        Scalars<double> scalars(problem, out);
        multiply();
        run(add, r.data(), q.data(), -1.0, size);
        precondition();
        scalars.begin(dot(r, r), dot(r, z));
        run(next_p, p.data(), z.data(), 0.0, size);
        while (scalars.wants_more()) {
            multiply();
            if (!scalars.accepts(dot(p, q))) break;
            run(add, x.data(), p.data(), scalars.alpha(), size);
            run(add, r.data(), q.data(), -scalars.alpha(), size);
            precondition();
            scalars.next(dot(r, r), dot(r, z));
            run(next_p, p.data(), z.data(), scalars.beta(), size);
        }
        queue.finish();
    };
    watch.tile(local, "rows");
    watch.time(solution, [&] {
        for (const auto* v : {&q, &z, &partial}) poison(*v, queue);
        x.copy_from(problem.start), p.copy_from(problem.start), r.copy_from(problem.b);
        queue.finish();
    });
    out.x.resize(n);
    x.copy_to(out.x);
}

} // namespace

void opencl_right(const Problem<double>& p, Output<double>& out, Stopwatch& watch) { solve<0>(p, out, watch); }

std::span<const WrongVariant> opencl_variants() {
    static const std::array table = {
        WrongVariant{"no_barrier", "sums are read before they are there", solve<1>, "", Forgiven::by_all},
        WrongVariant{"half_a_group", "half of each group's sums is left out", solve<2>},
        WrongVariant{"dot_tail", "the dot product stops at the last whole group", solve<3>},
        WrongVariant{"one_element", "an item takes one element, however many there are", solve<4>},
        WrongVariant{"last_direction", "the last element of p forgets the one before", solve<5>},
        WrongVariant{"q_not_cleared", "the product is added to what was in q", solve<6>},
        WrongVariant{"offset_too_many", "an offset behind the last is read", solve<7>, "", Forgiven::by_all},
    };
    return table;
}

} // namespace cg::wrong
