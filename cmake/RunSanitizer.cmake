# cmake -DSANITIZER=... -DTOOL=memcheck -DPROGRAM=... -DCASES=[.tag] -DFINDS=text -DLOG=... -P RunSanitizer.cmake
# Without FINDS: fails when the program fails, or when the tool has a finding. With FINDS: fails unless the log holds
# that text. Prints "skipped: ..." where every test case is skipped, unless GPULAB_REQUIRE_DEVICES is 1.
# GPULAB_TEST_VARIANT in the environment: of CASES, a tag, only those of this variant.
if(DEFINED ENV{GPULAB_TEST_VARIANT})
    set(CASES "$ENV{GPULAB_TEST_VARIANT} *${CASES}")
endif()
file(REMOVE ${LOG})
set(options "")
if(TOOL STREQUAL "memcheck")
    # Without padding the next array may begin where one ends, and a read past the end is a valid read of that array.
    set(options --leak-check no --padding 4096)
elseif(TOOL STREQUAL "racecheck")
    set(options --racecheck-report all)
endif()
execute_process(COMMAND ${SANITIZER} --tool ${TOOL} ${options} --log-file ${LOG} ${PROGRAM} "${CASES}"
                RESULT_VARIABLE rc OUTPUT_VARIABLE output ERROR_VARIABLE output)
# Were all of its test cases skipped? The exit code is the tool's, which some versions make 255 in a program that starts
# nothing on a GPU, so the last line of Catch2 decides.
if(output MATCHES "test cases: +([0-9]+) \\| +([0-9]+) skipped\n" AND CMAKE_MATCH_1 EQUAL CMAKE_MATCH_2
   AND NOT "$ENV{GPULAB_REQUIRE_DEVICES}" STREQUAL "1")
    string(REGEX MATCH "skipped: [^\n]*" why "${output}")
    message("${why}")
    return()
endif()
string(REPLACE "skipped: " "skipped, " output "${output}") # ctest looks for the words that mean the whole test
if(NOT EXISTS ${LOG})
    message(FATAL_ERROR "compute-sanitizer wrote no log: it did not run\n${output}")
endif()
file(READ ${LOG} findings)
if(FINDS)
    string(FIND "${findings}" "${FINDS}" at)
    if(at EQUAL -1)
        message(FATAL_ERROR "${TOOL} did not find '${FINDS}'; its log:\n${findings}\n${output}")
    endif()
    return()
endif()
if(NOT rc EQUAL 0)
    message(FATAL_ERROR "the program under ${TOOL} ended with ${rc}\n${findings}\n${output}")
endif()
if(TOOL STREQUAL "racecheck")
    set(clean "RACECHECK SUMMARY: 0 hazards displayed")
else()
    set(clean "ERROR SUMMARY: 0 errors")
endif()
string(FIND "${findings}" "${clean}" at)
if(at EQUAL -1)
    message(FATAL_ERROR "${TOOL} found:\n${findings}")
endif()
