// The reads of study memories on the CPU: the reference.
#include "studies.hpp"

namespace saxpy {

void cpu_look_up(unsigned apart, const Mixed& table, Mixed& out, Stopwatch& watch) {
    const auto run = [&] {
        for (std::size_t i = 0; i < out.size(); ++i) {
            const auto first = static_cast<std::uint32_t>(i) * apart; // modulo 2^32, which table_size divides
            std::uint32_t x = 0;
            for (unsigned r = 0; r < table_reads; ++r) x = 5 * x + table[(first + r) % table_size];
            out[i] = x;
        }
    };
    watch.time(run, gpulab::poisoning(out));
}

} // namespace saxpy
