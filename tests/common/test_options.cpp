#include <array>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_exception.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>
#include <vector>

#include "gpulab/error.hpp"
#include "gpulab/jobs.hpp"
#include "gpulab/options.hpp"

using gpulab::Backend;
using gpulab::Options;
using gpulab::parse_size;
using gpulab::UsageError;

namespace {

void parse(Options& options, std::vector<const char*> arguments) {
    arguments.insert(arguments.begin(), "lab");
    REQUIRE(options.parse(static_cast<int>(arguments.size()), arguments.data()));
}

using Run = void(int, std::vector<int>&, gpulab::Stopwatch&);
const std::array table = {gpulab::Variant<Run>{"cpu_one", "gives 1", Backend::cpu, nullptr},
                          gpulab::Variant<Run>{"cpu_refuses", "cannot", Backend::cpu, nullptr},
                          gpulab::Variant<Run>{"cpu_strays", "writes outside", Backend::cpu, nullptr}};

} // namespace

TEST_CASE("sizes are read as people write them") {
    CHECK(parse_size("0", "--n") == 0);
    CHECK(parse_size("1000003", "--n") == 1000003);
    CHECK(parse_size("1e6", "--n") == 1000000);
    CHECK(parse_size("2^28", "--n") == 268435456);
    CHECK(parse_size("16k", "--n") == 16000);
    CHECK(parse_size("16Ki", "--n") == 16384);
    CHECK(parse_size("3Gi", "--n") == 3221225472);
    CHECK(parse_size("9223372036854775807", "--n") == 9223372036854775807);
}

TEST_CASE("what is no size is refused in one line that names the option") {
    for (const char* text : {"-5", "-1e3", "-2^3", "", "abc", "1.5", "12x", "0x10", "1e400", "2^64", "2^", "2^-1", " 5",
                             "9223372036854775808", "1e19", "nan", "inf", "1k5"}) {
        INFO("text: '" << text << "'");
        CHECK_THROWS_MATCHES(parse_size(text, "--n"), UsageError,
                             Catch::Matchers::MessageMatches(Catch::Matchers::StartsWith("--n: ") &&
                                                             !Catch::Matchers::ContainsSubstring("\n")));
    }
}

TEST_CASE("options outside their bounds, unknown ones and unknown choices are refused") {
    const auto refused = [](std::vector<const char*> arguments) {
        Options options("lab", "a test");
        std::size_t n = 7;
        std::string op = "sum";
        options.size("--n", n, 1, "elements", 100);
        options.choice("--op", op, {"sum", "dot"}, "what to do");
        options.variants(table);
        options.studies({{"sizes", "a sweep", {"--op"}}});
        arguments.insert(arguments.begin(), "lab");
        try {
            options.parse(static_cast<int>(arguments.size()), arguments.data());
            return std::string("accepted");
        } catch (const UsageError& e) {
            return std::string(e.what()).find('\n') == std::string::npos ? std::string("refused") : e.what();
        }
    };
    CHECK(refused({"--n", "100"}) == "accepted");
    CHECK(refused({"--n", "0"}) == "refused");
    CHECK(refused({"--n", "101"}) == "refused");
    CHECK(refused({"--n"}) == "refused");
    CHECK(refused({"--n", ""}) == "refused");
    CHECK(refused({"--seed", ""}) == "refused");
    CHECK(refused({"--json", ""}) == "refused");
    CHECK(refused({"--study", ""}) == "refused");
    CHECK(refused({"--op", "max"}) == "refused");
    CHECK(refused({"--variant", "cpu_two"}) == "refused");
    CHECK(refused({"--variant", "cpu_one,"}) == "refused");
    CHECK(refused({"--backend", "vulkan"}) == "refused");
    CHECK(refused({"--device", "cuda:99"}) == "refused");
    CHECK(refused({"--study", "size"}) == "refused");
    CHECK(refused({"--study", "sizes", "--op", "dot"}) == "accepted");
    CHECK(refused({"--study", "sizes", "--repeat", "3"}) == "accepted");
    CHECK(refused({"--study", "sizes", "--n", "7"}) == "refused"); // the study would not heed it
    CHECK(refused({"--repeat", "0"}) == "refused");
    CHECK(refused({"--warmup", "-1"}) == "refused");
    CHECK(refused({"--seed", "x"}) == "refused");
    CHECK(refused({"--json", "x.json", "--csv", "./x.json"}) == "refused");
    CHECK(refused({"stray"}) == "refused");
    CHECK(refused({"--frobnicate"}) == "refused");
}

TEST_CASE("without --repeat a stopwatch stops early, with it never") {
    Options some("lab", "a test");
    parse(some, {"--repeat", "7", "--warmup", "0"});
    CHECK(some.stopwatch().repeats() == 7);
    CHECK(some.stopwatch().warmup() == 0);
    Options none("lab", "a test");
    parse(none, {});
    CHECK(none.stopwatch().repeats() == 20);
    CHECK(none.seed() == 42);
}
