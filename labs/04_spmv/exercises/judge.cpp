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

void gpulab::grading::add_tasks(Judge& judge) {
    using namespace spmv;
    judge.add<MultiplyTask, float, double>("multiply");
}
