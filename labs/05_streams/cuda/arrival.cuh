/// @file
/// How a thread of cuda_polling knows that its part of the image has arrived.
#pragma once

#include <vector_types.h>

#include "streams.hpp"

namespace streams {

/// Waits until all four words of a thread's 16 bytes have arrived, and returns them. The memory is read through
/// functions, so that a test can let the words arrive in any order.
/// @param look reads the 16 bytes as they are now
/// @param all_there whether the whole image has arrived; if so, the next look() sees all 16 bytes
/// @param rest called before looking again
#pragma nv_exec_check_disable
template <class Look, class AllThere, class Rest>
__host__ __device__ uint4 when_arrived(const Look& look, const AllThere& all_there, const Rest& rest) {
    for (;;) {
        const uint4 v = look();
        if (v.x != nothing_yet && v.y != nothing_yet && v.z != nothing_yet && v.w != nothing_yet) return v;
        if (all_there()) return look(); // a mark seen now belongs to the image
        rest();
    }
}

} // namespace streams
