// What student programs do: kernels over arrays, constant, managed and device variables, templates, structures as
// arguments, dynamic shared memory, mapped memory, cooperative launches, graphs of kernels. Ends with 0 when all is
// right.
#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <vector>

#define CHECK(call)                                                                      \
    do {                                                                                 \
        const cudaError_t code = (call);                                                 \
        if (code != cudaSuccess) {                                                       \
            std::printf("line %d: %s: %s\n", __LINE__, #call, cudaGetErrorString(code)); \
            return 1;                                                                    \
        }                                                                                \
    } while (false)
#define EXPECT(condition)                                               \
    do {                                                                \
        if (!(condition)) {                                             \
            std::printf("line %d: not so: %s\n", __LINE__, #condition); \
            return 1;                                                   \
        }                                                               \
    } while (false)

__constant__ float coefficients[4] = {1, 2, 3, 4};
__device__ int counter = 5;
__managed__ int managed = 3;

struct Shape {
    char tag;
    double factor;
    short n;
};

template <class T> __global__ void scale(T* out, const T* in, Shape shape, char more) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < shape.n) out[i] = static_cast<T>(shape.factor) * in[i] + coefficients[i % 4] + more;
}

__global__ void count() {
    atomicAdd(&counter, 1);
    if (blockIdx.x == 0 && threadIdx.x == 0) managed += 10;
}

