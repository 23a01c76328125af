// The steps of the sequential program, with a conductor and with absorbing layers. (Alfaro Vigo & Rossetto, section
// 4.4.1 and figure 4.5)
//
// CMake compiles this file four times, with the compiler's levels O0 to O3; LEVEL is the namespace of each. The loops
// of the conductor are those of cpu_sequential. They call no function of a header: of an inline function that is
// compiled several times the linker keeps one, and O3 could get that of O0.
#include <cstddef>

#include "steps.hpp"

namespace fdtd::LEVEL {

template <class T> void conductor(const Book<T>& g, const Arrays<T>& f, int steps) {
    for (int step = 0; step < steps; ++step) {
        for (int j = 0; j < g.ny; ++j) {
            const std::size_t row = static_cast<std::size_t>(j) * static_cast<std::size_t>(g.pitch);
            T* const hz = f.hz + row;
            const T *const ex = f.ex + row, *const ex_above = ex + g.pitch, *const ey = f.ey + row;
            for (int i = 0; i < g.nx; ++i)
                hz[i] = g.a * hz[i] + (g.b_dy * (ex_above[i] - ex[i]) - g.b_dx * (ey[i + 1] - ey[i]));
            if (j == g.source_j) hz[g.source_i] = f.source[step];
        }
        for (int j = 0; j < g.ny; ++j) {
            const std::size_t row = static_cast<std::size_t>(j) * static_cast<std::size_t>(g.pitch);
            const T* const hz = f.hz + row;
            T *const ex = f.ex + row, *const ey = f.ey + row;
            if (j > 0) { // row 0 of Ex is the border
                const T* const hz_below = hz - g.pitch;
                for (int i = 0; i < g.nx; ++i) ex[i] = g.c * ex[i] + g.d_dy * (hz[i] - hz_below[i]);
            }
            for (int i = 1; i < g.nx; ++i) ey[i] = g.c * ey[i] - g.d_dx * (hz[i] - hz[i - 1]);
        }
    }
}

template <class T> void absorbing_layers(const Book<T>& g, const Arrays<T>& f, int steps) {
    for (int step = 0; step < steps; ++step) {
        for (int j = 0; j < g.ny; ++j) {
            const std::size_t row = static_cast<std::size_t>(j) * static_cast<std::size_t>(g.pitch);
            T *const hz_x = f.hz_x + row, *const hz_y = f.hz + row;
            const T *const ex = f.ex + row, *const ex_above = ex + g.pitch, *const ey = f.ey + row;
            const T keep = g.a * f.keep_h_y[j], gain = g.b_dy * f.gain_h_y[j], a = g.a, b_dx = g.b_dx;
            const T *const keep_x = f.keep_h_x, *const gain_x = f.gain_h_x; // by column
            for (int i = 0; i < g.nx; ++i) hz_x[i] = a * keep_x[i] * hz_x[i] - b_dx * gain_x[i] * (ey[i + 1] - ey[i]);
            for (int i = 0; i < g.nx; ++i) hz_y[i] = keep * hz_y[i] + gain * (ex_above[i] - ex[i]);
            if (j == g.source_j) hz_y[g.source_i] = f.source[step] - hz_x[g.source_i];
        }
        for (int j = 0; j < g.ny; ++j) {
            const std::size_t row = static_cast<std::size_t>(j) * static_cast<std::size_t>(g.pitch);
            const T *const hz_x = f.hz_x + row, *const hz_y = f.hz + row;
            T *const ex = f.ex + row, *const ey = f.ey + row;
            if (j > 0) {
                const T *const x_below = hz_x - g.pitch, *const y_below = hz_y - g.pitch;
                const T keep = g.c * f.keep_ex[j], gain = g.d_dy * f.gain_ex[j];
                for (int i = 0; i < g.nx; ++i)
                    ex[i] = keep * ex[i] + gain * (hz_x[i] + hz_y[i] - (x_below[i] + y_below[i]));
            }
            const T c = g.c, d_dx = g.d_dx;
            const T *const keep_x = f.keep_ey, *const gain_x = f.gain_ey;
            for (int i = 1; i < g.nx; ++i)
                ey[i] = c * keep_x[i] * ey[i] - d_dx * gain_x[i] * (hz_x[i] + hz_y[i] - (hz_x[i - 1] + hz_y[i - 1]));
        }
    }
}

template void conductor(const Book<float>&, const Arrays<float>&, int);
template void conductor(const Book<double>&, const Arrays<double>&, int);
template void absorbing_layers(const Book<float>&, const Arrays<float>&, int);
template void absorbing_layers(const Book<double>&, const Arrays<double>&, int);

} // namespace fdtd::LEVEL
