# add_lab_test(): one test program, its test cases known to ctest with labels.
include_guard(GLOBAL)
include(${CMAKE_CURRENT_LIST_DIR}/TestSummary.cmake)

# add_lab_test(<target>
#     LABELS <labels of all its tests, e.g. saxpy>
#     SOURCES <.cpp files> [CUDA <.cu files>] [OPENCL <.cpp and .cl files>]
#     [LIBRARIES <targets, e.g. saxpy_lab>]
#     [OCLGRIND] [SANITIZER] [THREADS] [PARTS])
#
# A test case tagged [cpu], [opencl] or [cuda] gets that label as well. Tests run from the build folder. Those tagged
# [large] too run only when asked for, with `ctest -C large`: see HiddenTests.cmake.
# The name of a test case has no semicolon: it would be two in a list.
# OCLGRIND: each hidden test case tagged [.oclgrind] runs under oclgrind, and any finding fails.
# SANITIZER: those tagged [.sanitizer] run under each tool of compute-sanitizer, and any finding fails.
# THREADS: its test cases tagged [cpu] run once more with seven threads, whatever the machine has: a mistake in sharing
# out may show with more than two only.
# With `ctest -C gpu` (preset gpu) the OpenCL and CUDA test cases of every program run in parts: a driver makes contexts
# for one process after the other, 0.2 s for each on an H200. With `ctest -C parts` (./lab test without a lab) those of the CPU
# do, too: PoCL's compiler reads its library of 10 MB in each process, which takes longer than compiling most kernels.
# PARTS: those of OpenCL and CUDA always do, because most of them take less time than a device takes to open.
# A test case of OpenCL or CUDA takes one of the slots "gpus" where ctest is told how many there are (preset gpu:
# cmake/GpuSlotsServer.json; ./lab test on a machine with a GPU: cmake/GpuSlots.json). Programs take turns on a GPU, and a
# waiting one takes the place of a test that needs none, and cores from the one that has the GPU. A test under
# compute-sanitizer takes one of the slots "sanitizers": these share a turn.
# A SKIP shows as skipped; with GPULAB_REQUIRE_DEVICES=1 in the environment (preset gpu) tests fail instead.
function(add_lab_test target)
    cmake_parse_arguments(TEST "OCLGRIND;SANITIZER;THREADS;PARTS" "" "LABELS;SOURCES;CUDA;OPENCL;LIBRARIES" ${ARGN})
    if(TEST_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "add_lab_test(${target}): unknown arguments ${TEST_UNPARSED_ARGUMENTS}")
    endif()
    add_executable(${target} ${TEST_SOURCES})
    target_include_directories(${target} PRIVATE ${GPULAB_ROOT}/tests)
    target_link_libraries(${target} PRIVATE gpulab_common gpulab_compile gpulab_testing ${TEST_LIBRARIES})
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${gpulab_quick}>")
    target_precompile_headers(${target} REUSE_FROM gpulab_tests_api)
    if(GPULAB_WITH_CUDA)
        target_sources(${target} PRIVATE ${TEST_CUDA})
    endif()
    if(GPULAB_WITH_OPENCL)
        set(kernels ${TEST_OPENCL})
        list(FILTER kernels INCLUDE REGEX "\\.cl$")
        set(hosts ${TEST_OPENCL})
        list(FILTER hosts EXCLUDE REGEX "\\.cl$")
        target_sources(${target} PRIVATE ${hosts})
        gpulab_embed_opencl(${target} ${kernels})
    endif()

    # Catch2's script takes lists of labels apart, so they are set by a file of our own that ctest reads after Catch2's.
    set(labels_file ${CMAKE_CURRENT_BINARY_DIR}/${target}_labels.cmake)
    file(WRITE ${labels_file} "")
    set(cost 10) # what takes longer starts earlier, so that it is not what all wait for in the end
    if(target STREQUAL "test_common")
        set(cost 1)
    endif()
    set(discover TEST_PREFIX "${target}: " DISCOVERY_MODE PRE_TEST PROPERTIES SKIP_RETURN_CODE 4)
    macro(gpulab_discover list spec labels)
        catch_discover_tests(${target} TEST_SPEC "${spec}" TEST_LIST ${target}_${list} ${discover})
        set(in_parts FALSE)
        set(slots "")
        if("${list}" STREQUAL "cpu")
            set(in_parts [["${CTEST_CONFIGURATION_TYPE}" STREQUAL "parts"]])
        elseif("${list}" MATCHES "^(opencl|cuda)$")
            set(slots " RESOURCE_GROUPS gpus:1")
            set(in_parts [["${CTEST_CONFIGURATION_TYPE}" MATCHES "^(gpu|parts)$"]])
            if(TEST_PARTS)
                set(in_parts [["always" STREQUAL "always"]]) # ctest knows no TRUE here
            endif()
        endif()
        # Catch2's script, which lists each test case, is included here and not by the folder itself.
        get_property(scripts DIRECTORY PROPERTY TEST_INCLUDE_FILES)
        list(POP_BACK scripts script)
        set_property(DIRECTORY PROPERTY TEST_INCLUDE_FILES "${scripts}")
        file(APPEND ${labels_file} "if(NOT (${in_parts}))\n"
                                   "  include(\"${script}\")\n"
                                   "  foreach(test IN LISTS ${target}_${list})\n"
                                   "    set_tests_properties(\"\${test}\" PROPERTIES LABELS \"${labels}\" COST ${cost}${slots})\n"
                                   "  endforeach()\n"
                                   "endif()\n")
    endmacro()
    foreach(backend cpu opencl cuda)
        gpulab_discover(${backend} "[${backend}]~[large]" "${TEST_LABELS};${backend}")
    endforeach()
    gpulab_discover(other "~[cpu]~[opencl]~[cuda]~[.]" "${TEST_LABELS}")
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${labels_file})
    if(TEST_THREADS)
        add_test(NAME "${target}: the CPU variants are right with seven threads" COMMAND ${target} "[cpu]~[large]")
        set_tests_properties("${target}: the CPU variants are right with seven threads" PROPERTIES
                             LABELS "${TEST_LABELS};cpu" ENVIRONMENT "GPULAB_CPU_THREADS=7")
    endif()

    # What ctest finds out by itself, from the program as it is then. Programs of several configurations differ.
    string(CONCAT hidden "include(\"${GPULAB_ROOT}/cmake/HiddenTests.cmake\")\n"
               "gpulab_large_tests(${target} \"$<TARGET_FILE:${target}>\" \"${TEST_LABELS}\")\n"
               "gpulab_parts(${target} \"$<TARGET_FILE:${target}>\" \"${TEST_LABELS}\" \"${TEST_PARTS}\")\n")
    if(TEST_OCLGRIND AND GPULAB_WITH_OPENCL)
        find_program(GPULAB_OCLGRIND oclgrind)
        if(GPULAB_OCLGRIND)
            string(APPEND hidden "gpulab_oclgrind_tests(${target} \"$<TARGET_FILE:${target}>\" \"${TEST_LABELS}\" "
                               "\"${CMAKE_CURRENT_BINARY_DIR}\" \"${CMAKE_COMMAND}\" \"-DOCLGRIND=${GPULAB_OCLGRIND}\" "
                               "\"-DPROGRAM=$<TARGET_FILE:${target}>\")\n")
        else()
            gpulab_oclgrind_test("${target}: OpenCL kernels under oclgrind" ${target} "${TEST_LABELS}")
        endif()
    endif()
    file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${target}_hidden_$<CONFIG>.cmake CONTENT "${hidden}")
    set(configuration "${CMAKE_BUILD_TYPE}")
    get_property(multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
    if(multi_config)
        set(configuration "\${CTEST_CONFIGURATION_TYPE}")
    endif()
    file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/${target}_hidden.cmake
         "include(\"${CMAKE_CURRENT_BINARY_DIR}/${target}_hidden_${configuration}.cmake\" OPTIONAL)\n")
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${CMAKE_CURRENT_BINARY_DIR}/${target}_hidden.cmake)
    if(TEST_SANITIZER AND GPULAB_WITH_CUDA)
        foreach(tool memcheck racecheck synccheck initcheck)
            gpulab_sanitizer_test("${target}: compute-sanitizer's ${tool} finds nothing" ${target} "${TEST_LABELS}"
                                  TOOL ${tool})
        endforeach()
    endif()
