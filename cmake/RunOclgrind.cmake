# cmake -DOCLGRIND=... -DPROGRAM=... -DCASES=[.tag] -DFINDS=text -DLOG=... -P RunOclgrind.cmake
# Without FINDS: fails when the program fails, or when oclgrind has anything to say. Its exit code is the program's, so
# the log decides. With FINDS: fails unless the log holds that text. CASES is a tag, or the name of a test case.
# GPULAB_TEST_VARIANT in the environment: of the test cases for oclgrind, only those of this variant.
if(DEFINED ENV{GPULAB_TEST_VARIANT})
    set(CASES "$ENV{GPULAB_TEST_VARIANT} *[.oclgrind]")
endif()
file(REMOVE ${LOG})
execute_process(
    COMMAND ${OCLGRIND} --data-races --uninitialized --check-api --max-errors 5 --build-options -cl-opt-disable
            --log ${LOG} ${PROGRAM} "${CASES}"
    RESULT_VARIABLE rc OUTPUT_VARIABLE output ERROR_VARIABLE output)
if(rc EQUAL 4 AND NOT FINDS AND NOT "$ENV{GPULAB_REQUIRE_DEVICES}" STREQUAL "1")
    message("${output}") # its test cases were skipped: "skipped: <reason>"
    return()
endif()
if(CASES MATCHES "~" AND output MATCHES "No test cases matched") # all others have a test of their own
    return()
endif()
string(REPLACE "skipped: " "skipped, " output "${output}") # ctest looks for the words that mean the whole test
message("${output}")
if(NOT EXISTS ${LOG})
    message(FATAL_ERROR "oclgrind wrote no log: it did not run")
endif()
file(READ ${LOG} findings)
if(FINDS)
    string(TOLOWER "${findings}" lower)
    string(FIND "${lower}" "${FINDS}" at)
    if(at EQUAL -1)
        message(FATAL_ERROR "oclgrind did not find a '${FINDS}'; its log:\n${findings}")
    endif()
    return()
endif()
if(NOT findings STREQUAL "")
    message(FATAL_ERROR "oclgrind found:\n${findings}")
endif()
if(NOT rc EQUAL 0)
    message(FATAL_ERROR "the program under oclgrind ended with ${rc}")
endif()
