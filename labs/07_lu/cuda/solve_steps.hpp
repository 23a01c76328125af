/// @file
/// Substitution on the device, for the rungs after cuda_solve_blocked.
#pragma once

#include <cuda_runtime_api.h>

namespace lu {

/// X = U^-1 L^-1 X with count columns, row by row (solve_blocked.cu). Puts its kernels into the stream.
void solve_in_blocks(const double* lu, double* x, int n, int count, cudaStream_t stream);

} // namespace lu
