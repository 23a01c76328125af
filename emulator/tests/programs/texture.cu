// A texture of linear memory gives its elements, and zero outside.
#include <cstdio>

__global__ void fetch(cudaTextureObject_t texture, short* out, int n) {
    const int i = threadIdx.x;
    if (i <= n) out[i] = tex1Dfetch<short>(texture, i);
}

int main() {
    constexpr int n = 20;
    short *in, *out;
    cudaMallocManaged(&in, n * sizeof(short));
    cudaMallocManaged(&out, (n + 1) * sizeof(short));
    for (int i = 0; i < n; ++i) in[i] = static_cast<short>(100 * i - 700);
    cudaResourceDesc memory{};
    memory.resType = cudaResourceTypeLinear;
    memory.res.linear.devPtr = in;
    memory.res.linear.desc = cudaCreateChannelDesc<short>();
    memory.res.linear.sizeInBytes = n * sizeof(short);
    const cudaTextureDesc how{};
    cudaTextureObject_t texture;
    if (cudaCreateTextureObject(&texture, &memory, &how, nullptr) != cudaSuccess) return 1;
    fetch<<<1, 32>>>(texture, out, n);
    if (cudaDeviceSynchronize() != cudaSuccess) return 2;
    for (int i = 0; i <= n; ++i)
        if (out[i] != (i < n ? 100 * i - 700 : 0)) return std::printf("element %d is %d\n", i, out[i]), 3;
    return cudaDestroyTextureObject(texture) == cudaSuccess ? 0 : 4;
}
