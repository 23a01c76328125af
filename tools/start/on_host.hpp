// The CUDA kernel of a puzzle on the CPU, thread by thread: as many host threads as the block has. Each access of the
// kernel is a line on stdout, of which pictures are drawn and races found:
//
//     ARRAY KIND INDEX BLOCK THREAD BARRIERS      b store 3 0 3 0
//
// BARRIERS: at how many barriers the thread has been before. For this cuda_judge.py makes an Array of each pointer and
// each shared array. Results are those of the GPU; this finds only who touches what.
//
// Only what a kernel needs is here, because this is compiled with each text of it: the rest is in on_host.cpp.
#pragma once

#include <cstddef>
#include <cstdio> // a kernel may print

#define __global__
#define __device__
#define __forceinline__ inline

struct Dim {
    unsigned x = 1, y = 1, z = 1;
};
extern Dim gridDim, blockDim, blockIdx;
extern thread_local Dim threadIdx;
constexpr int warpSize = 32;

namespace noted {

struct Memory {
    const char* name;
    int* values;
    std::ptrdiff_t size;
};

struct Array;

// An element. Reading and writing it are noted; one outside of the array is 0.
struct Element {
    Memory* memory;
    std::ptrdiff_t index;

    operator int() const;
    int operator=(int value) const;
    int operator=(const Element& other) const { return *this = static_cast<int>(other); }
    int operator+=(int value) const { return *this = *this + value; }
    int operator-=(int value) const { return *this = *this - value; }
    int operator*=(int value) const { return *this = *this * value; }
    int operator++() const { return *this += 1; }
    int operator++(int) const { return (*this += 1) - 1; }
    int atomic_add(int value) const;
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

// A shared array of the block, by its name.
Array shared(const char* name, std::size_t size);

// The barrier of a block. Threads that have ended are not waited for.
void sync();

// Runs a kernel: kernel(arguments) in each thread. After each block come lines `- end 0 BLOCK THREAD BARRIERS`, one for
// each thread.
void launch(Dim grid, Dim threads, void (*kernel)(const void* arguments), const void* arguments);
template <class Kernel> void launch(Dim grid, Dim threads, const Kernel& kernel) {
    launch(
        grid, threads, [](const void* arguments) { (*static_cast<const Kernel*>(arguments))(); }, &kernel);
}

} // namespace noted

inline void __syncthreads() { noted::sync(); }
inline int atomicAdd(noted::Array array, int value) { return (*array).atomic_add(value); }
