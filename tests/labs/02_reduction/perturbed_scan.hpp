/// @file
/// cuda_scan_look_back with blocks that begin in another order, or late, and cuda_scan_warp_duties with late ones.
#pragma once

#include "scan.hpp"

namespace perturbed {

/// Prefix sums by the lab's own kernel, whose blocks are numbered against the order in which they start.
void scan_with_blocks_reversed(const reduction::ScanProblem<int>& p, reduction::Prefixes<int>& out,
                               gpulab::Stopwatch& watch);
/// The same with every second block late.
void scan_with_late_blocks(const reduction::ScanProblem<int>& p, reduction::Prefixes<int>& out,
                           gpulab::Stopwatch& watch);
/// As scan_with_late_blocks(), by cuda_scan_warp_duties.
void duties_with_late_blocks(const reduction::ScanProblem<int>& p, reduction::Prefixes<int>& out,
                             gpulab::Stopwatch& watch);

} // namespace perturbed
