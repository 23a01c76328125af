/// @file
/// The judge of this lab's exercises. Fields of a case: op ("factorise" or "solve"), n, and for solve count.
#include "gpulab/grading/judge.hpp"

#include "exercises/tasks.hpp"

namespace lu {

namespace {

using gpulab::grading::Case;
using gpulab::grading::field;

gpulab::Comparison other_size() {
    gpulab::Comparison wrong;
    wrong.message = "the output has another size";
    return wrong;
}

struct FactoriseTask : Factorise {
    static Problem make(const Case& c, std::uint64_t seed) {
        Problem p = make_problem(field<std::size_t>(c, "n", 1), seed);
        for (std::size_t i = 0; i < p.n; ++i) p.a[i * p.n + i] += static_cast<double>(p.n); // needs no pivoting
        return p;
    }
    static gpulab::Comparison check(const Case&, const Problem& p, const Factors& f) {
        if (f.n != p.n || f.lu.size() != p.n * p.n || f.pivots.size() != p.n) return other_size();
        return compare(p, f, false);
    }
};

struct SolveTask : Solve {
    static SolveProblem make(const Case& c, std::uint64_t seed) {
        return make_solve_problem(make_problem(field<std::size_t>(c, "n", 1), seed), field<std::size_t>(c, "count", 1),
                                  seed + 1);
    }
    static gpulab::Comparison check(const Case&, const SolveProblem& p, const Solution& x) {
        return x.size() == p.n * p.count ? compare(p, x, false) : other_size();
    }
};

} // namespace

} // namespace lu

void gpulab::grading::add_tasks(Judge& judge) {
    using namespace lu;
    judge.add<FactoriseTask>("factorise");
    judge.add<SolveTask>("solve");
}
