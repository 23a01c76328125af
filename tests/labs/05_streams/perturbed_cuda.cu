// Replacements for cudaMemcpyAsync and for the first half of a kernel launch; see perturbed.hpp.
#include <cuda_runtime_api.h>
#include <thread>

#include "perturbed.hpp"

using namespace streams::testing;

namespace {

void CUDART_CB sleep(void*) { std::this_thread::sleep_for(perturbed::delay); }

/// Delays what follows in the stream.
cudaError_t keep_back(cudaStream_t stream) { return cudaLaunchHostFunc(stream, sleep, nullptr); }

} // namespace

extern "C" {

cudaError_t __real_cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t s);
unsigned __real___cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared, struct CUstream_st* stream);

cudaError_t __wrap_cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t s) {
    const bool up = kind == cudaMemcpyHostToDevice;
    if (!perturbed::notes(up ? perturbed::Kind::copy_up : perturbed::Kind::copy_down))
        return __real_cudaMemcpyAsync(to, from, bytes, kind, s);
    cudaError_t error = cudaSuccess;
    const auto check = [&](cudaError_t e) {
        if (error == cudaSuccess) error = e;
    };
    const std::size_t vectors = bytes / 16, rest = bytes % 16;
    if (!up || perturbed::word() < 0 || vectors == 0) {
        check(keep_back(s));
        check(__real_cudaMemcpyAsync(to, from, bytes, kind, s));
        return error;
    }
    auto* const there = static_cast<unsigned char*>(to);
    const auto* const here = static_cast<const unsigned char*>(from);
    const auto copy_word = [&](int word) {
        check(cudaMemcpy2DAsync(there + 4 * word, 16, here + 4 * word, 16, 4, vectors, kind, s));
    };
    for (int word = 0; word < 4; ++word)
        if (word != perturbed::word()) copy_word(word);
    if (rest > 0) check(__real_cudaMemcpyAsync(there + 16 * vectors, here + 16 * vectors, rest, kind, s));
    check(keep_back(s));
    copy_word(perturbed::word());
    return error;
}

/// Every launch with <<< >>> calls this first and launches only if it returns 0.
unsigned __wrap___cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared, struct CUstream_st* stream) {
    if (perturbed::notes(perturbed::Kind::kernel) && keep_back(stream) != cudaSuccess) return 1;
    return __real___cudaPushCallConfiguration(grid, block, shared, stream);
}

} // extern "C"
