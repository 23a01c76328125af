/// @file
/// What ends a rank when the others do not answer, and faults for tests.
#pragma once

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <string>
#include <thread>

#include "gpulab/error.hpp"
#include "gpulab/stopwatch.hpp"
#include "gpulab/threads.hpp"

namespace cg {

/// This process among all of them.
struct Ranks {
    int me = 0, count = 1;
    int local = 0;       ///< number among those of this computer
    int on_computer = 1; ///< how many this computer has
    int computer = 0;    ///< the first rank of this computer
};

/// Ends the program when it makes no progress while it is watched: a rank that hangs, or one whose neighbour does not
/// answer. mpirun then ends the other ranks. What runs on a GPU ends with its process.
class Watchdog {
public:
    Watchdog(double seconds, int rank) : rank_(rank) {
        thread_.start([this, seconds] { watch(seconds); });
    }
    ~Watchdog() { ended_ = true; }
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;
    void begin() {
        progress();
        watching_ = true;
    }
    void progress() { ++count_; }
    void end() { watching_ = false; }

private:
    void watch(double seconds) {
        double last = gpulab::clock_ms();
        std::uint64_t seen = 0;
        while (!ended_) {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            if (const std::uint64_t now = count_; now != seen || !watching_) {
                seen = now;
                last = gpulab::clock_ms();
            }
            if (gpulab::clock_ms() - last > 1e3 * seconds) {
                fmt::print(stderr, "cg_mpi: rank {}: no progress for {} s; another rank does not answer\n", rank_,
                           seconds);
                std::fflush(stderr);
                std::_Exit(gpulab::exit_failure);
            }
        }
    }
    std::atomic<std::uint64_t> count_ = 0;
    std::atomic<bool> watching_ = false, ended_ = false;
    int rank_;
    gpulab::Threads thread_; // the last member: it ends before what it uses
};

/// For tests: CG_MPI_FAULT=die:RANK or stop:RANK makes that rank end, or stop without an end, in its third iteration.
inline void fault_for_tests(const Ranks& ranks, std::size_t iteration) {
    const char* const requested = std::getenv("CG_MPI_FAULT");
    if (!requested || iteration != 2) return;
    if (requested == fmt::format("die:{}", ranks.me)) std::raise(SIGKILL);
    while (requested == fmt::format("stop:{}", ranks.me)) std::this_thread::sleep_for(std::chrono::seconds(1));
}

/// For tests: CG_MPI_SLOW=RANK:FACTOR makes the measurement of speeds treat that rank as FACTOR times slower.
inline double slowness_for_tests(const Ranks& ranks) {
    const char* const requested = std::getenv("CG_MPI_SLOW");
    const std::string mine = fmt::format("{}:", ranks.me);
    return requested && std::string(requested).starts_with(mine) ? std::stod(requested + mine.size()) : 1;
}

} // namespace cg
