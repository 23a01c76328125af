// Who allocates, and who moves the data: one image, inverted on the GPU in eight ways that differ only in their memory.
// It needs no other file of this project, and CUDA 12.4 or newer.
//
//     nvcc memory.cu -o memory
//     ./memory            # as many bytes as the lab's image: 33177600
//     ./memory 1000000    # or as many as you say, a multiple of 4
//
// A pass begins with data that the host has written, and ends when the host has read a word of each page of the result.
// Nothing is cut into strips, so nothing overlaps.
//
// Exit codes: 0 all results are right, 1 one is wrong, 2 something failed.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

using Word = std::uint32_t; // four bytes of the image

__global__ void invert(const Word* in, Word* out, std::size_t n) {
    const std::size_t i = blockIdx.x * std::size_t{blockDim.x} + threadIdx.x;
    if (i < n) out[i] = ~in[i]; // 255 - byte for each byte
}

void check(cudaError_t code, const char* step) {
    if (code != cudaSuccess) throw std::runtime_error(std::string(step) + ": " + cudaGetErrorString(code));
}

// CUDA 13 has a type for "this device" and "the host", where CUDA 12 has a number.
#if CUDART_VERSION >= 13000
const cudaMemLocation host{cudaMemLocationTypeHost, 0}, device{cudaMemLocationTypeDevice, 0};
cudaError_t prefetch(const void* memory, std::size_t bytes, cudaMemLocation to, cudaStream_t stream) {
    return cudaMemPrefetchAsync(memory, bytes, to, 0, stream);
}
#else
const int host = cudaCpuDeviceId, device = 0;
cudaError_t prefetch(const void* memory, std::size_t bytes, int to, cudaStream_t stream) {
    return cudaMemPrefetchAsync(memory, bytes, to, stream);
}
#endif

class Image {
public:
    explicit Image(std::size_t words) : n(words), bytes(words * sizeof(Word)) {}
    const std::size_t n, bytes;

    void launch(const Word* in, Word* out, cudaStream_t stream) const {
        invert<<<static_cast<unsigned>((n + 255) / 256), 256, 0, stream>>>(in, out, n);
        check(cudaGetLastError(), "launching");
    }

    /// Times passes from `in` to `out`, which the host can access, and prints their median.
    /// @param pass returns when the result is complete
    template <class Pass> void measure(const char* name, Word* in, Word* out, const Pass& pass) {
        std::vector<double> times;
        std::size_t wrong = 0;
        for (Word run = 0; run < 12; ++run) { // the first is not counted
            for (std::size_t i = 0; i < n; ++i) in[i] = pixels(i, run);
            std::fill_n(out, n, Word{0}); // no result of an earlier pass is left
            const auto begin = std::chrono::steady_clock::now();
            pass();
            Word sum = 0;
            for (std::size_t i = 0; i < n; i += 4096 / sizeof(Word)) sum += static_cast<volatile Word*>(out)[i];
            const std::chrono::duration<double, std::milli> ms = std::chrono::steady_clock::now() - begin;
            if (run > 0) times.push_back(ms.count());
            for (std::size_t i = 0; i < n; ++i) wrong += out[i] != ~pixels(i, run);
        }
        std::sort(times.begin(), times.end());
        std::printf("%-17s %9.3f ms  %s\n", name, times[times.size() / 2], wrong == 0 ? "right" : "WRONG");
        all_right = all_right && wrong == 0;
    }
    bool all_right = true;

private:
    static Word pixels(std::size_t i, Word run) { return static_cast<Word>(i) * 2654435761u + run; }
};

