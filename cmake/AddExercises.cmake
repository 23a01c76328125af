# add_judge(), add_worker(): the programs that judge a lab's exercises. labs/NN_name/exercises/CMakeLists.txt calls them.
#
# The judge makes problems and compares answers. A worker runs one rung, which may be a student's. Neither is part of the
# lab's program.
include_guard(GLOBAL)

add_library(gpulab_grading STATIC ${GPULAB_ROOT}/common/src/grading/worker.cpp)
target_link_libraries(gpulab_grading PUBLIC gpulab_common PRIVATE gpulab_compile)
add_library(gpulab_judging STATIC ${GPULAB_ROOT}/common/src/grading/judge.cpp)
target_link_libraries(gpulab_judging PUBLIC gpulab_common nlohmann_json::nlohmann_json PRIVATE gpulab_compile)

# How a submission in CUDA is found out that computes on the CPU: see docs/grading.md. Both lie where the programs lie,
# because the judge looks for them there.
if(GPULAB_WITH_CUDA)
    add_library(gpulab_no_launches STATIC ${GPULAB_ROOT}/common/src/grading/no_launches.cpp)
    target_link_libraries(gpulab_no_launches PRIVATE gpulab_compile)
    set_target_properties(gpulab_no_launches PROPERTIES ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
    if(TARGET CUDA::cupti)
        add_library(gpulab_launches SHARED ${GPULAB_ROOT}/common/src/grading/launches.cpp)
        target_link_libraries(gpulab_launches PRIVATE CUDA::cupti Threads::Threads gpulab_compile)
        set_target_properties(gpulab_launches PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
    else()
        message(STATUS "CUPTI: not found (grading will say that kernel launches were not counted)")
    endif()
endif()

# add_judge(<lab> [FOLDERS <further include folders>]): judge_<lab>, from judge.cpp beside the calling CMakeLists.txt.
function(add_judge lab)
    cmake_parse_arguments(JUDGE "" "" "FOLDERS" ${ARGN})
    add_executable(judge_${lab} judge.cpp)
    target_include_directories(judge_${lab} PRIVATE ${JUDGE_FOLDERS})
    target_link_libraries(judge_${lab} PRIVATE ${lab}_lab gpulab_judging gpulab_compile)
    foreach(library gpulab_no_launches gpulab_launches)
        if(TARGET ${library})
            add_dependencies(judge_${lab} ${library})
        endif()
    endforeach()
endfunction()

# add_worker(<lab> <rung> TASK <type of tasks.hpp> [TYPES <element types>] SOURCE <file>
#            [KERNELS <.cl files>] [EMBEDDED] [HELPERS <files of the lab that the rung needs>])
#
# worker_<lab>_<rung>. All files are relative to the lab. The kernels of an OpenCL rung are not embedded: the worker reads them
# when it runs. EMBEDDED: the rung has other kernels as well, which are embedded as in the lab. With TYPES, rung and task are
# templates.
function(add_worker lab rung)
    cmake_parse_arguments(WORKER "EMBEDDED" "TASK;SOURCE" "TYPES;KERNELS;HELPERS" ${ARGN})
    if(rung MATCHES "^cuda_" AND NOT GPULAB_WITH_CUDA OR rung MATCHES "^opencl_" AND NOT GPULAB_WITH_OPENCL)
        return()
    endif()
    string(REGEX REPLACE "_.*" "" backend ${rung})
    get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR}/.. ABSOLUTE)
    set(adds "    worker.add<${lab}::${WORKER_TASK}>(\"\", ${lab}::${rung});\n")
    if(WORKER_TYPES)
        set(adds "")
        foreach(type IN LISTS WORKER_TYPES)
            string(APPEND adds "    worker.add<${lab}::${WORKER_TASK}<${type}>>(\"${type}\", ${lab}::${rung}<${type}>);\n")
        endforeach()
    endif()
    set(generated ${CMAKE_CURRENT_BINARY_DIR}/worker_${lab}_${rung})
    file(CONFIGURE OUTPUT ${generated}/main.cpp @ONLY CONTENT "// Made by the build: runs one rung for the judge.
#include \"exercises/tasks.hpp\"
#include \"gpulab/grading/worker.hpp\"
#include \"rungs.hpp\"

int main() {
    gpulab::grading::Worker worker(gpulab::Backend::@backend@);
@adds@    return worker.serve();
}
")
    foreach(kernel IN LISTS WORKER_KERNELS)
        get_filename_component(file ${kernel} NAME)
        string(REGEX REPLACE "^[0-9]+_" "" name ${file})
        string(MAKE_C_IDENTIFIER "${name}" name)
        file(CONFIGURE OUTPUT ${generated}/${file}.hpp @ONLY CONTENT "// Made by the build: ${file} is read when the program runs.
#pragma once
#include \"gpulab/grading/worker.hpp\"

inline const std::string @name@_text = gpulab::grading::kernel_file(\"@file@\");
inline const char* const @name@ = @name@_text.c_str();
")
    endforeach()
    list(TRANSFORM WORKER_HELPERS PREPEND ${folder}/)
    add_executable(worker_${lab}_${rung} ${generated}/main.cpp ${WORKER_HELPERS})
    target_include_directories(worker_${lab}_${rung} PRIVATE ${generated} ${folder})
    if(WORKER_HELPERS) # one has the table of all rungs, which is not used: the linker drops it, with what it refers to
        target_compile_options(worker_${lab}_${rung} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-ffunction-sections -fdata-sections>)
        target_link_options(worker_${lab}_${rung} PRIVATE -Wl,--gc-sections)
    endif()
    if(backend STREQUAL "opencl")
        target_sources(worker_${lab}_${rung} PRIVATE ${folder}/${WORKER_SOURCE})
        if(WORKER_EMBEDDED)
            get_target_property(embedded ${lab}_lab BINARY_DIR)
            target_include_directories(worker_${lab}_${rung} PRIVATE ${embedded}/${lab}_lab_cl)
            add_dependencies(worker_${lab}_${rung} ${lab}_lab)
        endif()
        target_link_libraries(worker_${lab}_${rung} PRIVATE gpulab_grading gpulab_compile)
    else() # the rung comes from the lab's library; a grader links the student's file in its place
        target_link_libraries(worker_${lab}_${rung} PRIVATE ${lab}_lab gpulab_grading gpulab_compile)
    endif()
endfunction()
