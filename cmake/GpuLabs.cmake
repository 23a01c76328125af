# Everything a lab needs from the build. The root includes it, and so does each lab when it is built alone.
include_guard(GLOBAL)

option(GPULAB_CUDA "Build the CUDA variants when a CUDA compiler is found" ON)
option(GPULAB_OPENCL "Build the OpenCL variants when an OpenCL library is found" ON)
set(GPULAB_HAS_TESTS OFF) # a hand-out and an autograder come without them
if(EXISTS ${CMAKE_CURRENT_LIST_DIR}/../tests/CMakeLists.txt)
    set(GPULAB_HAS_TESTS ON)
endif()
option(GPULAB_TESTS "Build the tests" ${GPULAB_HAS_TESTS})
option(GPULAB_WERROR "Treat warnings as errors" OFF)
set(GPULAB_MARCH native CACHE STRING "Compile CPU code for this processor: native, a level such as x86-64-v3, or nothing for any")
set(GPULAB_SANITIZE OFF CACHE STRING "ON: the address and undefined-behaviour sanitizers; thread: that for data races")

set(GPULAB_ROOT ${CMAKE_CURRENT_LIST_DIR}/..)
get_filename_component(GPULAB_ROOT ${GPULAB_ROOT} ABSOLUTE)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(GPULAB_TESTS)
    enable_testing()
endif()

include(${CMAKE_CURRENT_LIST_DIR}/Cuda.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/Dependencies.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/CpuLibraries.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/Compile.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/AddLab.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/AddLabTest.cmake)

if(GPULAB_WITH_CUDA AND CMAKE_SYSTEM_NAME STREQUAL Linux AND NOT TARGET cuda_emulator
   AND EXISTS ${GPULAB_ROOT}/emulator)
    add_subdirectory(${GPULAB_ROOT}/emulator ${CMAKE_BINARY_DIR}/cuda_emulator) # runs CUDA without a GPU
endif()
if(NOT TARGET gpulab_common)
    add_subdirectory(${GPULAB_ROOT}/common ${CMAKE_BINARY_DIR}/common)
    if(GPULAB_WITH_OPENCL)
        gpulab_precompile(gpulab_opencl_api <gpulab/opencl/api.hpp>)
    endif()
endif()
include(${CMAKE_CURRENT_LIST_DIR}/AddExercises.cmake)
