// Rung 1: the six steps of a host program, each as a plain CUDA call.
// (Alfaro Vigo & Rossetto, programs 2.3, 2.4 and 2.5)
//
//   1. allocate memory on the device        4. launch the kernel
//   2. prepare the input on the host        5. copy the result back
//   3. copy the input to the device         6. free the device's memory
//
// `__global__` marks a kernel: a function that the host launches and the device runs. The launch is
// `raw_kernel<<<blocks, threads>>>(arguments)`: it starts blocks x threads threads, and each of them runs the
// function once. The kernel is the body of the loop in cpu_sequential, and each thread computes its own i: blockIdx.x
// is the number of its block, blockDim.x the number of threads per block, threadIdx.x its number within the block.
//
// Every CUDA call returns an error code, and all codes are checked: an unchecked error shows up in a later
// call, where it is hard to find. A launch returns nothing, so cudaGetLastError() follows it.
// complete/saxpy.cu has the same steps as a program of its own.
// The later rungs take the same steps with DeviceBuffer, CUDA_CHECK and watch_stream. These also free the memory
// after an error. Here, when a step fails, the memory of the earlier steps is not freed.
//
// Limit: the bytes in flight, as in cuda_many_blocks.
#include <cuda_runtime.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "saxpy.hpp"

namespace saxpy {

/// One thread per element; any n.
__global__ void raw_kernel(float k, const float* a, const float* b, float* c, std::size_t n) {
    // ANSWER many-blocks repair-stride
    const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
    if (i < n) c[i] = k * a[i] + b[i];
    // END ANSWER
}

namespace {
void check(cudaError_t code, const char* step) {
    if (code != cudaSuccess) throw std::runtime_error(std::string(step) + ": " + cudaGetErrorString(code));
}
} // namespace

void cuda_raw(const Problem& p, Output& c, Stopwatch& watch) {
    const std::size_t n = p.size();
    const std::size_t bytes = n * sizeof(float);

    // 1. Allocate three arrays on the device. The CPU cannot use these pointers; it only passes them on.
    float *d_a = nullptr, *d_b = nullptr, *d_c = nullptr;
    check(cudaMalloc(reinterpret_cast<void**>(&d_a), bytes), "allocating a");
    check(cudaMalloc(reinterpret_cast<void**>(&d_b), bytes), "allocating b");
    check(cudaMalloc(reinterpret_cast<void**>(&d_c), bytes), "allocating c");

    // 2. and 3. The input is ready in p. Copy it to the device.
    check(cudaMemcpy(d_a, p.a.data(), bytes, cudaMemcpyHostToDevice), "copying a to the device");
    check(cudaMemcpy(d_b, p.b.data(), bytes, cudaMemcpyHostToDevice), "copying b to the device");

    // 4. Launch between two events. An event is a mark in the sequence of commands; the device records the time when it
    // reaches the mark. Before every run all bits of c are set, which makes every element a NaN: an element that the
    // kernel does not write is then found.
    cudaEvent_t begin, end;
    check(cudaEventCreate(&begin), "creating an event");
    check(cudaEventCreate(&end), "creating an event");
    const unsigned threads = 256;
    const auto blocks = static_cast<unsigned>(std::max<std::size_t>(1, (n + threads - 1) / threads));
    watch.tile(threads);
    for (int i = 0; i < watch.warmup(); ++i) { // not timed: the first launch also loads the code
        check(cudaMemsetAsync(d_c, 0xFF, bytes), "marking c as unwritten");
        raw_kernel<<<blocks, threads>>>(p.k, d_a, d_b, d_c, n);
        check(cudaGetLastError(), "launching the kernel");
    }
    check(cudaDeviceSynchronize(), "running the kernel");
    watch.start();
    watch.notes_reset();
    while (watch.wants_more()) {
        check(cudaMemsetAsync(d_c, 0xFF, bytes), "marking c as unwritten"); // again, so that no old result is left
        check(cudaEventRecord(begin), "recording an event");
        raw_kernel<<<blocks, threads>>>(p.k, d_a, d_b, d_c, n);
        check(cudaGetLastError(), "launching the kernel");
        check(cudaEventRecord(end), "recording an event");
        check(cudaEventSynchronize(end), "running the kernel"); // a launch returns at once, so wait here
        float ms = 0;
        check(cudaEventElapsedTime(&ms, begin, end), "reading the events");
        watch.record(ms);
    }

    // 5. Copy the result back. cudaMemcpy also waits for the kernel.
    check(cudaMemcpy(c.data(), d_c, bytes, cudaMemcpyDeviceToHost), "copying c to the host");

    // 6. Free the memory and the events.
    check(cudaEventDestroy(begin), "destroying an event");
    check(cudaEventDestroy(end), "destroying an event");
    check(cudaFree(d_a), "freeing a");
    check(cudaFree(d_b), "freeing b");
    check(cudaFree(d_c), "freeing c");
}

} // namespace saxpy
