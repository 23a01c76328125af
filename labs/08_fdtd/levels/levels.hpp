/// @file
/// The sequential program of the book's section 4.4.1, compiled with each of the compiler's levels O0 to O3.
#pragma once

#include <span>
#include <string_view>

#include "fdtd.hpp"

namespace fdtd {

/// The program at each level, from sequential_O0 to sequential_O3: it computes the book's problem (book.hpp), with or
/// without absorbing layers. (Alfaro Vigo & Rossetto, figure 4.5)
template <class T> std::span<const gpulab::Variant<Run<T>>> levels();

/// The compiler that made them, with its version.
std::string_view name_of_compiler();

} // namespace fdtd
