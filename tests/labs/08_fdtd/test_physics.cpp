// Does the scheme solve Maxwell's equations? What the variants compute is the same, so one of them is enough here.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <complex>
#include <numbers>

#include "checks.hpp"
#include "gpulab/raise.hpp"

using namespace fdtd;
using namespace fdtd::testing;
using std::numbers::pi;

namespace {

/// Whether a cell belongs to the conductor: in TM the outermost ones do.
bool on_wall(const Problem<double>& p, Mode mode, std::size_t i, std::size_t j) {
    return mode == Mode::tm && (i == 0 || j == 0 || i + 1 == p.nx() || j + 1 == p.ny());
}

/// The largest difference between U after all steps and expected(i, j).
template <class Expected> double difference_from(const Problem<double>& p, const Expected& expected) {
    const Output<double> out = computed(p);
    double worst = 0;
    each_cell(p, [&](std::size_t i, std::size_t j, std::size_t at) {
        gpulab::raise(worst, std::abs(out.field.u[at] - expected(i, j)));
    });
    return worst;
}

/// A mode of a rectangular cavity: U = shape(x) shape(y) cos(omega t), with cosines in TE and sines in TM.
struct Cavity {
    Scene scene;
    double kx, ky, omega;
    double u(double x, double y, double t) const {
        return (scene.mode == Mode::te ? std::cos(kx * x) * std::cos(ky * y) : std::sin(kx * x) * std::sin(ky * y)) *
               std::cos(omega * t);
    }
    // P and Q grow as the integral of cos(omega t): factor / e, with sin(omega t) / omega.
    double p(double x, double y, double t, double e) const {
        const double d = scene.mode == Mode::te ? -ky * std::cos(kx * x) * std::sin(ky * y)
                                                : ky * std::sin(kx * x) * std::cos(ky * y);
        return d / e * std::sin(omega * t) / omega;
    }
    double q(double x, double y, double t, double e) const {
        const double d = scene.mode == Mode::te ? -kx * std::sin(kx * x) * std::cos(ky * y)
                                                : kx * std::cos(kx * x) * std::sin(ky * y);
        return -d / e * std::sin(omega * t) / omega;
    }
};

Cavity cavity(Mode mode, std::size_t cells) {
    constexpr double a = 1.0, b = 0.75;
    // TE: the wall is at the outer edges. TM: it is at the outermost centres, so there is one cell more.
    const std::size_t more = mode == Mode::te ? 0 : 1;
    Cavity c{{.mode = mode,
              .nx = 4 * cells + more,
              .ny = 3 * cells + more,
              .dx = a / static_cast<double>(4 * cells),
              .dy = b / static_cast<double>(3 * cells),
              .steps = 12 * cells},
             2 * pi / a,
             3 * pi / b,
             0};
    c.omega = std::sqrt(c.kx * c.kx + c.ky * c.ky) / std::sqrt(eps_0 * mu_0);
    c.scene.dt = 2.2 / c.omega / static_cast<double>(c.scene.steps) * 2; // the same time on each grid
    return c;
}

/// The largest error of U after the last step.
double error_of(const Cavity& c) {
    Problem<double> p = make_problem<double>(c.scene);
    const double e = c.scene.mode == Mode::te ? eps_0 : mu_0, half = c.scene.mode == Mode::te ? 0.5 : 0;
    const auto x = [&](std::size_t i, double shift) { return (static_cast<double>(i) + half + shift) * c.scene.dx; };
    const auto y = [&](std::size_t j, double shift) { return (static_cast<double>(j) + half + shift) * c.scene.dy; };
    each_cell(p, [&](std::size_t i, std::size_t j, std::size_t at) {
        p.start.u[at] = on_wall(p, c.scene.mode, i, j) ? 0 : c.u(x(i, 0), y(j, 0), 0);
        if (j > 0) p.start.p[at] = c.p(x(i, 0), y(j, -0.5), p.dt / 2, e);
        if (i > 0) p.start.q[at] = c.q(x(i, -0.5), y(j, 0), p.dt / 2, e);
    });
    return difference_from(p, [&](std::size_t i, std::size_t j) {
        return c.u(x(i, 0), y(j, 0), static_cast<double>(c.scene.steps) * p.dt);
    });
}

/// A soft source in the cells [x0, x1) x [y0, y1), with a gaussian pulse.
Source pulse(std::size_t x0, std::size_t y0, std::size_t x1, std::size_t y1, double width_steps, double dt,
             double amplitude) {
    Source s = source_in(x0, y0, x1, y1, false);
    s.waveform = {.kind = Waveform::Kind::gaussian,
                  .amplitude = amplitude,
                  .delay = 4 * width_steps * dt,
                  .width = width_steps * dt};
    return s;
}

/// A mode of the grid of 24 x 20 intervals between conductors, and how the scheme lets it oscillate:
/// sin^2(w dt / 2) / (c dt)^2 = sin^2(kx dx / 2) / dx^2 + sin^2(ky dy / 2) / dy^2.
struct GridMode {
    Scene scene;
    double kx = 0, ky = 0; ///< per cell
    double sx = 0, sy = 0; ///< sin(kx / 2) / dx, sin(ky / 2) / dy
    double w = 0;          ///< per step
};

GridMode grid_mode(Mode mode, int m, int n) {
    const std::size_t more = mode == Mode::te ? 0 : 1; // TM: the walls are the outermost centres
    GridMode g{scene_of(Kind::plain, mode, 24 + more, 20 + more, 137), m * pi / 24, n * pi / 20};
    g.scene.courant = 0.95;
    g.sx = std::sin(g.kx / 2) / g.scene.dx;
    g.sy = std::sin(g.ky / 2) / g.scene.dy;
    const double c = 1 / std::sqrt(eps_0 * mu_0);
    g.w = 2 * std::asin(c * g.scene.time_step() * std::sqrt(g.sx * g.sx + g.sy * g.sy));
    return g;
}

/// A plane wave along x between two conductors (TE), in which E_y and H_z do not depend on y: a pulse from column 200
/// of 1200.
Scene plane_wave(std::size_t steps) {
    Scene s{.nx = 1200, .ny = 3, .steps = steps};
    s.left.kind = s.right.kind = Side::Kind::pml;
    s.dt = Scene{}.time_step(); // in any medium that is no faster than vacuum
    s.sources = {pulse(200, 0, 201, 3, 40, s.dt, 1e5)};
    s.probes = {{"before", 400, 1}, {"behind", 690, 1}};
    return s;
}

/// H_z of the two probes in each step, at columns 400 and 690, when half of the columns are of another medium.
std::vector<double> plane_wave_into(double eps_r, double mu_r = 1) {
    Scene s = plane_wave(1700);
    s.materials = {Material{}, {"medium", eps_r, mu_r, 0, 0}};
    for (std::size_t cell = 0; cell < 1200 * 3; ++cell) s.map.push_back(cell % 1200 >= 600);
    return computed(make_problem<double>(s)).recorded;
}

/// What the first (0) or the second (1) of two probes recorded.
std::vector<double> of_probe(std::size_t probe, const std::vector<double>& recorded) {
    std::vector<double> of;
    for (std::size_t k = probe; k < recorded.size(); k += 2) of.push_back(recorded[k]);
    return of;
}

/// What the first of two probes recorded beyond what it recorded in vacuum.
std::vector<double> reflected(const std::vector<double>& recorded, const std::vector<double>& in_vacuum) {
    std::vector<double> difference = of_probe(0, recorded), wave = of_probe(0, in_vacuum);
    for (std::size_t k = 0; k < wave.size(); ++k) difference[k] -= wave[k];
    return difference;
}

double peak(const std::vector<double>& x) {
    double most = 0;
    for (const double v : x) gpulab::raise(most, std::abs(v));
    return most;
}

} // namespace

