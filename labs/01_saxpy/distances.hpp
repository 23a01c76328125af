/// @file
/// The second operation of lab 01: distances from one point in space to N points (Alfaro Vigo & Rossetto,
/// exercise 2.1), with the points packed (12 bytes each) or aligned (16 bytes each).
#pragma once

#include <cstddef>
#include <cstdint>
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

/// Each side: half an epsilon for each of three subtractions, squares and two additions, halved by the root, and a
/// root that OpenCL lets be 3 units wrong: (1.25 + 3) epsilon; 1.75 epsilon for the CPU.
inline constexpr double distance_tolerance = 6 * 1.1920928955078125e-07;

/// Compares d with the reference, each element relative to the distance itself.
gpulab::Comparison compare(const Distances& reference, const Distances& d);

/// The variants of this operation.
std::span<const gpulab::Variant<DistanceRun>> distance_variants();

DistanceRun cpu_distances;
DistanceRun cuda_distances_packed, cuda_distances_aligned;
DistanceRun opencl_distances_packed, opencl_distances_aligned;

} // namespace saxpy