endfunction()

# gpulab_oclgrind_test(<name> <target> <labels> [CASES <tag>] [FINDS <text>])
#
# Runs the test cases of a tag ([.oclgrind] unless told) under oclgrind, which interprets kernels and sees what a device
# forgives. With buffers of exactly the size asked for (no guard bands), so that it sees the first byte outside.
# Any finding fails the test; with FINDS it passes only when oclgrind's log holds that text: for kernels with a known
# mistake, such as "data race".
function(gpulab_oclgrind_test name target labels)
    cmake_parse_arguments(OG "" "CASES;FINDS" "" ${ARGN})
    if(NOT OG_CASES)
        set(OG_CASES "[.oclgrind]")
    endif()
    find_program(GPULAB_OCLGRIND oclgrind)
    if(GPULAB_OCLGRIND)
        string(MAKE_C_IDENTIFIER "${target}${OG_CASES}" log)
        add_test(NAME "${name}"
                 COMMAND ${CMAKE_COMMAND} -DOCLGRIND=${GPULAB_OCLGRIND} -DPROGRAM=$<TARGET_FILE:${target}>
                         -DCASES=${OG_CASES} -DFINDS=${OG_FINDS} -DLOG=${CMAKE_CURRENT_BINARY_DIR}/${log}.log
                         -P ${GPULAB_ROOT}/cmake/RunOclgrind.cmake)
    else()
        add_test(NAME "${name}" COMMAND ${CMAKE_COMMAND} -E echo "skipped: oclgrind is not installed")
        set_tests_properties("${name}" PROPERTIES SKIP_REGULAR_EXPRESSION "skipped: oclgrind is not installed")
    endif()
    set_tests_properties("${name}" PROPERTIES LABELS "${labels};oclgrind"
                         ENVIRONMENT "GPULAB_GUARD_BYTES=0;GPULAB_EXPECT_PLATFORM=Oclgrind")
