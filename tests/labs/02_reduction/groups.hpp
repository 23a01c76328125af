/// @file
/// Another number of work-groups than the device calls for.
#pragma once

#include <cstddef>

#if defined(GPULAB_WITH_OPENCL)
#include "opencl/launch.hpp"
#else
namespace reduction {
inline std::size_t groups_override = 0; // no rung reads it
}
#endif

namespace reduction::testing {

/// Work-groups that every OpenCL rung starts while this object lives.
class Groups {
public:
    explicit Groups(std::size_t groups) { groups_override = groups; }
    ~Groups() { groups_override = 0; }
    Groups(const Groups&) = delete;
    Groups& operator=(const Groups&) = delete;
};

} // namespace reduction::testing
