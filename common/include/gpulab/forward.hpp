/// @file
/// Names of types that a lab's header only mentions. A file that uses one includes that type's own header.
#pragma once

namespace gpulab {

struct Comparison; // gpulab/compare.hpp
struct Device;     // gpulab/device.hpp
struct Work;       // gpulab/report.hpp

} // namespace gpulab
