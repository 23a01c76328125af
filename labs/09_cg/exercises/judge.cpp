/// @file
/// The judge of this lab's exercises. Fields of a case: type, matrix (as for --generate), iterations (that many, unless
/// the residual is zero before), start ("zero" or "random"), preconditioner ("none" or "jacobi") and parts.
#include "gpulab/grading/judge.hpp"

#include "exercises/tasks.hpp"
#include "gpulab/input.hpp"
#include "gpulab/sparse/generate.hpp"
#include "judge.hpp"

namespace cg {

namespace {

using gpulab::grading::Case;
using gpulab::grading::field;

template <class T> struct SolveTask : Solve<T> {
    static Problem<T> make(const Case& c, std::uint64_t seed) {
        Settings settings;
        settings.tolerance = 0;
        settings.limit = field<std::size_t>(c, "iterations", 0);
        settings.parts = field<std::size_t>(c, "parts", 0);
        settings.jacobi = field<std::string>(c, "preconditioner", "none") == "jacobi";
        gpulab::Csr<T> matrix = gpulab::generate_matrix<T>(field<std::string>(c, "matrix", "laplace2d:3"), seed);
        const std::size_t n = matrix.rows;
        const bool random = field<std::string>(c, "start", "zero") == "random";
        return make_problem(std::move(matrix), gpulab::random_vector<T>(n, seed + 1),
                            random ? gpulab::random_vector<T>(n, seed + 2) : std::vector<T>(), settings);
    }
    static gpulab::Comparison check(const Case&, const Problem<T>& p, const Output<T>& out) {
        return compare(p, make_reference(p), out);
    }
};

} // namespace

} // namespace cg

void gpulab::grading::add_tasks(Judge& judge) {
    using namespace cg;
    judge.add<SolveTask, float, double>("solve");
}
