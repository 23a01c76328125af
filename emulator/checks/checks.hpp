/// @file
/// The checks of a launch: what Oclgrind sees of OpenCL kernels, for CUDA.
///
/// - Accesses outside of what was allocated, or misaligned.
/// - Values that nobody wrote, where they decide on an address or come to global memory, at the load that read them.
/// What
///   is only loaded, as a piece too many that was fetched ahead, or only computed with, is no fault; nor is a copy of a
///   structure with its padding.
/// - Races (ordering.hpp says what is ordered): of two accesses by different threads, one writes, one is weak, and
///   neither knows of the other. Two that write the same value do not count, as in Oclgrind; with
///   CUDA_EMULATOR_UNIFORM_WRITES=1 they do.
/// - Barriers that only a part of the block reaches, shuffles from lanes that do not take part.
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "checks/findings.hpp"
#include "machine/launch.hpp"

namespace cuda_emulator {

class GlobalCells;

/// All checks of a process.
class Checks {
public:
    Checks();
    ~Checks();

    /// Checks one launch. Several may run at the same time. It must end before this object.
    std::unique_ptr<Observer> observe();

    Findings& findings() { return findings_; }

    /// The records of a device's memory; null, which is said once, where the process may not have so many addresses.
    GlobalCells* cells(const Memory& memory);

private:
    Findings findings_;
    std::mutex lock_;
    std::map<const Memory*, std::unique_ptr<GlobalCells>> cells_;
};

} // namespace cuda_emulator
