/// @file
/// The judge of this lab's exercises. Fields of a case: type, kind (see make_problem()), n, systems and empty_row: the
/// number of an equation without any coefficient in the middle system, whose pivot is zero for every method; below it
/// there may be a further_row. a of the first row and c of the last one are NaN.
#include "gpulab/grading/judge.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "exercises/tasks.hpp"

namespace tridiagonal {

namespace {

using gpulab::grading::Case;
using gpulab::grading::field;

template <class T> struct SolveTask : Solve<T> {
    static Problem<T> make(const Case& c, std::uint64_t seed) {
        const auto n = field<std::size_t>(c, "n", 1), systems = field<std::size_t>(c, "systems", 1);
        Problem<T> p = make_problem<T>(field<std::string>(c, "kind", "dominant"), n, systems, seed);
        for (std::size_t s = 0; s < systems && n > 0; ++s) // numbers without a meaning: nobody may use them
            p.a[s * n] = p.c[s * n + n - 1] = std::numeric_limits<T>::quiet_NaN();
        for (const char* const name : {"empty_row", "further_row"}) {
            const auto row = field<std::int64_t>(c, name, -1);
            if (row < 0) continue;
            const std::size_t k = systems / 2 * n + static_cast<std::size_t>(row);
            p.a.at(k) = p.b.at(k) = p.c.at(k) = 0;
        }
        return p;
    }
    static gpulab::Comparison check(const Case& c, const Problem<T>& p, const Output<T>& out) {
        gpulab::Comparison wrong;
        if (out.x.size() != p.size() || out.zero_pivot.size() != p.systems) { // compare() relies on it
            wrong.message = "the output has another size";
            return wrong;
        }
        const auto row = field<std::int32_t>(c, "empty_row", -1);
        if (row < 0) {
            gpulab::Comparison result = compare(p, make_reference(p), out);
            if (!result.passed && result.wrong > 0 && std::isnan(out.x[result.first]) &&
                !gpulab::is_poison(out.x[result.first]))
                result.message +=
                    " a of the first row and c of the last one have no meaning and are NaN here: who uses them "
                    "gets NaN.";
            return result;
        }
        const std::size_t special = p.systems / 2;
        if (out.zero_pivot[special] != row) {
            wrong.message = "the pivot of row " + std::to_string(row) + " in system " + std::to_string(special) +
                            " is zero; reported was " + std::to_string(out.zero_pivot[special]);
            return wrong;
        }
        return compare(without(p, special), make_reference(without(p, special)), without(out, p.n, special));
    }

private:
    // All systems but one.
    template <class U> static void cut(std::vector<U>& v, std::size_t first, std::size_t count) {
        const auto begin = v.begin() + static_cast<std::ptrdiff_t>(first);
        v.erase(begin, begin + static_cast<std::ptrdiff_t>(count));
    }
    static Problem<T> without(Problem<T> p, std::size_t system) {
        for (std::vector<T>* v : {&p.a, &p.b, &p.c, &p.d}) cut(*v, system * p.n, p.n);
        --p.systems;
        return p;
    }
    static Output<T> without(Output<T> out, std::size_t n, std::size_t system) {
        cut(out.x, system * n, n);
        cut(out.zero_pivot, system, 1);
        return out;
    }
};

} // namespace

} // namespace tridiagonal

void gpulab::grading::add_tasks(Judge& judge) {
    using namespace tridiagonal;
    judge.add<SolveTask, float, double>("solve");
}