__global__ void reverse(int* a) {
    extern __shared__ int tile[];
    tile[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
    a[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

__global__ void __launch_bounds__(64) bounded(int* a) { a[threadIdx.x] = 1; }

/// Every thread adds the number that its successor of the next block had.
__global__ void pass_on(int* a, int rounds) {
    const auto grid = cooperative_groups::this_grid();
    const auto n = static_cast<unsigned>(grid.size()), me = static_cast<unsigned>(grid.thread_rank());
    for (int round = 0; round < rounds; ++round) {
        const int next = a[(me + 1) % n];
        grid.sync();
        a[me] += next;
        grid.sync();
    }
}

int main() {
    const int n = 1000;
    std::vector<float> in(n), out(n);
    for (int i = 0; i < n; ++i) in[i] = static_cast<float>(i);
    float *a = nullptr, *b = nullptr;
    CHECK(cudaMalloc(&a, n * sizeof(float)));
    CHECK(cudaMalloc(&b, n * sizeof(float)));
    CHECK(cudaMemcpy(a, in.data(), n * sizeof(float), cudaMemcpyHostToDevice));
    scale<<<(n + 127) / 128, 128>>>(b, a, Shape{'x', 2.0, n}, 1);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(out.data(), b, n * sizeof(float), cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; ++i) EXPECT(out[i] == 2.0f * i + (i % 4 + 1) + 1);

    const float other[4] = {0, 0, 0, 7};
    CHECK(cudaMemcpyToSymbol(coefficients, other, sizeof other));
    scale<<<8, 128>>>(b, a, Shape{'x', 0.0, n}, 0);
    CHECK(cudaMemcpy(out.data(), b, n * sizeof(float), cudaMemcpyDeviceToHost));
    EXPECT(out[2] == 0 && out[3] == 7);

    EXPECT(managed == 3);
    count<<<3, 100>>>();
    CHECK(cudaDeviceSynchronize());
    int counted = 0;
    CHECK(cudaMemcpyFromSymbol(&counted, counter, sizeof counted));
    EXPECT(counted == 305 && managed == 13);

    std::vector<int> numbers(64);
    for (int i = 0; i < 64; ++i) numbers[i] = i;
    int* c = nullptr;
    CHECK(cudaMalloc(&c, 64 * sizeof(int)));
    CHECK(cudaMemcpy(c, numbers.data(), 64 * sizeof(int), cudaMemcpyHostToDevice));
    reverse<<<1, 64, 64 * sizeof(int)>>>(c);
    CHECK(cudaMemcpy(numbers.data(), c, 64 * sizeof(int), cudaMemcpyDeviceToHost));
    EXPECT(numbers[0] == 63 && numbers[63] == 0);

    // Launches that are impossible.
    reverse<<<1, 2048>>>(c);
    EXPECT(cudaGetLastError() == cudaErrorInvalidConfiguration);
    reverse<<<0, 32>>>(c);
    EXPECT(cudaGetLastError() == cudaErrorInvalidConfiguration);
    reverse<<<1, 64, 100'000>>>(c);
    EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
    CHECK(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, 100'000));
    reverse<<<1, 64, 100'000>>>(c);
    CHECK(cudaGetLastError());
    bounded<<<1, 128>>>(c);
    EXPECT(cudaGetLastError() == cudaErrorLaunchOutOfResources);
    CHECK(cudaDeviceSynchronize());

    // Blocks that wait for each other.
    CHECK(cudaMemset(c, 0, 64 * sizeof(int)));
    const int one = 1;
    CHECK(cudaMemcpy(c + 3, &one, sizeof one, cudaMemcpyHostToDevice));
    int rounds = 3;
    void* arguments[] = {&c, &rounds};
    CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(pass_on), dim3(2), dim3(32), arguments, 0, nullptr));
    CHECK(cudaMemcpy(numbers.data(), c, 64 * sizeof(int), cudaMemcpyDeviceToHost));
    EXPECT(numbers[3] == 1 && numbers[2] == 3 && numbers[1] == 3 && numbers[0] == 1 && numbers[63] == 0);
    EXPECT(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(pass_on), dim3(100'000), dim3(32), arguments, 0,
                                       nullptr) == cudaErrorCooperativeLaunchTooLarge);
    cudaGetLastError();

    // A graph, with other arguments the second time.
    cudaStream_t stream = nullptr;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    cudaGraph_t graph = nullptr;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    CHECK(cudaMemsetAsync(b, 0, n * sizeof(float), stream));
    scale<<<8, 128, 0, stream>>>(b, a, Shape{'x', 1.0, n}, 0);
    CHECK(cudaStreamEndCapture(stream, &graph));
    cudaGraphExec_t executable = nullptr;
    CHECK(cudaGraphInstantiate(&executable, graph, 0));
    CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(out.data(), b, n * sizeof(float), cudaMemcpyDeviceToHost));
    EXPECT(out[10] == 10 && out[11] == 18);
    std::size_t count_of_nodes = 2;
    cudaGraphNode_t nodes[2];
    CHECK(cudaGraphGetNodes(graph, nodes, &count_of_nodes));
    cudaKernelNodeParams params{};
    CHECK(cudaGraphKernelNodeGetParams(nodes[1], &params));
    EXPECT(params.gridDim.x == 8 && params.blockDim.x == 128);
    Shape shape{'x', 3.0, 11};
    params.kernelParams[2] = &shape;
    CHECK(cudaGraphExecKernelNodeSetParams(executable, nodes[1], &params));
    CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(out.data(), b, n * sizeof(float), cudaMemcpyDeviceToHost));
    EXPECT(out[10] == 30 && out[11] == 0);

    // Host memory that the device reads and writes.
    int* mapped = nullptr;
    CHECK(cudaHostAlloc(&mapped, 64 * sizeof(int), cudaHostAllocMapped));
    for (int i = 0; i < 64; ++i) mapped[i] = i;
    int* there = nullptr;
    CHECK(cudaHostGetDevicePointer(&there, mapped, 0));
    reverse<<<1, 64, 64 * sizeof(int)>>>(there);
    if (!std::getenv("CUDA_EMULATOR_ORDER")) EXPECT(mapped[0] == 0); // nobody has waited
    CHECK(cudaDeviceSynchronize());
    EXPECT(mapped[0] == 63);
    std::puts("all right");
    return 0;
}
