/// @file
/// OpenCL's official C++ bindings. One place decides the version of the API: programs here use OpenCL 1.2, which every
/// vendor supports.
#pragma once

#define CL_HPP_TARGET_OPENCL_VERSION 120
#define CL_HPP_MINIMUM_OPENCL_VERSION 120
#define CL_TARGET_OPENCL_VERSION 120
#define CL_HPP_ENABLE_EXCEPTIONS
#include <CL/opencl.hpp>
