// Kernels with a fault each (faults.cu): the checks see it, and nothing in the same kernel without it.
#include "checks/checks.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/generators/catch_generators_range.hpp>
#include <fstream>
#include <numeric>
#include <regex>
#include <sstream>

#include "machine/memory.hpp"
#include "ptx/module.hpp"

using namespace cuda_emulator;

namespace {

std::string text_of(const std::string& file) {
    std::ifstream in(file);
    REQUIRE(in);
    return (std::ostringstream() << in.rdbuf()).str();
}

struct Case {
    std::string name, fault; ///< fault: the first word of the comment; empty where there is none
    unsigned first_line = 0, last_line = 0;
    bool several_blocks = false;
};

std::vector<Case> cases() {
    std::vector<Case> all;
    std::istringstream text(text_of(FAULTS_CU));
    const std::regex head(R"(^KERNEL\((\w+)\) \{(?: // (\w+):)?.*)");
    unsigned number = 0;
    for (std::string line; std::getline(text, line);) {
        ++number;
        if (std::smatch found; std::regex_match(line, found, head))
            all.push_back({found[1], found[2], number, number, false});
        if (line == "}" && !all.empty() && all.back().last_line == all.back().first_line) all.back().last_line = number;
        if (!all.empty() && all.back().last_line == all.back().first_line && line.find("blockIdx") != std::string::npos)
            all.back().several_blocks = true;
    }
    return all;
}

/// What is found in one launch of a kernel.
std::vector<std::string> found_in(const Case& one, std::uint64_t seed, unsigned host_threads) {
    constexpr int n = 512;
    Memory memory(std::size_t{64} << 20);
    const Module module(text_of(FAULTS_PTX), memory);
    auto* const a = static_cast<int*>(memory.allocate(n * sizeof(int), MemoryKind::device));
    auto* const b = static_cast<int*>(memory.allocate(n * sizeof(int), MemoryKind::device));
    std::iota(a, a + n, 0);
    memory.mark_written(reinterpret_cast<std::uintptr_t>(a), n * sizeof(int));

    Launch launch;
    launch.kernel = &module.kernel(one.name);
    launch.grid = {one.several_blocks ? 4u : 1u, 1, 1};
    launch.block = {128, 1, 1};
    launch.cooperative = one.name.starts_with("grid_");
    launch.seed = seed;
    launch.host_threads = host_threads;
    launch.arguments.resize(20);
    std::memcpy(launch.arguments.data(), &a, 8);
    std::memcpy(launch.arguments.data() + 8, &b, 8);
    std::memcpy(launch.arguments.data() + 16, &n, 4);

    Checks checks;
    std::vector<std::string> found;
    checks.findings().send_to([&](const std::string& text) { found.push_back(text); });
    try {
        run(launch, memory, checks.observe().get());
    } catch (const Fault& fault) {
        INFO(fault.what());
        CHECK(!found.empty()); // what ends a kernel has been told of
    }
    return found;
}

const std::map<std::string, std::string> titles{
    {"races", " data race at "},       {"outside", "Invalid "},      {"misaligned", "Misaligned "},
    {"unset", "Uninitialized value "}, {"divergence", "divergence"}, {"shuffle", "Invalid shuffle from lane "}};

} // namespace

TEST_CASE("the checks find the fault of each kernel that has one, at its line, and none in the others") {
    for (const Case& one : cases())
        for (const std::uint64_t seed : {0, 7, 123})
            for (const unsigned threads : {1, 2})
                DYNAMIC_SECTION(one.name << ", order " << seed << ", host threads " << threads) {
                    const std::vector<std::string> found = found_in(one, seed, threads);
                    const std::string all = std::accumulate(found.begin(), found.end(), std::string());
                    CAPTURE(all);
                    CHECK(one.fault.empty() == one.name.ends_with("_right"));
                    if (one.fault.empty()) {
                        CHECK(found.empty());
                        continue;
                    }
                    REQUIRE(!found.empty());
                    CHECK(all.find(titles.at(one.fault)) != std::string::npos);
                    CHECK(all.find("Kernel: " + one.name) != std::string::npos);
                    // The lines that are named are those of the kernel, or of the function that it calls.
                    const std::regex at(R"(At line (\d+) \(column \d+\) of .*faults\.cu:)");
                    for (std::sregex_iterator i(all.begin(), all.end(), at), end; i != end; ++i)
                        if (const auto line = static_cast<unsigned>(std::stoul((*i)[1]));
                            line >= cases().front().first_line) {
                            CHECK(line > one.first_line);
                            CHECK(line < one.last_line);
                        }
                }
}

TEST_CASE("a finding names both threads of a race, their blocks and lines, once") {
    const auto all = cases();
    const auto one = std::find_if(all.begin(), all.end(), [](const Case& c) { return c.name == "barrier_wrong"; });
    const std::vector<std::string> found = found_in(*one, 0, 1);
    REQUIRE(found.size() == 1); // one line reads and writes
    const std::regex form(
        "\n(Read|Write)-write data race at shared memory address 0x1[0-9a-f]{12}\n\tKernel: barrier_wrong\n\t\n"
        R"(\tFirst entity:  Thread\(\d+,0,0\) Block\(0,0,0\)\n\t  (ld|st)\.shared\.u32 .*\n)"
        R"(\tAt line \d+ \(column \d+\) of .*faults\.cu:\n\t  if \(threadIdx\.x < stride\) .*\n\t\n)"
        R"(\tSecond entity: Thread\(\d+,0,0\) Block\(0,0,0\)\n\t  (ld|st)\.shared\.u32 .*\n)"
        R"(\tAt line \d+ \(column \d+\) of .*faults\.cu:\n\t  if .*\n)");
    CAPTURE(found[0]);
    CHECK(std::regex_match(found[0], form));
}

TEST_CASE("an access out of bounds is told with its place in the allocation") {
    const auto all = cases();
    const auto one = std::find_if(all.begin(), all.end(), [](const Case& c) { return c.name == "bounds_wrong"; });
    const std::vector<std::string> found = found_in(*one, 0, 1);
    REQUIRE(!found.empty());
    CHECK(found[0].find("Invalid read of size 4 at global memory address 0x") != std::string::npos);
    CHECK(found[0].find("800\n") != std::string::npos); // byte 0x800 of 2048
    CHECK(found[0].find("0 bytes behind the end of an allocation of 2048 bytes") != std::string::npos);
    CHECK(found[0].find("Thread(127,0,0) Block(3,0,0)") != std::string::npos);
}
