// A host that writes into device memory itself.
#include <cuda_runtime.h>

int main() {
    int* a = nullptr;
    cudaMalloc(&a, 100 * sizeof(int));
    cudaMemset(a, 0, 100 * sizeof(int));
    cudaDeviceSynchronize();
    a[3] = 1;
    return 0;
}
