/// @file
/// The judge of this lab's exercises. Fields of a case: type, kind (see make_problem()), n and systems.
#include "gpulab/grading/judge.hpp"

#include "exercises/tasks.hpp"

namespace tridiagonal {

namespace {

using gpulab::grading::Case;
using gpulab::grading::field;

template <class T> struct SolveTask : Solve<T> {
    static Problem<T> make(const Case& c, std::uint64_t seed) {
        const auto n = field<std::size_t>(c, "n", 1), systems = field<std::size_t>(c, "systems", 1);
        return make_problem<T>(field<std::string>(c, "kind", "dominant"), n, systems, seed);
    }
    static gpulab::Comparison check(const Case&, const Problem<T>& p, const Output<T>& out) {
        if (out.x.size() != p.size() || out.zero_pivot.size() != p.systems) { // compare() relies on it
            gpulab::Comparison wrong;
            wrong.message = "the output has another size";
            return wrong;
        }
        return compare(p, make_reference(p), out);
    }
};

} // namespace

} // namespace tridiagonal

int main(int argc, char** argv) {
    using namespace tridiagonal;
    gpulab::grading::Judge judge;
    judge.add<SolveTask<float>>("solve", "float");
    judge.add<SolveTask<double>>("solve", "double");
    return judge.main(argc, argv);
}
