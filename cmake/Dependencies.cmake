# The libraries every lab stands on. An installed one is used; one that is absent is fetched at the version named here.
include_guard(GLOBAL)
include(FetchContent)
set(FETCHCONTENT_QUIET OFF)

# gpulab_fetch(<package> <git repository> <Debian's package> <arguments of FetchContent_Declare>): fetches a library that is
# not installed. Without network it only notes what is needed, so that all of it can be told at once.
set(GPULAB_NEEDED "")
set(GPULAB_NEEDED_PACKAGES "")
macro(gpulab_fetch package repository debian)
    string(TOLOWER ${package} gpulab_lower)
    string(TOUPPER ${package} gpulab_upper)
    set(gpulab_here FALSE)
    if(FETCHCONTENT_SOURCE_DIR_${gpulab_upper} OR EXISTS ${FETCHCONTENT_BASE_DIR}/${gpulab_lower}-src/.git)
        set(gpulab_here TRUE)
    elseif(NOT DEFINED GPULAB_NETWORK)
        find_program(GPULAB_GIT git)
        execute_process(COMMAND ${CMAKE_COMMAND} -E env GIT_TERMINAL_PROMPT=0 "${GPULAB_GIT}" ls-remote ${repository} HEAD
                        RESULT_VARIABLE gpulab_rc OUTPUT_QUIET ERROR_QUIET TIMEOUT 30)
        set(GPULAB_NETWORK FALSE)
        if(gpulab_rc EQUAL 0)
            set(GPULAB_NETWORK TRUE)
        endif()
    endif()
    if(gpulab_here OR GPULAB_NETWORK)
        message(STATUS "${package} is not installed: fetching it")
        FetchContent_Declare(${package} GIT_REPOSITORY ${repository} ${ARGN})
        FetchContent_MakeAvailable(${package})
    else()
        list(APPEND GPULAB_NEEDED ${package})
        list(APPEND GPULAB_NEEDED_PACKAGES ${debian})
    endif()
endmacro()

macro(gpulab_library package version repository tag debian)
    find_package(${package} ${version} CONFIG QUIET)
    if(NOT ${package}_FOUND)
        gpulab_fetch(${package} ${repository} ${debian} GIT_TAG ${tag} GIT_SHALLOW TRUE)
    endif()
endmacro()

set(JSON_BuildTests OFF CACHE INTERNAL "")
set(CLI11_PRECOMPILED OFF CACHE INTERNAL "")
include(${CMAKE_CURRENT_LIST_DIR}/Libraries.cmake)
find_package(Threads REQUIRED)

# stb (PNG files) is two headers without a version; one target with the folder they stand in.
find_path(GPULAB_STB_DIR stb_image_write.h PATH_SUFFIXES stb)
if(NOT GPULAB_STB_DIR)
    gpulab_fetch(stb https://github.com/nothings/stb.git libstb-dev
                 GIT_TAG 5736b15f7ea0ffb08dd38af21067c314d6a3aae9 SOURCE_SUBDIR none)
    set(GPULAB_STB_DIR ${stb_SOURCE_DIR})
endif()
add_library(gpulab_stb INTERFACE)
target_include_directories(gpulab_stb SYSTEM INTERFACE ${GPULAB_STB_DIR})

# OpenCL: the loader is the system's; the headers may be fetched.
if(GPULAB_OPENCL)
    find_package(OpenCL QUIET)
    if(OpenCL_FOUND)
        find_package(OpenCLHeaders CONFIG QUIET) # before the C++ bindings, which ask for it
        find_package(OpenCLHeadersCpp CONFIG QUIET)
        if(OpenCLHeadersCpp_FOUND)
            set(GPULAB_OPENCL_TARGETS OpenCL::OpenCL OpenCL::HeadersCpp)
        else()
            find_path(GPULAB_CLHPP_DIR CL/opencl.hpp)
            if(NOT GPULAB_CLHPP_DIR)
                gpulab_fetch(OpenCLHeadersCpp https://github.com/KhronosGroup/OpenCL-CLHPP.git opencl-clhpp-headers
                             GIT_TAG v2023.04.17 GIT_SHALLOW TRUE SOURCE_SUBDIR none)
                set(GPULAB_CLHPP_DIR ${openclheaderscpp_SOURCE_DIR}/include)
            endif()
            add_library(gpulab_clhpp INTERFACE)
            target_include_directories(gpulab_clhpp SYSTEM INTERFACE ${GPULAB_CLHPP_DIR})
            set(GPULAB_OPENCL_TARGETS OpenCL::OpenCL gpulab_clhpp)
        endif()
        set(GPULAB_WITH_OPENCL ON)
    else()
        message(STATUS "OpenCL: off, no OpenCL library was found (OpenCL variants will say so)")
        set(GPULAB_WITH_OPENCL OFF)
    endif()
endif()

if(GPULAB_NEEDED)
    list(JOIN GPULAB_NEEDED ", " libraries)
    list(JOIN GPULAB_NEEDED_PACKAGES " " packages)
    message(FATAL_ERROR " needed: ${libraries}, neither installed nor to be fetched from GitHub (no network?). On Debian and "
                        "Ubuntu: apt-get install ${packages}") # the space keeps CMake from breaking the line
endif()
