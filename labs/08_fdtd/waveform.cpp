#include <cmath>
#include <numbers>

#include "scene.hpp"

namespace fdtd {

double Waveform::at(double n, double dt) const {
    using std::numbers::pi;
    const double t = n * dt;
    const auto bell = [&] { return std::exp(-(t - delay) * (t - delay) / (width * width)); };
    const auto wave = [&] { return std::sin(2 * pi * frequency * t + phase); };
    switch (kind) {
    case Kind::book: {
        if (n <= 0 || n > 40) return 0;
        const double x = n * pi / 20;
        return amplitude * (10 - 15 * std::cos(x) + 6 * std::cos(2 * x) - std::cos(3 * x)) / 32;
    }
    case Kind::gaussian: return amplitude * bell();
    case Kind::sine: {
        const double on = t < rise ? 0.5 - 0.5 * std::cos(pi * t / rise) : 1; // a jump would hold all frequencies
        return amplitude * on * wave();
    }
    case Kind::modulated_gaussian: return amplitude * bell() * wave();
    case Kind::column: {
        const double k = std::ceil(n);
        return k >= 1 && k <= static_cast<double>(numbers.size()) ? amplitude * numbers[static_cast<std::size_t>(k) - 1]
                                                                  : 0;
    }
    }
    return 0;
}

} // namespace fdtd
