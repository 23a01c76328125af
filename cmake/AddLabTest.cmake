# add_lab_test(): one test program, its test cases known to ctest with labels.
include_guard(GLOBAL)
include(${CMAKE_CURRENT_LIST_DIR}/TestSummary.cmake)

# add_lab_test(<target>
#     LABELS <labels of all its tests, e.g. saxpy>
#     SOURCES <.cpp files> [CUDA <.cu files>] [OPENCL <.cpp and .cl files>]
#     [LIBRARIES <targets, e.g. saxpy_lab>]
#     [WHOLE] [THOROUGH] [LARGE] [OCLGRIND] [SANITIZER] [THREADS])
#
# One process runs all test cases of a kind, because starting PoCL's compiler or opening a GPU costs more than most cases:
# those tagged [cpu], [opencl], [cuda], [program] (they start the lab's program), and all others. Each kind has at least one
# case: a process without any fails.
# Where CUDA's emulator is built, the cases for compute-sanitizer run in it as well, checked; the others take it for no device.
# WHOLE: a small program, whose cases are one test.
# THOROUGH: those tagged [thorough] run for `./lab test --all` only, as all tests with the label "thorough" do.
# LARGE: those tagged [large] run only when asked for, with `ctest -C large`. They need tens of GB, of the host as well, so one
# runs at a time. With huge pages (GLIBC_TUNABLES, from glibc 2.35 on) the host fills new memory about five times as fast.
# OCLGRIND: the hidden test cases tagged [.oclgrind] run under oclgrind, and any finding fails. Those of the Core rungs are
# tagged [core]; the others are thorough.
# SANITIZER: those tagged [.sanitizer] run under each tool of compute-sanitizer, and any finding fails.
# THREADS: those tagged [cpu] run once more with seven threads, whatever the machine has: a mistake in sharing out may show
# with more than two only.
# GPULAB_TEST_VARIANT in the environment names the one variant that the test "one variant" (`ctest -C variant`) and those under
# a tool take.
# The program of a lab, test_LAB, has LAB_PROGRAM and LAB_README, the paths of the lab's own program and of its hand-out.
# A SKIP shows as skipped; with GPULAB_REQUIRE_DEVICES=1 in the environment (preset gpu) tests fail instead.
function(add_lab_test target)
    cmake_parse_arguments(TEST "WHOLE;THOROUGH;LARGE;OCLGRIND;SANITIZER;THREADS" "" "LABELS;SOURCES;CUDA;OPENCL;LIBRARIES" ${ARGN})
    if(TEST_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "add_lab_test(${target}): unknown arguments ${TEST_UNPARSED_ARGUMENTS}")
    endif()
    add_executable(${target} ${TEST_SOURCES})
    target_include_directories(${target} PRIVATE ${GPULAB_ROOT}/tests)
    target_link_libraries(${target} PRIVATE gpulab_common gpulab_compile gpulab_testing ${TEST_LIBRARIES})
    target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${gpulab_quick}>")
    target_precompile_headers(${target} REUSE_FROM gpulab_tests_api)
    get_filename_component(folder ${CMAKE_CURRENT_SOURCE_DIR} NAME)
    set(hand_out ${GPULAB_ROOT}/labs/${folder}/README.md)
    string(REGEX REPLACE "^[0-9]+_" "" lab ${folder})
    if(EXISTS ${hand_out} AND target STREQUAL "test_${lab}") # test_program.cpp runs the lab's program and reads the hand-out
        add_dependencies(${target} ${lab})
        string(TOUPPER ${lab} LAB)
        target_compile_definitions(${target} PRIVATE ${LAB}_PROGRAM="$<TARGET_FILE:${lab}>" ${LAB}_README="${hand_out}")
    endif()
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

    set(rest "")
    if(TEST_THOROUGH)
        string(APPEND rest "~[thorough]")
    endif()
    if(TEST_LARGE)
        string(APPEND rest "~[large]")
    endif()
    if(TEST_WHOLE)
        gpulab_cases("${target}: all cases" ${target} "~[.]${rest}" "${TEST_LABELS}")
    else()
        foreach(kind cpu opencl cuda)
            gpulab_cases("${target}: ${kind}" ${target} "[${kind}]~[program]${rest}" "${TEST_LABELS};${kind}")
        endforeach()
        gpulab_cases("${target}: program" ${target} "[program]${rest}" "${TEST_LABELS};program")
        gpulab_cases("${target}: others" ${target} "~[cpu]~[opencl]~[cuda]~[program]~[.]${rest}" "${TEST_LABELS}")
    endif()
    if(TEST_THOROUGH)
        string(REPLACE "~[thorough]" "" rest "${rest}")
        gpulab_cases("${target}: thorough" ${target} "[thorough]${rest}" "${TEST_LABELS};thorough")
    endif()
    if(TEST_LARGE)
        add_test(NAME "${target}: large arrays" CONFIGURATIONS large COMMAND ${target} "[large]")
        set_tests_properties("${target}: large arrays" PROPERTIES LABELS "${TEST_LABELS};large" RESOURCE_LOCK large_memory
                             SKIP_RETURN_CODE 4 TIMEOUT 7200 ENVIRONMENT "GLIBC_TUNABLES=glibc.malloc.hugetlb=1")
    endif()
    if(TEST_THREADS)
        gpulab_cases("${target}: the CPU variants are right with seven threads" ${target} "[cpu]${rest}"
                     "${TEST_LABELS};cpu;thorough")
        set_property(TEST "${target}: the CPU variants are right with seven threads" PROPERTY ENVIRONMENT
                     "GPULAB_CPU_THREADS=7")
    endif()
    if(UNIX) # ./lab test LAB --variant NAME
        add_test(NAME "${target}: one variant" CONFIGURATIONS variant
                 COMMAND sh -c "exec \"$0\" \"~[large]~[.]$GPULAB_TEST_VARIANT *\"" $<TARGET_FILE:${target}>)
        set_tests_properties("${target}: one variant" PROPERTIES LABELS "${TEST_LABELS}" SKIP_RETURN_CODE 4 TIMEOUT 3600
                             ENVIRONMENT GPULAB_EMULATOR=never)
    endif()
    if(TEST_OCLGRIND AND GPULAB_WITH_OPENCL)
        set(core "")
        if(EXISTS ${hand_out}) # its ladder has a row for each rung, between the lines **Core** and **Further**
            set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${hand_out})
            file(READ ${hand_out} text)
            string(REGEX REPLACE ".*\n## The ladder\n(.*)\n\\*\\*Further\\*\\*.*" "\\1" text "${text}")
            string(REGEX MATCHALL "\n\\| `opencl_[a-z0-9_]+`" core "${text}")
            list(TRANSFORM core REPLACE "[^a-z0-9_]" "")
        endif()
        if(core)
            list(JOIN core " " core)
            target_compile_definitions(${target} PRIVATE "GPULAB_CORE_RUNGS=\" ${core} \"")
            gpulab_oclgrind_test("${target}: Core rungs under oclgrind" ${target} "${TEST_LABELS}" CASES "[.oclgrind][core]")
            set(core "~[core]") # a ladder may have no other OpenCL rung
        endif()
        gpulab_oclgrind_test("${target}: other kernels under oclgrind" ${target} "${TEST_LABELS};thorough" CASES "[.oclgrind]${core}")
    endif()
    if(TEST_SANITIZER AND TARGET cuda_emulator AND CMAKE_CUDA_ARCHITECTURES MATCHES "^[0-9]+(-virtual)?$") # there is PTX
        set(environment "GPULAB_EMULATOR=always;CUDA_EMULATOR_CHECK=fail;GPULAB_GUARD_BYTES=0;GPULAB_POISON=0")
        string(APPEND environment ";GPULAB_TEST_UNDER_TOOL=1;GPULAB_TEST_TURNS=0")
        add_test(NAME "${target}: CUDA in the emulator"
                 COMMAND sh -c "exec \"$0\" \"\${GPULAB_TEST_VARIANT:+$GPULAB_TEST_VARIANT *}[.sanitizer]\"" $<TARGET_FILE:${target}>)
        set_tests_properties("${target}: CUDA in the emulator" PROPERTIES LABELS "${TEST_LABELS};cuda;emulator" COST 100
                             SKIP_RETURN_CODE 4 TIMEOUT 3600 ENVIRONMENT "${environment}")
    endif()
    if(TEST_SANITIZER AND GPULAB_WITH_CUDA)
        foreach(tool memcheck racecheck synccheck initcheck)
            gpulab_sanitizer_test("${target}: compute-sanitizer's ${tool} finds nothing" ${target} "${TEST_LABELS};thorough"
                                  TOOL ${tool})
        endforeach()
    endif()
