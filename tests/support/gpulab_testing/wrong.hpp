/// @file
/// One test case for each known-wrong variant: the checks of the right ones must reject it.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "gpulab_testing/testing.hpp"
#include "gpulab_testing/variants.hpp"

namespace gpulab::testing {

/// Which devices may answer right in spite of a mistake. There a tool that watches every access and barrier (oclgrind,
/// compute-sanitizer) must report it instead: see gpulab_oclgrind_test() and gpulab_sanitizer_test().
enum class Forgiven {
    never,
    by_cpus, ///< OpenCL on a CPU, which runs the items of a group one after another
    by_all   ///< any device: there is no test case without a tool
};

/// A variant with one classic mistake. @tparam Run the lab's function type
template <class Run> struct WrongVariant {
    std::string_view name;
    std::string_view mistake;
    Run* run;
    std::string_view found_by = ""; ///< the check that must find it, when those before cannot; "": any check
    Forgiven forgiven = Forgiven::never;
    std::size_t right_up_to = 0; ///< not 0: the mistake shows only with more elements than this, so that the ordinary
                                 ///< checks must accept it
};

namespace detail {
/// What the test case of a wrong variant does, and of a right one.
struct WrongCase {
    std::string mistake; ///< "": it is right
    std::string found_by;
    Forgiven forgiven = Forgiven::never;
    bool must_fail = true;
    Needs needs = {};
};
/// Makes the checks on each device that can run the variant and fails the running test case when their verdict is not
/// the one asked for.
void judge_on_devices(Backend backend, const WrongCase& wanted, const std::function<std::string()>& fault);
} // namespace detail

/// Adds a test case for each wrong variant of a table when the program starts: "wrong CUDA sum no_barrier is rejected".
///
///     const WrongCases cuda_sums(Backend::cuda, "CUDA sum", wrong::cuda_sums(), [](auto* run) { return fault(run); });
class WrongCases {
public:
    /// @param kind  what they are, in two or three words: "CUDA sum". Unique in the test program
    /// @param table rows of WrongVariant<Run>
    /// @param fault `fault(run)`: what the checks of the right variants find, beginning with the name of the check; ""
    ///              when they accept it. An exception is no rejection: it fails the test case
    template <class Table, class Fault>
    WrongCases(Backend backend, const std::string& kind, const Table& table, const Fault& fault, Needs needs = {},
               std::source_location where = std::source_location::current()) {
        for (const auto& wrong : table) {
            if (wrong.forgiven == Forgiven::by_all) continue;
            const bool must_fail = wrong.right_up_to == 0;
            const detail::WrongCase wanted{std::string(wrong.mistake), std::string(wrong.found_by), wrong.forgiven,
                                           must_fail, needs};
            const auto run = wrong.run;
            const auto body = [backend, wanted, run, fault] {
                detail::judge_on_devices(backend, wanted, [&] { return fault(run); });
            };
            const std::string what = "wrong " + kind + " " + std::string(wrong.name);
            detail::add_test_case(what + (must_fail ? " is rejected" : " is right for small sizes"),
                                  "[" + std::string(name_of(backend)) + "]", body, where);
        }
    }
};

/// Adds a test case for a right variant made like the wrong ones: the checks accept it, so that they reject the others
/// for their mistakes alone.
class RightCase {
public:
    template <class Run, class Fault>
    RightCase(Backend backend, const std::string& kind, Run* run, const Fault& fault, Needs needs = {},
              std::source_location where = std::source_location::current()) {
        const auto body = [backend, run, fault, needs] {
            detail::judge_on_devices(backend, {"", "", Forgiven::never, false, needs}, [&] { return fault(run); });
        };
        detail::add_test_case("right " + kind + " is accepted", "[" + std::string(name_of(backend)) + "]", body, where);
    }
};

/// The row of a name. @pre there is one
template <class Table> const auto& wrong_named(const Table& table, std::string_view name) {
    for (const auto& wrong : table)
        if (wrong.name == name) return wrong;
    throw Error("no wrong variant is called " + std::string(name));
}

} // namespace gpulab::testing
