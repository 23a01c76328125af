// Histogram, rung 2: each group has counts of its own.
//
// Changed: where an element is counted. A group counts its elements in local memory, and adds its counts to those of
// the other groups once: (groups x bins) atomic additions in global memory, whatever n.
// Limit: items of a group that count in one bin still wait for each other.
#include "count_in_groups.hpp"
#include "histogram_private.cl.hpp"

namespace reduction {

template <class T> void opencl_histogram_private(const HistogramProblem<T>& p, Counts& counts, Stopwatch& watch) {
    count_in_groups(histogram_private_cl, "histogram_private", p, counts, watch);
}

template HistogramRun<float> opencl_histogram_private<float>;
template HistogramRun<double> opencl_histogram_private<double>;

} // namespace reduction
