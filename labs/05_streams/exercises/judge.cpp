/// @file
/// The judge of this lab's exercises. Fields of a case: width, height, channels, work and streams.
#include "gpulab/grading/judge.hpp"

#include "exercises/tasks.hpp"

namespace streams {

namespace {

using gpulab::grading::Case;
using gpulab::grading::field;

struct InvertTask : Invert {
    static Problem make(const Case& c, std::uint64_t seed) {
        Problem p;
        p.image = random_image(field<std::size_t>(c, "width", 1), field<std::size_t>(c, "height", 1),
                               field(c, "channels", 1), seed);
        p.work = field(c, "work", 0U);
        p.streams = field<std::size_t>(c, "streams", 1);
        return p;
    }
    static gpulab::Comparison check(const Case&, const Problem& p, const Output& out) {
        return compare(reference_output(p), out);
    }
};

} // namespace

} // namespace streams

void gpulab::grading::add_tasks(Judge& judge) {
    using namespace streams;
    judge.add<InvertTask>("invert");
}
