# cmake -DTOOL=oclgrind -DRUNNER=<oclgrind or compute-sanitizer> -DPROGRAM=... -DCASES=[.tag] -DFINDS=text -DLOG=... -P RunUnderTool.cmake
# TOOL is oclgrind, or a tool of compute-sanitizer. CASES is a tag, or several, or the name of a test case.
# Without FINDS: fails when the program fails, or when the tool has a finding. With FINDS: fails unless the log holds
# that text. Prints "skipped: ..." where every test case is skipped, unless GPULAB_REQUIRE_DEVICES is 1.
# GPULAB_TEST_VARIANT in the environment: of the test cases with the first tag, only those of this variant.
if(DEFINED ENV{GPULAB_TEST_VARIANT})
    string(REGEX MATCH "^\\[[^]]*\\]" tag "${CASES}")
    set(CASES "$ENV{GPULAB_TEST_VARIANT} *${tag}")
endif()
set(options --tool ${TOOL} --log-file)
set(clean "ERROR SUMMARY: 0 errors")
if(TOOL STREQUAL "oclgrind")
    set(options --data-races --uninitialized --check-api --max-errors 5 --build-options -cl-opt-disable --log)
elseif(TOOL STREQUAL "memcheck")
    # Without padding the next array may begin where one ends, and a read past the end is a valid read of that array.
    set(options --tool ${TOOL} --leak-check no --padding 4096 --log-file)
elseif(TOOL STREQUAL "racecheck")
    set(options --tool ${TOOL} --racecheck-report all --log-file)
    set(clean "RACECHECK SUMMARY: 0 hazards displayed")
endif()
file(REMOVE ${LOG})
execute_process(COMMAND ${RUNNER} ${options} ${LOG} ${PROGRAM} "${CASES}"
                RESULT_VARIABLE rc OUTPUT_VARIABLE output ERROR_VARIABLE output)
# Were all of its test cases skipped? The exit code is the tool's, which some versions make 255 in a program that starts
# nothing on a GPU, so the last line of Catch2 decides.
if(output MATCHES "test cases: +([0-9]+) \\| +([0-9]+) skipped\n" AND CMAKE_MATCH_1 EQUAL CMAKE_MATCH_2
   AND NOT "$ENV{GPULAB_REQUIRE_DEVICES}" STREQUAL "1")
    string(REGEX MATCH "skipped: [^\n]*" why "${output}")
    message("${why}")
    return()
endif()
if(CASES MATCHES "~" AND output MATCHES "No test cases matched") # all others have a test of their own
    return()
endif()
string(REPLACE "skipped: " "skipped, " output "${output}") # ctest looks for the words that mean the whole test
if(NOT EXISTS ${LOG})
    message(FATAL_ERROR "${TOOL} wrote no log: it did not run\n${output}")
endif()
file(READ ${LOG} findings)
if(FINDS)
    if(NOT findings MATCHES "${FINDS}")
        message(FATAL_ERROR "${TOOL} did not find '${FINDS}'; its log:\n${findings}\n${output}")
    endif()
elseif(NOT rc EQUAL 0)
    message(FATAL_ERROR "the program under ${TOOL} ended with ${rc}\n${findings}\n${output}")
elseif(TOOL STREQUAL "oclgrind" AND NOT findings STREQUAL "" OR NOT TOOL STREQUAL "oclgrind" AND NOT findings MATCHES "${clean}")
    message(FATAL_ERROR "${TOOL} found:\n${findings}")
endif()
