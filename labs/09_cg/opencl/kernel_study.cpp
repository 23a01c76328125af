// The five OpenCL kernels alone, for the study of group counts: vectors of the size of the problem are made on the
// current device, and each kernel is timed by itself with a given number of groups per compute unit.
#include "solve.hpp"
#include "studies.hpp"

namespace cg {

template <class T>
std::vector<gpulab::Timing> kernel_times(const Problem<T>& problem, std::size_t groups, int repeats) {
    const Part<T> all = make_part(problem.matrix, Split{{0, problem.n()}}, 0);
    ClPart<T> device(gpulab::opencl(), problem, all, false);
    device.clear();
    std::vector<gpulab::Timing> timings;
    for (const char* const kernel : kernel_names) timings.push_back(device.times_of(kernel, groups, repeats));
    return timings;
}

template std::vector<gpulab::Timing> kernel_times(const Problem<float>&, std::size_t, int);
template std::vector<gpulab::Timing> kernel_times(const Problem<double>&, std::size_t, int);

} // namespace cg
