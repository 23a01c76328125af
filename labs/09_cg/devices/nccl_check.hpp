/// @file
/// NCCL's calls, checked.
#pragma once

#include <nccl.h>
#include <string>

#include "gpulab/error.hpp"

namespace cg {

inline void nccl_check(ncclResult_t result, const char* call, const char* file, int line) {
    if (result == ncclSuccess) return;
    std::string detail = ncclGetLastError(nullptr); // "" where NCCL has no more to say
    for (char& c : detail)
        if (c == '\n') c = ' ';
    throw gpulab::Error(std::string(call) + ": " + ncclGetErrorString(result) + (detail.empty() ? "" : ": ") + detail +
                        " (" + file + ":" + std::to_string(line) + "); --link host does without NCCL");
}
/// Throws gpulab::Error unless the NCCL call succeeds. The message names call, file and line.
#define NCCL_CHECK(call) nccl_check((call), #call, __FILE__, __LINE__)

} // namespace cg
