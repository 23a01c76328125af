# Runs one test case under oclgrind and fails unless oclgrind reports a data race.
file(REMOVE ${LOG})
execute_process(
    COMMAND ${OCLGRIND} --data-races --max-errors 5 --build-options -cl-opt-disable --log ${LOG} ${PROGRAM} ${TEST}
    RESULT_VARIABLE rc OUTPUT_VARIABLE out ERROR_VARIABLE err)
if(NOT EXISTS ${LOG})
    message(FATAL_ERROR "oclgrind wrote no log: it did not run\n${out}${err}")
endif()
file(READ ${LOG} findings)
if(NOT findings MATCHES "data race")
    message(FATAL_ERROR "oclgrind saw no data race (exit code ${rc}):\n${findings}\n${out}${err}")
endif()