TEST_CASE("a wave in vacuum has the speed of light, and E is the impedance of vacuum times H") {
    // The four digits of eps_0 are right to 0.0005 / 8.854, which changes a root of it by half as much.
    constexpr double most = 0.0005 / 8.854 / 2;
    CHECK(std::abs(largest_speed(Scene{}) / 299'792'458 - 1) < most);
    CHECK(std::abs(std::sqrt(mu_0 / eps_0) / 376.730'313'668 - 1) < most);
}

TEST_CASE("the error against the exact mode of a cavity falls with the square of the cell's side", "[cpu]") {
    for (const Mode mode : {Mode::te, Mode::tm}) {
        const double coarse = error_of(cavity(mode, 8)), middle = error_of(cavity(mode, 16)),
                     fine = error_of(cavity(mode, 32));
        INFO((mode == Mode::te ? "TE" : "TM") << ": " << coarse << ", " << middle << ", " << fine);
        for (const double order : {std::log2(coarse / middle), std::log2(middle / fine)}) {
            CHECK(order > 1.9);
            CHECK(order < 2.1);
        }
    }
}

TEST_CASE("a mode of the grid oscillates with the frequency of the scheme's dispersion relation", "[cpu]") {
    const auto check = [](Mode mode, int m, int n) {
        const bool te = mode == Mode::te;
        const GridMode g = grid_mode(mode, m, n);
        Problem<double> p = make_problem<double>(g.scene);
        // TE: cosines around the centres of cells. TM: sines, which are 0 in the outermost cells.
        const auto along = [&](double k, double at) { return te ? std::cos(k * (at + 0.5)) : std::sin(k * at); };
        const auto slope = [&](double k, double at) { return te ? -std::sin(k * at) : std::cos(k * (at - 0.5)); };
        const auto shape = [&](std::size_t i, std::size_t j) {
            return along(g.kx, static_cast<double>(i)) * along(g.ky, static_cast<double>(j));
        };
        // From eps (P^{1/2} - P^{-1/2}) / dt = (difference of U^0) / dy, with P odd in time. In TM it is minus H_x, and
        // mu takes the place of eps.
        const double factor = p.dt / (te ? eps_0 : mu_0);
        each_cell(p, [&](std::size_t i, std::size_t j, std::size_t at) {
            const double x = static_cast<double>(i), y = static_cast<double>(j);
            p.start.u[at] = on_wall(p, mode, i, j) ? 0 : shape(i, j);
            if (j > 0) p.start.p[at] = factor * along(g.kx, x) * g.sy * slope(g.ky, y);
            if (i > 0) p.start.q[at] = -factor * along(g.ky, y) * g.sx * slope(g.kx, x);
        });
        INFO((te ? "TE" : "TM") << ", mode " << m << ", " << n);
        const double now = std::cos(g.w * static_cast<double>(g.scene.steps));
        CHECK(difference_from(p, [&](std::size_t i, std::size_t j) { return shape(i, j) * now; }) < 1e-11);
    };
    for (const auto& [m, n] : std::vector<std::pair<int, int>>{{3, 0}, {0, 4}, {5, 2}, {11, 9}}) check(Mode::te, m, n);
    for (const auto& [m, n] : std::vector<std::pair<int, int>>{{1, 1}, {5, 2}, {11, 9}}) check(Mode::tm, m, n);
}

