/// @file
/// The judge of this lab's exercises. Fields of a case: type, m, k and n.
#include "gpulab/grading/judge.hpp"

#include "exercises/tasks.hpp"

namespace matmul {

namespace {

using gpulab::grading::Case;
using gpulab::grading::field;

template <class T> struct MultiplyTask : Multiply<T> {
    static Problem<T> make(const Case& c, std::uint64_t seed) {
        return make_problem<T>(field<std::size_t>(c, "m", 0), field<std::size_t>(c, "k", 0),
                               field<std::size_t>(c, "n", 0), seed);
    }
    static gpulab::Comparison check(const Case&, const Problem<T>& p, const Output<T>& c) {
        return compare(p, reference_product(p), c);
    }
};

} // namespace

} // namespace matmul

int main(int argc, char** argv) {
    using namespace matmul;
    gpulab::grading::Judge judge;
    judge.add<MultiplyTask<float>>("multiply", "float");
    judge.add<MultiplyTask<double>>("multiply", "double");
    return judge.main(argc, argv);
}
