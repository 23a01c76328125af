/// @file
/// One test case for each variant of a lab's table, and what is wrong with the variant in one piece at its end.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "gpulab/compare.hpp"
#include "gpulab/jobs.hpp"
#include "gpulab/test_hooks.hpp"
#include "gpulab_testing/testing.hpp"

namespace gpulab::testing {

/// What the checks of one variant on one device found.
class Faults {
public:
    /// Runs a check and keeps what it finds.
    /// @param what the check in a few words: "every size", "NaN and infinities"
    /// @param check gives what is wrong, or "". An exception is a fault too, unless it is Catch2's own
    void check(std::string_view what, const std::function<std::string()>& check);

    int checks() const { return checks_; }
    bool empty() const { return text_.empty(); }
    /// A line for each check that found something.
    const std::string& text() const { return text_; }

private:
    int checks_ = 0;
    std::string text_;
    std::string last_; // what the last check that found something found
};

namespace detail {
void add_test_case(const std::string& name, const std::string& tags, std::function<void()> body,
                   std::source_location where);
/// Calls check() on each device that can run the variant. Prints what was found and fails the running test case; skips
/// it when no device can.
void check_on_devices(std::string_view variant, Backend backend, bool built, const Needs& needs,
                      const std::function<void(Faults&)>& check);
/// The message of special_fault(): not made in this header, because nvcc does not compile fmt.
std::string special_message(std::size_t wrong, std::size_t n, const std::string& where, const std::string& looks_like,
                            std::size_t first, const std::string& expected, const std::string& actual);
} // namespace detail

/// Adds a test case for each variant of a table when the program starts:
///
///     const gpulab::testing::VariantCases cases(saxpy::variants(), "computes k a + b", "",
///         [](const auto& variant, Faults& faults) { faults.check("every size", [&] { ... }); });
///
/// Its name is "<variant> <sentence>", its tags are that of the back end and `more`.
class VariantCases {
public:
    /// @param table rows of Variant<Run>
    /// @param sentence what holds of every variant, without its name
    /// @param more further tags, such as "[.oclgrind]"
    /// @param check `check(variant, faults)`: makes its checks on the current device
    /// @param only  `only(variant)`: which rows take part; all without it
    template <class Table, class Check>
    VariantCases(const Table& table, const std::string& sentence, const std::string& more, const Check& check,
                 const std::function<bool(std::string_view, Backend)>& only = {},
                 std::source_location where = std::source_location::current()) {
        for (const auto& variant : table) {
            if (only && !only(variant.name, variant.backend)) continue;
            const auto body = [variant, check] {
                Needs needs = variant.needs;
                needs.gpu = needs.gpu || variant.baseline;
                detail::check_on_devices(variant.name, variant.backend, variant.run != nullptr, needs,
                                         [&](Faults& faults) { check(variant, faults); });
            };
            // A tag that begins with a dot hides the test case from ordinary runs, which go by the back end's tag.
            std::string tag = more.starts_with("[.") ? more : "[" + std::string(name_of(variant.backend)) + "]" + more;
#if defined(GPULAB_CORE_RUNGS) // the OpenCL rungs of the Core ladder, with blanks around them: cmake/AddLabTest.cmake
            if (more == "[.oclgrind]" &&
                std::string_view(GPULAB_CORE_RUNGS).find(" " + std::string(variant.name) + " ") !=
                    std::string_view::npos)
                tag += "[core]";
#endif
            detail::add_test_case(std::string(variant.name) + " " + sentence, tag, body, where);
        }
    }
};

/// Whether a back end's variants can be built here; for VariantCases that run under a checking tool.
template <Backend backend> bool only_on(std::string_view, Backend of) { return of == backend; }

/// The same for CUDA without the vendor's libraries: what a tool finds inside them is not ours to mend. Such a variant
/// has the library in its name: cuda_cub, cuda_dot_cublas, cuda_cusparse_alg1.
inline bool own_cuda(std::string_view variant, Backend of) {
    return of == Backend::cuda && variant.find("_cu") == std::string_view::npos;
}

/// Runs a variant in turn, and adds to the tiles that it names those that its helpers noted for it: see noted_cuts.
/// @param of what all of these count. A lab whose problems have several sizes cannot say it, so its rungs name their
/// tiles
void in_turn_noting_tiles(Stopwatch& watch, std::string_view of, const std::function<void()>& run);

/// What every rung must do beside its answer, or "": poison what it computes before every run, and, on a GPU, have a
/// tile at which it cuts its work, so that the tests can try the sizes beside it.
/// @param watch the stopwatch of a finished run
/// @param units what the tiles may count: the units for which the lab's checks try the sizes beside a tile. A tile in
///        another unit would bring no sizes
std::string contract_violation(Backend backend, bool baseline, const Stopwatch& watch,
                               const std::vector<std::string_view>& units = {"elements"});

/// What is wrong with a variant's reset, or "": in a second run whose computation is left out, it must take away the
/// result of the first.
/// @param run `run(out, watch)` runs the variant on some problem
/// @param out the variant's output for this problem: numbers, at least one
template <class Run, class Output> std::string reset_fault(const Run& run, Output out) {
    if (!poisons()) return "";
    static constexpr TestHooks hooks{.leave_out_last_body = true};
    Stopwatch whole(0, 1), cut(0, 2);
    cut.hooks = &hooks;
    in_turn([&] { run(out, whole); });
    const Output result = out;
    try {
        in_turn([&] { run(out, cut); });
    } catch (const WrongResult&) { // the variant itself has seen that its result is gone
        return "";
    }
    std::size_t same = 0;
    for (std::size_t i = 0; i < out.size(); ++i) { // nearly: in some variants the rounding changes from run to run
        const auto is = static_cast<double>(out[i]), was = static_cast<double>(result[i]);
        same += std::abs(is - was) <= 1e-3 * std::abs(was);
    }
    return 2 * same >= out.size()
               ? "its reset leaves the result of the run before, so that a run which computes nothing passes"
               : "";
}

/// m tile - 1, m tile and m tile + 1 for m = 1, 2, 3 and 33, for every tile counted in `of`, up to a largest size; in
/// ascending order. m = 1 stands in the list whatever the largest size.
std::vector<std::size_t> sizes_next_to(const std::vector<Tile>& tiles, std::size_t largest,
                                       std::string_view of = "elements");

/// The largest size that sizes_next_to() is given for a device: 2^21 on a CPU, 2^25 on a GPU.
std::size_t largest_near_tile(Backend backend);

/// The comparison for inputs with NaN and infinities: where NaN is expected there must be NaN, but not the poison of an
/// element that nobody wrote; everything else must be equal to the last bit, except that -0 equals 0.
/// @return "" or, as gpulab::compare() says it, how many elements are wrong, where, what they look like, and the first
template <class T> std::string special_fault(const std::vector<T>& expected, const std::vector<T>& actual) {
    const std::size_t n = expected.size();
    if (n != actual.size()) return "another length";
    const auto matches = [](auto e, auto a) { return e == a || (e != e && a != a && !is_poison(a)); };
    Diagnosis diagnosis;
    std::size_t wrong = 0, first = 0;
    for (std::size_t i = 0; i < n; ++i) {
        if (matches(expected[i], actual[i])) {
            diagnosis.right(i);
            continue;
        }
        if (wrong++ == 0) first = i;
        diagnosis.wrong(i, n, looks_of(i, std::span<const T>(expected), actual[i], matches));
    }
    if (wrong == 0) return "";
    return detail::special_message(wrong, n, diagnosis.where(), diagnosis.what(std::is_integral_v<T>, sizeof(T) == 1),
                                   first, gpulab::detail::in_digits(expected[first]),
                                   gpulab::detail::in_digits(actual[first]));
}

} // namespace gpulab::testing
