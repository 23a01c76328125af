#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <vector>

#include "../checks.hpp"
#include "histogram.hpp"

using namespace gpulab::testing;
using gpulab::Backend;
using reduction::Counts;
using reduction::HistogramProblem;
using reduction::testing::Sizes;

namespace {

template <class T> using Variant = gpulab::Variant<reduction::HistogramRun<T>>;

/// Runs a variant on one problem. @return the fault, with the size; "" if all counts are right
template <class T> std::string fault_of(const Variant<T>& v, const HistogramProblem<T>& p) {
    const Counts expected = reduction::expected_histogram(p);
    Counts counts(p.bins);
    const std::string fault =
        gpulab::testing::fault_of(v.run, p, counts, [&] { return gpulab::compare(expected, counts, 0); });
    return fault.empty() ? "" : fmt::format("n = {}, {} bins: {}", p.size(), p.bins, fault);
}

/// Numbers in all bins, at every size.
template <class T> std::string first_fault(const Variant<T>& v, const Sizes& sizes, unsigned bins = 256) {
    return first_in(
        sizes, [&](std::size_t n) { return fault_of<T>(v, reduction::make_histogram_problem<T>(n, bins, seed + n)); });
}

/// The least and the greatest number of each bin, and some between them.
template <class T> HistogramProblem<T> on_the_borders(unsigned bins) {
    HistogramProblem<T> p{bins, {}};
    for (unsigned b = 0; b < bins; ++b)
        for (unsigned k = 0; k < 20 + b % 7; ++k) {
            const T least = static_cast<T>(b);
            p.a.push_back(k % 2 == 0 ? least : std::nextafter(least + 1, T{0}));
        }
    return p;
}

template <class T> void check_histogram(const Variant<T>& v, Faults& faults) {
    faults.check("by hand", [&] {
        const HistogramProblem<T> p{4, {T(0.5), 3, 1, T(1.5), 0, T(3.9), 1}};
        Counts counts(4);
        gpulab::Stopwatch once;
        in_turn([&] { v.run(p, counts, once); });
        return gpulab::compare(Counts{2, 3, 0, 2}, counts, 0).message;
    });
    faults.check("every size", [&] { return first_fault(v, straddling_sizes()); });
    for (const unsigned bins : {1u, 2u, 31u, 255u, 257u, reduction::max_bins})
        faults.check(fmt::format("{} bins", bins), [&] { return first_fault(v, {20'000}, bins); });
    faults.check("borders", [&] { return fault_of<T>(v, on_the_borders<T>(reduction::max_bins)); });
    for (const unsigned bin : {0u, 255u}) // more than 16 bits can count in each group
        faults.check(fmt::format("all in bin {}", bin), [&] {
            return fault_of<T>(v, {256, std::vector<T>(3'000'001, static_cast<T>(bin))});
        });
    std::vector<gpulab::Tile> tiles;
    const auto p = reduction::make_histogram_problem<T>(1000, 256, seed);
    faults.check("contract", [&] { return contract_violation(v, p, Counts(256), tiles); });
    faults.check("sizes next to its tiles", [&] {
        return first_fault(v, sizes_next_to(tiles, std::min<std::size_t>(largest_near_tile(v.backend), 1 << 22)));
    });
    faults.check("2^24 + 8 elements", [&] { return first_fault(v, {(1 << 24) + 8}); });
}

const VariantCases floats(reduction::histogram_variants<float>(), "counts floats", "", check_histogram<float>);
const VariantCases doubles(reduction::histogram_variants<double>(), "counts doubles", "", check_histogram<double>);

/// For oclgrind and compute-sanitizer: three groups, the last of them ragged, with more bins than items and with fewer.
template <class T> void check_small(const Variant<T>& v, Faults& faults) {
    for (const unsigned bins : {20u, 300u})
        faults.check(fmt::format("{} bins", bins), [&] { return first_fault(v, {0, 1, 9000}, bins); });
}

const VariantCases oclgrind(reduction::histogram_variants<float>(), "counts floats under oclgrind", "[.oclgrind]",
                            check_small<float>, only_on<Backend::opencl>);
const VariantCases sanitizer(reduction::histogram_variants<float>(), "counts floats under compute-sanitizer",
                             "[.sanitizer]", check_small<float>, own_cuda);

} // namespace

TEST_CASE("the numbers of a histogram lie in all bins and nowhere else") {
    const auto p = reduction::make_histogram_problem<float>(100'000, 512, seed);
    const Counts counts = reduction::expected_histogram(p); // throws where one does not
    for (const std::uint32_t count : counts) CHECK((count > 100 && count < 300));
}
