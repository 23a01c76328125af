// SAXPY as one complete program in CUDA: c[i] = k a[i] + b[i]. It needs no other file of this project.
// (Alfaro Vigo & Rossetto, programs 2.3 and 2.4)
//
//     nvcc saxpy.cu -o saxpy
//     ./saxpy          # 1000000 elements
//     ./saxpy 1000     # or as many as you say
//
// cuda_raw (cuda/01_raw.cu) has the same six steps, and also times the kernel with events (program 2.5). nvcc compiles
// for an old GPU unless you name one, and the driver translates the program for yours when it starts; `-arch=native`
// compiles for yours at once.
//
// Exit codes: 0 the result is right, 1 it is wrong, 2 something failed.
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

// One thread per element; any n.
__global__ void saxpy(float k, const float* a, const float* b, float* c, std::size_t n) {
    // ANSWER many-blocks repair-stride
    //| // (you write this in an exercise: write it here too)
    const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
    if (i < n) c[i] = k * a[i] + b[i];
    // END ANSWER
}

// Every CUDA call returns an error code: cudaSuccess, or what went wrong.
void check(cudaError_t code, const char* step) {
    if (code != cudaSuccess) throw std::runtime_error(std::string(step) + ": " + cudaGetErrorString(code));
}

int main(int argc, char** argv) try {
    const long long most = 100'000'000; // three arrays of 400 MB
    char* end = nullptr;
    const long long size = argc > 1 ? std::strtoll(argv[1], &end, 10) : 1'000'000;
    if (argc > 2 || (end && (end == argv[1] || *end)) || size < 1 || size > most)
        throw std::runtime_error("usage: saxpy [n], with n = 1 ... " + std::to_string(most));
    const auto n = static_cast<std::size_t>(size);
    const std::size_t bytes = n * sizeof(float);

    cudaDeviceProp device;
    check(cudaGetDeviceProperties(&device, 0), "looking for a GPU");
    std::printf("GPU: %s\n", device.name);

    // 1. Allocate three arrays on the device.
    float *d_a = nullptr, *d_b = nullptr, *d_c = nullptr;
    check(cudaMalloc(&d_a, bytes), "allocating a");
    check(cudaMalloc(&d_b, bytes), "allocating b");
    check(cudaMalloc(&d_c, bytes), "allocating c");

    // 2. Prepare the input on the host.
    const float k = 1.5f;
    std::vector<float> a(n), b(n), c(n);
    std::mt19937 random(1); // the same numbers in every run
    std::uniform_real_distribution<float> between(-1, 1);
    for (float& x : a) x = between(random);
    for (float& x : b) x = between(random);

    // 3. Copy it to the device. All bits of c are set, which makes every element a NaN: an element that the kernel does
    // not write is then found.
    check(cudaMemcpy(d_a, a.data(), bytes, cudaMemcpyHostToDevice), "copying a to the device");
    check(cudaMemcpy(d_b, b.data(), bytes, cudaMemcpyHostToDevice), "copying b to the device");
    check(cudaMemset(d_c, 0xFF, bytes), "marking c as unwritten");

    // 4. Launch the kernel: enough blocks for n threads. A launch returns no code and does not wait for the kernel. The
    // first check asks whether it began, the second waits for its end.
    const unsigned threads = 256;
    const auto blocks = static_cast<unsigned>((n + threads - 1) / threads);
    saxpy<<<blocks, threads>>>(k, d_a, d_b, d_c, n);
    check(cudaGetLastError(), "launching the kernel");
    check(cudaDeviceSynchronize(), "running the kernel");

    // 5. Copy the result back.
    check(cudaMemcpy(c.data(), d_c, bytes, cudaMemcpyDeviceToHost), "copying c to the host");

    // 6. Free the device's memory.
    check(cudaFree(d_a), "freeing a");
    check(cudaFree(d_b), "freeing b");
    check(cudaFree(d_c), "freeing c");

    // Compare with the host, in double precision. Device and host may round k a[i] and the sum differently; each
    // rounding changes a number by at most FLT_EPSILON / 2 of its size. `!(error <= ...)` is true for a NaN as well.
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < n; ++i) {
        const double product = double{k} * a[i];
        const double error = std::fabs(c[i] - (product + b[i]));
        if (!(error <= FLT_EPSILON * (std::fabs(product) + std::fabs(b[i])))) ++wrong;
    }
    std::printf("c[0] = %g * %g + %g = %g\n", k, a[0], b[0], c[0]);
    if (wrong > 0) {
        std::fprintf(stderr, "saxpy: %zu of %zu elements are wrong\n", wrong, n);
        return 1;
    }
    std::printf("all %zu elements are right\n", n);
    return 0;
} catch (const std::exception& failure) {
    std::fprintf(stderr, "saxpy: %s\n", failure.what());
    return 2;
}