endfunction()

# gpulab_cases(<name> <target> <cases> <labels>): one process with these test cases. What takes longer starts earlier (COST), so
# that it is not what all wait for in the end.
function(gpulab_cases name target cases labels)
    add_test(NAME "${name}" COMMAND ${target} "${cases}")
    set_tests_properties("${name}" PROPERTIES LABELS "${labels}" SKIP_RETURN_CODE 4 TIMEOUT 3600 COST 50
                         ENVIRONMENT GPULAB_EMULATOR=never)
    gpulab_in_turn("${name}" "${labels}")
endfunction()

# gpulab_in_turn(<name> <labels>): in WSL a GPU serves one process at a time well.
function(gpulab_in_turn name labels)
    if(CMAKE_HOST_SYSTEM_VERSION MATCHES "[Mm]icrosoft" AND NOT labels MATCHES "(^|;)(cpu|opencl|oclgrind)(;|$)")
        set_property(TEST "${name}" PROPERTY RESOURCE_LOCK gpu)
    endif()
endfunction()

# gpulab_tool_test(<name> <target> <labels> <tool> <its program> <tag> <text that it finds> <cost> <environment>)
function(gpulab_tool_test name target labels tool runner cases finds cost environment)
    if(runner)
        string(MAKE_C_IDENTIFIER "${target}${cases}${tool}" log)
        add_test(NAME "${name}"
                 COMMAND ${CMAKE_COMMAND} -DTOOL=${tool} -DRUNNER=${runner} -DPROGRAM=$<TARGET_FILE:${target}> -DCASES=${cases}
                         -DFINDS=${finds} -DLOG=${CMAKE_CURRENT_BINARY_DIR}/${log}.log -P ${GPULAB_ROOT}/cmake/RunUnderTool.cmake)
    else()
        add_test(NAME "${name}" COMMAND ${CMAKE_COMMAND} -E echo "skipped: the program of ${tool} is not installed")
    endif()
    set_tests_properties("${name}" PROPERTIES LABELS "${labels}" COST ${cost} SKIP_REGULAR_EXPRESSION "skipped: "
                         ENVIRONMENT "GPULAB_GUARD_BYTES=0;${environment}")
    gpulab_in_turn("${name}" "${labels}")
