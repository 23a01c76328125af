/// @file
/// The judge of this lab's exercises. Fields of a case: type and matrix, a description as the program's
/// --generate takes it.
#include "gpulab/grading/judge.hpp"

#include "exercises/tasks.hpp"
#include "gpulab/sparse/generate.hpp"

namespace spmv {

namespace {

using gpulab::grading::Case;
using gpulab::grading::field;

template <class T> struct MultiplyTask : Multiply<T> {
    static Problem<T> make(const Case& c, std::uint64_t seed) {
        return make_problem(gpulab::generate_matrix<T>(field<std::string>(c, "matrix", "lecture"), seed), seed + 1);
    }
    static gpulab::Comparison check(const Case&, const Problem<T>& p, const Output<T>& y) {
        return compare(make_reference(p), y);
    }
};

} // namespace

} // namespace spmv

int main(int argc, char** argv) {
    using namespace spmv;
    gpulab::grading::Judge judge;
    judge.add<MultiplyTask<float>>("multiply", "float");
    judge.add<MultiplyTask<double>>("multiply", "double");
    return judge.main(argc, argv);
}