endfunction()

# gpulab_sanitizer_test(<name> <target> <labels> TOOL <tool> [CASES <tag>] [FINDS <text>])
#
# Runs the test cases of a tag ([.sanitizer] unless told) under one tool of NVIDIA's compute-sanitizer: memcheck,
# racecheck, synccheck or initcheck. With buffers of exactly the size asked for, so that it sees the first byte outside,
# and not poisoned, so that initcheck sees reads of unwritten memory. Any finding fails the test; with FINDS it passes only when
# the tool's log holds that text: for kernels with a known mistake.
find_program(GPULAB_COMPUTE_SANITIZER compute-sanitizer HINTS ${CUDAToolkit_BIN_DIR} PATHS /usr/local/cuda/bin)
function(gpulab_sanitizer_test name target labels)
    cmake_parse_arguments(CS "" "TOOL;CASES;FINDS" "" ${ARGN})
    if(NOT CS_CASES)
        set(CS_CASES "[.sanitizer]")
    endif()
    if(GPULAB_COMPUTE_SANITIZER)
        string(MAKE_C_IDENTIFIER "${target}${CS_CASES}${CS_TOOL}" log)
        add_test(NAME "${name}"
                 COMMAND ${CMAKE_COMMAND} -DSANITIZER=${GPULAB_COMPUTE_SANITIZER} -DTOOL=${CS_TOOL}
                         -DPROGRAM=$<TARGET_FILE:${target}> -DCASES=${CS_CASES} -DFINDS=${CS_FINDS}
                         -DLOG=${CMAKE_CURRENT_BINARY_DIR}/${log}.log -P ${GPULAB_ROOT}/cmake/RunSanitizer.cmake)
    else()
        add_test(NAME "${name}" COMMAND ${CMAKE_COMMAND} -E echo "skipped: compute-sanitizer is not installed")
    endif()
    set(environment "GPULAB_GUARD_BYTES=0;GPULAB_POISON=0;GPULAB_TEST_UNDER_TOOL=1")
    if(CS_TOOL STREQUAL "initcheck")
        # It looks at what a copy reads when the copy is handed over, though a kernel before it has not run yet: so no
        # launch returns before its kernel has ended.
        string(APPEND environment ";CUDA_LAUNCH_BLOCKING=1")
    endif()
    # Under a tool a run of a variant takes 0.1 s, some take seconds, and programs side by side take less time than one after
    # the other. So they share one turn. They begin first (COST), so that few others wait for the end of this turn.
    string(APPEND environment ";GPULAB_TEST_TURNS=shared")
    set(cost 1000)
    if(CS_TOOL STREQUAL "racecheck")
        set(cost 2000) # the slowest
    endif()
    set_tests_properties("${name}" PROPERTIES LABELS "${labels};sanitizer" SKIP_REGULAR_EXPRESSION "skipped: " COST ${cost}
                         RESOURCE_GROUPS sanitizers:1 ENVIRONMENT "${environment}")
endfunction()
