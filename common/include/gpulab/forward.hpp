/// @file
/// Names of types that a lab's header only mentions. A file that uses one includes that type's own header.
#pragma once

namespace gpulab {

class Options;       // gpulab/options.hpp
struct StudySummary; // gpulab/options.hpp
struct Comparison;   // gpulab/compare.hpp
struct Device;       // gpulab/device.hpp
class Report;        // gpulab/report.hpp
struct Result;       // gpulab/report.hpp
struct Sequential;   // gpulab/report.hpp
struct Work;         // gpulab/report.hpp

} // namespace gpulab
