// CPU variants with one mistake each. The right ones are labs/01_saxpy/cpu/.
#include <array>
#include <thread>
#include <vector>

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

} // namespace

std::span<const WrongVariant> cpu_variants() {
    static const std::array table = {
        WrongVariant{"remainder_lost", "n mod P elements left out", remainder_lost},
        WrongVariant{"starts_at_one", "element 0 left out", starts_at_one},
        WrongVariant{"accumulates", "+= for =", accumulates},
        WrongVariant{"truncates", "an int on the way", truncates},
    };
    return table;
}

} // namespace saxpy::wrong
