// A kernel that ends in the middle, in a way that -D chooses: the finding names the line.
#include <cassert>
#include <cuda_runtime.h>

__global__ void stops(int* a) {
#if defined(TRAP)
    if (threadIdx.x == 3) __trap();
#elif defined(ASSERTION)
    assert(a[threadIdx.x] == 0);
#else
    while (a[threadIdx.x] == 0) a[threadIdx.x] &= 2;
#endif
}

int main() {
    int* a = nullptr;
    cudaMalloc(&a, 64 * sizeof(int));
    cudaMemset(a, 0, 64 * sizeof(int));
#if defined(ASSERTION)
    cudaMemset(a + 5, 1, sizeof(int));
#endif
    stops<<<1, 64>>>(a);
    return cudaDeviceSynchronize() == cudaSuccess;
}
