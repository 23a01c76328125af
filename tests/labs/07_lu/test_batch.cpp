// Many small matrices: every rung of the batch, and the comparison of batches.
#include <catch2/catch_test_macros.hpp>
#include <numeric>

#include "batch.hpp"
#include "checks.hpp"
#include "rungs.hpp"

using gpulab::Backend;
using gpulab::testing::Faults;
using gpulab::testing::message_of;
using gpulab::testing::VariantCases;
using namespace lu;
using namespace lu::testing;

namespace {

/// Puts a matrix into a batch, at its place. @pre the batch has matrices of this size
void put(Problem& batch, std::size_t place, const std::vector<double>& a) {
    std::ranges::copy(a, batch.a.begin() + static_cast<std::ptrdiff_t>(place * a.size()));
}

/// The factors of one matrix of a batch.
Factors factors_at(const Factors& batch, std::size_t place) {
    Factors f(batch.n);
    std::copy_n(batch.lu.begin() + static_cast<std::ptrdiff_t>(place * f.lu.size()), f.lu.size(), f.lu.begin());
    std::copy_n(batch.pivots.begin() + static_cast<std::ptrdiff_t>(place * f.n), f.n, f.pivots.begin());
    return f;
}

/// Whether a rung says that this device cannot do matrices of this size. What else it may throw, the checks will see.
bool refuses(Run* run, std::size_t n) {
    Factors f(n);
    gpulab::Stopwatch once;
    try {
        in_turn([&] { run(make_batch(n, 1, seed), f, once); });
    } catch (const gpulab::Unsupported&) {
        return true;
    } catch (const gpulab::Error&) {
    }
    return false;
}

/// A rung of the batch as one for a single matrix, so that it goes through the checks of those: the matrix stands
/// between others.
Rung rung_of(const gpulab::Variant<Run>& v) {
    Rung rung{[run = v.run](const Problem& p, Factors& f, gpulab::Stopwatch& watch) {
                  constexpr std::size_t count = 3, place = 1;
                  Problem batch = make_batch(p.n, count, seed + p.n);
                  put(batch, place, p.a);
                  Factors factors(p.n, count);
                  poison(factors);
                  run(batch, factors, watch);
                  f = factors_at(factors, place);
              },
              v.backend, true, v.baseline, v.backend == Backend::cuda};
    rung.least = 1;
    // The largest that fits this device: its shared or local memory, which may have room for 96 or 77 rows, or a warp.
    rung.most = 0;
    for (const std::size_t n : {max_batch_rows, std::size_t{96}, std::size_t{77}, std::size_t{32}})
        if (rung.most == 0 && !refuses(v.run, n)) rung.most = n;
    return rung;
}

/// Exact factors for each matrix of a batch, all of them different. A batch of random matrices for a library.
std::string batch_fault(const gpulab::Variant<Run>& v, std::size_t n, std::size_t count) {
    Problem p{n, std::vector<double>(count * n * n), false, count};
    Factors expected(n, count), f(n, count);
    for (std::size_t m = 0; m < count; ++m) {
        const Factors one = exact_factors(n, true, n, seed + m);
        put(p, m, problem_of(one).a);
        std::ranges::copy(one.lu, expected.lu.begin() + static_cast<std::ptrdiff_t>(m * n * n));
        std::ranges::copy(one.pivots, expected.pivots.begin() + static_cast<std::ptrdiff_t>(m * n));
    }
    const std::string fault = gpulab::testing::fault_of(v.run, p, f, [&] {
        gpulab::Comparison c = compare(p, f, true);
        if (v.baseline || !c.passed) return c;
        c = gpulab::compare(expected.lu, f.lu, 0);
        return c.passed && f.pivots != expected.pivots ? verdict("other pivots") : c;
    });
    return fault.empty() ? "" : fmt::format("{} matrices of {} x {}: {}", count, n, n, fault);
}

const VariantCases cases(batch_variants(), "factorises batches", "", [](const auto& v, Faults& faults) {
    Rung rung = rung_of(v);
    faults.check("32 rows", [&] { return std::string(rung.most < 32 ? "it refuses them" : ""); });
    check_rung(rung, faults);
    faults.check("all matrices of a batch", [&]() -> std::string {
        for (const std::size_t count : {1, 2, 33, 300})
            for (const std::size_t n : taken(rung, {1, 5, 16, 31, 70}))
                if (const std::string fault = batch_fault(v, n, count); !fault.empty()) return fault;
        return "";
    });
    faults.check("batches next to its tiles", [&]() -> std::string {
        for (const std::size_t count : gpulab::testing::sizes_next_to(rung.tiles, 100, "matrices"))
            if (const std::string fault = batch_fault(v, 9, count); count > 0 && !fault.empty()) return fault;
        return "";
    });
    faults.check("every size up to the largest", [&] {
        std::vector<std::size_t> all(rung.most);
        std::iota(all.begin(), all.end(), 1);
        return fault_at(rung, all);
    });
    faults.check("a singular matrix among others", [&]() -> std::string {
        if (v.baseline) return ""; // rounding may hide a zero
        for (const std::size_t place : {0, 4, 9}) {
            Problem p = make_batch(7, 10, seed);
            put(p, place, problem_of(exact_factors(7, true, 3, seed)).a);
            const std::string said = message_of<Singular>([&] { in_turn([&] { factorised_by(v.run, p); }); });
            if (!said.starts_with(fmt::format("matrix {} of the batch is singular: column 4 ", place + 1)))
                return said.empty() ? "the zero is not reported" : said;
        }
        return "";
    });
});

/// A few sizes, for tools that slow a variant down. More than 32 rows may not fit.
void check_small(const gpulab::Variant<Run>& v, Faults& faults, const std::vector<std::size_t>& sizes,
                 std::size_t count) {
    for (const std::size_t n : sizes)
        faults.check("small sizes", [&]() -> std::string {
            try {
                return batch_fault(v, n, count);
            } catch (const gpulab::Unsupported& e) {
                return n > 32 ? "" : e.what();
            }
        });
}

const VariantCases oclgrind(
    batch_variants(), "under oclgrind", "[.oclgrind]",
    [](const auto& v, Faults& faults) {
        check_small(v, faults, {1, 3, 21}, 2);
    },
    gpulab::testing::only_on<Backend::opencl>);

#if defined(GPULAB_WITH_CUDA)
const VariantCases sanitizer(
    batch_variants(), "under compute-sanitizer", "[.sanitizer]",
    [](const auto& v, Faults& faults) { // a block of four warps and one of one; whole panels and ragged ones
        check_small(v, faults, {1, 7, 19, 32, 37, 70, 128}, 5);
    },
    gpulab::testing::own_cuda);

TEST_CASE("a matrix that does not fit a warp is refused with the limit", "[cuda]") {
    for (const gpulab::Device& device : gpulab::testing::devices_or_skip(Backend::cuda)) {
        gpulab::use(device);
        CHECK(message_of<gpulab::Unsupported>([] { factorised_by(cuda_batch_warp, make_batch(33, 2, 1)); }) ==
              "33 rows are more than a warp of this variant keeps, 32");
    }
}
#endif

} // namespace

