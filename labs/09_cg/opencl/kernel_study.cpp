// The five OpenCL kernels alone, for the study of group counts: vectors of the size of the problem are made on the
// current device, and each kernel is timed by itself with a given number of groups per compute unit.
#include <fmt/format.h>
#include <limits>

#include "runs.hpp"
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

namespace {
/// ClPart::times_of() of p · q: of `dot` it times r · r, which reads one vector. The thesis counts two.
template <class T> gpulab::Timing times_of_pq(ClPart<T>& device, std::size_t groups, int runs) {
    device.groups["dot"] = groups;
    std::vector<double> times;
    for (int i = -1; i < runs; ++i) { // the first one is not timed
        device.record().start();
        device.dot_pq();
        device.finish();
        device.record().stop();
        if (i >= 0) times.push_back(device.record().ms().at("dot"));
    }
    return gpulab::summarise(times);
}
} // namespace

template <class T> void kernel_rows(const Problem<T>& p, const std::string& matrix, gpulab::Report& report) {
    const Part<T> whole = make_part(p.matrix, Split{{0, p.n()}}, 0);
    const std::vector<std::size_t> sizes = group_sizes(p);
    gpulab::Result result;
    result.backend = gpulab::Backend::opencl;
    result.device = gpulab::opencl().description();
    result.has_device = true;
    result.status = gpulab::Result::Status::passed;
    const auto units = static_cast<std::size_t>(std::max(result.device.compute_units, 1));
    report.say(fmt::format("{}: groups of at most {} work-items, {} compute units, {} work-items to begin with",
                           result.device.name, sizes.back(), units, sizes.back() * units));
    std::map<std::string, double> one; // of each kernel, with one group per compute unit
    for (const std::size_t items : sizes)
        for (std::size_t groups = 1; groups <= 16; ++groups) {
            report.begin(parameters(p, matrix, {{"items", items}, {"groups", groups}}));
            ClPart<T> device(gpulab::opencl(), p, whole, false, 0, items);
            device.clear();
            for (const char* const kernel : kernel_names) {
                result.variant = kernel;
                result.kernel = kernel == std::string_view("dot") ? times_of_pq(device, groups, 10)
                                                                  : device.times_of(kernel, groups, 10);
                if (groups == 1) one[kernel] = result.kernel.median;
                result.extra = {{"saved_percent", saved_percent(one[kernel], result.kernel.median)}};
                report.add(result, kernel_work(p, kernel));
            }
        }
}

#define INSTANTIATE(T)                                                \
    template std::vector<std::size_t> group_sizes(const Problem<T>&); \
    template void kernel_rows(const Problem<T>&, const std::string&, gpulab::Report&);
INSTANTIATE(float)
INSTANTIATE(double)

} // namespace cg
