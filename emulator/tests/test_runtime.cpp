// The calls of the runtime that need no kernel: memory, streams, events, graphs, errors.
#include <catch2/catch_test_macros.hpp>
#include <cuda_runtime_api.h>
#include <string>
#include <thread>
#include <vector>

namespace {

#define SUCCEEDS(call) REQUIRE((call) == cudaSuccess)

struct Stream {
    explicit Stream(unsigned flags = cudaStreamNonBlocking) { SUCCEEDS(cudaStreamCreateWithFlags(&handle, flags)); }
    ~Stream() { cudaStreamDestroy(handle); }
    cudaStream_t handle = nullptr;
};

template <class T> struct Pinned {
    explicit Pinned(std::size_t n) { SUCCEEDS(cudaMallocHost(reinterpret_cast<void**>(&data), n * sizeof(T))); }
    ~Pinned() { cudaFreeHost(data); }
    T* data = nullptr;
};

template <class T> struct Device {
    explicit Device(std::size_t n) { SUCCEEDS(cudaMalloc(reinterpret_cast<void**>(&data), n * sizeof(T))); }
    ~Device() { cudaFree(data); }
    T* data = nullptr;
};

void CUDART_CB add_one(void* p) { ++*static_cast<int*>(p); }

} // namespace

TEST_CASE("there is one device, and its properties are its attributes") {
    int count = 0;
    SUCCEEDS(cudaGetDeviceCount(&count));
    CHECK(count == 1);
    cudaDeviceProp p{};
    SUCCEEDS(cudaGetDeviceProperties(&p, 0));
    CHECK(p.name == std::string("CUDA emulator"));
    int value = 0;
    SUCCEEDS(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
    CHECK(value == p.multiProcessorCount);
    SUCCEEDS(cudaDeviceGetAttribute(&value, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
    CHECK(value == static_cast<int>(p.sharedMemPerBlockOptin));
    CHECK(cudaSetDevice(1) == cudaErrorInvalidDevice);
    CHECK(cudaPeekAtLastError() == cudaErrorInvalidDevice);
    CHECK(cudaGetLastError() == cudaErrorInvalidDevice);
    CHECK(cudaGetLastError() == cudaSuccess);
    CHECK(cudaGetErrorName(cudaErrorInvalidDevice) == std::string("cudaErrorInvalidDevice"));
    CHECK(cudaGetErrorString(cudaErrorInvalidDevice) == std::string("invalid device ordinal"));
}

TEST_CASE("memory is there as long as it is not freed, and not beyond its end") {
    Device<int> a(10);
    std::vector<int> in{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, out(10);
    SUCCEEDS(cudaMemcpy(a.data, in.data(), 40, cudaMemcpyHostToDevice));
    SUCCEEDS(cudaMemcpy(out.data(), a.data, 40, cudaMemcpyDefault));
    CHECK(out == in);
    SUCCEEDS(cudaMemset(a.data + 1, 1, 4));
    SUCCEEDS(cudaMemcpy(out.data(), a.data, 40, cudaMemcpyDeviceToHost));
    CHECK((out[0] == 0 && out[1] == 0x01010101 && out[2] == 2));
    CHECK(cudaMemcpy(a.data + 1, in.data(), 40, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    CHECK(cudaMemset(a.data, 0, 41) == cudaErrorInvalidValue);
    CHECK(cudaMemcpy(out.data(), a.data, 40, cudaMemcpyHostToDevice) == cudaErrorInvalidValue); // the wrong way
    CHECK(cudaFree(a.data + 1) == cudaErrorInvalidValue);
    CHECK(cudaFreeHost(a.data) == cudaErrorInvalidValue);
    SUCCEEDS(cudaFree(nullptr));
    void* none = nullptr;
    CHECK(cudaMalloc(&none, std::size_t{1} << 60) == cudaErrorMemoryAllocation);
    cudaGetLastError();
    std::size_t before = 0, after = 0, total = 0;
    SUCCEEDS(cudaMemGetInfo(&before, &total));
    {
        Device<char> more(1000);
        SUCCEEDS(cudaMemGetInfo(&after, &total));
        CHECK(before - after == 1000);
    }
    SUCCEEDS(cudaMemGetInfo(&after, &total));
    CHECK(before == after);
}

TEST_CASE("rows and boxes are copied and filled with their pitch") {
    char* a = nullptr;
    std::size_t pitch = 0;
    SUCCEEDS(cudaMallocPitch(reinterpret_cast<void**>(&a), &pitch, 3, 2));
    CHECK(pitch >= 3);
    SUCCEEDS(cudaMemset2D(a, pitch, 'a', 3, 2));
    SUCCEEDS(cudaMemset2D(a + pitch + 1, pitch, 'b', 1, 1));
    std::string out(8, '.');
    SUCCEEDS(cudaMemcpy2D(out.data(), 4, a, pitch, 3, 2, cudaMemcpyDeviceToHost));
    CHECK(out == "aaa.aba.");
    CHECK(cudaMemcpy2D(out.data(), 2, a, pitch, 3, 2, cudaMemcpyDeviceToHost) == cudaErrorInvalidPitchValue);
    cudaMemcpy3DParms box{};
    box.srcPtr = {a, pitch, 3, 2};
    box.srcPos = {1, 0, 0};
    box.dstPtr = {out.data(), 2, 2, 2};
    box.extent = {2, 2, 1};
    box.kind = cudaMemcpyDeviceToHost;
    SUCCEEDS(cudaMemcpy3D(&box));
    CHECK(out.substr(0, 4) == "aaba");
    cudaFree(a);
    cudaGetLastError();
}

TEST_CASE("pointers tell what they point to") {
    Device<int> on_device(1);
    Pinned<int> pinned(1);
    int pageable = 0, *managed = nullptr;
    SUCCEEDS(cudaMallocManaged(reinterpret_cast<void**>(&managed), 4));
    const auto type = [](const void* p) {
        cudaPointerAttributes a{};
        SUCCEEDS(cudaPointerGetAttributes(&a, p));
        return a.type;
    };
    CHECK(type(on_device.data) == cudaMemoryTypeDevice);
    CHECK(type(pinned.data) == cudaMemoryTypeHost);
    CHECK(type(managed) == cudaMemoryTypeManaged);
    CHECK(type(&pageable) == cudaMemoryTypeUnregistered);
    void* there = nullptr;
    SUCCEEDS(cudaHostGetDevicePointer(&there, pinned.data, 0));
    CHECK(cudaHostGetDevicePointer(&there, &pageable, 0) == cudaErrorInvalidValue);
    cudaGetLastError();
    cudaFree(managed);
}

TEST_CASE("a result is there for those who wait, and nobody else") {
    Device<int> a(1);
    Pinned<int> in(1), out(1);
    *in.data = 7;
    *out.data = 0;
    const Stream s;
    SUCCEEDS(cudaMemcpyAsync(a.data, in.data, 4, cudaMemcpyHostToDevice, s.handle));
    *in.data = 8; // too early
    SUCCEEDS(cudaMemcpyAsync(out.data, a.data, 4, cudaMemcpyDeviceToHost, s.handle));
    CHECK(*out.data == 0);
    SUCCEEDS(cudaStreamSynchronize(s.handle));
    CHECK(*out.data == 8);
    // What lies in pageable memory is read at once.
    std::vector<int> pageable{1};
    SUCCEEDS(cudaMemcpyAsync(a.data, pageable.data(), 4, cudaMemcpyHostToDevice, s.handle));
    pageable[0] = 2;
    SUCCEEDS(cudaMemcpyAsync(pageable.data(), a.data, 4, cudaMemcpyDeviceToHost, s.handle));
    CHECK(pageable[0] == 1);
}

TEST_CASE("streams wait for events, and the legacy stream for all that do not refuse") {
    int a = 0, b = 0, c = 0;
    const Stream first, second, blocking(cudaStreamDefault);
    cudaEvent_t event = nullptr;
    SUCCEEDS(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    SUCCEEDS(cudaLaunchHostFunc(first.handle, add_one, &a));
    CHECK(cudaEventQuery(event) == cudaSuccess); // not recorded yet
    SUCCEEDS(cudaEventRecord(event, first.handle));
    SUCCEEDS(cudaLaunchHostFunc(first.handle, add_one, &b));
    SUCCEEDS(cudaStreamWaitEvent(second.handle, event, 0));
    SUCCEEDS(cudaStreamSynchronize(second.handle));
    CHECK((a == 1 && b == 0));
    SUCCEEDS(cudaLaunchHostFunc(blocking.handle, add_one, &c));
    SUCCEEDS(cudaStreamSynchronize(cudaStreamLegacy));
    CHECK((b == 0 && c == 1));
    SUCCEEDS(cudaDeviceSynchronize());
    CHECK(b == 1);
    float ms = 0;
    CHECK(cudaEventElapsedTime(&ms, event, event) == cudaErrorInvalidResourceHandle); // without times
    SUCCEEDS(cudaEventDestroy(event));
    CHECK(cudaEventRecord(event, first.handle) == cudaErrorInvalidResourceHandle);
    cudaGetLastError();
}

TEST_CASE("time goes on between two events") {
    cudaEvent_t begin = nullptr, end = nullptr;
    SUCCEEDS(cudaEventCreate(&begin));
    SUCCEEDS(cudaEventCreate(&end));
    const Stream s;
    const auto sleep = [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(5)); };
    SUCCEEDS(cudaEventRecord(begin, s.handle));
    SUCCEEDS(cudaLaunchHostFunc(s.handle, sleep, nullptr));
    SUCCEEDS(cudaEventRecord(end, s.handle));
    float ms = 0;
    CHECK(cudaEventElapsedTime(&ms, begin, end) == cudaErrorNotReady);
    CHECK(cudaGetLastError() == cudaSuccess);
    SUCCEEDS(cudaEventSynchronize(end));
    SUCCEEDS(cudaEventElapsedTime(&ms, begin, end));
    CHECK(ms >= 5);
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
}

TEST_CASE("a host that asks again and again gets there, and one that looks at memory only") {
    const Stream s;
    std::atomic<int> done = 0;
    const auto finish = [](void* p) { *static_cast<std::atomic<int>*>(p) = 1; };
    SUCCEEDS(cudaLaunchHostFunc(s.handle, finish, &done));
    cudaError_t state = cudaErrorNotReady;
    while (state == cudaErrorNotReady) state = cudaStreamQuery(s.handle);
    CHECK(state == cudaSuccess);
    CHECK(done == 1);
    done = 0;
    SUCCEEDS(cudaLaunchHostFunc(s.handle, finish, &done));
    while (done == 0) std::this_thread::yield();
    SUCCEEDS(cudaStreamSynchronize(s.handle));
}

TEST_CASE("captured streams make a graph, which runs as often as it is launched") {
    Device<int> a(4);
    Pinned<int> out(4);
    int calls = 0;
    const Stream s, side;
    cudaEvent_t fork = nullptr, join = nullptr;
    SUCCEEDS(cudaEventCreate(&fork));
    SUCCEEDS(cudaEventCreate(&join));
    cudaGraph_t graph = nullptr;
    SUCCEEDS(cudaStreamBeginCapture(s.handle, cudaStreamCaptureModeGlobal));
    SUCCEEDS(cudaMemsetAsync(a.data, 1, 16, s.handle));
    SUCCEEDS(cudaEventRecord(fork, s.handle));
    SUCCEEDS(cudaStreamWaitEvent(side.handle, fork, 0));
    SUCCEEDS(cudaLaunchHostFunc(side.handle, add_one, &calls));
    SUCCEEDS(cudaMemcpyAsync(out.data, a.data, 16, cudaMemcpyDeviceToHost, s.handle));
    CHECK(cudaStreamSynchronize(s.handle) == cudaErrorStreamCaptureUnsupported);
    SUCCEEDS(cudaEventRecord(join, side.handle));
    SUCCEEDS(cudaStreamWaitEvent(s.handle, join, 0));
    SUCCEEDS(cudaStreamEndCapture(s.handle, &graph));
    std::size_t count = 0;
    SUCCEEDS(cudaGraphGetNodes(graph, nullptr, &count));
    CHECK(count == 3);
    cudaGraphExec_t executable = nullptr;
    SUCCEEDS(cudaGraphInstantiate(&executable, graph, 0));
    SUCCEEDS(cudaDeviceSynchronize());
    CHECK(calls == 0);
    for (int i = 0; i < 3; ++i) SUCCEEDS(cudaGraphLaunch(executable, s.handle));
    CHECK(calls == 0);
    SUCCEEDS(cudaStreamSynchronize(s.handle));
    CHECK(calls == 3);
    CHECK(out.data[3] == 0x01010101);
    // Another value in the same graph.
    std::vector<cudaGraphNode_t> nodes(count);
    SUCCEEDS(cudaGraphGetNodes(graph, nodes.data(), &count));
    cudaMemsetParams fill{};
    SUCCEEDS(cudaGraphMemsetNodeGetParams(nodes[0], &fill));
    CHECK(fill.elementSize * fill.width == 16);
    fill.value = 2;
    SUCCEEDS(cudaGraphExecMemsetNodeSetParams(executable, nodes[0], &fill));
    SUCCEEDS(cudaGraphLaunch(executable, s.handle));
    SUCCEEDS(cudaStreamSynchronize(s.handle));
    CHECK(out.data[3] == 0x02020202);
    cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
    cudaEventDestroy(fork);
    cudaEventDestroy(join);
    cudaGetLastError();
}

TEST_CASE("a stream that does not come back spoils a capture") {
    const Stream s, side;
    int calls = 0;
    cudaEvent_t fork = nullptr;
    SUCCEEDS(cudaEventCreate(&fork));
    cudaGraph_t graph = nullptr;
    SUCCEEDS(cudaStreamBeginCapture(s.handle, cudaStreamCaptureModeGlobal));
    SUCCEEDS(cudaEventRecord(fork, s.handle));
    SUCCEEDS(cudaStreamWaitEvent(side.handle, fork, 0));
    SUCCEEDS(cudaLaunchHostFunc(side.handle, add_one, &calls));
    CHECK(cudaStreamEndCapture(s.handle, &graph) == cudaErrorStreamCaptureUnjoined);
    CHECK(graph == nullptr);
    cudaEventDestroy(fork);
    cudaGetLastError();
}

TEST_CASE("memory in the order of a stream is freed when the stream gets there") {
    const Stream s;
    std::size_t before = 0, after = 0, total = 0;
    SUCCEEDS(cudaMemGetInfo(&before, &total));
    void* a = nullptr;
    SUCCEEDS(cudaMallocAsync(&a, 4096, s.handle));
    SUCCEEDS(cudaFreeAsync(a, s.handle));
    SUCCEEDS(cudaMemGetInfo(&after, &total));
    CHECK(before - after == 4096);
    SUCCEEDS(cudaStreamSynchronize(s.handle));
    SUCCEEDS(cudaMemGetInfo(&after, &total));
    CHECK(before == after);
}

TEST_CASE("a pool keeps its threshold") {
    cudaMemPool_t pool = nullptr;
    SUCCEEDS(cudaDeviceGetDefaultMemPool(&pool, 0));
    std::uint64_t threshold = 1 << 20, kept = 0;
    SUCCEEDS(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    SUCCEEDS(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept));
    CHECK(kept == threshold);
    CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &kept) == cudaErrorNotSupported);
    cudaGetLastError();
}

TEST_CASE("only managed memory can be prefetched or advised on, and only what there is of it") {
#if CUDART_VERSION < 13000
    const auto prefetch = [](const void* p, std::size_t bytes) { return cudaMemPrefetchAsync(p, bytes, 0, nullptr); };
    const int device = 0;
#else
    const cudaMemLocation device{cudaMemLocationTypeDevice, 0};
    const auto prefetch = [&](const void* p, std::size_t bytes) {
        return cudaMemPrefetchAsync(p, bytes, device, 0, nullptr);
    };
#endif
    const auto advise = [&](const void* p, std::size_t bytes) {
        return cudaMemAdvise(p, bytes, cudaMemAdviseSetReadMostly, device);
    };
    const Device<int> on_device(4);
    int pageable = 0, *managed = nullptr, both = 0;
    SUCCEEDS(cudaDeviceGetAttribute(&both, cudaDevAttrConcurrentManagedAccess, 0));
    CHECK(both == 1);
    SUCCEEDS(cudaMallocManaged(reinterpret_cast<void**>(&managed), 16));
    managed[3] = 7;
    SUCCEEDS(prefetch(managed, 16));
    SUCCEEDS(advise(managed + 1, 12));
    CHECK(managed[3] == 7);
    for (const void* other : {static_cast<const void*>(on_device.data), static_cast<const void*>(&pageable)}) {
        CHECK(prefetch(other, 4) == cudaErrorInvalidValue);
        CHECK(advise(other, 4) == cudaErrorInvalidValue);
    }
    CHECK(prefetch(managed + 1, 16) == cudaErrorInvalidValue);
    cudaGetLastError();
    cudaFree(managed);
}

TEST_CASE("a call that is not there fails, and says so") {
    cudaArray_t array = nullptr;
    const cudaChannelFormatDesc format = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
    CHECK(cudaMallocArray(&array, &format, 4, 4, 0) == cudaErrorNotSupported);
}
