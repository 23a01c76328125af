/// @file
/// Steps that the checks of several labs have in common.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gpulab_testing/testing.hpp"
#include "gpulab_testing/variants.hpp"

namespace gpulab::testing {

/// The first fault that is found in a list, or "".
/// @param fault `fault(item)`: what is wrong with an item, or ""
template <class Items, class Fault> std::string first_in(const Items& items, const Fault& fault) {
    for (const auto& item : items)
        if (std::string found = fault(item); !found.empty()) return found;
    return "";
}

/// Runs a variant once, in turn, with its output poisoned.
/// @return what it wrote outside its buffers, or what it noticed of that itself, or ""
template <class Run, class Problem, class Output>
std::string stray_write(const Run& run, const Problem& problem, Output& output, Stopwatch& watch) {
    poison(output);
    take_stray_write(); // of someone else
    try {
        in_turn([&] { run(problem, output, watch); });
    } catch (const WrongResult& e) {
        return e.what();
    }
    return take_stray_write();
}

/// What is wrong with a variant that must refuse a problem, or "".
/// @param what the problem
template <class Run, class Problem, class Output>
std::string refusal_fault(const Run& run, const Problem& problem, Output output, const std::string& what) {
    Stopwatch once;
    try {
        in_turn([&] { run(problem, output, once); });
    } catch (const Unsupported&) {
        return "";
    }
    return "it takes " + what;
}

/// Runs a variant once, and once more for its reset: not a rung called raw, which times itself, so that nothing can
/// leave its body out.
/// @param tiles becomes its tiles @param unit what they count
/// @return what it should have done beside its answer, or ""
template <class Variant, class Problem, class Output>
std::string contract_violation(const Variant& v, const Problem& p, Output out, std::vector<Tile>& tiles,
                               std::string_view unit = "elements") {
    Stopwatch once;
    in_turn_noting_tiles(once, unit, [&] { v.run(p, out, once); });
    tiles = once.tiles();
    const std::string fault = contract_violation(v.backend, v.baseline, once, {unit});
    if (!fault.empty() || v.name.ends_with("_raw")) return fault;
    return reset_fault([&](Output& o, Stopwatch& watch) { v.run(p, o, watch); }, out);
}

} // namespace gpulab::testing
