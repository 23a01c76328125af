// Histogram, rung 3: eight copies of each group's counts.
//
// Changed: neighbouring items count in different copies, so no more than 4 of the 32 lanes of a warp ever change the
// same number. At the end an item adds up the copies of a bin.
// Limit: eight times as much local memory to set to zero and to add up. Where the elements spread over many bins, there
// was little waiting to save.
#include "count_in_groups.hpp"
#include "histogram_copies.cl.hpp"

namespace reduction {

template <class T> void opencl_histogram_copies(const HistogramProblem<T>& p, Counts& counts, Stopwatch& watch) {
    count_in_groups(histogram_copies_cl, "histogram_copies", p, counts, watch);
}

template HistogramRun<float> opencl_histogram_copies<float>;
template HistogramRun<double> opencl_histogram_copies<double>;

} // namespace reduction
