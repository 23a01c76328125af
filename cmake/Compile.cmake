# How our own code is compiled: a target to link, so that nothing is global.
include_guard(GLOBAL)

add_library(gpulab_compile INTERFACE)
target_compile_options(gpulab_compile INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion>
    $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # GCC 12 warns of overlapping copies in its own std::string (GCC bug 105651).
    target_compile_options(gpulab_compile INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
if(GPULAB_WERROR)
    target_compile_options(gpulab_compile INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Werror>
                                                    $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings -Xcompiler=-Werror>)
endif()
if(GPULAB_MARCH)
    include(CheckCXXCompilerFlag)
    string(MAKE_C_IDENTIFIER GPULAB_HAS_MARCH_${GPULAB_MARCH} has)
    check_cxx_compiler_flag(-march=${GPULAB_MARCH} ${has})
    if(${has})
        # On another processor native means something else: a macro makes Ninja and ccache compile again.
        execute_process(COMMAND ${CMAKE_CXX_COMPILER} -march=${GPULAB_MARCH} -dM -E -x c++ /dev/null OUTPUT_VARIABLE meaning ERROR_QUIET)
        string(MD5 meaning "${meaning}")
        set(gpulab_march -march=${GPULAB_MARCH} -DGPULAB_MARCH_${meaning})
        target_compile_options(gpulab_compile INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:${gpulab_march}>")
    endif()
endif()
if(GPULAB_SANITIZE STREQUAL "thread")
    target_compile_options(gpulab_compile INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=thread>)
    target_link_options(gpulab_compile INTERFACE -fsanitize=thread)
elseif(GPULAB_SANITIZE)
    target_compile_options(gpulab_compile INTERFACE
        $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all>
        $<$<COMPILE_LANGUAGE:CXX>:-fno-omit-frame-pointer>)
    # An index between size and capacity is within the memory of a std::vector, and std::span knows no memory.
    target_compile_definitions(gpulab_compile INTERFACE $<$<COMPILE_LANGUAGE:CXX>:_GLIBCXX_ASSERTIONS>)
    target_link_options(gpulab_compile INTERFACE -fsanitize=address,undefined)
endif()

# C++20 on both sides. CMake 3.25 has no CUDA20, so CUDA gets the flag itself.
target_compile_features(gpulab_compile INTERFACE cxx_std_20)
if(GPULAB_WITH_CUDA)
    target_compile_options(gpulab_compile INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20 -lineinfo>)
endif()
target_compile_definitions(gpulab_compile INTERFACE
    $<$<BOOL:${GPULAB_WITH_CUDA}>:GPULAB_WITH_CUDA>
    $<$<BOOL:${GPULAB_WITH_OPENCL}>:GPULAB_WITH_OPENCL>)

# For C++ files in which nothing takes time when they run, such as tests: optimised less, they compile faster.
set(gpulab_quick $<$<CONFIG:Release>:-O1>)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    list(APPEND gpulab_quick -Wno-array-bounds -Wno-stringop-overflow) # GCC 12 takes its own std::string for too short
endif()

# For a program of which only a few functions are needed: the linker drops the others, with what they refer to.
set(gpulab_drop_unused -Wl,--gc-sections)
if(APPLE)
    set(gpulab_drop_unused -Wl,-dead_strip)
endif()

# gpulab_precompile(<target> <headers>): compiles large headers of others once, for all C++ files of the targets that get
# them with target_precompile_headers(... REUSE_FROM <target>). Each file includes what it needs nevertheless, and compiles
# without this too: -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON, as in the preset sanitize.
function(gpulab_precompile target)
    file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${target}.cpp CONTENT "" @ONLY)
    add_library(${target} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/${target}.cpp)
    target_link_libraries(${target} PRIVATE gpulab_common gpulab_compile)
    target_precompile_headers(${target} PRIVATE ${ARGN})
endfunction()
