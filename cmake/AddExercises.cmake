# add_exercises(): the programs that judge a lab's exercises. labs/NN_name/exercises/CMakeLists.txt calls it.
#
# The judge makes problems and compares answers. A worker runs one rung, which may be a student's. Neither is part of the
# lab's program, and neither is built unless it is asked for: grading_programs builds those of all labs,
# grading_programs_<lab> those of one.
include_guard(GLOBAL)

add_custom_target(grading_programs)
add_library(gpulab_grading STATIC EXCLUDE_FROM_ALL ${GPULAB_ROOT}/common/src/grading/worker.cpp)
target_link_libraries(gpulab_grading PUBLIC gpulab_core PRIVATE gpulab_compile)
add_library(gpulab_judging STATIC EXCLUDE_FROM_ALL ${GPULAB_ROOT}/common/src/grading/judge.cpp)
target_link_libraries(gpulab_judging PUBLIC gpulab_core nlohmann_json::nlohmann_json PRIVATE gpulab_compile)
target_compile_options(gpulab_judging PRIVATE ${gpulab_quick})

# How a submission in CUDA is found out that computes on the CPU: see docs/grading.md. Both lie where the programs lie,
# because the judge looks for them there.
if(GPULAB_WITH_CUDA)
    add_library(gpulab_no_launches STATIC EXCLUDE_FROM_ALL ${GPULAB_ROOT}/common/src/grading/no_launches.cpp)
    target_link_libraries(gpulab_no_launches PRIVATE gpulab_compile)
    set_target_properties(gpulab_no_launches PROPERTIES ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
    if(TARGET CUDA::cupti)
        add_library(gpulab_launches SHARED EXCLUDE_FROM_ALL ${GPULAB_ROOT}/common/src/grading/launches.cpp)
        target_link_libraries(gpulab_launches PRIVATE CUDA::cupti Threads::Threads gpulab_compile)
        set_target_properties(gpulab_launches PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_RUNTIME_OUTPUT_DIRECTORY})
    else()
        message(STATUS "CUPTI: not found (grading will say that kernel launches were not counted)")
    endif()
endif()