TEST_CASE("the energy in a lossless cavity is the same after 100000 steps", "[cpu]") {
    // What the scheme conserves: e (P^2 + Q^2) at n + 1/2, and m times U at n times U at n + 1.
    for (const Mode mode : {Mode::te, Mode::tm}) {
        Scene scene = scene_of(Kind::plain, mode, 23, 17, 100000);
        Problem<double> p = make_problem<double>(scene);
        randomise(p, 3);
        each_cell(p, [&](std::size_t i, std::size_t j, std::size_t at) {
            if (on_wall(p, mode, i, j)) p.start.u[at] = 0;
        });
        const double m = p.dt / p.rules.u.add, e = p.dt / p.rules.e.add;
        const auto energy = [&](const Fields<double>& now) {
            Problem<double> one = p;
            one.rules.steps = 1;
            one.start = now;
            const Output<double> next = computed(one);
            double sum = 0;
            each_cell(p, [&](std::size_t i, std::size_t j, std::size_t at) {
                if (!on_wall(p, mode, i, j)) sum += m * now.u[at] * next.field.u[at];
                // In TM an edge that lies along the wall does not belong to the cavity.
                if (!(mode == Mode::tm && (i == 0 || i + 1 == p.nx()))) sum += e * now.p[at] * now.p[at];
                if (!(mode == Mode::tm && (j == 0 || j + 1 == p.ny()))) sum += e * now.q[at] * now.q[at];
            });
            return sum / 2;
        };
        const double before = energy(p.start), after = energy(computed(p).field);
        INFO((mode == Mode::te ? "TE " : "TM ") << before << " " << after);
        CHECK(before > 0);
        CHECK(std::abs(after / before - 1) < 1e-10); // 10^5 steps of rounding, 10^5 epsilon = 2e-11 at the worst
    }
}

