# Lets ctest tell at its end what is wrong with each variant and why tests were skipped (tools/run_tests.py): it prints the
# output of a failed test where it ran, and of a skipped one "(Skipped)" and nothing else.
include_guard(GLOBAL)

# CTest reads CTestCustom.cmake in the build folder by itself. Presets have the results written to tests.xml there
# before the last of these commands runs.
find_program(GPULAB_PYTHON3 python3)
if(GPULAB_PYTHON3)
    file(WRITE ${CMAKE_BINARY_DIR}/CTestCustom.cmake "\
set(CTEST_CUSTOM_PRE_TEST [[\"${CMAKE_COMMAND}\" -E touch \"${CMAKE_BINARY_DIR}/tests.started\"]])
set(CTEST_CUSTOM_POST_TEST [[\"${GPULAB_PYTHON3}\" -B \"${CMAKE_CURRENT_LIST_DIR}/../tools/run_tests.py\" \"${CMAKE_BINARY_DIR}\"]])
set(CTEST_CUSTOM_MAXIMUM_PASSED_TEST_OUTPUT_SIZE 65536)
set(CTEST_CUSTOM_MAXIMUM_FAILED_TEST_OUTPUT_SIZE 1048576)
")
endif()
