/// @file
/// Wrong ways for a kernel of cuda_polling to wait for its 16 bytes. Called as when_arrived() is.
#pragma once

#include "cuda/arrival.cuh"

namespace streams::wrong {

/// Takes what is there.
struct DoesNotLook {
#pragma nv_exec_check_disable
    template <class Look, class AllThere, class Rest>
    __host__ __device__ uint4 operator()(const Look& look, const AllThere&, const Rest&) const {
        return look();
    }
};

/// Takes 16 bytes for complete when one word of them is there.
struct LooksAtOneWord {
#pragma nv_exec_check_disable
    template <class Look, class AllThere, class Rest>
    __host__ __device__ uint4 operator()(const Look& look, const AllThere& all_there, const Rest& rest) const {
        for (;;) {
            const uint4 v = look();
            if (v.x != nothing_yet) return v;
            if (all_there()) return look();
            rest();
        }
    }
};

/// The last word may not be there.
struct LooksAtThreeWords {
#pragma nv_exec_check_disable
    template <class Look, class AllThere, class Rest>
    __host__ __device__ uint4 operator()(const Look& look, const AllThere& all_there, const Rest& rest) const {
        for (;;) {
            const uint4 v = look();
            if (v.x != nothing_yet && v.y != nothing_yet && v.z != nothing_yet) return v;
            if (all_there()) return look();
            rest();
        }
    }
};

/// Takes what it saw before it looked at the flag.
struct TakesWhatItSaw {
#pragma nv_exec_check_disable
    template <class Look, class AllThere, class Rest>
    __host__ __device__ uint4 operator()(const Look& look, const AllThere& all_there, const Rest& rest) const {
        for (;;) {
            const uint4 v = look();
            if (v.x != nothing_yet && v.y != nothing_yet && v.z != nothing_yet && v.w != nothing_yet) return v;
            if (all_there()) return v;
            rest();
        }
    }
};

/// Asks for the flag when all four words are missing only.
struct WaitsForAnyWord {
#pragma nv_exec_check_disable
    template <class Look, class AllThere, class Rest>
    __host__ __device__ uint4 operator()(const Look& look, const AllThere& all_there, const Rest& rest) const {
        for (;;) {
            const uint4 v = look();
            if (v.x != nothing_yet || v.y != nothing_yet || v.z != nothing_yet || v.w != nothing_yet) return v;
            if (all_there()) return look();
            rest();
        }
    }
};

} // namespace streams::wrong
