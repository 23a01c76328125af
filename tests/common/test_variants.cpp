// Whether the test case of a wrong variant fails, and what the student then reads.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "gpulab/device.hpp"
#include "gpulab/error.hpp"
#include "gpulab/guard.hpp"
#include "gpulab/stopwatch.hpp"
#include "gpulab_testing/environment.hpp"
#include "gpulab_testing/large.hpp"
#include "gpulab_testing/pairs.hpp"
#include "gpulab_testing/program.hpp"
#include "gpulab_testing/variants.hpp"

using gpulab::testing::Outcome;
using gpulab::testing::special_fault;

namespace {
const gpulab::testing::Program program("variants_program", VARIANTS_PROGRAM);

/// The program's output for one test case.
Outcome of_case(const std::string& name) { return program("\"" + name + "\""); }
} // namespace

TEST_CASE("the test case of a right variant passes, and prints nothing about it") {
    const Outcome outcome = of_case("cpu_right counts to seven");
    CHECK(outcome.exit_code == 0);
    CHECK(outcome.out.find("is wrong") == std::string::npos);
}

TEST_CASE("the test case of a wrong variant fails, and says once what each check found") {
    const Outcome outcome = of_case("cpu_third counts to seven");
    const std::string begin = "cpu_third on cpu:0 (" + gpulab::devices(gpulab::Backend::cpu).front().name + ")";
    CHECK(outcome.exit_code != 0);
    CHECK(outcome.out.find(begin + " is wrong\n"
                                   "  numbers: 3 of 7 elements wrong: every 3rd; looks like: zero. First: element 0, "
                                   "expected 1, got 0. Worst: element 6, error 7, tolerance 0.\n"
                                   "  numbers again: the same\n") != std::string::npos);
    CHECK(outcome.out.find("\n  nothing: ") == std::string::npos);
}

TEST_CASE("the test case of a variant that throws, or that the build left out, fails") {
    const Outcome throws = of_case("cpu_stops counts to seven");
    CHECK(throws.exit_code != 0);
    CHECK(throws.out.find(" is wrong\n  numbers: it threw: out of paper\n    and ink\n  numbers again: the same\n") !=
          std::string::npos);
    const Outcome left_out = of_case("cpu_left_out counts to seven");
    CHECK(left_out.exit_code != 0);
    CHECK(left_out.out.find("this build has no function for cpu_left_out") != std::string::npos);
}

TEST_CASE("the test case of a variant that nothing checks does not pass") {
    const Outcome outcome = of_case("cpu_right is looked at by nobody");
    CHECK(outcome.exit_code != 0);
    CHECK(outcome.out.find("nothing was checked") != std::string::npos);
}

TEST_CASE("for injected faults checks are counted, and end with the first fault or after a number of them") {
    const gpulab::testing::ScratchFile checks;
    const gpulab::testing::Environment counted("GPULAB_TEST_CHECKS", checks.path());
    const Outcome outcome = of_case("cpu_third counts to seven");
    CHECK(outcome.exit_code != 0);
    CHECK(outcome.out.find("  numbers: 3 of 7") != std::string::npos);
    CHECK(outcome.out.find("numbers again") == std::string::npos);
    CHECK(checks.text().size() == 1);
    const gpulab::testing::Environment most("GPULAB_TEST_MOST_CHECKS", "2");
    CHECK(of_case("cpu_right counts to seven").exit_code == 0);
    CHECK(checks.text().size() == 1 + 2);
}

TEST_CASE("a reset that leaves the result of the run before is found") {
    using Floats = std::vector<float>;
    using gpulab::Stopwatch;
    const auto compute = [](Floats& out) { return [&out] { out = {1, 2}; }; };
    const auto poisons = [&](Floats& out, Stopwatch& watch) { watch.time(compute(out), [&] { gpulab::poison(out); }); };
    const auto does_nothing = [&](Floats& out, Stopwatch& watch) { watch.time(compute(out), [] {}); };
    const auto first_only = [&](Floats& out, Stopwatch& watch) {
        watch.time(compute(out), [&, first = true]() mutable {
            if (std::exchange(first, false)) gpulab::poison(out);
        });
    };
    const auto sees_it = [&](Floats& out, Stopwatch& watch) {
        poisons(out, watch);
        if (std::isnan(out[0])) throw gpulab::WrongResult("nothing was computed");
    };
    int run = 0; // an earlier result that differs by its rounding is no new one
    const auto rounds_anew = [&](Floats& out, Stopwatch& watch) {
        watch.time([&] { out = {1 + 1e-6f * static_cast<float>(++run), 2, 3, 4}; }, [] {});
    };
    const auto first_element = [&](Floats& out, Stopwatch& watch) {
        watch.time([&] { out = {1, 2, 3, 4}; }, [&] { out[0] = gpulab::poison_value<float>(); });
    };
    using gpulab::testing::reset_fault;
    if (!gpulab::poisons()) SKIP("nothing is poisoned here");
    CHECK(reset_fault(poisons, Floats(2)) == "");
    CHECK(reset_fault(sees_it, Floats(2)) == "");
    CHECK(reset_fault(does_nothing, Floats(2)).starts_with("its reset leaves the result"));
    CHECK(reset_fault(first_only, Floats(2)).starts_with("its reset leaves the result"));
    CHECK(reset_fault(rounds_anew, Floats(4)).starts_with("its reset leaves the result"));
    CHECK(reset_fault(first_element, Floats(4)).starts_with("its reset leaves the result"));
}

