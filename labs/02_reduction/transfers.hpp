/// @file
/// What the study transfers times.
#pragma once

#include "dot.hpp"

namespace reduction {

/// The dot product. Timed are the copies of both vectors to the device, the kernel, and the copy of the sums of its
/// blocks back, and nothing else: (Book, exercise 2.2). @pre n is at least 1
template <class T> DotRun<T> cuda_copies_and_dot;
template <class T> DotRun<T> opencl_copies_and_dot; ///< as cuda_copies_and_dot

} // namespace reduction
