// The CUDA kernel of a puzzle on the CPU, thread by thread: as many host threads as the block has. Each access of the
// kernel is a line on stdout, of which pictures are drawn and races found:
//
//     ARRAY KIND INDEX BLOCK THREAD BARRIERS      b store 3 0 3 0
//
// BARRIERS: at how many barriers the thread has been before. For this cuda_judge.py makes an Array of each pointer and
// each shared array. Results are those of the GPU; this finds only who touches what.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#define __global__
#define __device__
#define __forceinline__ inline

struct Dim {
    unsigned x = 1, y = 1, z = 1;
};
inline Dim gridDim, blockDim, blockIdx;
inline thread_local Dim threadIdx;
constexpr int warpSize = 32;

namespace noted {

constexpr long most = 20000; // accesses, of which a right kernel needs some hundred: a loop does not end
inline std::recursive_mutex one_at_a_time;
inline thread_local int thread = 0, barriers = 0;

inline int block() { return static_cast<int>(blockIdx.y * gridDim.x + blockIdx.x); }

struct Memory {
    std::string name;
    std::vector<int> values;

    int* element(const char* kind, std::ptrdiff_t i) { // or null, outside of it
        static long count = 0;
        std::printf("%s %s %td %d %d %d\n", name.c_str(), kind, i, block(), thread, barriers);
        if (++count > most) {
            std::printf("- endless 0 %d %d %d\n", block(), thread, barriers);
            std::fflush(stdout);
            std::_Exit(3);
        }
        return i >= 0 && static_cast<std::size_t>(i) < values.size() ? &values[static_cast<std::size_t>(i)] : nullptr;
    }
};

struct Array;

// An element. Reading and writing it are noted.
struct Element {
    Memory* memory;
    std::ptrdiff_t index;

    operator int() const {
        const std::lock_guard lock(one_at_a_time);
        const int* at = memory->element("load", index);
        return at ? *at : 0;
    }
    int operator=(int value) const {
        const std::lock_guard lock(one_at_a_time);
        if (int* at = memory->element("store", index)) *at = value;
        return value;
    }
    int operator=(const Element& other) const { return *this = static_cast<int>(other); }
    int operator+=(int value) const { return *this = *this + value; }
    int operator-=(int value) const { return *this = *this - value; }
    int operator*=(int value) const { return *this = *this * value; }
    int operator++() const { return *this += 1; }
    int operator++(int) const { return (*this += 1) - 1; }
    int atomic_add(int value) const {
        const std::lock_guard lock(one_at_a_time);
        int* at = memory->element("atomic", index);
        if (!at) return 0;
        *at += value;
        return *at - value;
    }
    Array operator&() const;
};

// What a pointer is in the kernel.
struct Array {
    Memory* memory;
    std::ptrdiff_t first = 0;

    Element operator[](std::ptrdiff_t i) const { return {memory, first + i}; }
    Element operator*() const { return {memory, first}; }
    Array operator+(std::ptrdiff_t i) const { return {memory, first + i}; }
};
inline Array Element::operator&() const { return {memory, index}; }

// The shared arrays of a block, by name.
inline std::map<std::string, Memory> shared_memory;
inline Array shared(const char* name, std::size_t size) {
    const std::lock_guard lock(one_at_a_time);
    return {&shared_memory.try_emplace(name, Memory{name, std::vector<int>(size)}).first->second};
}

// The barrier of a block. Threads that have ended are not waited for.
inline std::condition_variable_any met;
inline int running = 0, waiting = 0, meetings = 0;
inline void go_on() {
    waiting = 0;
    ++meetings;
    met.notify_all();
}
inline void sync() {
    std::unique_lock lock(one_at_a_time);
    const int now = meetings;
    ++barriers;
    if (++waiting == running) go_on();
    met.wait(lock, [&] { return meetings != now; });
}

// Runs a kernel. After each block come lines `- end 0 BLOCK THREAD BARRIERS`, one for each thread.
template <class Kernel> void launch(Dim grid, Dim threads, Kernel kernel) {
    gridDim = grid;
    blockDim = threads;
    for (unsigned b = 0; b < grid.x * grid.y; ++b) {
        blockIdx = {b % grid.x, b / grid.x, 0};
        shared_memory.clear();
        running = static_cast<int>(threads.x * threads.y);
        waiting = 0;
        std::vector<std::thread> all;
        for (unsigned t = 0; t < threads.x * threads.y; ++t)
            all.emplace_back([&, t] {
                threadIdx = {t % threads.x, t / threads.x, 0};
                thread = static_cast<int>(t);
                kernel();
                const std::lock_guard lock(one_at_a_time);
                std::printf("- end 0 %d %d %d\n", block(), thread, barriers);
                if (--running > 0 && waiting == running) go_on();
            });
        for (std::thread& one : all) one.join();
    }
}

} // namespace noted

inline void __syncthreads() { noted::sync(); }
inline int atomicAdd(noted::Array array, int value) { return (*array).atomic_add(value); }
