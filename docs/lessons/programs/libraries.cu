// The sum of c = k a + b, first with CUDA alone, then with the libraries that come with nvcc (CUDA Core Compute
// Libraries, CCCL): the lesson "CUDA's own libraries". It needs CUDA 12.4 or newer.
//
//     nvcc -lineinfo libraries.cu -o libraries
//     ./libraries                # all steps
//     ./libraries thrust         # one of them: raw, thrust, span, cub, barrier, pipeline
//     nsys profile ./libraries   # draws the steps as ranges over their kernels and copies (NVTX)
//
// Exit codes: 0 all sums are right, 1 one is wrong, 2 a call failed or the step does not exist.
#include <cooperative_groups.h>
#include <cub/block/block_reduce.cuh>
#include <cub/device/device_reduce.cuh>
#include <cuda/barrier>
#include <cuda/pipeline>
#include <cuda/std/mdspan>
#include <cuda/std/span>
#include <nvtx3/nvToolsExt.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/reduce.h>
#include <thrust/transform.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <vector>

// CUDA initialises barriers with init(), and not where they are declared.
#pragma nv_diag_suppress static_var_with_dynamic_init

namespace cg = cooperative_groups;

constexpr int rows = 61, columns = 499, n = rows * columns; // no multiple of a block
constexpr int threads = 256, blocks = (n + threads - 1) / threads;
constexpr float k = 2;

void check(cudaError_t code, const char* call) {
    if (code == cudaSuccess) return;
    std::fprintf(stderr, "libraries: %s: %s\n", call, cudaGetErrorString(code));
    std::exit(2);
}

// 1. raw: everything by hand.

__global__ void saxpy(const float* a, const float* b, float* c, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) c[i] = k * a[i] + b[i];
}
__global__ void sum_tree(const float* c, int count, float* sum) {
    __shared__ float x[threads];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    x[threadIdx.x] = i < count ? c[i] : 0;
    for (int half = threads / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) x[threadIdx.x] += x[threadIdx.x + half];
    }
    if (threadIdx.x == 0) atomicAdd(sum, x[0]);
}
float raw(const std::vector<float>& a, const std::vector<float>& b) {
    const std::size_t bytes = n * sizeof(float);
    float *there_a = nullptr, *there_b = nullptr, *c = nullptr, *there_sum = nullptr, sum = 0;
    check(cudaMalloc(&there_a, bytes), "cudaMalloc");
    check(cudaMalloc(&there_b, bytes), "cudaMalloc");
    check(cudaMalloc(&c, bytes), "cudaMalloc");
    check(cudaMalloc(&there_sum, sizeof(float)), "cudaMalloc");
    check(cudaMemcpy(there_a, a.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
    check(cudaMemcpy(there_b, b.data(), bytes, cudaMemcpyHostToDevice), "cudaMemcpy");
    check(cudaMemset(there_sum, 0, sizeof(float)), "cudaMemset");
    saxpy<<<blocks, threads>>>(there_a, there_b, c, n);
    sum_tree<<<blocks, threads>>>(c, n, there_sum);
    check(cudaGetLastError(), "launching");
    check(cudaMemcpy(&sum, there_sum, sizeof(float), cudaMemcpyDeviceToHost), "cudaMemcpy");
    for (float* each : {there_a, there_b, c, there_sum}) check(cudaFree(each), "cudaFree");
    return sum;
}

// 2. thrust: containers own the memory, and algorithms replace the kernels. The loop's body is a function object.

struct Saxpy {
    __host__ __device__ float operator()(float x, float y) const { return k * x + y; }
};
float with_thrust(const std::vector<float>& a, const std::vector<float>& b) {
    const thrust::device_vector<float> there_a(a.begin(), a.end()), there_b(b.begin(), b.end()); // allocates and copies
    thrust::device_vector<float> c(n);
    thrust::transform(there_a.begin(), there_a.end(), there_b.begin(), c.begin(), Saxpy{});
    return thrust::reduce(c.begin(), c.end(), 0.0f); // waits, and throws if something failed
}

// 3. span, mdspan: kernels of one's own again, but an array knows its length, and a matrix its rows and columns.

__global__ void saxpy_of_spans(cuda::std::span<const float> a, cuda::std::span<const float> b,
                               cuda::std::span<float> c) {
    const std::size_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < c.size()) c[i] = k * a[i] + b[i];
}
using Matrix = cuda::std::mdspan<const float, cuda::std::dextents<int, 2>>; // both sizes known at run time
__global__ void sum_of_columns(Matrix c, float* sum) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= c.extent(1)) return;
    float mine = 0;
    for (int row = 0; row < c.extent(0); ++row) mine += c(row, column);
    atomicAdd(sum, mine);
}
float with_spans(const std::vector<float>& a, const std::vector<float>& b) {
    const thrust::device_vector<float> there_a(a.begin(), a.end()), there_b(b.begin(), b.end());
    thrust::device_vector<float> c(n), sum(1, 0.0f);
    const auto span_of = [](auto& v) { return cuda::std::span(v.data().get(), v.size()); };
    saxpy_of_spans<<<blocks, threads>>>(span_of(there_a), span_of(there_b), span_of(c));
    const Matrix matrix(c.data().get(), rows, columns); // the same numbers: a view copies nothing
    sum_of_columns<<<(columns + threads - 1) / threads, threads>>>(matrix, sum.data().get());
    check(cudaGetLastError(), "launching");
    return sum[0]; // a copy of one number to the host, which waits
}

