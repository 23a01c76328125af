/// @file
/// Tiles of prefix sums: what their blocks publish, and the scan of a warp.
#pragma once

#include <cstddef>
#include <cstring>
#include <cuda/atomic>

namespace reduction {

namespace {

constexpr unsigned all_lanes = 0xFFFFFFFFu;

template <class T> constexpr unsigned width = 16 / sizeof(T); ///< elements of a 16-byte vector
template <class T> struct alignas(16) Vector { T x[width<T>]; };

/// What is known of a tile. Cleared memory means `nothing`.
enum Status : unsigned { nothing = 0, aggregate = 1, inclusive_prefix = 2 };

using Word = unsigned long long;

/// The published state of a tile: a word for each 32 bits of a value, with the status in its lower half.
template <class T> struct TileState {
    static constexpr unsigned words = sizeof(T) / 4;
    Word word[words];

    __device__ TileState(Status status = nothing, T value = 0) {
        unsigned bits[words];
        memcpy(bits, &value, sizeof(T));
        for (unsigned w = 0; w < words; ++w) word[w] = Word{bits[w]} << 32 | status;
    }

    /// `nothing` also while one word is new and the other is not: a value is never put together from two.
    __device__ Status status() const {
        if (static_cast<unsigned>(word[0]) != static_cast<unsigned>(word[words - 1])) return nothing;
        return static_cast<Status>(static_cast<unsigned>(word[0]));
    }

    __device__ T value() const {
        unsigned bits[words];
        for (unsigned w = 0; w < words; ++w) bits[w] = static_cast<unsigned>(word[w] >> 32);
        T value;
        memcpy(&value, bits, sizeof(T));
        return value;
    }
};

/// The states of all tiles in device memory: the ticket, then a state for each tile. Zeros before every launch.
template <class T> struct TileStates {
    Word* words;
    static std::size_t size(std::size_t tiles) { return 1 + tiles * TileState<T>::words; }

    __device__ unsigned draw_ticket() const { return static_cast<unsigned>(atomicAdd(words, Word{1})); }

    __device__ auto word(unsigned tile, unsigned w) const {
        return ::cuda::atomic_ref<Word, ::cuda::thread_scope_device>(
            words[1 + tile * std::size_t{TileState<T>::words} + w]);
    }
    // Relaxed: nothing but the words themselves is handed over.
    __device__ void publish(unsigned tile, const TileState<T>& state) const {
        for (unsigned w = 0; w < TileState<T>::words; ++w)
            word(tile, w).store(state.word[w], ::cuda::memory_order_relaxed);
    }
    __device__ TileState<T> look(unsigned tile) const {
        TileState<T> state;
        for (unsigned w = 0; w < TileState<T>::words; ++w)
            state.word[w] = word(tile, w).load(::cuda::memory_order_relaxed);
        return state;
    }
};

/// Inclusive scan over the lanes of a warp. @pre all 32 lanes call it
template <class T> __device__ T warp_scan(T x, unsigned lane) {
    // ANSWER prefix-sum
#pragma unroll
    for (unsigned step = 1; step < 32; step *= 2) {
        const T before = __shfl_up_sync(all_lanes, x, step);
        if (lane >= step) x += before;
    }
    return x;
    // END ANSWER
}

} // namespace

} // namespace reduction
