// A launch that nobody waits for.
#include <cuda_runtime.h>

__global__ void nothing() {}

int main() {
    nothing<<<1, 1>>>();
    return 0;
}
