# add_lab(): one laboratory, from its list of rungs to its executable.
include_guard(GLOBAL)

# Makes the text of .cl files available to C++: opencl/02_one_item.cl becomes <02_one_item.cl.hpp>, which holds
# `inline constexpr char one_item_cl[]`. The program then needs no file beside it at run time.
function(gpulab_embed_opencl target)
    set(folder ${CMAKE_CURRENT_BINARY_DIR}/${target}_cl)
    foreach(source IN LISTS ARGN)
        get_filename_component(file ${source} NAME)
        set(header ${folder}/${file}.hpp)
        add_custom_command(
            OUTPUT ${header}
            COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_CURRENT_SOURCE_DIR}/${source} -DHEADER=${header}
                    -DROOT=${GPULAB_ROOT} -P ${GPULAB_ROOT}/cmake/EmbedText.cmake
            DEPENDS ${source} ${GPULAB_ROOT}/cmake/EmbedText.cmake
            COMMENT "Embedding ${file}"
            VERBATIM)
        target_sources(${target} PRIVATE ${header} ${source})
    endforeach()
    target_include_directories(${target} PRIVATE ${folder})
endfunction()

# add_lab(<name>
#     SUMMARY <one line>
#     SOURCES <files common to all rungs, without main.cpp>
#     CPU <files> CUDA <.cu files> OPENCL <.cpp and .cl files>
#     [CUDA_LIBRARIES <targets of the CUDA toolkit, e.g. CUDA::cublas>]
#     [LIBRARIES <other targets>])
#
# Makes the library <name>_lab (all but main.cpp; the tests link it) and the executable <name>. A lab that is built alone
# has its tests here; in the whole tree tests/ comes after all labs.
function(add_lab name)
    cmake_parse_arguments(LAB "" "SUMMARY" "SOURCES;CPU;CUDA;OPENCL;CUDA_LIBRARIES;LIBRARIES" ${ARGN})
    if(LAB_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "add_lab(${name}): unknown arguments ${LAB_UNPARSED_ARGUMENTS}")
    endif()

    add_library(${name}_lab STATIC ${LAB_SOURCES} ${LAB_CPU})
    target_include_directories(${name}_lab PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
    target_link_libraries(${name}_lab PUBLIC gpulab_common PRIVATE gpulab_compile ${LAB_LIBRARIES})
    if(GPULAB_WITH_CUDA)
        target_sources(${name}_lab PRIVATE ${LAB_CUDA})
        target_link_libraries(${name}_lab PRIVATE ${LAB_CUDA_LIBRARIES})
    endif()
    if(GPULAB_WITH_OPENCL)
        set(kernels ${LAB_OPENCL})
        list(FILTER kernels INCLUDE REGEX "\\.cl$")
        set(hosts ${LAB_OPENCL})
        list(FILTER hosts EXCLUDE REGEX "\\.cl$")
        target_sources(${name}_lab PRIVATE ${hosts})
        target_precompile_headers(${name}_lab REUSE_FROM gpulab_opencl_api)
        set_source_files_properties(${LAB_CPU} PROPERTIES SKIP_PRECOMPILE_HEADERS ON) # they need none of these headers
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
