// Two threads of one warp: the first waits in a loop for what the second stores.
// Up to compute capability 6.x it may never end: the warp stays in the loop's branch, and the second thread waits
// behind it. From 7.0 on each thread has a program counter of its own, and goes on.
//
//     nvcc meet.cu -o meet
//     ./meet
#include <cstdio>

__global__ void meet(volatile int* flag, int* seen) {
    if (threadIdx.x == 0) {
        while (*flag == 0) {
        }
        *seen = *flag;
    } else if (threadIdx.x == 1) {
        *flag = 7;
    }
}

int main() {
    int *flag = nullptr, *seen = nullptr, value = 0;
    cudaMalloc(&flag, sizeof(int));
    cudaMalloc(&seen, sizeof(int));
    cudaMemset(flag, 0, sizeof(int));
    meet<<<1, 32>>>(flag, seen);
    const cudaError_t error = cudaMemcpy(&value, seen, sizeof(int), cudaMemcpyDeviceToHost);
    if (error == cudaSuccess) std::printf("thread 0 has seen %d\n", value);
    else std::fprintf(stderr, "meet: %s\n", cudaGetErrorString(error));
    cudaFree(flag);
    cudaFree(seen);
    return error == cudaSuccess ? 0 : 2;
}
