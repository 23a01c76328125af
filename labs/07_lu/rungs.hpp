/// @file
/// The rungs, one line each, for the tables and the tests. Each rung is described in the file that defines it.
#pragma once

#include "lu.hpp"
#include "solve.hpp"

namespace lu {

// P A = L U
Run cpu_right_looking, cpu_right_looking_pivot;
Run cpu_two_stage, cpu_two_stage_pivot;
Run cpu_blocked, cpu_blocked_pivot;
Run cpu_threads, cpu_threads_pivot;
Run opencl_two_kernels;
Run opencl_columns_pivot;
Run opencl_blocked_pivot;
Run cuda_two_kernels_16, cuda_two_kernels_32;
Run cuda_coalesced;
Run cuda_tile_rows, cuda_tile_columns;
Run cuda_columns_pivot;
Run cuda_blocked_pivot;
Run cuda_tensor_pivot;
Run cuda_cluster_pivot;
Run cuda_look_ahead_pivot;
Run cuda_critical_path_pivot;
Run cuda_cusolver, cuda_cusolver_pivot;

// A X = B
SolveRun cpu_solve_rows;
SolveRun cpu_solve_blocked;
SolveRun cpu_solve_refined;
SolveRun opencl_solve_blocked;
SolveRun cuda_solve_blocked;
SolveRun cuda_solve_refined;
SolveRun cuda_solve_cusolver;

} // namespace lu
