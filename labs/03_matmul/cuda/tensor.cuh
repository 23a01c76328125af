/// @file
/// What the rungs on tensor cores of compute capability 9.0 are made of: copies of whole tiles, and products of a
/// warpgroup. (NVIDIA, PTX ISA: cp.async.bulk.tensor, wgmma)
///
/// These instructions exist on that compute capability only, in code compiled for sm_90a: see the lab's CMakeLists.txt.
#pragma once

#include <cstdint>
#include <cuda.h> // types only: nothing of the driver's library is linked

#include "gpulab/cuda/check.hpp"
#include "gpulab/error.hpp"
#if defined(__CUDACC__)
#include "gpulab/cuda/barrier.cuh"
#endif

// Kernels have a body only where their instructions exist.
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
#define MATMUL_WGMMA 1
#endif

namespace matmul {

/// Bytes in a row of a tile in shared memory. Eight rows are a square of 8 x 8 pieces of 16 bytes. The copy permutes
/// the pieces of each row (128-byte swizzle): piece p of row r lies in place p ^ (r % 8). So a row of pieces covers all
/// 32 banks once, and so does a column.
inline constexpr int tile_row_bytes = 128;

/// @throws gpulab::Unsupported unless the current device has these instructions
inline void require_wgmma() {
    int device = 0, major = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    if (major != 9) throw gpulab::Unsupported("needs compute capability 9.0: other devices do not have wgmma");
}

/// Describes a matrix in device memory, stored by rows, to the copies of tiles. What a tile has outside the matrix is
/// read as 0.
/// @param matrix its first element @param rows of the matrix @param columns of the matrix
/// @param pitch elements from row to row, at least columns; a multiple of 16 bytes
/// @param tile_rows rows of a tile; each has tile_row_bytes
/// @pre rows, columns > 0; the address is a multiple of 16
template <class T>
CUtensorMap describe(const T* matrix, std::size_t rows, std::size_t columns, std::size_t pitch, unsigned tile_rows) {
    // The function is the driver's. The runtime knows where it is, so that the program also starts without a driver.
    void* encode = nullptr;
    cudaDriverEntryPointQueryResult found{};
#if CUDART_VERSION >= 12050
    CUDA_CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &encode, 12000, cudaEnableDefault, &found));
#else
    CUDA_CHECK(cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &encode, cudaEnableDefault, &found));
#endif
    if (found != cudaDriverEntryPointSuccess) throw gpulab::Unsupported("needs a driver for CUDA 12");
    CUtensorMap map;
    const cuuint64_t sizes[] = {columns, rows}, pitches[] = {pitch * sizeof(T)};
    const cuuint32_t tile[] = {tile_row_bytes / sizeof(T), tile_rows}, steps[] = {1, 1};
    const CUresult result = reinterpret_cast<decltype(&cuTensorMapEncodeTiled)>(encode)(
        &map, sizeof(T) == 2 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2,
        const_cast<T*>(matrix), sizes, pitches, tile, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
        CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (result != CUDA_SUCCESS) throw gpulab::Error("cuTensorMapEncodeTiled: error " + std::to_string(result));
    return map;
}

#if defined(__CUDACC__)

using gpulab::Barrier;
using gpulab::publish_to_units;
using gpulab::shared_address;

/// One thread starts the copy of a whole tile to shared memory; a unit beside the threads does it (TMA, the tensor
/// memory accelerator). Its bytes arrive at the barrier. @param to an address that is a multiple of 1024: the
/// permutation of the pieces repeats every 1024 bytes
__device__ inline void copy_tile(void* to, const CUtensorMap& matrix, int row, int column, Barrier& barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];" ::"r"(shared_address(to)),
                 "l"(&matrix), "r"(column), "r"(row), "r"(shared_address(&barrier.state))
                 : "memory");
}

/// All warps of a warpgroup leave registers to the others, or take them. A thread then has `count` registers. The
/// registers of a block stay those of its launch (168 for each of 384 threads): a warpgroup that takes more than the
/// others have left waits for ever.
template <int count> __device__ void leave_registers() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}
template <int count> __device__ void take_registers() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}

/// Describes a tile in shared memory to a product.
/// @param eight_rows bytes from eight rows of the tile to the next eight
/// @param next_tile where the operand is wider than a row: bytes to the tile on its right
__device__ inline std::uint64_t operand(const void* tile, int eight_rows = 8 * tile_row_bytes, int next_tile = 16) {
    constexpr std::uint64_t exchanged_in_128_bytes = std::uint64_t{1} << 62;
    return shared_address(tile) >> 4 | std::uint64_t(next_tile >> 4) << 16 | std::uint64_t(eight_rows >> 4) << 32 |
           exchanged_in_128_bytes;
}

