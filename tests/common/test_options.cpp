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

TEST_CASE("--device and --backend choose devices, and only variants of those are wanted") {
    const auto chosen = [](std::vector<const char*> arguments) {
        Options options("lab", "a test");
        parse(options, std::move(arguments));
        std::string ids;
        for (const Backend backend : {Backend::cpu, Backend::opencl, Backend::cuda})
            for (const gpulab::Device& d : options.devices(backend)) ids += d.id() + ' ';
        return ids;
    };
    std::string all, opencl;
    for (const Backend backend : {Backend::cpu, Backend::opencl, Backend::cuda})
        for (const gpulab::Device& d : gpulab::devices(backend)) {
            all += d.id() + ' ';
            if (backend == Backend::opencl) opencl += d.id() + ' ';
        }
    CHECK(chosen({}) == all);
    CHECK(chosen({"--backend", "opencl"}) == opencl);
    CHECK(chosen({"--device", "cpu:0"}) == "cpu:0 ");
    CHECK(chosen({"--device", "cpu:0,cpu"}) == "cpu:0 ");
    if (!opencl.empty()) {
        CHECK(chosen({"--device", "opencl"}) == opencl);
        CHECK(chosen({"--device", "cpu,opencl:0"}) == "cpu:0 opencl:0 ");
    }

    const auto wanted = [](std::vector<const char*> arguments) {
        Options options("lab", "a test");
        parse(options, std::move(arguments));
        std::string backends;
        for (const Backend backend : {Backend::cpu, Backend::opencl, Backend::cuda}) {
            if (options.wants("any", backend)) backends += std::string(name_of(backend)) + ' ';
            if (!options.wants("any", backend)) CHECK(options.devices(backend).empty());
        }
        return backends;
    };
    CHECK(wanted({}) == "cpu opencl cuda "); // those without a device are listed with the reason
    CHECK(wanted({"--backend", "cpu"}) == "cpu ");
    CHECK(wanted({"--backend", "cpu,cuda"}) == "cpu cuda ");
    CHECK(wanted({"--device", "cpu:0"}) == "cpu ");
    CHECK(wanted({"--device", "CPU"}) == "cpu ");
    CHECK(wanted({"--device", "cpu", "--backend", "cpu"}) == "cpu ");
    CHECK(wanted({"--device", "cpu", "--backend", "cuda"}) == "");

    Options options("lab", "a test");
    parse(options, {"--device", "CPU"});
    CHECK(options.named(Backend::cpu));
    CHECK_FALSE(options.named(Backend::opencl));
    Options by_id("lab", "a test");
    parse(by_id, {"--device", "cpu:0"});
    CHECK_FALSE(by_id.named(Backend::cpu));
    CHECK(by_id.devices(Backend::cpu).size() == 1);
    Options by_backend("lab", "a test");
    parse(by_backend, {"--backend", "cpu,opencl"});
    CHECK(by_backend.named(Backend::cpu));
    CHECK(by_backend.named(Backend::opencl));
    CHECK_FALSE(by_backend.named(Backend::cuda));
}

TEST_CASE("a device that is not there is refused with those that are, and a missing back end with its reason") {
    const auto complaint = [](const std::string& wish) {
        Options options("lab", "a test");
        const std::array<const char*, 3> arguments{"lab", "--device", wish.c_str()};
        CHECK_THROWS_AS(options.parse(3, arguments.data()), UsageError);
        try {
            options.parse(3, arguments.data());
        } catch (const UsageError& e) {
            return std::string(e.what());
        }
        return std::string();
    };
    const std::string cpu = "cpu:0 (" + gpulab::devices(Backend::cpu)[0].name + ")";
    CHECK(complaint("no such thing").starts_with("--device: no device is 'no such thing'; this machine has " + cpu));
    CHECK(complaint("cpu:1").starts_with("--device: no device is 'cpu:1'; this machine has " + cpu));
    for (const Backend backend : {Backend::opencl, Backend::cuda}) {
        const std::string name(name_of(backend));
        const auto& found = gpulab::devices(backend);
        for (const gpulab::Device& d : found)
            CHECK(complaint("cpu:1").find(d.id() + " (" + d.name + ")") != std::string::npos);
        const std::string why = found.empty() ? " (" + gpulab::why_no_devices(backend) + ")" : "";
        CHECK(complaint(name + ":99").starts_with("--device: no device is '" + name + ":99'" + why + "; this machine"));
        if (found.empty()) CHECK(complaint(name).starts_with("--device: no device is '" + name + "'" + why + ";"));
    }
}
