/// @file
/// The studies of lab 01, and the kernels that only they use.
#pragma once

#include <cstdint>
#include <vector>

#include "gpulab/device.hpp"
#include "gpulab/forward.hpp"
#include "saxpy.hpp"

namespace saxpy {

/// The studies, for `--study list`.
std::vector<gpulab::StudySummary> study_list();

/// Runs `--op distances`: every variant on every device.
/// @return the program's exit code
int run_distances(const gpulab::Options& options, std::size_t n);

/// Study block-size: SAXPY, one thread per element, with this many threads per block.
using BlockSizeRun = void(const Problem& p, Output& c, Stopwatch& watch, unsigned threads);
BlockSizeRun cuda_block_size, opencl_block_size;

/// Study table-2-2: SAXPY, one thread per element, in blocks of 256. Timed are the copies of a and b to the device, the
/// kernel, and the copy of c back, and nothing else: (Book, table 2.2). @pre n is at least 1
Run cuda_copies_and_kernel, opencl_copies_and_kernel;

/// Study threads: SAXPY on the CPU as in cpu_blocks, with this many threads.
using ThreadsRun = void(const Problem& p, Output& c, Stopwatch& watch, unsigned threads);
ThreadsRun cpu_blocks_of;

/// Occupancy of a multiprocessor with blocks of one size: the kernel of study block-size.
struct BlockOccupancy {
    int blocks_per_sm = 0;
    int warps_per_sm = 0;
    double percent = 0;
};

/// Asks the runtime for the occupancy of the kernel of study block-size on the current CUDA device.
BlockOccupancy cuda_block_occupancy(unsigned threads);

/// Study coalescing: SAXPY in an order in which neighbouring threads touch elements `stride` apart. The array is viewed
/// as rows of `stride` elements; a block works along a column, and each element is still computed once.
using StridedRun = void(const Problem& p, Output& c, Stopwatch& watch, unsigned stride);
StridedRun cuda_strided, opencl_strided;

/// Study divergence: which threads take the first of two branches of equal length.
enum class Branch {
    even_odd,    ///< even threads take the first, odd threads the second: every warp runs both
    warp_aligned ///< the branch changes every 32 threads: each warp runs one of them
};

/// Rounds of integer mixing in each branch.
inline constexpr unsigned mixing_rounds = 256;

/// Element i after the rounds of its branch: xorshift steps (Marsaglia 2003) with the shifts right, left, right in the
/// first branch and left, right, left in the second. Both branches have the same number of operations, and a compiler
/// cannot combine them into fewer. The numbers are integers, so that every device gives exactly the same bits.
using Mixed = std::vector<std::uint32_t>;
using DivergenceRun = void(Branch branch, Mixed& out, Stopwatch& watch);
DivergenceRun cpu_divergence, cuda_divergence, opencl_divergence;

/// Study memories: where the table lies that all threads read.
enum class Memory {
    global,   ///< device memory, through the caches of ordinary loads
    constant, ///< the constant cache: 64 KiB of device memory at most
    texture,  ///< the texture path (CUDA only)
    shared    ///< shared memory (OpenCL: local), into which each block copies the table first
};

inline constexpr unsigned table_size = 256;  ///< words of the table; a power of two
inline constexpr unsigned table_reads = 256; ///< words that a thread reads, one after another

/// Study memories: element i starts with x = 0 and takes x = 5 x + table[(i * apart + r) mod table_size] for
/// r = 0, ..., table_reads - 1, modulo 2^32. At `apart` 0 all threads read the same word at a time, at 1 neighbouring
/// threads read neighbouring words. Every device gives exactly the same bits.
/// @param table table_size words
/// @throws Unsupported for Memory::texture in OpenCL
using LookUpRun = void(Memory memory, unsigned apart, const Mixed& table, Mixed& out, Stopwatch& watch);
LookUpRun cuda_look_up, opencl_look_up;

/// The reference of study memories.
void cpu_look_up(unsigned apart, const Mixed& table, Mixed& out, Stopwatch& watch);

/// One kernel in CUDA and in OpenCL; null where the back end was not built.
template <class Kernel> struct KernelOf {
    Kernel *cuda, *opencl;
    Kernel* on(const gpulab::Device& device) const { return device.backend == gpulab::Backend::cuda ? cuda : opencl; }
};

/// The kernels of the studies that vary something. A test passes others, which note what they are asked for.
struct StudyKernels {
    ThreadsRun* threads;
    KernelOf<BlockSizeRun> block_size;
    KernelOf<StridedRun> strided;
    KernelOf<DivergenceRun> divergence;
    KernelOf<LookUpRun> look_up;
};

/// Those of this lab.
StudyKernels study_kernels();

/// Runs the study that the user chose.
/// @param n the problem size, for the studies that do not sweep it
/// @return the program's exit code
int run_study(const gpulab::Options& options, std::size_t n, const StudyKernels& kernels = study_kernels());

} // namespace saxpy
