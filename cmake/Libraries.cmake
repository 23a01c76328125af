# The libraries that are found by the name of a CMake package, and where each comes from when it is not installed.
# Whoever includes this file defines what happens to them:
# gpulab_library(<package> <minimum version> <git repository> <tag> <Debian's package>)

set(GPULAB_ZLIB_NEEDED 1.2.11) # these two are found by the modules that CMake brings, not by packages of their own
set(GPULAB_PNG_NEEDED 1.6.37)
gpulab_library(fmt 8.0 https://github.com/fmtlib/fmt.git 10.2.1 libfmt-dev)
gpulab_library(CLI11 2.1 https://github.com/CLIUtils/CLI11.git v2.4.2 libcli11-dev)
gpulab_library(nlohmann_json 3.9 https://github.com/nlohmann/json.git v3.11.3 nlohmann-json3-dev)
if(GPULAB_TESTS) # an older Catch2 can report a failed test as skipped
    gpulab_library(Catch2 3.7.1 https://github.com/catchorg/Catch2.git v3.8.1 libcatch2-dev)
endif()
