// The five OpenCL kernels alone, for the study of group counts: vectors of the size of the problem are made on the
// current device, and each kernel is timed by itself with a given number of groups per compute unit.
#include <limits>

#include "solve.hpp"
#include "studies.hpp"

namespace cg {

template <class T> std::vector<std::size_t> group_sizes(const Problem<T>& problem) {
    const Part<T> all = make_part(problem.matrix, Split{{0, problem.n()}}, 0);
    std::vector<std::size_t> sizes;
    for (const std::size_t most : {usual_items, std::numeric_limits<std::size_t>::max()}) {
        const std::size_t size = ClPart<T>(gpulab::opencl(), problem, all, false, 0, most).local_size();
        if (sizes.empty() || size > sizes.back()) sizes.push_back(size);
    }
    return sizes;
}

template <class T>
std::vector<gpulab::Timing> kernel_times(const Problem<T>& problem, std::size_t items, std::size_t groups,
                                         int repeats) {
    const Part<T> all = make_part(problem.matrix, Split{{0, problem.n()}}, 0);
    ClPart<T> device(gpulab::opencl(), problem, all, false, 0, items);
    device.clear();
    std::vector<gpulab::Timing> timings;
    for (const char* const kernel : kernel_names) timings.push_back(device.times_of(kernel, groups, repeats));
    return timings;
}

#define INSTANTIATE(T)                                                \
    template std::vector<std::size_t> group_sizes(const Problem<T>&); \
    template std::vector<gpulab::Timing> kernel_times(const Problem<T>&, std::size_t, std::size_t, int);
INSTANTIATE(float)
INSTANTIATE(double)

} // namespace cg
