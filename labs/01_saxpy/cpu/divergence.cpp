// The two branches of study divergence on the CPU: the reference. Element i starts from the number i + 1.
#include "studies.hpp"

namespace saxpy {

void cpu_divergence(Branch branch, Mixed& out, Stopwatch& watch) {
    const auto run = [&] {
        for (std::size_t i = 0; i < out.size(); ++i) {
            const bool first = branch == Branch::even_odd ? i % 2 == 0 : i / 32 % 2 == 0;
            auto x = static_cast<std::uint32_t>(i + 1);
            for (unsigned r = 0; r < mixing_rounds; ++r) {
                if (first) {
                    x ^= x >> 13;
                    x ^= x << 17;
                    x ^= x >> 5;
                } else {
                    x ^= x << 13;
                    x ^= x >> 17;
                    x ^= x << 5;
                }
            }
            out[i] = x;
        }
    };
    watch.time(run, gpulab::poisoning(out));
}

} // namespace saxpy
