/// @file
/// The second operation of lab 01: distances from one point in space to N points (Alfaro Vigo & Rossetto,
/// exercise 2.1), with the points packed (12 bytes each) or aligned (16 bytes each).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "gpulab/forward.hpp"
#include "gpulab/stopwatch.hpp"
#include "gpulab/variant.hpp"

namespace saxpy {

/// A packed point: 12 bytes, directly followed by the next point.
struct Point {
    float x, y, z;
};
static_assert(sizeof(Point) == 12);

/// The same point padded to 16 bytes, so that one instruction can load all of it.
struct alignas(16) AlignedPoint {
    float x, y, z;
};
static_assert(sizeof(AlignedPoint) == 16);

/// One point, and the points whose distances from it are computed.
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

/// The same points, padded.
inline std::vector<AlignedPoint> aligned(const std::vector<Point>& points) {
    std::vector<AlignedPoint> padded(points.size());
    for (std::size_t i = 0; i < points.size(); ++i) padded[i] = {points[i].x, points[i].y, points[i].z};
    return padded;
}

/// The relative error of the sum of squares is at most (2 + 1 + 2) epsilon / 2: the rounding of each difference counts
/// twice in its square, each square is rounded, and so are two additions. The root halves this to 1.25 epsilon. The
/// root's own rounding adds epsilon / 2 on a CPU and in CUDA, and up to 3 epsilon in OpenCL 1.2. The difference between
/// the two sides is then at most (1.25 + 0.5) + (1.25 + 3) = 6 epsilon.
inline constexpr double distance_tolerance = 6 * double{std::numeric_limits<float>::epsilon()};

/// Compares d with the reference, each element relative to the distance itself.
gpulab::Comparison compare(const Distances& reference, const Distances& d);

/// The variants of this operation.
std::span<const gpulab::Variant<DistanceRun>> distance_variants();

} // namespace saxpy
