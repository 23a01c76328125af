# cmake -DPROGRAM=... -DARGUMENTS=... -P ExpectUsageError.cmake: the program must end with 2 and one line on stderr.
execute_process(COMMAND ${PROGRAM} ${ARGUMENTS} RESULT_VARIABLE rc OUTPUT_VARIABLE out ERROR_VARIABLE err)
if(NOT rc EQUAL 2)
    message(FATAL_ERROR "exit code ${rc}, expected 2\n${out}${err}")
endif()
if(NOT err MATCHES "^matmul: [^\n]+\n$")
    message(FATAL_ERROR "expected one line on stderr that begins with 'matmul: ', got:\n${err}")
endif()