TEST_CASE("a variant that does not poison its result, names no tile or one that no check reads is reported") {
    using gpulab::Backend, gpulab::testing::contract_violation;
    gpulab::Stopwatch once;
    once.time([] {});
    CHECK(contract_violation(Backend::cpu, false, once).starts_with("it does not poison"));
    once.notes_reset();
    CHECK(contract_violation(Backend::cpu, false, once) == "");
    CHECK(contract_violation(Backend::opencl, true, once) == "");
    CHECK(contract_violation(Backend::opencl, false, once).starts_with("it names no tile"));
    once.tile(256);
    CHECK(contract_violation(Backend::opencl, false, once) == "");
    once.tile(64, "colums");
    CHECK(contract_violation(Backend::cpu, false, once) == "");
    CHECK(contract_violation(Backend::opencl, false, once) ==
          "it names a tile of 64 \"colums\"; the checks know only: elements");
    CHECK(contract_violation(Backend::cuda, false, once, {"rows", "columns"}) ==
          "it names a tile of 256 \"elements\"; the checks know only: rows, columns");
}

TEST_CASE("the comparison for NaN and infinities says how many are wrong, where, and the first in all its digits") {
    constexpr float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
    using Floats = std::vector<float>;
    CHECK(special_fault(Floats{nan, inf, -inf, 0}, Floats{-nan, inf, -inf, -0.0f}) == "");
    CHECK(special_fault(Floats{}, Floats{}) == "");
    CHECK(special_fault(Floats{1}, Floats{1, 2}) == "another length");
    CHECK(special_fault(Floats{nan, 1}, Floats{gpulab::poison_value<float>(), 1}) ==
          "1 of 2 elements wrong: only element 0; looks like: never written, or computed from unwritten data. First: "
          "element 0, expected nan, got -nan.");
    CHECK(special_fault(Floats{1, 1e-42f, 2e-42f}, Floats{1, 0, 0}) ==
          "2 of 3 elements wrong: the last 2; looks like: zero. First: element 1, expected 1e-42, got 0.");
    CHECK(
        special_fault(Floats{inf, 3}, Floats{-inf, 3}) ==
        "1 of 2 elements wrong: only element 0; looks like: the expected value with the other sign. First: element 0, "
        "expected inf, got -inf.");
    CHECK(special_fault(Floats{nan, 3}, Floats{7, nan}) ==
          "2 of 2 elements wrong: all; looks like: 1 of them NaN. First: element 0, expected nan, got 7.");
}

TEST_CASE("what was made last is kept for the next that asks for it, and gone before something else is made") {
    gpulab::testing::LastMade last;
    int made = 0;
    const auto make = [&] { return std::make_shared<int>(++made); };
    using Made = std::shared_ptr<int>;
    const std::weak_ptr<int> first = last.get<Made>("one", make);
    CHECK(last.get<Made>("one", make) == first.lock());
    CHECK(made == 1);
    *last.get<Made>("one", make) = 7; // it may be changed
    CHECK(*last.get<Made>("one", make) == 7);
    CHECK(last.get<std::string>("two", [&] { return first.expired() ? "gone" : "still there"; }) == "gone");
    CHECK(*last.get<Made>("one", make) == 2);
    CHECK_THROWS_AS(last.get<Made>("three", []() -> Made { throw std::runtime_error("no memory"); }),
                    std::runtime_error);
    CHECK(*last.get<Made>("three", make) == 3); // what failed was not kept
    CHECK(*last.get<Made>("one", make) == 4);   // nor what was there before
}

TEST_CASE("a table of all pairs has each value of an option beside each value of every other, in few rows") {
    using Row = std::vector<std::size_t>;
    CHECK(gpulab::testing::all_pairs({2, 2}) == std::vector<Row>{{0, 0}, {0, 1}, {1, 0}, {1, 1}});
    for (const Row& values : {Row{3, 1, 4}, Row{2, 2, 2, 2, 2, 2, 2}, Row{5, 3, 2, 4, 3}}) {
        const std::vector<Row> rows = gpulab::testing::all_pairs(values);
        for (std::size_t i = 0; i < values.size(); ++i)
            for (std::size_t j = 0; j < i; ++j)
                for (std::size_t v = 0; v < values[i]; ++v)
                    for (std::size_t w = 0; w < values[j]; ++w)
                        CHECK(std::ranges::any_of(rows, [&](const Row& r) { return r[i] == v && r[j] == w; }));
        CHECK(rows.size() <= 24);
        CHECK(rows == gpulab::testing::all_pairs(values));
    }
}