TEST_CASE("layers of 25 cells send back less than a thousandth of a wave, at any angle", "[cpu]") {
    for (const Mode mode : {Mode::te, Mode::tm}) {
        constexpr std::size_t inner = 60, far = 440, steps = 420;
        const auto scene_with = [&](std::size_t n, std::size_t offset, bool layers) {
            Scene s{.mode = mode, .nx = n, .ny = n, .steps = steps};
            if (layers)
                for (Side* side : {&s.left, &s.right, &s.bottom, &s.top}) side->kind = Side::Kind::pml;
            const double dt = s.time_step();
            s.sources = {pulse(offset + 10, offset + inner / 2, offset + 11, offset + inner / 2 + 1, 12, dt,
                               mode == Mode::te ? 1e5 : 1e2)};
            // In front of the source, beside it along the near layer (grazing), and in corners.
            for (const auto& [x, y] : std::vector<std::pair<std::size_t, std::size_t>>{
                     {2, 30}, {2, 2}, {30, 1}, {58, 58}, {58, 30}, {1, 57}})
                s.probes.push_back({"", offset + x, offset + y});
            return s;
        };
        const Problem<double> with_layers = make_problem<double>(scene_with(inner + 50, 25, true));
        const Problem<double> large =
            make_problem<double>(scene_with(far, (far - inner) / 2, false)); // nothing comes back in time
        const auto small_record = computed(with_layers).recorded, large_record = computed(large).recorded;
        for (std::size_t probe = 0; probe < 6; ++probe) {
            std::vector<double> wave, reflected;
            for (std::size_t k = 0; k < steps; ++k) {
                wave.push_back(large_record[k * 6 + probe]);
                reflected.push_back(small_record[k * 6 + probe] - large_record[k * 6 + probe]);
            }
            INFO((mode == Mode::te ? "TE" : "TM")
                 << ", probe " << probe << ": " << 20 * std::log10(peak(reflected) / peak(wave)) << " dB");
            CHECK(peak(wave) > 0);
            CHECK(peak(reflected) < 1e-3 * peak(wave));
        }
    }
}

TEST_CASE("a soft source that is silent changes nothing, a hard one scatters what arrives", "[cpu]") {
    Scene scene{.nx = 80, .ny = 60, .steps = 150};
    const double dt = scene.time_step();
    scene.sources = {pulse(20, 30, 21, 31, 10, dt, 1e5)};
    const auto field = [&](bool extra, bool hard) {
        Scene s = scene;
        if (extra) {
            s.sources.push_back(pulse(50, 30, 51, 31, 10, dt, 0));
            s.sources.back().hard = hard;
        }
        return computed(make_problem<double>(s)).field.u;
    };
    const auto alone = field(false, false), soft = field(true, false), hard = field(true, true);
    CHECK(soft == alone);
    double difference = 0;
    for (std::size_t i = 0; i < alone.size(); ++i) gpulab::raise(difference, std::abs(hard[i] - alone[i]));
    CHECK(difference > 0.05 * peak(alone));
}

TEST_CASE("the book's hard source pins the field to zero when its pulse is over", "[cpu]") {
    Scene scene = read_scene("book");
    scene.probes = {{"source", 75, 75}};
    const auto record = computed(make_problem<double>(scene)).recorded;
    CHECK(std::abs(record[19] - 1) < 1e-12); // the pulse's top: (10 + 15 + 6 + 1) / 32
    for (std::size_t step = 41; step <= 200; ++step) REQUIRE(record[step - 1] == 0);
}

