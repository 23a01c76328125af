// What CUDA says when something is wrong, and when: the lesson "When it is wrong".
//
//     nvcc -lineinfo errors.cu -o errors
//     ./errors                      # each call with the code that it returned
//     compute-sanitizer ./errors    # memcheck: also the line of the kernel that stored outside of the array
#include <cstdio>

__global__ void store(unsigned* out, size_t place) { out[place + threadIdx.x] = 1; }
__global__ void say(unsigned from) {
    if (threadIdx.x >= from) printf("    thread %u of block %u\n", threadIdx.x, blockIdx.x);
}

void tell(const char* call, cudaError_t code) { std::printf("%-44s %s\n", call, cudaGetErrorName(code)); }

int main() {
    unsigned* out = nullptr;
    tell("cudaMalloc:", cudaMalloc(&out, 64 * sizeof(unsigned)));

    // 1. A launch that the device cannot do: the error waits for whoever asks. Asking takes it away.
    store<<<1, 2048>>>(out, 0);
    tell("cudaGetLastError, 2048 threads in a block:", cudaGetLastError());
    tell("cudaGetLastError, once more:", cudaGetLastError());

    // 2. After that all is well.
    store<<<1, 64>>>(out, 0);
    tell("cudaGetLastError, 64 threads:", cudaGetLastError());
    tell("cudaDeviceSynchronize:", cudaDeviceSynchronize());

    // 3. printf in a kernel: the text waits on the device until a call that waits for the kernel.
    say<<<1, 64>>>(62);
    tell("cudaDeviceSynchronize, after printf:", cudaDeviceSynchronize());

    // 4. A store far outside: the launch is right, the kernel is not. The error comes later, and stays.
    store<<<1, 64>>>(out, size_t{1} << 40);
    tell("cudaGetLastError, a store too far:", cudaGetLastError());
    tell("cudaDeviceSynchronize:", cudaDeviceSynchronize());
    tell("cudaGetLastError, which takes it away:", cudaGetLastError());
    unsigned* more = nullptr;
    tell("cudaMalloc, which is not to blame:", cudaMalloc(&more, 64));
    tell("cudaFree:", cudaFree(out));
    return 0;
}
