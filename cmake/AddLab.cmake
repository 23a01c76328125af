# add_lab(): one laboratory, from its rungs to its executable.
include_guard(GLOBAL)

# Makes the text of .cl files available to C++: of opencl/02_one_item.cl the header <02_one_item.cl.hpp> declares
# `extern const char* const one_item_cl`. The program then needs no file beside it at run time. The definition is an object of its
# own, so that a worker of an exercise takes the object of the rung, and defines the text in another way.
function(gpulab_embed_opencl target)
    set(folder ${CMAKE_CURRENT_BINARY_DIR}/${target}_cl)
    set(definitions "")
    foreach(source IN LISTS ARGN)
        get_filename_component(file ${source} NAME)
        set(header ${folder}/${file}.hpp)
        set(definition ${folder}/${file}.cpp)
        add_custom_command(
            OUTPUT ${definition}
            BYPRODUCTS ${header}
            COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_CURRENT_SOURCE_DIR}/${source} -DHEADER=${header}
                    -DROOT=${GPULAB_ROOT} -P ${GPULAB_ROOT}/cmake/EmbedText.cmake
            DEPENDS ${source} ${GPULAB_ROOT}/cmake/EmbedText.cmake
            COMMENT "Embedding ${file}"
            VERBATIM)
        target_sources(${target} PRIVATE ${definition} ${source})
        set_source_files_properties(${definition} PROPERTIES SKIP_PRECOMPILE_HEADERS ON) # it needs none
        list(APPEND definitions ${definition})
    endforeach()
    add_custom_target(${target}_cl DEPENDS ${definitions}) # for programs that need the headers alone
    add_dependencies(${target} ${target}_cl)
    target_include_directories(${target} PRIVATE ${folder})
endfunction()

# add_lab(<name>
#     SUMMARY <one line>
#     [PROGRAM <files beside main.cpp that only the program needs>]
#     [REFERENCES <rungs that problems or references call>]
#     [CUDA_LIBRARIES <targets of the CUDA toolkit, e.g. CUDA::cublas>]
#     [LIBRARIES <other targets>])
#
# Makes the library <name>_lab from the lab's .cpp files (all but main.cpp; the tests link it) and the rungs in its folders
# cpu, cuda and opencl; and the executable <name>. The objects of problems and references, <name>_host, are in the library too:
# they are all that the judge of an exercise needs, for which students wait. Ninja and Make see a new file by themselves. A lab that is built alone
# has its tests here; in the whole tree tests/ comes after all labs.
function(add_lab name)
    cmake_parse_arguments(LAB "" "SUMMARY" "PROGRAM;REFERENCES;CUDA_LIBRARIES;LIBRARIES" ${ARGN})
    if(LAB_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "add_lab(${name}): unknown arguments ${LAB_UNPARSED_ARGUMENTS}")
    endif()

    file(GLOB sources RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS *.cpp)
    file(GLOB cpu RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS cpu/*.cpp)
    if(LAB_REFERENCES)
        list(REMOVE_ITEM cpu ${LAB_REFERENCES})
    endif()
    gpulab_cpu_libraries(cpu libraries)
    set(studies ${sources})
    list(FILTER studies INCLUDE REGEX "^studies\\.cpp$")
    list(REMOVE_ITEM sources main.cpp studies.cpp ${LAB_PROGRAM})
    add_library(${name}_host OBJECT ${sources} ${LAB_REFERENCES})
    target_link_libraries(${name}_host PRIVATE gpulab_common gpulab_compile ${LAB_LIBRARIES} ${libraries})
    target_include_directories(${name}_host PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    # A program that needs a few of the functions drops the others, with what they refer to.
    target_compile_options(${name}_host PRIVATE -ffunction-sections -fdata-sections)
    add_library(${name}_lab STATIC ${studies} ${LAB_PROGRAM} ${cpu} $<TARGET_OBJECTS:${name}_host>)
    target_include_directories(${name}_lab PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
    target_link_libraries(${name}_lab PUBLIC gpulab_common ${libraries} PRIVATE gpulab_compile ${LAB_LIBRARIES})
    set_source_files_properties(cpu/baseline_eigen.cpp PROPERTIES COMPILE_OPTIONS "${GPULAB_EIGEN_OPTIONS}")
    if(GPULAB_WITH_CUDA)
        file(GLOB sources CONFIGURE_DEPENDS cuda/*.cu)
        target_sources(${name}_lab PRIVATE ${sources})
        target_link_libraries(${name}_lab PRIVATE ${LAB_CUDA_LIBRARIES})
    endif()
    if(GPULAB_WITH_OPENCL)
        file(GLOB sources CONFIGURE_DEPENDS opencl/*.cpp)
        file(GLOB kernels RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CONFIGURE_DEPENDS opencl/*.cl)
        target_sources(${name}_lab PRIVATE ${sources})
        target_precompile_headers(${name}_lab REUSE_FROM gpulab_opencl_api)
        set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS "${gpulab_quick}") # the kernels do the work
        set_source_files_properties(${cpu} studies.cpp PROPERTIES SKIP_PRECOMPILE_HEADERS ON) # they need none of these headers
        gpulab_embed_opencl(${name}_lab ${kernels})
    endif()

    add_executable(${name} main.cpp)
    set_source_files_properties(main.cpp studies.cpp PROPERTIES COMPILE_OPTIONS "${gpulab_quick}")
    target_link_libraries(${name} PRIVATE ${name}_lab gpulab_compile)
    set_property(GLOBAL APPEND PROPERTY GPULAB_LABS ${name})
    if(UNIX AND EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/exercises/CMakeLists.txt)
        add_subdirectory(exercises)
    endif()
    if(GPULAB_TESTS AND CMAKE_CURRENT_SOURCE_DIR STREQUAL CMAKE_SOURCE_DIR)
        get_filename_component(GPULAB_FOLDERS ${CMAKE_CURRENT_SOURCE_DIR} NAME)
        add_subdirectory(${GPULAB_ROOT}/tests ${CMAKE_BINARY_DIR}/tests)
    endif()
endfunction()
