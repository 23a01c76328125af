/// @file
/// How a kernel of cuda_polling knows that its part of the image has arrived.
#pragma once

#include <vector_types.h>

#include "streams.hpp"

namespace streams {

/// 16 bytes of the image, once all four words of them have arrived. It sees the memory through functions, so that a
/// test can let the words arrive in any order.
/// @param look the 16 bytes as they are now
/// @param all_there whether the whole image is up; if so, the next look() sees all of its 16 bytes
/// @param rest called when there is nothing to do but to look again
#pragma nv_exec_check_disable
template <class Look, class AllThere, class Rest>
__host__ __device__ uint4 when_arrived(const Look& look, const AllThere& all_there, const Rest& rest) {
    for (;;) {
        const uint4 v = look();
        if (v.x != nothing_yet && v.y != nothing_yet && v.z != nothing_yet && v.w != nothing_yet) return v;
        if (all_there()) return look(); // what looks like the mark now is the image's own
        rest();
    }
}

} // namespace streams
