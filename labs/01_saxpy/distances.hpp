/// @file
/// The second operation of lab 01: distances from one point in space to N points (Alfaro Vigo & Rossetto,
/// exercise 2.1), with the points packed (12 bytes each) or aligned (16 bytes each).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "gpulab/compare.hpp"
#include "gpulab/stopwatch.hpp"
#include "gpulab/variant.hpp"

namespace saxpy {

/// A point as an array of structures has it: 12 bytes, the next point follows at once.
struct Point {
    float x, y, z;
};
static_assert(sizeof(Point) == 12);

/// The same point padded to 16 bytes, so that one instruction loads it whole.
struct alignas(16) AlignedPoint {
    float x, y, z;
};
static_assert(sizeof(AlignedPoint) == 16);

/// One point and the points it is measured against.
struct DistanceProblem {
    Point from{};
    std::vector<Point> points;
    std::size_t size() const { return points.size(); }
};

/// distance[i] = |points[i] - from|
using Distances = std::vector<float>;

/// A variant: from host data to host data. d has the length of the problem.
using DistanceRun = void(const DistanceProblem& p, Distances& d, gpulab::Stopwatch& watch);

/// Random points in the cube (-1, 1)^3.
DistanceProblem make_distance_problem(std::size_t n, std::uint64_t seed);

/// The points again, padded.
std::vector<AlignedPoint> aligned(const std::vector<Point>& points);

/// The sum of squares is wrong by at most (2 + 1 + 2) epsilon / 2: each difference is rounded and counts twice in its
/// square, each square is rounded, and so are two additions. The root halves that. The root itself is wrong by half an
/// epsilon on a CPU and in CUDA, and OpenCL 1.2 allows 3 epsilon: 1.25 + 0.5 on one side and 1.25 + 3 on the other.
inline constexpr double distance_tolerance = 6 * double{std::numeric_limits<float>::epsilon()};

/// Compares d with the reference, each element relative to the distance itself.
gpulab::Comparison compare(const Distances& reference, const Distances& d);

/// The variants of this operation.
std::span<const gpulab::Variant<DistanceRun>> distance_variants();

} // namespace saxpy