endfunction()

# gpulab_oclgrind_test(<name> <target> <labels> [CASES <tag>] [FINDS <text>])
#
# Runs the test cases of a tag ([.oclgrind] unless told) under oclgrind, which interprets kernels and sees what a device
# forgives. With buffers of exactly the size asked for (no guard bands), so that it sees the first byte outside.
# Any finding fails the test; with FINDS it passes only when oclgrind's log holds that text: for kernels with a known
# mistake, such as "data race".
find_program(GPULAB_OCLGRIND oclgrind PATHS ${GPULAB_ROOT}/.oclgrind/bin)
function(gpulab_oclgrind_test name target labels)
    cmake_parse_arguments(OG "" "CASES;FINDS" "" CASES "[.oclgrind]" ${ARGN})
    gpulab_tool_test("${name}" ${target} "${labels};oclgrind" oclgrind "${GPULAB_OCLGRIND}" "${OG_CASES}" "${OG_FINDS}" 100
                     "GPULAB_EXPECT_PLATFORM=Oclgrind")
endfunction()

# gpulab_sanitizer_test(<name> <target> <labels> TOOL <tool> [CASES <tag>] [FINDS <text>])
#
# The same for the test cases [.sanitizer] and one tool of NVIDIA's compute-sanitizer: memcheck, racecheck, synccheck or
# initcheck. Buffers are not poisoned, so that initcheck sees reads of unwritten memory.
find_program(GPULAB_COMPUTE_SANITIZER compute-sanitizer HINTS ${CUDAToolkit_BIN_DIR} PATHS /usr/local/cuda/bin)
function(gpulab_sanitizer_test name target labels)
    cmake_parse_arguments(CS "" "TOOL;CASES;FINDS" "" CASES "[.sanitizer]" ${ARGN})
    # Under a tool a run of a variant takes 0.1 s, some take seconds, and programs side by side take less time than one after
    # the other. So they share one turn. They begin first (COST), so that few others wait for the end of this turn.
    set(environment "GPULAB_POISON=0;GPULAB_TEST_UNDER_TOOL=1;GPULAB_TEST_TURNS=shared")
    if(CS_TOOL STREQUAL "initcheck")
        # It looks at what a copy reads when the copy is handed over, though a kernel before it has not run yet: so no
        # launch returns before its kernel has ended.
        string(APPEND environment ";CUDA_LAUNCH_BLOCKING=1")
    endif()
    set(cost 1000)
    if(CS_TOOL STREQUAL "racecheck")
        set(cost 2000) # the slowest
    endif()
    gpulab_tool_test("${name}" ${target} "${labels};sanitizer" ${CS_TOOL} "${GPULAB_COMPUTE_SANITIZER}" "${CS_CASES}"
                     "${CS_FINDS}" ${cost} "${environment}")
endfunction()
