// The series on an OpenCL device: opencl_multi_stage whose elements are computed instead of read.
// (Alfaro Vigo & Rossetto, exercises 1.3 and 1.4)
#include "series.hpp"

#include "launch.hpp"
#include "series.cl.hpp"

namespace reduction {

template <class T> void opencl_series(const SeriesProblem<T>& p, Scalar<T>& sum, Stopwatch& watch) {
    const std::size_t groups = group_count(p.terms);
    gpulab::ClBuffer<T> sums(groups);

    cl::Kernel kernel = kernel_for<T>(series_cl, "series");
    const cl_ulong terms = p.terms;
    gpulab::set_args(kernel, cl_int{p.series == Series::pi}, p.x, terms, cl::Local(local_size() * sizeof(T)),
                     sums.data());
    sum[0] = sum_of_groups(kernel, sums, watch); // the host half of opencl_multi_stage
}

template SeriesRun<float> opencl_series<float>;
template SeriesRun<double> opencl_series<double>;

} // namespace reduction
