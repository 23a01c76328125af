# cmake -DOCLGRIND=... -DPROGRAM=... -DLOG=... -P RunOclgrind.cmake
# Fails when the program fails, or when oclgrind has anything to say: its exit code is the program's, so the log decides.
file(REMOVE ${LOG})
execute_process(
    COMMAND ${OCLGRIND} --data-races --uninitialized --check-api --max-errors 5 --build-options -cl-opt-disable
            --log ${LOG} ${PROGRAM} "[.oclgrind]"
    RESULT_VARIABLE rc)
if(NOT EXISTS ${LOG})
    message(FATAL_ERROR "oclgrind wrote no log: it did not run")
endif()
file(READ ${LOG} findings)
if(NOT findings STREQUAL "")
    message(FATAL_ERROR "oclgrind found:\n${findings}")
endif()
if(NOT rc EQUAL 0)
    message(FATAL_ERROR "the program under oclgrind ended with ${rc}")
endif()
