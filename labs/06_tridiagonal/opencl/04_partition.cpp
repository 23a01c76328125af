// OpenCL rung 4: systems of any size by partition (Wang, ACM TOMS 7 (2), 1981), the counterpart of cuda_partition.
//
// Changed: a system is cut into chunks of 64 equations, an item for each, so that a single system has many. In a first
// pass each item eliminates all of its chunk but the first and the last equation; these are two equations of a coarse
// system, 32 times smaller, which is solved in the same way until it has no more than 64 equations. Then the unknowns
// on both sides of each chunk are known, and a second pass solves the chunks with Thomas.
// Limit: nine arrays of memory traffic, and c' in addition, instead of five; on a GPU neighbouring items read numbers
// that lie 64 apart. In cuda_partition neighbouring lanes read neighbours.
#include <vector>

#include "04_partition.cl.hpp"
#include "gpulab/opencl/timing.hpp"
#include "launch.hpp"

namespace tridiagonal {

namespace {

constexpr cl_uint partition_chunk = 64;

/// The coarse systems of one level.
template <class T> struct CoarseSystems {
    CoarseSystems(cl_uint equations, cl_uint systems)
        : n(equations), a(std::size_t{n} * systems), c(a.size()), d(a.size()), c_new(a.size()), x(a.size()) {}
    cl_uint n;
    gpulab::ClBuffer<T> a, c, d, c_new, x;
};

template <class T> void poison(const CoarseSystems<T>& coarse, const cl::CommandQueue& queue) {
    for (const gpulab::ClBuffer<T>* const buffer : {&coarse.a, &coarse.c, &coarse.d, &coarse.c_new, &coarse.x})
        buffer->poison_async(queue);
}

} // namespace

template <class T> void opencl_partition(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    const ClProblem<T> in(p);
    ClOutput<T> result(p);
    gpulab::ClBuffer<T> c_new(p.size());
    std::vector<CoarseSystems<T>> coarse; // level 1, 2, ...
    const auto chunks_of = [](cl_uint n) { return static_cast<cl_uint>(gpulab::ceil_div(n, partition_chunk)); };
    for (cl_uint n = in.n; chunks_of(n) > 1; n = coarse.back().n) coarse.emplace_back(2 * chunks_of(n), in.systems);

    /// One launch: a kernel with its arguments set, and its items.
    struct Launch {
        cl::Kernel kernel;
        std::size_t items;
    };
    std::vector<Launch> launches;
    constexpr std::size_t local = 64;
    const auto level = [&](std::size_t k, bool down) { // k = 0: the systems themselves
        const bool fine = k == 0;
        const cl_uint n = fine ? in.n : coarse[k - 1].n, chunks = chunks_of(n);
        cl::Kernel kernel =
            gpulab::opencl_kernel(partition_cl, down ? "reduce" : "substitute", gpulab::real_option<T>());
        // On a coarse level a stands in for b, which is not read there.
        const auto& a = fine ? in.a : coarse[k - 1].a;
        const auto& b = fine ? in.b : a;
        const auto& c = fine ? in.c : coarse[k - 1].c;
        const auto& d = fine ? in.d : coarse[k - 1].d;
        const cl_int unit_diagonal = fine ? 0 : 1;
        const auto number = static_cast<cl_uint>(k);
        if (down)
            gpulab::set_args(kernel, a.data(), b.data(), c.data(), d.data(), unit_diagonal, n, in.systems, chunks,
                             partition_chunk, number, in.n, result.zero_pivot.data(), coarse[k].a.data(),
                             coarse[k].c.data(), coarse[k].d.data());
        else
            gpulab::set_args(kernel, a.data(), b.data(), c.data(), d.data(), unit_diagonal, n, in.systems, chunks,
                             partition_chunk, number, in.n, result.zero_pivot.data(),
                             k < coarse.size() ? coarse[k].x.data() : d.data(), // not read if there is one chunk
                             fine ? c_new.data() : coarse[k - 1].c_new.data(),
                             fine ? result.x.data() : coarse[k - 1].x.data());
        launches.push_back({kernel, gpulab::round_up(std::size_t{chunks} * in.systems, local)});
    };
    for (std::size_t k = 0; k < coarse.size(); ++k) level(k, true);
    for (std::size_t k = coarse.size() + 1; k-- > 0;) level(k, false);

    watch.tile(partition_chunk, "unknowns");
    watch.tile(partition_chunk / 2 * partition_chunk, "unknowns"); // above it there are three levels
    watch.tile(local * partition_chunk, "unknowns");
    watch.tile(local, "systems");
    gpulab::watch_queue(
        watch,
        [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
            queue.enqueueFillBuffer(result.zero_pivot.data(), no_zero_pivot, 0, result.zero_pivot.bytes(), nullptr,
                                    events.add());
            for (const Launch& launch : launches)
                gpulab::enqueue(queue, launch.kernel, launch.items, local, events.add());
        },
        gpulab::poisoning(result, c_new, coarse));
    result.copy_to(out);
}

INSTANTIATE_RUNG(opencl_partition);

} // namespace tridiagonal
