# gpulab_without_other_gcc(<variable> <folder>...): takes out of a list of link folders those of a GCC that are not among
# the folders given, which are the C++ compiler's.
#
# A distribution's CUDA may bring a host compiler older than the C++ compiler: Debian 13 has nvcc 12.4 with g++ 13, beside
# g++ 14. CMake puts the link folders of CUDA before those of C++, so the older libstdc++ would be linked, in which symbols
# are missing that the objects of the newer compiler need.
include_guard(GLOBAL)

function(gpulab_without_other_gcc variable)
    set(kept "")
    foreach(folder IN LISTS ${variable})
        if(NOT folder MATCHES "/gcc/" OR folder IN_LIST ARGN)
            list(APPEND kept "${folder}")
        endif()
    endforeach()
    set(${variable} "${kept}" PARENT_SCOPE)
endfunction()
