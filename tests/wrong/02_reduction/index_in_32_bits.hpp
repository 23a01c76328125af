/// @file
/// A sum, a dot product and a prefix sum that are right up to 2^31 - 1 elements: they count them in an int. Only the
/// checks of large arrays can reject them.
#pragma once

#include "dot.hpp"
#include "reduction.hpp"
#include "scan.hpp"

namespace reduction::wrong {

SumRun<float> sum_index_in_32_bits;
DotRun<float> dot_index_in_32_bits;
ScanRun<float> scan_index_in_32_bits;

} // namespace reduction::wrong
