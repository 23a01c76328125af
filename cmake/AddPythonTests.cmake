# add_python_tests(): a file of pytest's tests as one test of ctest.
include_guard(GLOBAL)

# The Python that has most of what the tests use. The system's, with Debian's packages, may come second on the PATH.
foreach(wanted "pytest, matplotlib" pytest sys)
    foreach(python python3 /usr/bin/python3)
        execute_process(COMMAND ${python} -c "import ${wanted}" WORKING_DIRECTORY ${CMAKE_BINARY_DIR} RESULT_VARIABLE absent ERROR_QUIET)
        if(absent EQUAL 0 AND NOT GPULAB_PYTHON)
            set(GPULAB_PYTHON ${python})
            set(GPULAB_PYTHON_HAS ${wanted})
        endif()
    endforeach()
endforeach()

# add_python_tests(<name> FILE <test_x.py> LABELS <labels> [COST <seconds>] [ENVIRONMENT <NAME=value...>])
#
# Files run in parallel, the tests of one file one after the other: what takes long gets a file of its own. pytest.ini has
# the options. Tests that are skipped show with their reasons; the whole is skipped when all of them are, or without pytest.
# What costs most begins first. TIMEOUT ends what hangs; it is no limit on a busy machine.
function(add_python_tests name)
    cmake_parse_arguments(PY "" "FILE;COST" "LABELS;ENVIRONMENT" ${ARGN})
    if(PY_UNPARSED_ARGUMENTS OR NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${PY_FILE})
        message(FATAL_ERROR "add_python_tests(${name}): no file '${PY_FILE}', or unknown arguments ${PY_UNPARSED_ARGUMENTS}")
    endif()
    if(NOT PY_COST)
        set(PY_COST 900)
    endif()
    if("thorough" IN_LIST PY_LABELS)
        list(APPEND PY_ENVIRONMENT GPULAB_JUDGED_ONCE=yes) # see tests/judged_once.py
    endif()
    if(GPULAB_PYTHON_HAS MATCHES pytest)
        add_test(NAME "${name}" COMMAND ${GPULAB_PYTHON} -B -m pytest ${CMAKE_CURRENT_SOURCE_DIR}/${PY_FILE})
    else()
        add_test(NAME "${name}" COMMAND ${CMAKE_COMMAND} -E echo "skipped: no pytest (package python3-pytest)")
        set_tests_properties("${name}" PROPERTIES SKIP_REGULAR_EXPRESSION "skipped: no pytest")
    endif()
    set_tests_properties("${name}" PROPERTIES LABELS "${PY_LABELS}" TIMEOUT 7200 COST ${PY_COST}
                         SKIP_RETURN_CODE 77 ENVIRONMENT "GPULAB_BUILD=${CMAKE_BINARY_DIR};GPULAB_EMULATOR=never;${PY_ENVIRONMENT}")
endfunction()
