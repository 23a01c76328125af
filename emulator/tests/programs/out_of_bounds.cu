// A kernel that writes behind its array: the call that waits for it fails, and so does every later one.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void fill(int* a, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) a[i] = i;
}

int main() {
    int* a = nullptr;
    cudaMalloc(&a, 100 * sizeof(int));
    fill<<<1, 128>>>(a, 100);
    const cudaError_t launched = cudaGetLastError(), waited = cudaDeviceSynchronize(), later = cudaFree(a);
    std::printf("%s %s %s\n", cudaGetErrorName(launched), cudaGetErrorName(waited), cudaGetErrorName(later));
    return 0;
}
