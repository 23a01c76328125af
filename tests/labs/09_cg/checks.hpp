/// @file
/// The checks that right and wrong solvers go through.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "gpulab_testing/pairs.hpp"
#include "gpulab_testing/testing.hpp"
#include "gpulab_testing/variants.hpp"
#include "gpulab_testing/verdict.hpp"
#include "systems.hpp"

namespace cg::testing {

using gpulab::testing::fault_of;
using gpulab::testing::in_turn;
using gpulab::testing::verdict;

/// What is wrong with the solution of a system, or "". @throws Unsupported as the variant does
template <class T> std::string fault_with(Run<T>* run, const Problem<T>& p) {
    const Reference& reference = reference_of(p);
    Output<T> out;
    out.x.resize(p.n());
    return fault_of(run, p, out, [&] { return compare(p, reference, out); });
}

/// Solves every system on the current device. A variant may refuse one that does not fit (Unsupported).
/// @return the first fault, with the system it was found at; "" when all solutions are right
template <class T> std::string first_fault(Run<T>* run, const std::vector<Case<T>>& cases) {
    std::size_t refused = 0;
    for (const Case<T>& c : cases) try {
            if (const std::string fault = fault_with(run, c.problem); !fault.empty()) return c.name + ": " + fault;
        } catch (const gpulab::Unsupported&) {
            ++refused;
        }
    return 2 * refused <= cases.size() ? "" : fmt::format("{} of {} systems were refused", refused, cases.size());
}

/// The same in a number of parts, with rows shared out in some way.
template <class T>
std::string fault_in_parts(Run<T>* run, std::vector<Case<T>> cases, std::size_t parts, Balance balance = Balance::nnz) {
    for (Case<T>& c : cases) {
        c.problem.parts = parts;
        c.problem.balance = balance;
    }
    return first_fault<T>(run, cases);
}

/// The system ((4, 1), (1, 3)) x = (1, 2) from the start (2, 1): the first residual is (-8, -3), and x = (1, 7) / 11.
template <class T> std::string fault_by_hand(Run<T>* run) {
    SymmetricMatrix<T> m(2);
    m.add(0, 0, 4);
    m.add(0, 1, 1);
    m.add(1, 1, 3);
    const Problem<T> p = make_problem<T>(m.matrix(), {1, 2}, {2, 1}, settings(0, 2));
    Output<T> out;
    out.x.resize(2);
    return fault_of(run, p, out, [&] {
        const double epsilon = std::numeric_limits<T>::epsilon();
        const gpulab::Comparison c = gpulab::compare<T>({T(1.0 / 11), T(7.0 / 11)}, out.x, 32 * epsilon);
        const double first = std::sqrt(73.0), second = std::hypot(-0.2810, 0.7492); // r_1 to four digits
        const bool begins = out.history.size() >= 2 && std::abs(out.history[0] - first) <= 8 * epsilon * first &&
                            std::abs(out.history[1] - second) <= 1e-3;
        return begins || !c.passed ? c : verdict("the history does not begin with 8.544 and 0.800");
    });
}

/// One iteration, without any rounding: see whole_numbers().
template <class T> std::string whole_fault(Run<T>* run, const std::vector<std::size_t>& sizes, std::size_t parts = 0) {
    for (const std::size_t n : sizes) {
        Problem<T> p = whole_numbers<T>(n);
        p.parts = parts;
        Output<T> out;
        out.x.resize(n);
        std::vector<T> expected(n);
        for (std::size_t i = 0; i < n; ++i) expected[i] = p.b[i] / 4;
        const auto judge = [&] {
            const gpulab::Comparison c = gpulab::compare(expected, out.x, 0.0);
            double bb = 0;
            for (const T v : p.b) bb += static_cast<double>(v) * v;
            const std::vector<double> history = n == 0 ? std::vector<double>{0} : std::vector<double>{std::sqrt(bb), 0};
            return !c.passed || (out.end == End::converged && out.history == history)
                       ? c
                       : verdict("one iteration must leave a residual of zero; " + describe_end(p, out));
        };
        try {
            const std::string fault = fault_of(run, p, out, judge);
            if (!fault.empty()) return fmt::format("{} rows: {}", n, fault);
        } catch (const gpulab::Unsupported&) { // it does not fit; first_fault() counts those
        }
    }
    return "";
}

/// Iterations that end in a way of their own.
template <class T> std::string ending_fault(Run<T>* run, std::size_t parts = 0) {
    for (Ending<T>& e : endings<T>()) {
        Problem<T>& p = e.system.problem;
        p.parts = parts;
        Output<T> out;
        out.x.resize(p.n());
        const std::string fault = fault_of(run, p, out, [&] {
            if (out.end != e.end || out.iterations() != e.iterations)
                return verdict("it ends with: " + describe_end(p, out));
            // Each of 50 terms is rounded a few times; the terms are at most 2 in magnitude.
            const double allowed = 50 * 8 * std::numeric_limits<T>::epsilon();
            if (e.end == End::not_positive && !(std::abs(out.curvature - e.curvature) <= allowed))
                return verdict(fmt::format("p . A p is {}, it says, not {}", out.curvature, e.curvature));
            return compare(p, reference_of(p), out);
        });
        if (!fault.empty()) return e.system.name + ": " + fault;
    }
    return "";
}

/// A sum that overflows ends the iteration, and what is infinite is not called "not positive definite": r . r with
/// squares of 1e200, and p . A p with elements of 1e200 and of -1e200. With elements of 1e-100 only r . r overflows,
/// and nothing else would end the iteration. In double only: some variants sum floats in double.
inline std::string overflow_fault(Run<double>* run) {
    struct Sum {
        std::string_view name;
        double element, of_b, of_start;
    };
    for (const Sum& sum : {Sum{"r . r", 1, 1, 1e200}, Sum{"r . r, though p . A p is not,", 1e-100, 1, 1e300},
                           Sum{"p . A p", 1e200, 1e60, 0}, Sum{"-p . A p", -1e200, 1e60, 0}}) {
        SymmetricMatrix<double> m(3);
        for (std::size_t i = 0; i < 3; ++i) m.add(i, i, sum.element);
        const Problem<double> p =
            make_problem<double>(m.matrix(), {1, sum.of_b, 1}, {0, sum.of_start, 0}, settings(1e-6, 10));
        Output<double> out;
        out.x.resize(3);
        const std::string fault = fault_of(run, p, out, [&] {
            const bool ends = out.end == End::not_finite && out.history.size() == 1;
            return verdict(ends ? "" : "it ends with: " + describe_end(p, out));
        });
        if (!fault.empty()) return fmt::format("{} is infinite: {}", sum.name, fault);
    }
    return "";
}

/// Options crossed with each other: matrix, Jacobi, start, method, parts and how they are shared out. The largest chain
/// has more rows than a grid has threads, or work for two threads of a CPU. A variant may refuse it.
/// @param parts whether the variant works in parts
template <class T> std::string pairs_fault(Run<T>* run, bool on_gpu, bool parts) {
    const std::vector<std::string> matrices = {"varied chain", "large varied chain", "laplace2d:17x23",
                                               "springs:6x6",  "random, 300 rows",   "arrow, 301 rows"};
    const std::vector<std::size_t> counts = {1, 2, 3, 7};
    for (const auto& row : gpulab::testing::all_pairs(
             {matrices.size(), 2, 2, 2, parts ? counts.size() : 1, std::size_t{parts ? 3U : 1U}})) {
        const bool jacobi = row[1] == 0, start = row[2] == 1, steepest = row[3] == 1;
        Settings s = settings(0, 4, jacobi, steepest);
        s.parts = parts ? counts[row[4]] : 0;
        s.balance = static_cast<Balance>(row[5]);
        const std::string& name = matrices[row[0]];
        const bool large = row[0] == 1;
        if (large) s.limit = 2;
        gpulab::Csr<T> matrix = row[0] == 0   ? varied_chain<T>(517)
                                : large       ? varied_chain<T>(on_gpu ? 600'011 : 20'011)
                                : row[0] == 4 ? random_spd<T>(300, 3)
                                : row[0] == 5 ? arrow<T>(301)
                                              : gpulab::generate_matrix<T>(name, gpulab::testing::seed);
        const Case<T> c = system<T>(name, std::move(matrix), s, start);
        std::string fault;
        try {
            fault = fault_with(run, c.problem);
        } catch (const gpulab::Unsupported& e) {
            if (!large) fault = std::string("it refuses: ") + e.what();
        }
        if (!fault.empty())
            return fmt::format("{}{}{}{}{}: {}", name, jacobi ? ", Jacobi" : "", start ? ", from a random start" : "",
                               steepest ? ", steepest descent" : "",
                               parts ? fmt::format(", {} parts{}", s.parts, row[5] == 1 ? " by speed" : "") : "",
                               fault);
    }
    return "";
}

/// Runs a variant once. @param tiles becomes the tiles that it names
template <class T> std::string contract_violation(const gpulab::Variant<Run<T>>& v, std::vector<gpulab::Tile>& tiles) {
    const Case<T> c = generated<T>("laplace2d:9", settings(0, 2));
    Output<T> out;
    out.x.resize(c.problem.n());
    Stopwatch once;
    gpulab::testing::in_turn_noting_tiles(once, "rows", [&] { v.run(c.problem, out, once); });
    tiles = once.tiles();
    return gpulab::testing::contract_violation(v.backend, v.baseline, once, {"rows"});
}

/// The same systems, in other numbers of parts: uneven ones, more than rows, parts without a row.
template <class T> std::string parts_fault(Run<T>* run, const std::vector<std::size_t>& counts) {
    for (const std::size_t parts : counts) {
        std::string fault = fault_in_parts<T>(run,
                                              {generated<T>("laplace2d:6x9", settings(0, 6), true),
                                               generated<T>("laplace2d:30x31", settings(1e-4, 300), true),
                                               generated<T>("springs:6x6", settings(0, 8, true), true),
                                               system<T>("arrow", arrow<T>(300), settings(1e-4, 50)),
                                               system<T>("random", random_spd<T>(300, 3), settings(0, 5), true),
                                               generated<T>("stiffness:3", settings(0, 2), true),
                                               generated<T>("stiffness:1", settings(1e-3, 2)),
                                               system<T>("no rows", {}, settings(1e-6, 4))},
                                              parts);
        if (fault.empty()) fault = whole_fault<T>(run, {2, 5, 64, 1001}, parts);
        if (fault.empty()) fault = ending_fault<T>(run, parts);
        if (!fault.empty()) return fmt::format("{} parts: {}", parts, fault);
    }
    return "";
}

/// Two tiny systems in three parts, for tools that take long.
template <class T> std::string tiny_parts_fault(Run<T>* run) {
    return fault_in_parts<T>(run,
                             {generated<T>("laplace2d:3x7", settings(0, 2), true),
                              system<T>("random", random_spd<T>(20, 2), settings(0, 1), true)},
                             3);
}

/// All that every variant must do, on the current device.
template <class T> void check_variant(const gpulab::Variant<Run<T>>& v, gpulab::testing::Faults& faults) {
    std::vector<gpulab::Tile> tiles;
    faults.check("two equations by hand", [&] { return fault_by_hand<T>(v.run); });
    faults.check("whole numbers", [&] { return whole_fault<T>(v.run, {0, 1, 2, 3, 33, 64, 127, 129, 1000, 4097}); });
    faults.check("every kind of system", [&] { return first_fault<T>(v.run, all_systems<T>()); });
    const bool eigen = v.name == "cpu_eigen"; // which refuses steepest descent and whatever breaks down
    if (!eigen) faults.check("its end", [&] { return ending_fault<T>(v.run); });
    if constexpr (std::is_same_v<T, double>)
        if (!eigen) faults.check("overflow", [&] { return overflow_fault(v.run); });
    faults.check("sizes", [&] {
        return first_fault<T>(v.run, chains<T>({0,   1,   2,   3,   31,  32,  33,  63,   64,   65,   127,  128,
                                                129, 255, 256, 257, 511, 512, 513, 1023, 1024, 1025, 20011}));
    });
    const bool on_gpu = gpulab::testing::largest_near_tile(v.backend) > 1 << 21;
    if (!eigen)
        faults.check("options in pairs", [&] { return pairs_fault<T>(v.run, on_gpu, takes_several_devices(v.name)); });
    faults.check("contract", [&] { return contract_violation(v, tiles); });
    faults.check("sizes next to its tiles", [&]() -> std::string {
        const std::size_t largest = std::size_t{1} << (on_gpu ? 19 : 14);
        const std::vector<std::size_t> sizes = gpulab::testing::sizes_next_to(tiles, largest, "rows");
        std::vector<Case<T>> cases = chains<T>(sizes, 2);
        for (const gpulab::Tile& tile : tiles) // just too many rows for one per thread, each with a weight of its own
            if (tile.size < largest)
                cases.push_back(system<T>(fmt::format("varied chain of {}, Jacobi", tile.size + 1),
                                          varied_chain<T>(tile.size + 1), settings(0, 2, true)));
        const std::string fault = first_fault<T>(v.run, cases);
        return fault.empty() ? whole_fault<T>(v.run, sizes) : fault;
    });
    if (v.name == "cuda_persistent")
        faults.check("as many rows as it takes, and one more", [&]() -> std::string {
            std::size_t most = 0;
            for (const gpulab::Tile& tile : tiles) most = std::max(most, tile.size);
            Problem<T> p = whole_numbers<T>(most), more = whole_numbers<T>(most + 1);
            Output<T> out;
            out.x.resize(most + 1);
            Stopwatch once;
            try {
                in_turn([&] { v.run(more, out, once); });
                return fmt::format("it takes {} rows, and names only {}", most + 1, most);
            } catch (const gpulab::Unsupported&) {
            }
            out.x.resize(most);
            try {
                in_turn([&] { v.run(p, out, once); });
            } catch (const gpulab::Unsupported& e) {
                return fmt::format("it refuses {} rows: {}", most, e.what());
            }
            return "";
        });
    if (takes_several_devices(v.name))
        faults.check("several parts", [&] { return parts_fault<T>(v.run, {1, 2, 3, 4, 7}); });
    if (takes_several_devices(v.name))
        faults.check("parts by speed, and by units and clock", [&] {
            const std::vector<Case<T>> cases = {generated<T>("laplace2d:40x50", settings(0, 10), true),
                                                generated<T>("stiffness:2", settings(0, 2), true)};
            const std::string fault = fault_in_parts<T>(v.run, cases, 3, Balance::speed);
            return fault.empty() ? fault_in_parts<T>(v.run, cases, 3, Balance::units) : fault;
        });
}

/// For rungs of several devices, on all devices in use: two of them at least. The last system has more rows in each
/// part than a grid has threads, which are many on a GPU, and a halo of several groups.
template <class T> std::string all_devices_fault(Run<T>* run, bool on_gpu) {
    const std::vector<Case<T>> cases = {
        generated<T>("laplace2d:90x70", settings(1e-4, 500), true),
        system<T>("random", random_spd<T>(3000, 5), settings(1e-4, 100, true), true),
        generated<T>("springs:30x40", settings(0, 20, true)),
        generated<T>(on_gpu ? "laplace2d:1000x300" : "laplace2d:1000x60", settings(0, 10), true)};
    for (const std::size_t parts : {0u, 3u, 5u})
        for (const Balance balance : {Balance::nnz, Balance::speed, Balance::units}) {
            const std::string fault = fault_in_parts<T>(run, cases, parts, balance);
            if (!fault.empty()) return fmt::format("{} parts: {}", parts, fault);
        }
    return whole_fault<T>(run, {1, 2, 1001, 65536});
}

} // namespace cg::testing