/// Before the first product: the registers are as the thread left them.
__device__ inline void begin_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
/// Closes a group: the products that this warpgroup started since the last call belong together.
__device__ inline void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
/// Waits until at most `pending` groups of products are under way. The empty asm statements name each sum, so that the
/// compiler moves no use of a sum before the wait.
template <int pending, int n> __device__ void wait_for_products(float (&sum)[n]) {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(pending) : "memory");
#pragma unroll
    for (int i = 0; i < n; ++i) asm volatile("" : "+f"(sum[i])::"memory");
}

// A product names every register of its sum as an operand. These macros write them out: %0 ... %127.
#define MATMUL_SUM_8(i)                                                                                     \
    "+f"(sum[i]), "+f"(sum[i + 1]), "+f"(sum[i + 2]), "+f"(sum[i + 3]), "+f"(sum[i + 4]), "+f"(sum[i + 5]), \
        "+f"(sum[i + 6]), "+f"(sum[i + 7])
#define MATMUL_SUM_32(i) MATMUL_SUM_8(i), MATMUL_SUM_8(i + 8), MATMUL_SUM_8(i + 16), MATMUL_SUM_8(i + 24)
#define MATMUL_10(t) \
    "%" #t "0, %" #t "1, %" #t "2, %" #t "3, %" #t "4, %" #t "5, %" #t "6, %" #t "7, %" #t "8, %" #t "9, "
#define MATMUL_0_TO_29 MATMUL_10() MATMUL_10(1) MATMUL_10(2)
#define MATMUL_0_TO_79 MATMUL_0_TO_29 MATMUL_10(3) MATMUL_10(4) MATMUL_10(5) MATMUL_10(6) MATMUL_10(7)

/// sum (64 x 256) += A (64 x 16, K along its rows) B (16 x 256, N along its rows) in BF16, both in shared memory.
/// Asynchronous: see begin_products().
__device__ inline void multiply_bf16(float (&sum)[128], std::uint64_t a, std::uint64_t b) {
    asm volatile(
        "{\n.reg .pred add;\nsetp.eq.b32 add, 0, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {" MATMUL_0_TO_79 MATMUL_10(8) MATMUL_10(9) MATMUL_10(10)
            MATMUL_10(11) "%120, %121, %122, %123, %124, %125, %126, %127}, %128, %129, add, 1, 1, 0, 1;\n}"
        : MATMUL_SUM_32(0), MATMUL_SUM_32(32), MATMUL_SUM_32(64), MATMUL_SUM_32(96)
        : "l"(a), "l"(b));
}

/// The same for 64 x 64.
__device__ inline void multiply_bf16(float (&sum)[32], std::uint64_t a, std::uint64_t b) {
    asm volatile("{\n.reg .pred add;\nsetp.eq.b32 add, 0, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" MATMUL_0_TO_29
                 "%30, %31}, %32, %33, add, 1, 1, 0, 1;\n}"
                 : MATMUL_SUM_32(0)
                 : "l"(a), "l"(b));
}

/// sum (64 x 256) += A (64 x 8) B (8 x 256) in TF32: A in registers, B in shared memory with K along its rows.
__device__ inline void multiply_tf32(float (&sum)[128], const unsigned (&a)[4], std::uint64_t b) {
    asm volatile(
        "{\n.reg .pred add;\nsetp.eq.b32 add, 0, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n256k8.f32.tf32.tf32 {" MATMUL_0_TO_79 MATMUL_10(8) MATMUL_10(9) MATMUL_10(10)
            MATMUL_10(11) "%120, %121, %122, %123, %124, %125, %126, %127}, {%128, %129, %130, %131}, %132, "
                          "add, 1, 1;\n}"
        : MATMUL_SUM_32(0), MATMUL_SUM_32(32), MATMUL_SUM_32(64), MATMUL_SUM_32(96)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

/// The same for 64 x 64.
__device__ inline void multiply_tf32(float (&sum)[32], const unsigned (&a)[4], std::uint64_t b) {
    asm volatile("{\n.reg .pred add;\nsetp.eq.b32 add, 0, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n64k8.f32.tf32.tf32 {" MATMUL_0_TO_29
                 "%30, %31}, {%32, %33, %34, %35}, %36, add, 1, 1;\n}"
                 : MATMUL_SUM_32(0)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

/// The same for 64 x 176. @param add 0: sum = A B, whatever it was
__device__ inline void multiply_tf32(float (&sum)[88], const unsigned (&a)[4], std::uint64_t b, int add) {
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %93, 0;\n"
                 "wgmma.mma_async.sync.aligned.m64n176k8.f32.tf32.tf32 {" MATMUL_0_TO_79
                 "%80, %81, %82, %83, %84, %85, %86, %87}, {%88, %89, %90, %91}, %92, add, 1, 1;\n}"
                 : MATMUL_SUM_32(0), MATMUL_SUM_32(32), MATMUL_SUM_8(64), MATMUL_SUM_8(72), MATMUL_SUM_8(80)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add));
}

#undef MATMUL_SUM_8
#undef MATMUL_SUM_32
#undef MATMUL_10
#undef MATMUL_0_TO_29
#undef MATMUL_0_TO_79

#endif // __CUDACC__

} // namespace matmul
