// CPU variants with one mistake each. The right ones are labs/01_saxpy/cpu/.
#include <array>
#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include "gpulab/poisoning.hpp"
#include "wrong_saxpy.hpp"

namespace saxpy::wrong {

namespace {

/// Blocks for P threads without the remainder: n mod P elements are left out.
void remainder_lost(const Problem& p, Output& c, Stopwatch& watch) {
    const std::size_t threads = 3, share = p.size() / threads;
    watch.time([&] {
        std::vector<std::jthread> workers;
        for (std::size_t t = 0; t < threads; ++t)
            workers.emplace_back([&, t] {
                for (std::size_t i = t * share; i < (t + 1) * share; ++i) c[i] = p.k * p.a[i] + p.b[i];
            });
    });
}

/// Runs from 1, as an index that starts there in another language does.
void starts_at_one(const Problem& p, Output& c, Stopwatch& watch) {
    watch.time([&] {
        for (std::size_t i = 1; i < p.size(); ++i) c[i] = p.k * p.a[i] + p.b[i];
    });
}

/// Adds to what it finds.
void accumulates(const Problem& p, Output& c, Stopwatch& watch) {
    c.assign(c.size(), 0);
    watch.time([&] {
        for (std::size_t i = 0; i < p.size(); ++i) c[i] += p.k * p.a[i] + p.b[i];
    });
}

/// Computes in whole numbers.
void truncates(const Problem& p, Output& c, Stopwatch& watch) {
    watch.time([&] {
        for (std::size_t i = 0; i < p.size(); ++i) c[i] = static_cast<float>(static_cast<int>(p.k * p.a[i] + p.b[i]));
    });
}

/// Works in its first run only; the poison before the next ones shows it.
void first_run_only(const Problem& p, Output& c, Stopwatch& watch) {
    bool done = false;
    const auto run = [&] {
        for (std::size_t i = 0; i < p.size() && !done; ++i) c[i] = p.k * p.a[i] + p.b[i];
        done = true;
    };
    watch.time(run, gpulab::poisoning(c));
}

/// Keeps results in the range of finite numbers, and so loses NaN and infinities.
void clamps(const Problem& p, Output& c, Stopwatch& watch) {
    constexpr float most = std::numeric_limits<float>::max();
    watch.time([&] {
        for (std::size_t i = 0; i < p.size(); ++i) c[i] = std::fmin(std::fmax(p.k * p.a[i] + p.b[i], -most), most);
    });
}

/// Takes b alone where k is 0: 0 times NaN is lost.
void skips_zero(const Problem& p, Output& c, Stopwatch& watch) {
    watch.time([&] {
        for (std::size_t i = 0; i < p.size(); ++i) c[i] = p.k == 0 ? p.b[i] : p.k * p.a[i] + p.b[i];
    });
}

/// Takes denormals for 0, as the fast-math options of compilers do.
void flushes_denormals(const Problem& p, Output& c, Stopwatch& watch) {
    watch.time([&] {
        for (std::size_t i = 0; i < p.size(); ++i) {
            const float sum = p.k * p.a[i] + p.b[i];
            c[i] = std::fpclassify(sum) == FP_SUBNORMAL ? 0 : sum;
        }
    });
}

} // namespace

std::span<const WrongVariant> cpu_variants() {
    static const std::array table = {
        WrongVariant{"remainder_lost", "n mod P elements left out", remainder_lost},
        WrongVariant{"starts_at_one", "element 0 left out", starts_at_one},
        WrongVariant{"accumulates", "+= for =", accumulates},
        WrongVariant{"truncates", "an int on the way", truncates},
        WrongVariant{"first_run_only", "does nothing from the second run on", first_run_only},
        WrongVariant{"clamps", "NaN and infinities are lost", clamps},
        WrongVariant{"skips_zero", "0 times NaN is lost", skips_zero},
        WrongVariant{"flushes_denormals", "denormals become 0", flushes_denormals},
    };
    return table;
}

} // namespace saxpy::wrong
