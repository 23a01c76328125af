// Kernels of two devices that wait for each other, in the memory of both. Ends with 0 when all is right.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void meet(volatile int* own, volatile int* others, int* result) {
    *others = 1;
    __threadfence_system();
    while (*own == 0) {
    }
    *result = *own + *others;
}

int main() {
    int count = 0, *flag[2], *result[2];
    cudaStream_t stream[2];
    if (cudaGetDeviceCount(&count) != cudaSuccess || count != 2) return 2;
    for (int d = 0; d < 2; ++d) {
        cudaSetDevice(d);
        cudaDeviceEnablePeerAccess(1 - d, 0);
        cudaMalloc(&flag[d], sizeof(int));
        cudaMalloc(&result[d], sizeof(int));
        cudaMemset(flag[d], 0, sizeof(int));
        cudaStreamCreateWithFlags(&stream[d], cudaStreamNonBlocking);
        cudaDeviceSynchronize();
    }
    for (int d = 0; d < 2; ++d) {
        cudaSetDevice(d);
        meet<<<1, 1, 0, stream[d]>>>(flag[d], flag[1 - d], result[d]);
    }
    int sum = 0;
    for (int d = 0; d < 2; ++d) {
        int value = 0;
        if (cudaStreamSynchronize(stream[d]) != cudaSuccess) return 1;
        cudaMemcpy(&value, result[d], sizeof value, cudaMemcpyDeviceToHost);
        sum += value;
    }
    std::puts(sum == 4 ? "all right" : "wrong");
    return sum != 4;
}
