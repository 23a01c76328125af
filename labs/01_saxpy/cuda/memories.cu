// The kernels of study memories: all threads read one small table, which lies in global, constant, texture or shared
// memory. (Alfaro Vigo & Rossetto, section 2.3.5)
//
// `__constant__` declares up to 64 KiB of device memory that kernels only read, through a cache of its own. That cache
// serves one address at a time: where the lanes of a warp read different words, it takes one access for each of them.
// A texture is an object that the host creates around device memory; tex1Dfetch reads an element of it. `__ldg` is an
// ordinary load of data that no thread writes while the kernel runs.
#include "gpulab/cuda/timing.hpp"
#include "studies.hpp"

namespace saxpy {

namespace {

/// Constant memory: a variable of the whole program, to which the host copies.
__constant__ std::uint32_t constant_table[table_size];

/// What one thread computes. @param read `read(j)` gives word j of the table
template <class Read> __device__ std::uint32_t look_up(std::size_t i, unsigned apart, const Read& read) {
    const auto first = static_cast<std::uint32_t>(i) * apart;
    std::uint32_t x = 0;
#pragma unroll 16 // the same for all memories: the compiler would choose by the kind of load
    for (unsigned r = 0; r < table_reads; ++r) x = 5 * x + read((first + r) % table_size);
    return x;
}

__device__ std::size_t element() { return blockIdx.x * std::size_t{blockDim.x} + threadIdx.x; }

__global__ void global_kernel(const std::uint32_t* table, unsigned apart, std::uint32_t* out, std::size_t n) {
    const std::size_t i = element();
    if (i < n) out[i] = look_up(i, apart, [=](unsigned j) { return __ldg(table + j); });
}

__global__ void constant_kernel(unsigned apart, std::uint32_t* out, std::size_t n) {
    const std::size_t i = element();
    if (i < n) out[i] = look_up(i, apart, [](unsigned j) { return constant_table[j]; });
}

__global__ void texture_kernel(cudaTextureObject_t table, unsigned apart, std::uint32_t* out, std::size_t n) {
    const std::size_t i = element();
    if (i < n)
        out[i] = look_up(i, apart, [=](unsigned j) { return tex1Dfetch<std::uint32_t>(table, static_cast<int>(j)); });
}

__global__ void shared_kernel(const std::uint32_t* table, unsigned apart, std::uint32_t* out, std::size_t n) {
    __shared__ std::uint32_t copy[table_size];
    for (unsigned j = threadIdx.x; j < table_size; j += blockDim.x) copy[j] = table[j];
    __syncthreads(); // the copy is complete
    const std::size_t i = element();
    if (i < n) out[i] = look_up(i, apart, [&](unsigned j) { return copy[j]; });
}

/// A texture object around words in device memory, which must outlive it.
class Texture {
public:
    explicit Texture(const gpulab::DeviceBuffer<std::uint32_t>& words) {
        cudaResourceDesc memory = {};
        memory.resType = cudaResourceTypeLinear;
        memory.res.linear.devPtr = const_cast<std::uint32_t*>(words.data()); // the type has no const; it is only read
        memory.res.linear.desc = cudaCreateChannelDesc<std::uint32_t>();
        memory.res.linear.sizeInBytes = words.bytes();
        cudaTextureDesc as = {};
        as.readMode = cudaReadModeElementType; // as they are, not converted to floats between 0 and 1
        CUDA_CHECK(cudaCreateTextureObject(&texture_, &memory, &as, nullptr));
    }
    ~Texture() { cudaDestroyTextureObject(texture_); }
    Texture(const Texture&) = delete;
    Texture& operator=(const Texture&) = delete;

    cudaTextureObject_t get() const { return texture_; }

private:
    cudaTextureObject_t texture_ = 0;
};

} // namespace

void cuda_look_up(Memory memory, unsigned apart, const Mixed& table, Mixed& out, Stopwatch& watch) {
    const gpulab::DeviceBuffer<std::uint32_t> words(table);
    const Texture texture(words);
    CUDA_CHECK(cudaMemcpyToSymbol(constant_table, table.data(), words.bytes()));
    CUDA_CHECK(cudaDeviceSynchronize()); // a small copy may return early, and the kernel runs in another stream
    gpulab::DeviceBuffer<std::uint32_t> result(out.size());
    constexpr unsigned threads = 256;
    const unsigned blocks = gpulab::grid_size(out.size(), threads);
    const std::size_t n = out.size();
    const auto launch = [&](cudaStream_t stream) {
        switch (memory) {
        case Memory::global:
            global_kernel<<<blocks, threads, 0, stream>>>(words.data(), apart, result.data(), n);
            break;
        case Memory::constant: constant_kernel<<<blocks, threads, 0, stream>>>(apart, result.data(), n); break;
        case Memory::texture:
            texture_kernel<<<blocks, threads, 0, stream>>>(texture.get(), apart, result.data(), n);
            break;
        case Memory::shared:
            shared_kernel<<<blocks, threads, 0, stream>>>(words.data(), apart, result.data(), n);
            break;
        }
    };
    gpulab::watch_stream(watch, launch, gpulab::poisoning(result));
    result.copy_to(out);
}

} // namespace saxpy
