// Rung 1: a tree in each work-group, then a tree over the groups' sums: OpenCL's counterpart of cuda_tree_interleaved.
//
// A work-item copies one element to local memory, which the items of a group share (CUDA: shared memory). At step
// s = 1, 2, 4, ... each item whose number is a multiple of 2s adds the element s places after its own (interleaved
// addressing). After log2(256) = 8 steps item 0 holds the sum of the group. A barrier ends each step: no item may read
// a sum before its neighbour has written it.
// Groups cannot wait for each other inside a kernel, so the kernel ends: the next launch adds up the groups' sums in
// the same way, until one group is enough. Three rounds reach 256^3 = 2^24 elements.
// Limit: one element per item, and a tree for every 256. On a GPU also divergence: up to step 16 every warp runs, for
// fewer and fewer of its items.
#include <vector>

#include "01_tree_interleaved.cl.hpp"
#include "gpulab/opencl/timing.hpp"
#include "launch.hpp"
#include "reduction.hpp"

namespace reduction {

template <class T> void opencl_tree_interleaved(const SumProblem<T>& p, Scalar<T>& sum, Stopwatch& watch) {
    const gpulab::ClBuffer<T> a(p.a); // allocate, copy in
    struct Round {
        cl::Kernel kernel;
        std::size_t groups;
    };
    std::vector<Round> rounds;             // a kernel object keeps its arguments, so each round has its own
    std::vector<gpulab::ClBuffer<T>> sums; // of the groups, of the groups of groups, ... down to a single one
    for (std::size_t n = p.size(); rounds.empty() || n > 1; n = rounds.back().groups) {
        const std::size_t groups = gpulab::grid_size(n, local_size());
        const cl::Buffer from = rounds.empty() ? a.data() : sums.back().data();
        sums.emplace_back(groups);
        cl::Kernel kernel = kernel_for<T>(tree_interleaved_cl, "tree_interleaved");
        gpulab::set_args(kernel, from, cl_ulong{n}, cl::Local(local_size() * sizeof(T)), sums.back().data());
        rounds.push_back({kernel, groups});
    }
    std::vector<T> host(1);
    const auto launch = [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
        for (const Round& round : rounds) // the queue is in order: a round begins when the one before it has ended
            gpulab::enqueue(queue, round.kernel, round.groups * local_size(), local_size(), events.add());
        queue.enqueueReadBuffer(sums.back().data(), CL_FALSE, 0, sizeof(T), host.data(), nullptr, events.add());
    };
    watch.tile(local_size() * local_size()); // of the second round
    gpulab::watch_queue(watch, launch, gpulab::poisoning(sums));

    sums.back().copy_to(sum); // the same number again, and a check of the guard bands
}

template SumRun<float> opencl_tree_interleaved<float>;
template SumRun<double> opencl_tree_interleaved<double>;

} // namespace reduction