# add_exercises(<lab> [HELPERS <files of the lab that rungs of exercises call>] [LIBRARIES <further targets that they need>])
#
# judge_<lab>, from judge.cpp beside the calling CMakeLists.txt, and worker_<lab>_<rung> for each rung of exercises.toml. There
# each field has a line of its own.
function(add_exercises lab)
    cmake_parse_arguments(EXERCISES "" "" "HELPERS;LIBRARIES" ${ARGN})
    set(folder ${CMAKE_CURRENT_SOURCE_DIR})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS exercises.toml)
    # Students wait for the judge, so it has what needs no device, and not the rungs of other back ends. The table of all rungs
    # is there, too, and not used: the linker drops it, with what it refers to.
    add_executable(judge_${lab} EXCLUDE_FROM_ALL judge.cpp $<TARGET_OBJECTS:${lab}_host>)
    target_include_directories(judge_${lab} PRIVATE ${folder}/..)
    target_link_libraries(judge_${lab} PRIVATE ${EXERCISES_LIBRARIES} gpulab_judging gpulab_compile)
    target_link_options(judge_${lab} PRIVATE ${gpulab_drop_unused})
    target_compile_options(judge_${lab} PRIVATE ${gpulab_quick})
    add_custom_target(grading_programs_${lab} DEPENDS judge_${lab})
    add_dependencies(grading_programs grading_programs_${lab})
    foreach(library gpulab_no_launches gpulab_launches cuda_emulator)
        if(TARGET ${library})
            add_dependencies(judge_${lab} ${library})
        endif()
    endforeach()

    # A worker has only the objects that its rung needs: the lab's library holds all other rungs.
    set(helpers "")
    set(cuda_helpers "")
    set(handed_out FALSE)
    if(IS_DIRECTORY ${folder}/opencl OR IS_DIRECTORY ${folder}/cuda) # the files as students received them
        set(handed_out TRUE)
    endif()
    foreach(file IN LISTS EXERCISES_HELPERS)
        if(NOT file MATCHES "\\.cu$")
            list(APPEND helpers "$<FILTER:$<TARGET_OBJECTS:${lab}_host>,INCLUDE,/${file}\\.o$>")
        elseif(GPULAB_WITH_CUDA AND handed_out)
            list(APPEND cuda_helpers ${folder}/../${file})
        elseif(GPULAB_WITH_CUDA)
            list(APPEND helpers "$<FILTER:$<TARGET_OBJECTS:${lab}_lab>,INCLUDE,/${file}\\.o$>")
        endif()
    endforeach()
    if(helpers)
        add_library(${lab}_helpers STATIC EXCLUDE_FROM_ALL ${helpers})
        set_target_properties(${lab}_helpers PROPERTIES LINKER_LANGUAGE CXX)
        target_link_options(${lab}_helpers INTERFACE ${gpulab_drop_unused})
    endif()

    set(also "")
    file(STRINGS exercises.toml fields REGEX "^(name|problem|types|also|rung) = ")
    foreach(field IN LISTS fields)
        if(field MATCHES "^name = \"(.*)\"")
            set(name ${CMAKE_MATCH_1}) # of an exercise, as far as the fields below are concerned: tests follow them
        elseif(field MATCHES "^problem = \"(.*)\"")
            set(problem ${CMAKE_MATCH_1})
            set(types "")
        elseif(field MATCHES "^types = \\[(.*)\\]")
            string(REGEX MATCHALL "[a-z]+" types "${CMAKE_MATCH_1}")
        elseif(field MATCHES "^also = { *\"?([a-z]+)\"? = \"(.*)\" *}")
            set(also "    worker.add<${lab}::${problem}>(\"${CMAKE_MATCH_1}\", ${lab}::${CMAKE_MATCH_2});\n")
        elseif(field MATCHES "^rung = \"((opencl|cuda)_.*)\"")
            gpulab_add_worker(${lab} ${CMAKE_MATCH_1} ${CMAKE_MATCH_2})
            set(also "")
        endif()
    endforeach()
endfunction()

