// An image of more than 2^32 bytes, in one strip, on GPUs that have the memory.
#include "checks.hpp"
#include "gpulab_testing/large_cases.hpp"

using namespace gpulab::testing;

namespace {

std::string large_fault(streams::Run* run, std::size_t n) {
    struct Made {
        streams::Problem p;
        streams::Output reference, out;
    };
    static LastMade last;
    auto& [p, reference, out] = last.get<Made>(std::to_string(n), [n] {
        const std::size_t width = 65537; // odd, so that the bytes 2^31 and 2^32 further on differ
        const streams::Problem made{streams::random_image(width, n / width + 1, 1, seed), 0, 1};
        return Made{made, streams::reference_output(made), streams::reference_output(made)};
    });
    gpulab::Stopwatch once;
    if (std::string stray = stray_write(run, p, out, once); !stray.empty()) return stray;
    return out.pixels == reference.pixels ? "" : streams::compare(reference, out).message;
}

const LargeCases large(streams::variants(), "reaches the bytes beyond 2^32", 1, 2, // floats, four bytes each
                       [](const auto& v, std::size_t n) { return large_fault(v.run, n); });

} // namespace
