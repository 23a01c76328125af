/// @file
/// The one check that right and wrong matrix products go through.
#pragma once

#include <fmt/format.h>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "gpulab/error.hpp"
#include "gpulab/input.hpp"
#include "gpulab_testing/testing.hpp"
#include "matmul.hpp"

namespace matmul::testing {

/// The sizes of one product.
struct Shape {
    std::size_t m, k, n;
};

/// Nothing, one element, less than a tile, exactly a tile, one more and one less, long and thin, and several tiles of
/// the largest kernel with ragged edges, with rows that are and that are not a multiple of 16 bytes.
inline const std::vector<Shape>& shapes() {
    static const std::vector<Shape> all = {
        {0, 5, 7},       {5, 0, 7},       {5, 7, 0},       {1, 1, 1},      {1, 7, 1},      {7, 1, 5},
        {2, 3, 4},       {17, 1, 33},     {15, 16, 17},    {16, 16, 16},   {32, 32, 32},   {33, 31, 32},
        {31, 33, 20},    {1000, 3, 5},    {3, 5, 1000},    {5, 1000, 3},   {64, 8, 64},    {65, 9, 63},
        {127, 128, 129}, {128, 128, 128}, {129, 127, 128}, {128, 16, 256}, {130, 17, 260}, {257, 50, 515},
        {300, 301, 302}, {64, 4099, 96},  {33, 9001, 35}};
    return all;
}

/// Long in one direction and thin in the others: more tiles along a side than a grid of CUDA has blocks along y.
inline const std::vector<Shape>& long_shapes() {
    static const std::vector<Shape> all = {{1'048'577, 1, 1}, {1, 1, 1'048'577}, {1, 1'048'577, 1}};
    return all;
}

/// Long sums, for a GPU: every tile of k must be there, where a share of 10^-5 would vanish in a tolerance.
inline const std::vector<Shape>& deep_shapes() {
    static const std::vector<Shape> all = {{200, 9001, 130}, {256, 131'072, 256}};
    return all;
}

/// Small enough for oclgrind, which interprets every instruction.
inline const std::vector<Shape>& small_shapes() {
    static const std::vector<Shape> all = {{1, 1, 1}, {5, 0, 3}, {17, 5, 18}, {16, 32, 16}, {9, 17, 33}};
    return all;
}

/// Whole numbers -2 ... 2 in A and B: every sum of less than 2^22 products is exact in float, in any order. Where
/// rounding leaves room for a lost product among many, here nothing does.
template <class T> Problem<T> whole_problem(std::size_t m, std::size_t k, std::size_t n) {
    Problem<T> p{m, k, n, std::vector<T>(m * k), std::vector<T>(k * n)};
    const auto whole = [](std::uint64_t seed, std::size_t i) {
        return static_cast<T>(static_cast<int>(gpulab::random_bits(seed, i) % 5) - 2);
    };
    for (std::size_t i = 0; i < p.a.size(); ++i) p.a[i] = whole(gpulab::testing::seed, i);
    for (std::size_t i = 0; i < p.b.size(); ++i) p.b[i] = whole(gpulab::testing::seed + 1, i);
    return p;
}

/// A problem and its right answer.
template <class T> struct Example {
    Problem<T> problem;
    Output<T> reference;
};

/// The examples of one shape: with whole numbers, and with random ones. Made once, for all variants.
template <class T> struct Examples { Example<T> whole, random; };
template <class T> const Examples<T>& examples(const Shape& s) {
    static std::map<std::tuple<std::size_t, std::size_t, std::size_t>, Examples<T>> made;
    const auto [at, is_new] = made.try_emplace({s.m, s.k, s.n});
    Examples<T>& e = at->second;
    if (is_new) {
        e.whole.problem = whole_problem<T>(s.m, s.k, s.n);
        e.whole.reference = reference_product(e.whole.problem);
        e.random.problem = make_problem<T>(s.m, s.k, s.n, gpulab::testing::seed + s.m + s.n);
        e.random.reference = reference_product(e.random.problem);
    }
    return e;
}

/// Runs a variant on every shape on the current device, with whole numbers, which leave no error to tolerate, and with
/// random ones. Shapes that the variant says it cannot do are passed over.
/// @param done counts the shapes that it did, if given
/// @return the first fault, with its shape; "" when all answers are right
template <class T> std::string first_fault(Run<T>* run, const std::vector<Shape>& shapes, int* done = nullptr) {
    using gpulab::testing::fault_of;
    for (const Shape& shape : shapes) {
        const auto& [whole, random] = examples<T>(shape);
        Output<T> c(shape.m * shape.n);
        std::string fault;
        try {
            fault = fault_of(run, whole.problem, c, [&] { return gpulab::compare(whole.reference, c, 0); });
            if (fault.empty())
                fault = fault_of(run, random.problem, c, [&] { return compare(random.problem, random.reference, c); });
        } catch (const gpulab::Unsupported&) {
            continue;
        }
        if (done) ++*done;
        if (!fault.empty()) return fmt::format("{} x {} x {}: {}", shape.m, shape.k, shape.n, fault);
    }
    return "";
}

} // namespace matmul::testing
