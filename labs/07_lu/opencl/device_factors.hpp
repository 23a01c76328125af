/// @file
/// The matrix and its factors on an OpenCL device: what all OpenCL rungs copy in and out.
#pragma once

#include "gpulab/opencl/timing.hpp"
#include "lu.hpp"

namespace lu {

/// A, and a copy of it that becomes the factors.
struct ClFactors {
    explicit ClFactors(const Problem& p) : a(p.a), lu(p.a.size()), pivots(p.n * p.count) {}

    /// Before each run: the algorithm works in place, so it needs the matrix again.
    void restore(const cl::CommandQueue& queue) const {
        if (a.size() > 0) queue.enqueueCopyBuffer(a.data(), lu.data(), 0, 0, a.bytes());
        gpulab::poison(pivots, queue);
    }

    /// Copies out. @throws Singular or ZeroPivot
    void copy_to(Factors& f, bool pivoting) const {
        lu.copy_to(f.lu);
        if (pivoting) pivots.copy_to(f.pivots);
        else no_exchanges(f);
        check_pivots(f, pivoting);
    }

    gpulab::ClBuffer<double> a;
    gpulab::ClBuffer<double> lu;
    gpulab::ClBuffer<std::int32_t> pivots; ///< left alone by rungs without pivoting
};

/// Enqueues a kernel with at least columns x rows work-items, in groups of the local size. No work-items: no command.
inline void enqueue(const cl::CommandQueue& queue, gpulab::ClEvents& events, const cl::Kernel& kernel,
                    std::size_t columns, std::size_t rows, std::size_t local_columns, std::size_t local_rows) {
    if (columns == 0 || rows == 0) return; // an empty range is an error
    gpulab::enqueue(queue, kernel,
                    cl::NDRange(gpulab::global_size(columns, local_columns), gpulab::global_size(rows, local_rows)),
                    cl::NDRange(local_columns, local_rows), events.add());
}

} // namespace lu