TEST_CASE("an interface reflects and transmits by Fresnel's formulas within one percent", "[cpu]") {
    const auto alone = plane_wave_into(1), glass = plane_wave_into(4);
    const double incident = peak(of_probe(0, alone));
    // Of H: (n2 - n1) / (n2 + n1) and 2 n2 / (n2 + n1), with n1 = 1 and n2 = 2.
    CHECK(std::abs(peak(reflected(glass, alone)) / incident - 1.0 / 3) < 0.01 / 3);
    CHECK(std::abs(peak(of_probe(1, glass)) / incident - 4.0 / 3) < 0.04 / 3);
}

TEST_CASE("in TM an interface reflects and transmits by Fresnel's formulas at an angle within one percent", "[cpu]") {
    // Between two conductors E_z is a sine over y: two plane waves at an angle to x. The pulse is slow enough that the
    // next mode of this guide, which begins at three times the frequency of the first, fades away.
    constexpr std::size_t nx = 400, ny = 61, interface = 250, steps = 4500;
    const double dx = 0.01, c = 1 / std::sqrt(eps_0 * mu_0), ky = pi / (60 * dx);
    const auto scene_with = [&](double eps_r) {
        Scene s{.mode = Mode::tm, .nx = nx, .ny = ny, .dx = dx, .dy = dx, .steps = steps};
        s.left.kind = s.right.kind = Side::Kind::pml;
        s.materials = {Material{}, {"glass", eps_r, 1, 0, 0}};
        s.map.assign(nx * ny, 0);
        for (std::size_t j = 0; j < ny; ++j)
            for (std::size_t i = interface; i < nx; ++i) s.map[j * nx + i] = 1;
        s.sources = {pulse(60, 1, 61, 60, 300, s.time_step(), 1)};
        s.sources[0].waveform.kind = Waveform::Kind::modulated_gaussian;
        s.sources[0].waveform.frequency = 2 * ky * c / (2 * pi);
        s.probes = {{"before", 150, 30}, {"behind", 300, 30}};
        return s;
    };
    const auto alone = computed(make_problem<double>(scene_with(1))).recorded,
               glass = computed(make_problem<double>(scene_with(4))).recorded;
    const double dt = scene_with(4).time_step();
    for (const double k : {1.8 * ky, 2 * ky, 2.2 * ky}) {
        // The parts of a record at the frequency k c.
        const auto part = [&](const auto& value) {
            std::complex<double> sum = 0;
            for (std::size_t n = 0; n < steps; ++n)
                sum += value(n) * std::polar(1.0, -k * c * static_cast<double>(n) * dt);
            return sum;
        };
        const auto incident = part([&](std::size_t n) { return alone[2 * n]; }),
                   reflected = part([&](std::size_t n) { return glass[2 * n] - alone[2 * n]; }),
                   transmitted = part([&](std::size_t n) { return glass[2 * n + 1]; });
        // Of E_z: (k1 - k2) / (k1 + k2) and 2 k1 / (k1 + k2), with the wave numbers along x.
        const double k1 = std::sqrt(k * k - ky * ky), k2 = std::sqrt(4 * k * k - ky * ky);
        const double r = (k1 - k2) / (k1 + k2), t = 2 * k1 / (k1 + k2);
        const double way = 2 * (interface - 150.5) * dx; // from the probe to the interface and back
        const auto seen = reflected / incident * std::polar(1.0, k1 * way);
        INFO("angle " << std::asin(ky / k) * 180 / pi << " degrees: " << seen.real() << " + " << seen.imag()
                      << " i and " << std::abs(transmitted / incident) << ", should be " << r << " and " << t);
        CHECK(std::abs(std::abs(seen) - std::abs(r)) < 0.01 * std::abs(r));
        CHECK(std::abs(std::arg(-seen)) < 0.3); // the sign; the grid's waves are a little slower
        CHECK(std::abs(std::abs(transmitted / incident) - t) < 0.01 * t);
    }
}

TEST_CASE("a medium with the impedance of vacuum reflects nothing, one with four times its permeability a third",
          "[cpu]") {
    const auto alone = plane_wave_into(1);
    const auto signed_peak = [](const std::vector<double>& x) {
        return *std::ranges::max_element(x, {}, [](double v) { return std::abs(v); });
    };
    // Of H: (z1 - z2) / (z1 + z2), with the impedances z1 = 1 and z2 = 1 or 2.
    CHECK(peak(reflected(plane_wave_into(2, 2), alone)) < 0.005 * peak(of_probe(0, alone)));
    CHECK(std::abs(signed_peak(reflected(plane_wave_into(1, 4), alone)) / signed_peak(of_probe(0, alone)) + 1.0 / 3) <
          0.01 / 3);
}

