/// @file
/// The judge of this lab's exercises. Fields of a case: op ("saxpy" or "distances"), n, and for saxpy `special`: a NaN
/// or an infinity that one element of a is set to, a negative factor k, or a zero k that meets a NaN.
#include "gpulab/grading/judge.hpp"

#include <cmath>
#include <fmt/format.h>
#include <limits>

#include "exercises/tasks.hpp"
#include "gpulab/input.hpp"

namespace saxpy {

namespace {

using gpulab::grading::Case;
using gpulab::grading::field;

struct SaxpyTask : Saxpy {
    static Problem make(const Case& c, std::uint64_t seed) {
        Problem p = make_problem(field<std::size_t>(c, "n", 0), seed);
        const auto special = field<std::string>(c, "special", "");
        if (special.empty() || p.a.empty()) return p;
        if (special == "negative factor") {
            p.k = -p.k;
            return p;
        }
        if (special == "zero times NaN") p.k = 0;
        float& one = p.a[gpulab::random_bits(seed, 3) % p.size()];
        if (special == "NaN" || special == "zero times NaN") one = std::numeric_limits<float>::quiet_NaN();
        else if (special == "infinity") one = -std::numeric_limits<float>::infinity();
        else throw gpulab::UsageError("no number is called " + special);
        return p;
    }
    static gpulab::Comparison check(const Case&, const Problem& p, const Output& c) {
        Output reference(p.size()), finite = c;
        for (std::size_t i = 0; i < p.size(); ++i) reference[i] = p.k * p.a[i] + p.b[i];
        for (std::size_t i = 0; i < std::min(p.size(), c.size()); ++i) // compare() counts NaN as a mistake
            if (std::isnan(reference[i]) && std::isnan(c[i]) && !gpulab::is_poison(c[i])) finite[i] = reference[i] = 0;
        gpulab::Comparison result = compare(p, reference, finite);
        if (result.wrong > 0)
            result.message += fmt::format(" There k = {}, a[{}] = {}, b[{}] = {}.", p.k, result.first,
                                          p.a[result.first], result.first, p.b[result.first]);
        return result;
    }
};

struct DistanceTask : Distance {
    static DistanceProblem make(const Case& c, std::uint64_t seed) {
        return make_distance_problem(field<std::size_t>(c, "n", 0), seed);
    }
    static gpulab::Comparison check(const Case&, const DistanceProblem& p, const Distances& d) {
        Distances reference(p.size());
        for (std::size_t i = 0; i < p.size(); ++i) {
            const float dx = p.points[i].x - p.from.x, dy = p.points[i].y - p.from.y, dz = p.points[i].z - p.from.z;
            reference[i] = std::sqrt(dx * dx + dy * dy + dz * dz);
        }
        gpulab::Comparison result = compare(reference, d);
        if (result.wrong > 0) {
            const Point &to = p.points[result.first], &from = p.from;
            result.message += fmt::format(" It is the distance of ({}, {}, {}) from ({}, {}, {}).", to.x, to.y, to.z,
                                          from.x, from.y, from.z);
        }
        return result;
    }
};

} // namespace

} // namespace saxpy

void gpulab::grading::add_tasks(Judge& judge) {
    using namespace saxpy;
    judge.add<SaxpyTask>("saxpy");
    judge.add<DistanceTask>("distances");
    // The same points, which the rung copies to four floats each.
    judge.add<DistanceTask>("distances", "aligned");
}