TEST_CASE("a batch counts the bytes and the operations of all its matrices") {
    const Problem one = make_problem(7, 1), batch = make_batch(7, 5, 1);
    CHECK(batch.a.size() == 5 * 49);
    CHECK(batch.flops() == 5 * one.flops());
    CHECK(batch.bytes() == 5 * one.bytes());
    CHECK(batch.random);
}

TEST_CASE("the comparison of a batch sees a wrong element in any matrix, and names the matrix") {
    const Problem p = make_batch(20, 200, seed);
    const Factors right = factorised_by(cpu_batch_sequential, p);
    const gpulab::Comparison c = compare(p, right, true);
    CHECK(c.passed);
    // The worst of the errors, each with its own tolerance.
    double worst = 0;
    for (std::size_t m = 0; m < p.count; ++m) {
        const auto first = p.a.begin() + static_cast<std::ptrdiff_t>(m * 400);
        const auto one = compare({20, {first, first + 400}, true}, factors_at(right, m), true);
        worst = std::max(worst, one.error / one.tolerance);
    }
    CHECK(c.error / c.tolerance == worst);
    CHECK(worst < 0.1);
    for (const std::size_t m : {0, 63, 130, 199}) {
        INFO("matrix " << m);
        const std::string words = fmt::format("matrix {} of the batch: ", m + 1);
        Factors wrong = right;
        wrong.lu[m * 400 + 19 * 20 + 7] += 1e-9;
        CHECK(compare(p, wrong, true).message.starts_with(words));
        wrong = right;
        wrong.lu[m * 400] = std::numeric_limits<double>::quiet_NaN();
        CHECK(compare(p, wrong, true).message.starts_with(words));
        wrong = right;
        wrong.pivots[m * 20 + 5] = 4;
        CHECK(compare(p, wrong, true).message.starts_with(words));
    }
    Factors other(20, 199);
    CHECK_FALSE(compare(p, other, true).passed);
}