TEST_CASE("a hard source along a side gives that side values that change with time", "[cpu]") {
    // A plane wave along x between two conductors (TE), from the left side, whose H_z is given in every step.
    Scene s{.nx = 600, .ny = 3, .steps = 900};
    s.right.kind = Side::Kind::pml;
    s.sources = {pulse(0, 0, 1, 3, 40, s.time_step(), 2)};
    s.sources[0].hard = true;
    s.probes = {{"side", 0, 1}, {"inside", 300, 1}};
    const auto record = computed(make_problem<double>(s)).recorded;
    const double dt = s.time_step(), c = 1 / std::sqrt(eps_0 * mu_0), late = 300 * s.dx / (c * dt); // steps
    const auto given = [](double step) { return 2 * std::exp(-std::pow((step - 160) / 40, 2)); };
    double at_side = 0, inside = 0;
    for (std::size_t k = 0; k < 900; ++k) {
        const auto step = static_cast<double>(k + 1);
        gpulab::raise(at_side, std::abs(record[2 * k] - given(step)));
        gpulab::raise(inside, std::abs(record[2 * k + 1] - given(step - late)));
    }
    INFO("at the side " << at_side << ", inside " << inside);
    CHECK(at_side < 1e-12);
    CHECK(inside < 0.02);
}

TEST_CASE("a wave that a driven side sends in has that side's E, and H by the impedance of vacuum", "[cpu]") {
    // A plane wave along x. TE: between two conductors, E_y is given on the left side. TM: E_z, in one period of which
    // nothing comes back from above and below.
    for (const Mode mode : {Mode::te, Mode::tm}) {
        Scene s{.mode = mode, .nx = 600, .ny = mode == Mode::te ? 3U : 1203U, .steps = 700};
        s.right.kind = Side::Kind::pml;
        const double dt = s.time_step(), c = 1 / std::sqrt(eps_0 * mu_0), impedance = std::sqrt(mu_0 / eps_0);
        s.left.kind = Side::Kind::driven;
        s.left.waveform = pulse(0, 0, 1, 1, 40, dt, 2).waveform;
        s.probes = {{"inside", 300, s.ny / 2}};
        const auto record = computed(make_problem<double>(s)).recorded;
        // TE: H_z at the centre, half a cell further; TM: E_z in the outermost cells, whole cells apart.
        const double late = (mode == Mode::te ? 300.5 : 300.0) * s.dx / (c * dt);
        double worst = 0;
        for (std::size_t k = 0; k < 700; ++k) {
            const double given = 2 * std::exp(-std::pow((static_cast<double>(k + 1) - late - 160) / 40, 2));
            gpulab::raise(worst, std::abs(record[k] - (mode == Mode::te ? given / impedance : given)));
        }
        INFO((mode == Mode::te ? "TE: " : "TM: ") << worst);
        CHECK(worst < 0.02 * (mode == Mode::te ? 1 / impedance : 1)); // 1 % of the peak
    }
}

TEST_CASE("a graded layer reflects less than a jump between the same media", "[cpu]") {
    const auto share_reflected = [](bool graded) {
        const auto record = [&](double eps_r) {
            Scene s = plane_wave(1900);
            for (std::size_t cell = 0; cell < 1200 * 3; ++cell) {
                const double share = (static_cast<double>(cell % 1200) - 550) / 300;
                s.media.eps_r.push_back(
                    1 + (eps_r - 1) * (graded ? std::clamp(share, 0.0, 1.0) : static_cast<double>(cell % 1200 >= 600)));
            }
            return computed(make_problem<double>(s)).recorded;
        };
        const auto alone = record(1);
        return peak(reflected(record(4), alone)) / peak(of_probe(0, alone));
    };
    const double jump = share_reflected(false), smooth = share_reflected(true);
    INFO(jump << " and " << smooth);
    CHECK(std::abs(jump - 1.0 / 3) < 0.01 / 3); // Fresnel
    CHECK(smooth < 0.2 * jump);
}
