/// @file
/// The measures of parallel performance (Alfaro Vigo & Rossetto, section 1.5).
#pragma once

namespace gpulab {

/// How many times faster: sequential time over parallel time, both in the same unit.
/// @return 0 when parallel_ms is 0 (nothing was timed)
constexpr double speedup(double sequential_ms, double parallel_ms) {
    return parallel_ms > 0 ? sequential_ms / parallel_ms : 0;
}

/// The speed of a variant in percent of a library's, from the times of both in the same unit.
/// @return 0 when ms is 0 (nothing was timed)
constexpr double percent_of_library(double library_ms, double ms) { return 100 * speedup(library_ms, ms); }

/// Speed-up per processor, 1 when every processor is used fully.
/// @pre processors >= 1
constexpr double efficiency(double sequential_ms, double parallel_ms, int processors) {
    return speedup(sequential_ms, parallel_ms) / processors;
}

/// Throughput in 10^9 bytes per second.
constexpr double gb_per_s(double bytes, double ms) { return ms > 0 ? bytes / (ms * 1e6) : 0; }

/// Throughput in 10^9 floating-point operations per second.
constexpr double gflop_per_s(double flops, double ms) { return ms > 0 ? flops / (ms * 1e6) : 0; }

/// Amdahl's law: the speed-up of a fixed problem on P processors when `serial_fraction` of the
/// sequential time cannot be parallelised. Its limit for P to infinity is 1 / serial_fraction.
/// @pre 0 <= serial_fraction <= 1, processors >= 1
constexpr double amdahl_speedup(double serial_fraction, double processors) {
    return 1 / (serial_fraction + (1 - serial_fraction) / processors);
}

/// Gustafson's law: the speed-up when the problem grows with P, so that `serial_fraction` is the share of
/// the *parallel* run that is serial.
/// @pre 0 <= serial_fraction <= 1, processors >= 1
constexpr double gustafson_speedup(double serial_fraction, double processors) {
    return processors - serial_fraction * (processors - 1);
}

/// The serial fraction that explains a measured speed-up under Amdahl's law
/// (Karp & Flatt, Communications of the ACM 33 (5), 1990): (1/S - 1/P) / (1 - 1/P).
/// @pre speedup > 0, processors > 1
constexpr double serial_fraction(double speedup, double processors) {
    return (1 / speedup - 1 / processors) / (1 - 1 / processors);
}

} // namespace gpulab
