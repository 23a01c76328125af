/// @file
/// What the four compilations of steps.cpp get and offer.
#pragma once

#include "book.hpp"

namespace fdtd {

/// The book's problem as plain arrays. Hz with layers is the sum of two parts in every cell, as in the book: one is
/// driven by Ex, the other by Ey, and each has a loss of its own.
template <class T> struct Arrays {
    T* hz;   ///< with layers: the part that Ex drives
    T* hz_x; ///< with layers: the part that Ey drives
    T *ex, *ey;
    const T* source; ///< what Hz is in the source's cell, for each step
    /// With layers: factors of Hz and of Ey by column, and of Hz and of Ex by row (Problem::layers).
    const T *keep_h_x, *gain_h_x, *keep_ey, *gain_ey, *keep_h_y, *gain_h_y, *keep_ex, *gain_ex;
};

#define FDTD_LEVEL(level)                                                                      \
    namespace level {                                                                          \
    template <class T> void conductor(const Book<T>& g, const Arrays<T>& f, int steps);        \
    template <class T> void absorbing_layers(const Book<T>& g, const Arrays<T>& f, int steps); \
    }
FDTD_LEVEL(O0)
FDTD_LEVEL(O1)
FDTD_LEVEL(O2)
FDTD_LEVEL(O3)
#undef FDTD_LEVEL

} // namespace fdtd