// 4. cub: what Thrust is made of. A block's sum is a call inside a kernel, so that c need not be stored at all. The sum
// of the blocks' sums is a call from the host: the first one asks how much scratch memory it needs.

__device__ float sum_of_block(float mine) { // in thread 0
    using Reduce = cub::BlockReduce<float, threads>;
    __shared__ Reduce::TempStorage scratch;
    return Reduce(scratch).Sum(mine);
}
__global__ void sums_of_blocks(const float* a, const float* b, int count, float* sums) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float sum = sum_of_block(i < count ? k * a[i] + b[i] : 0);
    if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}
float with_cub(const std::vector<float>& a, const std::vector<float>& b) {
    const thrust::device_vector<float> there_a(a.begin(), a.end()), there_b(b.begin(), b.end());
    thrust::device_vector<float> sums(blocks), sum(1);
    sums_of_blocks<<<blocks, threads>>>(there_a.data().get(), there_b.data().get(), n, sums.data().get());
    check(cudaGetLastError(), "launching");
    std::size_t bytes = 0;
    check(cub::DeviceReduce::Sum(nullptr, bytes, sums.data().get(), sum.data().get(), blocks), "asking for scratch");
    thrust::device_vector<unsigned char> scratch(bytes);
    check(cub::DeviceReduce::Sum(scratch.data().get(), bytes, sums.data().get(), sum.data().get(), blocks), "adding");
    return sum[0];
}

// 5. barrier: a block copies its tile to shared memory without passing it through registers, and does something else
// until the tile is there. Each thread arrives when it has asked for its part; the copy arrives when it is complete.

using Barrier = cuda::barrier<cuda::thread_scope_block>;
__global__ void sum_of_tile(const float* a, const float* b, int count, float* sum) {
    __shared__ alignas(16) float tile[2][threads];
    __shared__ Barrier there;
    const cg::thread_block block = cg::this_thread_block();
    if (block.thread_rank() == 0) init(&there, threads); // how many threads arrive
    block.sync();
    const int first = blockIdx.x * threads, size = min(threads, count - first);
    cuda::memcpy_async(block, tile[0], a + first, size * sizeof(float), there);
    cuda::memcpy_async(block, tile[1], b + first, size * sizeof(float), there);
    Barrier::arrival_token token = there.arrive();
    // Here a thread may do what does not need the tile.
    there.wait(std::move(token));
    const int i = threadIdx.x;
    const float of_block = sum_of_block(i < size ? k * tile[0][i] + tile[1][i] : 0);
    if (i == 0) atomicAdd(sum, of_block);
}

