#include <cmath>
#include <numbers>

#include "scene.hpp"

namespace fdtd {

// In long double, and with squares where a formula subtracts cosines from each other: the first values of a pulse are
// small, and the field after a few steps is as accurate as they are.
double Waveform::at(double n, double dt) const {
    using Real = long double;
    constexpr Real pi = std::numbers::pi_v<Real>;
    const Real t = Real{n} * Real{dt};
    const auto square = [](Real x) { return x * x; };
    const auto bell = [&] { return std::exp(-square((t - Real{delay}) / Real{width})); };
    const auto wave = [&] { return std::sin(2 * pi * Real{frequency} * t + Real{phase}); };
    Real shape = 0;
    switch (kind) {
    case Kind::book: // (10 - 15 cos x + 6 cos 2x - cos 3x) / 32 = ((1 - cos x) / 2)^3, with x = n pi / 20
        if (n > 0 && n <= 40) shape = std::pow((1 - std::cos(n * pi / 20)) / 2, Real{3});
        break;
    case Kind::gaussian: shape = bell(); break;
    case Kind::sine: // a jump would hold all frequencies: (1 - cos(pi t / rise)) / 2 is a square
        shape = wave() * (t < Real{rise} ? square(std::sin(pi * t / (2 * Real{rise}))) : 1);
        break;
    case Kind::modulated_gaussian: shape = bell() * wave(); break;
    case Kind::column: {
        const double k = std::ceil(n);
        if (k >= 1 && k <= static_cast<double>(numbers.size())) shape = numbers[static_cast<std::size_t>(k) - 1];
        break;
    }
    }
    return static_cast<double>(Real{amplitude} * shape);
}

} // namespace fdtd