void run(Image& image) {
    const std::size_t bytes = image.bytes;
    cudaStream_t stream = nullptr;
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
    Word *in = nullptr, *out = nullptr, *pinned_in = nullptr, *pinned_out = nullptr;
    check(cudaMalloc(&in, bytes), "cudaMalloc");
    check(cudaMalloc(&out, bytes), "cudaMalloc");
    check(cudaMallocHost(&pinned_in, bytes), "cudaMallocHost");
    check(cudaMallocHost(&pinned_out, bytes), "cudaMallocHost");
    const auto copy_and_invert = [&](const Word* from, Word* to) {
        check(cudaMemcpyAsync(in, from, bytes, cudaMemcpyHostToDevice, stream), "copying up");
        image.launch(in, out, stream);
        check(cudaMemcpyAsync(to, out, bytes, cudaMemcpyDeviceToHost, stream), "copying down");
    };

    // The program moves the data. First from ordinary memory, then from page-locked memory.
    std::vector<Word> ordinary_in(image.n), ordinary_out(image.n);
    image.measure("pageable", ordinary_in.data(), ordinary_out.data(), [&] {
        copy_and_invert(ordinary_in.data(), ordinary_out.data());
        check(cudaStreamSynchronize(stream), "waiting");
    });
    image.measure("page-locked", pinned_in, pinned_out, [&] {
        copy_and_invert(pinned_in, pinned_out);
        check(cudaStreamSynchronize(stream), "waiting");
    });
    check(cudaFree(in), "cudaFree");
    check(cudaFree(out), "cudaFree");

    // The same, and the pass allocates its memory on the device, too. cudaMalloc and cudaFree go to the driver each
    // time. The other two are commands of the stream, and use a pool. Whenever the host waits, the pool gives back to
    // the driver what is free beyond a threshold, which is 0 at first.
    image.measure("malloc", pinned_in, pinned_out, [&] {
        check(cudaMalloc(&in, bytes), "cudaMalloc");
        check(cudaMalloc(&out, bytes), "cudaMalloc");
        copy_and_invert(pinned_in, pinned_out);
        check(cudaStreamSynchronize(stream), "waiting");
        check(cudaFree(in), "cudaFree");
        check(cudaFree(out), "cudaFree");
    });
    const auto from_pool = [&] {
        check(cudaMallocAsync(&in, bytes, stream), "cudaMallocAsync");
        check(cudaMallocAsync(&out, bytes, stream), "cudaMallocAsync");
        copy_and_invert(pinned_in, pinned_out);
        check(cudaFreeAsync(in, stream), "cudaFreeAsync");
        check(cudaFreeAsync(out, stream), "cudaFreeAsync");
        check(cudaStreamSynchronize(stream), "waiting");
    };
    cudaMemPool_t pool = nullptr;
    check(cudaDeviceGetDefaultMemPool(&pool, 0), "looking for the pool");
    image.measure("pool", pinned_in, pinned_out, from_pool);
    std::uint64_t threshold = UINT64_MAX;
    check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold), "setting the threshold");
    image.measure("pool-kept", pinned_in, pinned_out, from_pool);
    check(cudaFreeHost(pinned_in), "cudaFreeHost");
    check(cudaFreeHost(pinned_out), "cudaFreeHost");

    // The system moves the data: one address for host and device, and a page goes to whoever touches it.
    check(cudaMallocManaged(&in, bytes), "cudaMallocManaged");
    check(cudaMallocManaged(&out, bytes), "cudaMallocManaged");
    image.measure("managed", in, out, [&] {
        image.launch(in, out, stream);
        check(cudaStreamSynchronize(stream), "waiting");
    });
    int both_at_once = 0;
    check(cudaDeviceGetAttribute(&both_at_once, cudaDevAttrConcurrentManagedAccess, 0), "asking the device");
    if (both_at_once) {
        // The pages go before they are touched. Those of `out` go up as well: the system cannot know that nobody reads
        // them.
        image.measure("managed-prefetch", in, out, [&] {
            check(prefetch(in, bytes, device, stream), "prefetching");
            check(prefetch(out, bytes, device, stream), "prefetching");
            image.launch(in, out, stream);
            check(prefetch(out, bytes, host, stream), "prefetching");
            check(cudaStreamSynchronize(stream), "waiting");
        });
        // The pages stay on the host, and the kernel reaches them across the link.
        for (Word* each : {in, out}) {
            check(cudaMemAdvise(each, bytes, cudaMemAdviseSetPreferredLocation, host), "advising");
            check(cudaMemAdvise(each, bytes, cudaMemAdviseSetAccessedBy, device), "advising");
        }
        image.measure("managed-on-host", in, out, [&] {
            image.launch(in, out, stream);
            check(cudaStreamSynchronize(stream), "waiting");
        });
    } else {
        std::puts("managed-prefetch, managed-on-host: not on this device, which moves all pages at each launch");
    }
    check(cudaFree(in), "cudaFree");
    check(cudaFree(out), "cudaFree");
    check(cudaStreamDestroy(stream), "destroying the stream");
}

int main(int argc, char** argv) try {
    const long long most = 1'000'000'000;
    char* end = nullptr;
    const long long bytes = argc > 1 ? std::strtoll(argv[1], &end, 10) : 33'177'600;
    if (argc > 2 || (end && (end == argv[1] || *end)) || bytes < 4 || bytes > most || bytes % 4)
        throw std::runtime_error("usage: memory [bytes], a multiple of 4 from 4 to " + std::to_string(most));
    cudaDeviceProp properties;
    check(cudaGetDeviceProperties(&properties, 0), "looking for a GPU");
    int pools = 0;
    check(cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, 0), "asking the device");
    if (!properties.managedMemory || !pools)
        throw std::runtime_error(std::string(properties.name) + ": no managed memory, or no pools");
    std::printf("GPU: %s; %lld bytes\n", properties.name, bytes);
    Image image(static_cast<std::size_t>(bytes) / sizeof(Word));
    run(image);
    return image.all_right ? 0 : 1;
} catch (const std::exception& e) {
    std::fprintf(stderr, "memory: %s\n", e.what());
    return 2;
}
