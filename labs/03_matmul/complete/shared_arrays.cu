// Three arrays of different types in one block's dynamic shared memory: one complete program in CUDA.
// (Alfaro Vigo & Rossetto, section 2.3.5)
//
//     nvcc shared_arrays.cu -o shared_arrays
//     ./shared_arrays 127            # every array begins at a multiple of its type's size
//     ./shared_arrays 127 printed    # every array begins where the one before ends: the book's misaligned example
//
// A launch gives each block one piece of dynamic shared memory. The kernel divides it: an array begins at an offset, in
// bytes. A load or store of a float or an int needs an address that is a multiple of 4. 128 shorts take 256 bytes, so
// the floats may follow at once; 127 shorts take 254, and the floats must begin 2 bytes later. Without the gap, the
// kernel ends with an error. Where the arrays with the larger types come first, no gaps are needed.
//
// Exit codes: 0 the result is right, 1 it is wrong, 2 something failed.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

constexpr unsigned floats = 64, ints = 256; // elements, as in the book; how many shorts there are is chosen at run time

// Where arrays begin, in bytes from the beginning of the block's dynamic shared memory, which holds the shorts. 32 bits
// are enough: a block has less than 256 KiB.
struct Offsets {
    unsigned floats;
    unsigned ints;
    unsigned end;
};

// The next multiple of `size` that is not below `bytes`.
unsigned round_up(std::size_t bytes, std::size_t size) {
    return static_cast<unsigned>((bytes + size - 1) / size * size);
}

Offsets aligned(unsigned shorts) {
    Offsets at;
    at.floats = round_up(shorts * sizeof(short), alignof(float));
    at.ints = round_up(at.floats + floats * sizeof(float), alignof(int));
    at.end = static_cast<unsigned>(at.ints + ints * sizeof(int));
    return at;
}

// As the book prints it: (float*)&vector0[shorts], (int*)&vector1[64].
Offsets printed(unsigned shorts) {
    Offsets at;
    at.floats = static_cast<unsigned>(shorts * sizeof(short));
    at.ints = static_cast<unsigned>(at.floats + floats * sizeof(float));
    at.end = static_cast<unsigned>(at.ints + ints * sizeof(int));
    return at;
}

// One block. The threads fill all three arrays; then thread t adds one element of each, which other threads wrote.
// The arrays are filled one after the other: if two overlapped, the first would have lost elements.
__global__ void add(unsigned shorts, Offsets at, int* out) {
    extern __shared__ double memory[]; // all arrays begin here; double, so that the beginning suits every type
    char* const begin = reinterpret_cast<char*>(memory);
    short* const s = reinterpret_cast<short*>(begin);
    float* const f = reinterpret_cast<float*>(begin + at.floats);
    int* const v = reinterpret_cast<int*>(begin + at.ints);
    const unsigned t = threadIdx.x;
    for (unsigned j = t; j < shorts; j += blockDim.x) s[j] = static_cast<short>(j + 1);
    __syncthreads();
    for (unsigned j = t; j < floats; j += blockDim.x) f[j] = 100000.0f * (j + 1);
    __syncthreads();
    for (unsigned j = t; j < ints; j += blockDim.x) v[j] = 10000000 * static_cast<int>(j % 100 + 1);
    __syncthreads();
    out[t] = s[shorts - 1 - t % shorts] + static_cast<int>(f[floats - 1 - t % floats]) + v[ints - 1 - t % ints];
}

int expected(unsigned t, unsigned shorts) {
    const unsigned s = shorts - 1 - t % shorts, f = floats - 1 - t % floats, v = ints - 1 - t % ints;
    return static_cast<int>(s + 1 + 100000 * (f + 1) + 10000000 * (v % 100 + 1));
}

// Every CUDA call returns an error code: cudaSuccess, or what went wrong.
void check(cudaError_t code, const char* step) {
    if (code != cudaSuccess) throw std::runtime_error(std::string(step) + ": " + cudaGetErrorString(code));
}

int main(int argc, char** argv) try {
    char* end = nullptr;
    const long number = argc > 1 ? std::strtol(argv[1], &end, 10) : 127;
    const bool as_printed = argc == 3 && std::strcmp(argv[2], "printed") == 0;
    if (argc > 3 || (argc == 3 && !as_printed) || (end && (end == argv[1] || *end)) || number < 1 || number > 20000)
        throw std::runtime_error("usage: shared_arrays [SHORTS [printed]], with SHORTS = 1 ... 20000");
    const auto shorts = static_cast<unsigned>(number);
    const Offsets at = as_printed ? printed(shorts) : aligned(shorts);
    std::printf("%u shorts from byte 0, %u floats from byte %u, %u ints from byte %u: %u bytes\n", shorts, floats,
                at.floats, ints, at.ints, at.end);
    std::fflush(stdout); // before anything can go wrong

    const unsigned threads = 256;
    int* d_out = nullptr;
    check(cudaMalloc(&d_out, threads * sizeof(int)), "allocating the result");
    check(cudaMemset(d_out, 0, threads * sizeof(int)), "marking the result as unwritten"); // no right element is 0
    add<<<1, threads, at.end>>>(shorts, at, d_out); // the third launch parameter: the bytes of dynamic shared memory
    check(cudaGetLastError(), "launching the kernel");
    check(cudaDeviceSynchronize(), "running the kernel");
    std::vector<int> out(threads);
    check(cudaMemcpy(out.data(), d_out, threads * sizeof(int), cudaMemcpyDeviceToHost), "copying the result");
    check(cudaFree(d_out), "freeing the result");

    unsigned wrong = 0;
    for (unsigned t = 0; t < threads; ++t) wrong += out[t] != expected(t, shorts);
    if (wrong > 0) {
        std::fprintf(stderr, "shared_arrays: %u of %u elements are wrong\n", wrong, threads);
        return 1;
    }
    std::printf("all %u elements are right\n", threads);
    return 0;
} catch (const std::exception& failure) {
    std::fprintf(stderr, "shared_arrays: %s\n", failure.what());
    return 2;
}
