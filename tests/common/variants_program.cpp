// A test program like those of the labs, for a table of variants of which some are wrong: what cannot be tested from
// inside is whether its test cases fail, and what they print.
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <stdexcept>
#include <vector>

#include "gpulab/compare.hpp"
#include "gpulab/error.hpp"
#include "gpulab/variant.hpp"
#include "gpulab_testing/variants.hpp"

using gpulab::Backend;
using gpulab::testing::Faults;

namespace {

using Output = std::vector<float>;
using Run = void(Output&);

const Output expected = {1, 2, 3, 4, 5, 6, 7};

void right(Output& out) { out = expected; }
void every_third_is_zero(Output& out) { out = {0, 2, 3, 0, 5, 6, 0}; }
void stops(Output&) { throw std::runtime_error("out of paper\nand ink"); }

std::string fault_of(Run* run) {
    Output out;
    run(out);
    return gpulab::compare(expected, out, 0).message;
}

constexpr std::array table = {
    gpulab::Variant<Run>{"cpu_right", "", Backend::cpu, right},
    gpulab::Variant<Run>{"cpu_third", "", Backend::cpu, every_third_is_zero},
    gpulab::Variant<Run>{"cpu_stops", "", Backend::cpu, stops},
    gpulab::Variant<Run>{"cpu_left_out", "", Backend::cpu, nullptr},
};

const gpulab::testing::VariantCases cases(table, "counts to seven", "", [](const auto& variant, Faults& faults) {
    faults.check("numbers", [&] { return fault_of(variant.run); });
    faults.check("numbers again", [&] { return fault_of(variant.run); });
    faults.check("nothing", [] { return ""; });
});
const gpulab::testing::VariantCases unchecked(table, "is looked at by nobody", "", [](const auto&, Faults&) {});

} // namespace