# Adds the worker of a rung, with the variables of add_exercises().
function(gpulab_add_worker lab rung backend)
    if(backend STREQUAL "cuda" AND NOT GPULAB_WITH_CUDA OR backend STREQUAL "opencl" AND NOT GPULAB_WITH_OPENCL)
        return()
    endif()
    set(adds "")
    foreach(type IN LISTS types)
        string(APPEND adds "    worker.add<${lab}::${problem}<${type}>>(\"${type}\", ${lab}::${rung}<${type}>);\n")
    endforeach()
    if(NOT types)
        set(adds "    worker.add<${lab}::${problem}>(\"\", ${lab}::${rung});\n${also}")
    endif()
    set(worker worker_${lab}_${rung})
    set(generated ${CMAKE_CURRENT_BINARY_DIR}/${worker})
    file(CONFIGURE OUTPUT ${generated}/main.cpp @ONLY CONTENT "// Made by the build: runs one rung for the judge.
#include \"exercises/tasks.hpp\"
#include \"gpulab/grading/worker.hpp\"
#include \"rungs.hpp\"

int main() {
    gpulab::grading::Worker worker(gpulab::Backend::@backend@);
@adds@    return worker.serve();
}
")
    add_executable(${worker} EXCLUDE_FROM_ALL ${generated}/main.cpp)
    add_dependencies(grading_programs_${lab} ${worker})
    if(backend STREQUAL "opencl")
        gpulab_add_opencl_rung(${worker} ${rung} ${name})
    endif()
    if(TARGET ${lab}_helpers)
        target_link_libraries(${worker} PRIVATE ${lab}_helpers)
    endif()
    target_include_directories(${worker} PRIVATE ${folder}/..)
    target_link_libraries(${worker} PRIVATE ${EXERCISES_LIBRARIES} gpulab_grading gpulab_compile)
    target_compile_options(${worker} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${gpulab_quick}>") # students wait for it
    if(backend STREQUAL "cuda" AND handed_out) # the other rungs are not waited for
        gpulab_files_of_rung(sources cuda/*.cu ${rung})
        target_sources(${worker} PRIVATE ${sources} ${cuda_helpers})
    elseif(backend STREQUAL "cuda") # the rung comes from the lab's library; a grader links the student's file in its place
        target_link_libraries(${worker} PRIVATE ${lab}_lab)
    endif()
endfunction()

# gpulab_files_of_rung(<variable> <pattern> <rung>): the files of the lab that define a rung.
function(gpulab_files_of_rung variable pattern rung)
    set(defining "")
    file(GLOB sources ${folder}/../${pattern})
    foreach(source IN LISTS sources)
        file(STRINGS ${source} found REGEX "void ${rung}\\(")
        if(found)
            list(APPEND defining ${source})
        endif()
    endforeach()
    set(${variable} ${defining} PARENT_SCOPE)
endfunction()

# Adds the object of the file that defines a rung to its worker. The texts of the exercise's kernels are not those that the lab
# embeds: the worker reads them when it runs. The rung may have others as well, and these are embedded as in the lab.
function(gpulab_add_opencl_rung worker rung exercise)
    gpulab_files_of_rung(sources opencl/*.cpp ${rung})
    if(handed_out) # the other rungs are not waited for
        target_sources(${worker} PRIVATE ${sources})
        target_precompile_headers(${worker} REUSE_FROM gpulab_opencl_api)
        set_source_files_properties(${generated}/main.cpp PROPERTIES SKIP_PRECOMPILE_HEADERS ON) # it needs none of these
    else()
        foreach(source IN LISTS sources)
            get_filename_component(file ${source} NAME)
            target_sources(${worker} PRIVATE "$<FILTER:$<TARGET_OBJECTS:${lab}_lab>,INCLUDE,/opencl/${file}\\.o$>")
        endforeach()
    endif()
    set(kernels ${folder}/../opencl/*.cl)
    if(handed_out)
        set(kernels ${folder}/opencl/*.cl)
    endif()
    file(GLOB kernels ${kernels})
    foreach(kernel IN LISTS kernels)
        file(STRINGS ${kernel} found REGEX "// EXERCISE ${exercise}$")
        if(found)
            get_filename_component(file ${kernel} NAME)
            string(REGEX REPLACE "^[0-9]+_" "" name ${file})
            string(MAKE_C_IDENTIFIER "${name}" name)
            file(CONFIGURE OUTPUT ${generated}/texts/${file}.cpp @ONLY CONTENT "// Made by the build: ${file} is read when the program runs.
#include \"${file}.hpp\"
#include \"gpulab/grading/worker.hpp\"

static const std::string text = gpulab::grading::kernel_file(\"@file@\");
const char* const @name@ = text.c_str();
")
            target_sources(${worker} PRIVATE ${generated}/texts/${file}.cpp)
            set_source_files_properties(${generated}/texts/${file}.cpp PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
        endif()
    endforeach()
    get_target_property(embedded ${lab}_lab BINARY_DIR)
    if(NOT TARGET ${lab}_kernels) # of which the linker takes those that the rung has as well
        file(GLOB kernels RELATIVE ${folder}/../opencl ${folder}/../opencl/*.cl)
        list(TRANSFORM kernels PREPEND ${embedded}/${lab}_lab_cl/)
        list(TRANSFORM kernels APPEND .cpp)
        add_library(${lab}_kernels STATIC EXCLUDE_FROM_ALL ${kernels})
        add_dependencies(${lab}_kernels ${lab}_lab_cl)
    endif()
    target_link_libraries(${worker} PRIVATE ${lab}_kernels)
    target_include_directories(${worker} PRIVATE ${embedded}/${lab}_lab_cl)
    add_dependencies(${worker} ${lab}_lab_cl)
endfunction()
