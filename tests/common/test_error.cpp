// How a program fails: its line on stderr and its exit code.
#include <catch2/catch_test_macros.hpp>
#include <cstdio>
#include <functional>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "gpulab/error.hpp"
#include "gpulab_testing/capture.hpp"

#if defined(GPULAB_WITH_OPENCL)
#include "gpulab/opencl/context.hpp"
#endif

namespace {

struct Failure {
    int code = -1;
    std::string line;
    bool operator==(const Failure&) const = default;
};

/// The exit code of a program whose main function ends with what body throws.
int failure_code(const std::function<void()>& body) {
    try {
        body();
        return -1;
    } catch (...) {
        return gpulab::fail("saxpy");
    }
}

/// The same, and what it prints.
Failure failure(const std::function<void()>& body) {
    Failure f;
    f.line = gpulab::testing::printed_by([&] { f.code = failure_code(body); }).err;
    return f;
}

} // namespace

TEST_CASE("a wrong result ends a program with 1, everything else with 2, and each with one line") {
    CHECK((gpulab::exit_success == 0 && gpulab::exit_wrong_result == 1 && gpulab::exit_failure == 2));
    CHECK(failure([] { throw gpulab::WrongResult("wrote outside"); }) == Failure{1, "saxpy: wrote outside\n"});
    CHECK(failure([] { throw gpulab::UsageError("--n: is empty"); }) == Failure{2, "saxpy: --n: is empty\n"});
    CHECK(failure([] { throw gpulab::Unsupported("too large"); }) == Failure{2, "saxpy: too large\n"});
    CHECK(failure([] { throw gpulab::Error("broken"); }) == Failure{2, "saxpy: broken\n"});
    CHECK(failure([] { throw std::runtime_error("something else"); }) == Failure{2, "saxpy: something else\n"});
    const std::string memory = "saxpy: not enough main memory for this problem\n";
    CHECK(failure([] { throw std::bad_alloc(); }) == Failure{2, memory});
    CHECK(failure([] { std::vector<int>().reserve(std::numeric_limits<std::size_t>::max()); }) == Failure{2, memory});
    CHECK(failure([] { throw 7; }) == Failure{2, "saxpy: stopped by an exception of unknown type\n"});
}

TEST_CASE("a message stays on one line, whatever a name in it holds; the log of a compiler keeps its lines") {
    CHECK(failure([] { throw gpulab::Error("no file 'a\nb\x1b[31m\tc'"); }) ==
          Failure{2, "saxpy: no file 'a b [31m c'\n"});
    CHECK(failure([] { throw gpulab::Error(std::string(100'000, 'x')); }).line.size() < 5100);
    CHECK(failure([] {
              throw gpulab::Error("no " + std::string(6000, 'x') + ": too long");
          }).line.ends_with("x: too long\n"));
    CHECK(failure([] { throw gpulab::Error("no file " + std::string(4096, 'x')); }).line.size() == 7 + 8 + 4096 + 1);
    CHECK(failure([] { throw gpulab::BuildError("first\nsecond"); }) == Failure{2, "saxpy: first\nsecond\n"});
}

TEST_CASE("the table that was printed comes before the line that ends the program, where both go to one file") {
    CHECK(gpulab::testing::printed_together_by([] {
              std::printf("table\n");
              failure_code([] { throw gpulab::Error("broken"); });
              std::printf("end\n");
          }) == "table\nsaxpy: broken\nend\n");
}

#if defined(GPULAB_WITH_OPENCL)
TEST_CASE("an error of OpenCL names the call and the code") {
    CHECK(failure([] { throw cl::Error(CL_OUT_OF_RESOURCES, "clFinish"); }) ==
          Failure{2, "saxpy: clFinish failed: CL_OUT_OF_RESOURCES\n"});
    CHECK(gpulab::opencl_error_name(CL_INVALID_KERNEL_ARGS) == "CL_INVALID_KERNEL_ARGS");
    CHECK(gpulab::opencl_error_name(-12345) == "OpenCL error -12345");
}
#endif
