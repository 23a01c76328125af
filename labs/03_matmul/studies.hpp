/// @file
/// The studies of lab 03, and what studies and single runs share.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gpulab/forward.hpp"
#include "matmul.hpp"

namespace matmul {

/// For `--study list`.
std::vector<gpulab::StudySummary> study_list();

/// Runs the study the user chose.
/// @param n the size of the study `tile`: its matrices are n x n; of `growth`: the largest, where the user gave --n
/// @return the program's exit code
template <class T> int run_study(const gpulab::Options& options, std::size_t n);

/// The elements of A, B and C together in the largest product of a study; 0 for `growth`, which looks itself.
double max_elements(const std::string& study, std::size_t n);

/// Why a variant is left out on a device that computes on the CPU: the product would take too long. Empty when it would
/// not, and when the user asked for the variant by name.
template <class T>
std::string too_slow(const gpulab::Options& options, std::string_view variant, const gpulab::Device& device,
                     const Problem<T>& p);

/// cpu_ijk, to which speed-ups refer, and its median time; not measured when the product would take too long.
template <class T> gpulab::Sequential sequential(const Problem<T>& p);

/// A tile of the study `tile`: a block computes rows x columns of C, one element per thread, from tiles of A and B with
/// `depth` columns and rows.
struct Tile {
    unsigned rows = 16;
    unsigned columns = 16;
    unsigned depth = 16;
};

/// cuda_shared_dynamic with any tile whose rows times columns are at most 1024.
/// @throws gpulab::Unsupported for a tile that the device has no room for
template <class T> void cuda_tile(const Problem<T>& p, Output<T>& c, Stopwatch& watch, Tile tile);

/// cuda_shared_static with a square tile of 8, 16 or 32, its size known when it is compiled.
/// @throws gpulab::Unsupported for any other tile
template <class T> void cuda_static_tile(const Problem<T>& p, Output<T>& c, Stopwatch& watch, Tile tile);

/// cuda_tensor_bf16 and cuda_tensor_tf32 with their large tiles whatever the shape: so a test can have small products.
void cuda_tensor_bf16_large(const Problem<float>& p, Output<float>& c, Stopwatch& watch);
void cuda_tensor_tf32_large(const Problem<float>& p, Output<float>& c, Stopwatch& watch);

/// What the compiler and the runtime say of a kernel of the study `registers`.
struct Registers {
    int per_thread = 0;    ///< registers
    int local_bytes = 0;   ///< bytes of local memory per thread, to which registers were spilled
    int blocks_per_sm = 0; ///< that fit on a multiprocessor of the current device
    double occupancy_percent = 0;
};

/// cuda_register_2d, compiled so that a multiprocessor can hold `resident` blocks of 256 threads. (Alfaro Vigo &
/// Rossetto, section 2.3.6) @param resident 1 to 4
/// @throws gpulab::Unsupported for another number
void cuda_resident(const Problem<float>& p, Output<float>& c, Stopwatch& watch, int resident);

/// Asks about the kernel that cuda_resident() launches. @throws as it does
Registers cuda_registers(int resident);

} // namespace matmul
