# Read by ctest itself: registers test cases that ordinary runs leave out, in ways that Catch2's own script does not know.

# The names of the test cases of a program that have a tag, in the list `result`.
function(gpulab_test_cases program tag result)
    execute_process(COMMAND ${program} ${tag} --list-tests --verbosity quiet OUTPUT_VARIABLE names)
    string(STRIP "${names}" names)
    string(REGEX REPLACE "\n+" ";" names "${names}")
    set(${result} "${names}" PARENT_SCOPE)
endfunction()

# gpulab_large_tests(<target> <program> <labels>): those tagged [large], one test for each back end that has some, and
# only for `ctest -C large`. They need tens of GB, of the host as well: one runs at a time. With huge pages
# (GLIBC_TUNABLES, from glibc 2.35 on) the host fills newly allocated memory about five times as fast.
function(gpulab_large_tests target program labels)
    if(NOT CTEST_CONFIGURATION_TYPE STREQUAL "large" OR NOT EXISTS ${program})
        return()
    endif()
    foreach(backend cpu opencl cuda)
        gpulab_test_cases(${program} "[${backend}][large]" cases)
        if(cases)
            set(name "${target}: large arrays, ${backend}")
            add_test("${name}" ${program} "[${backend}][large]")
            set_tests_properties("${name}" PROPERTIES LABELS "${labels};${backend};large" RESOURCE_LOCK large_memory
                                 SKIP_RETURN_CODE 4 TIMEOUT 3600 ENVIRONMENT "GLIBC_TUNABLES=glibc.malloc.hugetlb=1")
        endif()
    endforeach()
endfunction()

# gpulab_parts(<target> <program> <labels> <always>): for `ctest -C gpu` and `-C parts`, or always, the test cases of OpenCL and
# of CUDA, with `-C parts` those of the CPU too, in parts of about six. Shuffled, because those that take long stand side by side; in the same way each time. Only the tests
# of compute-sanitizer begin earlier: what waits for the GPU takes longest.
function(gpulab_parts target program labels always)
    set(backends "")
    if(always OR CTEST_CONFIGURATION_TYPE MATCHES "^(gpu|parts)$")
        set(backends opencl cuda)
    endif()
    if(CTEST_CONFIGURATION_TYPE STREQUAL "parts")
        list(APPEND backends cpu)
    endif()
    if(NOT EXISTS ${program})
        return()
    endif()
    foreach(backend IN LISTS backends)
        gpulab_test_cases(${program} "[${backend}]~[large]" cases)
        list(LENGTH cases count)
        math(EXPR parts "(${count} + 5) / 6")
        foreach(part RANGE 1 ${parts})
            math(EXPR index "${part} - 1")
            if(count EQUAL 0)
                continue() # RANGE 1 0 counts down
            endif()
            set(name "${target}: ${backend}, part ${part} of ${parts}")
            add_test("${name}" ${program} "[${backend}]~[large]" --order rand --rng-seed 1
                     --shard-count ${parts} --shard-index ${index})
            set_tests_properties("${name}" PROPERTIES LABELS "${labels};${backend}" SKIP_RETURN_CODE 4 COST 500)
            if(NOT backend STREQUAL "cpu")
                set_tests_properties("${name}" PROPERTIES RESOURCE_GROUPS gpus:1)
            endif()
        endforeach()
    endforeach()
endfunction()

# gpulab_oclgrind_tests(<target> <program> <labels> <folder> <command...>): each test case tagged [.oclgrind] is a test
# of its own: <command> -DCASES=<name> -DLOG=<file in the folder> -P RunOclgrind.cmake.
function(gpulab_oclgrind_tests target program labels folder)
    if(NOT EXISTS ${program})
        return() # Catch2's script says so
    endif()
    gpulab_test_cases(${program} "[.oclgrind]" cases)
    if(NOT cases)
        add_test("${target}: there are test cases for oclgrind" ${CMAKE_COMMAND} -E false)
        set_tests_properties("${target}: there are test cases for oclgrind" PROPERTIES LABELS "${labels};oclgrind")
    endif()
    foreach(case IN LISTS cases)
        set(escaped "${case}") # for Catch2, which takes some characters for its own
        foreach(character "\\" "," "[" "]" "*")
            string(REPLACE "${character}" "\\${character}" escaped "${escaped}")
        endforeach()
        string(MAKE_C_IDENTIFIER "${target}_${case}" log)
        add_test("${target}: ${case}" ${ARGN} "-DCASES=${escaped}" -DLOG=${folder}/${log}.log
                 -P ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/RunOclgrind.cmake)
        set_tests_properties("${target}: ${case}" PROPERTIES LABELS "${labels};oclgrind"
                             SKIP_REGULAR_EXPRESSION "skipped: " COST 100 # the slowest begin first
                             ENVIRONMENT "GPULAB_GUARD_BYTES=0;GPULAB_EXPECT_PLATFORM=Oclgrind")
    endforeach()
endfunction()
