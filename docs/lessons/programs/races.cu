// Three broken kernels in CUDA, and each of them mended: the lesson "Races, barriers and the order of memory".
//
//     nvcc -lineinfo races.cu -o races
//     ./races lost                                         # or lost_mended, neighbour, ..., message_mended
//     compute-sanitizer --tool racecheck ./races neighbour # finds races in shared memory, and only there
//
// Exit codes: 0 the result is right, 1 it is wrong, 2 a call failed.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

// 1. All threads add to one number. Right: the number of threads.
__global__ void lost(unsigned* total) {
    total[0] += 1; // load, add, store: another thread may store in between
}
__global__ void lost_mended(unsigned* total) {
    atomicAdd(total, 1); // one step
}

// 2. Each thread takes the number that its neighbour has put into shared memory. Right: 1, 2, ..., 63, 0 in each block.
__global__ void neighbour(unsigned* out) {
    __shared__ unsigned x[64];
    x[threadIdx.x] = threadIdx.x;
    out[blockIdx.x * 64 + threadIdx.x] = x[(threadIdx.x + 1) % 64]; // has the neighbour stored it?
}
__global__ void neighbour_mended(unsigned* out) {
    __shared__ unsigned x[64];
    x[threadIdx.x] = threadIdx.x;
    __syncthreads(); // all threads have stored
    out[blockIdx.x * 64 + threadIdx.x] = x[(threadIdx.x + 1) % 64];
}

// 3. Each block stores a number and then announces it. The last to announce adds them all. Right: 16 blocks, 16.
__global__ void message(unsigned* sums, unsigned* announced, unsigned* total) {
    if (threadIdx.x != 0) return;
    sums[blockIdx.x] = 1;
    const unsigned before = atomicAdd(announced, 1); // atomic, but says nothing about the order of sums[...] before it
    if (before + 1 < gridDim.x) return;
    unsigned sum = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) sum += sums[b];
    total[0] = sum;
}
__global__ void message_mended(unsigned* sums, unsigned* announced, unsigned* total) {
    if (threadIdx.x != 0) return;
    sums[blockIdx.x] = 1;
    __threadfence(); // whoever sees the announcement, and has a fence after it, sees the number too
    const unsigned before = atomicAdd(announced, 1);
    if (before + 1 < gridDim.x) return;
    __threadfence(); // the other half: no load below is made before the announcement was read
    unsigned sum = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) sum += __ldcg(&sums[b]); // from the L2: L1 may be stale
    total[0] = sum;
}

void check(cudaError_t code, const char* step) {
    if (code == cudaSuccess) return;
    std::fprintf(stderr, "races: %s: %s\n", step, cudaGetErrorString(code));
    std::exit(2);
}

int main(int argc, char** argv) {
    const std::string name = argc == 2 ? argv[1] : "";
    const unsigned blocks = 16, threads = 64, count = blocks * threads; // all buffers have an element for each thread
    unsigned* buffer[3] = {};
    for (unsigned*& one : buffer) {
        check(cudaMalloc(&one, count * sizeof(unsigned)), "allocating");
        check(cudaMemset(one, 0, count * sizeof(unsigned)), "filling with zeros");
    }
    unsigned *result = buffer[0], *sums = buffer[1], *announced = buffer[2];
    if (name == "lost") {
        lost<<<blocks, threads>>>(result);
    } else if (name == "lost_mended") {
        lost_mended<<<blocks, threads>>>(result);
    } else if (name == "neighbour") {
        neighbour<<<blocks, threads>>>(result);
    } else if (name == "neighbour_mended") {
        neighbour_mended<<<blocks, threads>>>(result);
    } else if (name == "message") {
        message<<<blocks, threads>>>(sums, announced, result);
    } else if (name == "message_mended") {
        message_mended<<<blocks, threads>>>(sums, announced, result);
    } else {
        std::fputs("usage: races lost|lost_mended|neighbour|neighbour_mended|message|message_mended\n", stderr);
        return 2;
    }
    check(cudaGetLastError(), "launching");
    std::vector<unsigned> out(count);
    check(cudaMemcpy(out.data(), result, count * sizeof(unsigned), cudaMemcpyDeviceToHost), "reading the result");
    for (unsigned* one : buffer) check(cudaFree(one), "freeing");

    unsigned wrong = 0;
    if (name.rfind("neighbour", 0) == 0) {
        for (unsigned i = 0; i < count; ++i) wrong += out[i] != (i + 1) % threads;
        std::printf("%s: %u of %u elements are wrong\n", name.c_str(), wrong, count);
    } else {
        const unsigned right = name.rfind("lost", 0) == 0 ? count : blocks;
        wrong = out[0] != right;
        std::printf("%s: %u, and right is %u\n", name.c_str(), out[0], right);
    }
    return wrong > 0;
}
