/// @file
/// The judge of this lab's exercises. Fields of a case: type, m, k, n, and `special`, see make() below.
#include "gpulab/grading/judge.hpp"

#include <cmath>
#include <limits>

#include "exercises/tasks.hpp"
#include "gpulab/input.hpp"

namespace matmul {

namespace {

using gpulab::grading::Case;
using gpulab::grading::field;

template <class T> struct MultiplyTask : Multiply<T> {
    static Problem<T> make(const Case& c, std::uint64_t seed) {
        Problem<T> p = make_problem<T>(field<std::size_t>(c, "m", 0), field<std::size_t>(c, "k", 0),
                                       field<std::size_t>(c, "n", 0), seed);
        const auto special = field<std::string>(c, "special", "");
        if (special.empty()) return p;
        T& one = p.b.at(gpulab::random_bits(seed, 3) % p.b.size());
        if (special == "denormals") { // no sum of their products rounds
            for (std::size_t i = 0; i < p.a.size(); ++i)
                p.a[i] = static_cast<T>(1 + gpulab::random_bits(seed, i) % 3) * std::numeric_limits<T>::denorm_min();
            for (std::size_t i = 0; i < p.b.size(); ++i) p.b[i] = static_cast<T>(1 + i % 2);
        } else if (special == "NaN") {
            one = std::numeric_limits<T>::quiet_NaN();
        } else if (special == "infinity") {
            one = std::numeric_limits<T>::infinity();
        } else if (special == "zeros times NaN") { // half of the rows of A are zeros: they meet the NaN, too
            for (std::size_t i = 0; i < p.a.size(); ++i)
                if (i / p.k % 2 == 0) p.a[i] = 0;
            one = std::numeric_limits<T>::quiet_NaN();
        } else {
            throw gpulab::UsageError("no numbers are called " + special);
        }
        return p;
    }
    static gpulab::Comparison check(const Case&, const Problem<T>& p, const Output<T>& c) {
        Output<T> reference = reference_product(p), finite = c;
        for (std::size_t i = 0; i < std::min(reference.size(), c.size()); ++i) { // compare() is for finite numbers
            const bool right =
                std::isnan(reference[i]) ? std::isnan(c[i]) && !gpulab::is_poison(c[i]) : c[i] == reference[i];
            if (!std::isfinite(reference[i]) && right) finite[i] = reference[i] = 0;
        }
        Problem<T> numbers = p; // for the tolerance
        for (T& x : numbers.b)
            if (!std::isfinite(x)) x = 0;
        return compare(numbers, reference, finite);
    }
};

} // namespace

} // namespace matmul

void gpulab::grading::add_tasks(Judge& judge) {
    using namespace matmul;
    judge.add<MultiplyTask, float, double>("multiply");
}