// 6. pipeline: a queue of such copies. While the block works on one tile, the next one is on its way.

__global__ void sum_of_tiles(const float* a, const float* b, int count, float* sum) {
    constexpr int stages = 2;
    __shared__ alignas(16) float tile[stages][2][threads];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, stages> state;
    const cg::thread_block block = cg::this_thread_block();
    auto pipeline = cuda::make_pipeline(block, &state);
    const int tiles = (count + threads - 1) / threads, i = threadIdx.x;
    const auto size_of = [&](int t) { return min(threads, count - t * threads); };
    const auto fetch = [&](int t, int stage) {
        pipeline.producer_acquire(); // waits until the stage is free
        if (t < tiles) {
            cuda::memcpy_async(block, tile[stage][0], a + t * threads, size_of(t) * sizeof(float), pipeline);
            cuda::memcpy_async(block, tile[stage][1], b + t * threads, size_of(t) * sizeof(float), pipeline);
        }
        pipeline.producer_commit();
    };
    float mine = 0;
    fetch(blockIdx.x, 0);
    int stage = 0;
    for (int t = blockIdx.x; t < tiles; t += gridDim.x, stage = 1 - stage) {
        fetch(t + gridDim.x, 1 - stage);
        pipeline.consumer_wait(); // until the oldest copy is complete
        if (i < size_of(t)) mine += k * tile[stage][0][i] + tile[stage][1][i];
        pipeline.consumer_release();
    }
    const float of_block = sum_of_block(mine);
    if (i == 0) atomicAdd(sum, of_block);
}
float with_kernel(const std::vector<float>& a, const std::vector<float>& b, decltype(&sum_of_tile) kernel, int grid) {
    const thrust::device_vector<float> there_a(a.begin(), a.end()), there_b(b.begin(), b.end());
    thrust::device_vector<float> sum(1, 0.0f);
    kernel<<<grid, threads>>>(there_a.data().get(), there_b.data().get(), n, sum.data().get());
    check(cudaGetLastError(), "launching");
    return sum[0];
}
float with_barrier(const std::vector<float>& a, const std::vector<float>& b) {
    return with_kernel(a, b, sum_of_tile, blocks);
}
float with_pipeline(const std::vector<float>& a, const std::vector<float>& b) {
    return with_kernel(a, b, sum_of_tiles, blocks / 4); // a few tiles for each block
}

struct Step {
    const char* name;
    float (*run)(const std::vector<float>& a, const std::vector<float>& b);
};
constexpr Step steps[] = {{"raw", raw},      {"thrust", with_thrust},   {"span", with_spans},
                          {"cub", with_cub}, {"barrier", with_barrier}, {"pipeline", with_pipeline}};

int main(int argc, char** argv) try {
    const char* const only = argc == 2 ? argv[1] : nullptr;
    // Whole numbers, and a sum below 2^24: no addition rounds, so the order does not matter, and all sums are equal.
    std::vector<float> a(n), b(n);
    double right = 0;
    for (int i = 0; i < n; ++i) {
        a[i] = i % 7;
        b[i] = i % 5;
        right += k * a[i] + b[i];
    }
    int ran = 0, wrong = 0;
    for (const Step& step : steps) {
        if (argc > 2 || (only && std::strcmp(step.name, only) != 0)) continue;
        nvtxRangePushA(step.name); // what a profiler calls the time until the pop
        const float sum = step.run(a, b);
        nvtxRangePop();
        std::printf("%-9s %.0f%s\n", step.name, sum, sum == right ? "" : " is wrong");
        wrong += sum != right;
        ++ran;
    }
    if (ran == 0) {
        std::fputs("usage: libraries [raw|thrust|span|cub|barrier|pipeline]\n", stderr);
        return 2;
    }
    std::printf("CPU       %.0f\n", right);
    return wrong > 0;
} catch (const std::exception& fault) { // Thrust throws
    std::fprintf(stderr, "libraries: %s\n", fault.what());
    return 2;
}
