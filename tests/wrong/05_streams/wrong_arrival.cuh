/// @file
/// Wrong ways for a kernel of cuda_polling to wait for its 16 bytes. They are called like when_arrived().
#pragma once

#include "cuda/arrival.cuh"

namespace streams::wrong {

/// Takes what is there at the first look.
struct DoesNotLook {
#pragma nv_exec_check_disable
    template <class Look, class AllThere, class Rest>
    __host__ __device__ uint4 operator()(const Look& look, const AllThere&, const Rest&) const {
        return look();
    }
};

/// Takes the 16 bytes as soon as one word of them has arrived.
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

/// Does not look at the last word.
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

/// Takes what it saw before it loaded the flag.
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

/// Loads the flag only when all four words are missing.
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
