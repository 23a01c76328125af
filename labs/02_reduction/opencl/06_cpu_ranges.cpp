// Rung 6: a kernel made for a CPU.
//
// Changed: an item has a contiguous range of elements, and there are only a few items for each compute unit, in groups
// of one. On a CPU a compute unit is a core. The items of a group run in it one after the other, so neighbouring items
// that load neighbouring elements gain nothing: a stride over the whole grid only makes a core jump from page to page.
// With one range per item a core reads from front to back, and there is no tree and no barrier. The compiler may not
// change the order of additions, so it would not vectorise the loop by itself: float8 and double8 state the vectors.
// The host adds up the items' sums, as in rung 4. On a GPU the lanes of a warp would load numbers that lie a range
// apart: the worst case there.
// Limit: memory; for small n, the launch.
#include "06_cpu_ranges.cl.hpp"
#include "launch.hpp"

namespace reduction {

namespace {
constexpr std::size_t block = 4096; // elements added up at a time
}

template <class T> void opencl_cpu_ranges(const SumProblem<T>& p, Scalar<T>& sum, Stopwatch& watch) {
    const gpulab::ClBuffer<T> a(p.a);
    const std::size_t items =
        std::clamp<std::size_t>(gpulab::ceil_div(p.size(), block), 1, max_groups()); // eight for each core
    const std::size_t each = gpulab::round_up(gpulab::ceil_div(p.size(), items), block);
    gpulab::ClBuffer<T> sums(items);
    cl::Kernel kernel = gpulab::opencl_kernel(cpu_ranges_cl, "ranges", gpulab::real_option<T>());
    gpulab::set_args(kernel, a.data(), cl_ulong{p.size()}, cl_ulong{each}, cl_ulong{block}, sums.data());
    watch.tile(block);
    watch.tile(32); // elements of a step
    watch.tile(block * max_groups());
    sum[0] = sum_of_groups(kernel, sums, watch, 1);
}

template SumRun<float> opencl_cpu_ranges<float>;
template SumRun<double> opencl_cpu_ranges<double>;

} // namespace reduction
