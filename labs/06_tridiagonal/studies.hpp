/// @file
/// The studies of lab 06.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gpulab/options.hpp"
#include "gpulab/report.hpp"
#include "tridiagonal.hpp"

namespace tridiagonal {

/// For `--study list`.
std::vector<gpulab::StudySummary> study_list();

/// Study book-launch: CR as the book launches it: n / 2 threads and 5 n numbers of shared memory for each system. (Book
/// 3.4 and 3.5)
template <class T> Run<T> cuda_book_cr;
template <class T> Run<T> opencl_book_cr; ///< as cuda_book_cr

/// cuda_partition, which tries overlapping windows for systems of any size: so a test can have small ones.
template <class T> Run<T> cuda_partition_windows;

/// How far a study goes.
struct Sweep {
    std::size_t n;       ///< most unknowns, where the user gave --n
    std::size_t systems; ///< most systems, where the user gave --systems
    std::string matrix;  ///< kind of matrix
    std::string type;    ///< for the report
};

/// Runs the study the user chose.
/// @return the program's exit code
template <class T> int run_study(const gpulab::Options& options, const Sweep& sweep);

/// Bytes that a run takes at its peak.
struct MemoryNeed {
    double device = 0; ///< five arrays, five more for their transposition, and c' of Thomas
    double host = 0;   ///< the problem, an output, the reference with its scratch arrays, one transposed problem
};
/// @param equations of all systems together
template <class T> MemoryNeed memory_need(std::size_t equations, std::size_t systems);

} // namespace tridiagonal
