/// @file
/// The roofline ceilings of a device, measured in this run: the limits with which a variant is compared.
#pragma once

#include "gpulab/forward.hpp"

namespace gpulab {

/// The rates that a device reaches when it does nothing else.
struct Ceilings {
    double copy_gb_s = 0;    ///< copying one large array to another, bytes read + bytes written
    double fp32_gflop_s = 0; ///< independent fused multiply-adds, float; 0 when not measured
    double fp64_gflop_s = 0; ///< the same, double; 0 when not measured or not supported
};

/// Which arithmetic ceiling a lab is compared with, in addition to the copy bandwidth.
enum class Arithmetic { none, fp32, fp64 };

/// Measures the ceilings of a device once and keeps them. Takes up to about a second the first time.
/// @param arithmetic measure this arithmetic rate as well
const Ceilings& ceilings(const Device& device, Arithmetic arithmetic = Arithmetic::none);

/// The shortest time in which a device can move `bytes` and do `flops`, in milliseconds:
/// the larger of the two times at the measured ceilings (roofline: Williams, Waterman, Patterson, CACM 52, 2009).
/// @return 0 when no ceiling that applies was measured
double roofline_ms(const Ceilings& ceilings, double bytes, double flops, Arithmetic arithmetic);

} // namespace gpulab
