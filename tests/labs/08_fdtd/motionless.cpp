/// @file
/// A first rung in which the field never moves: the lab's program with it has a wrong field to draw.
#include "fdtd.hpp"
#include "gpulab/stopwatch.hpp"

namespace fdtd {

template <class T> void cpu_sequential(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    watch.time([] {}, [&] { out.field = p.start; });
}

template void cpu_sequential(const Problem<float>&, Output<float>&, Stopwatch&);
template void cpu_sequential(const Problem<double>&, Output<double>&, Stopwatch&);

} // namespace fdtd
