// The right answer: the book's equations 4.2.7 to 4.2.10, cell by cell. Coefficients are computed anew for each cell
// from its media, the values of sources and sides come from the scene, H and E are in separate arrays with the book's
// sizes and names of the mode, and everything is in long double. Of the problem that the variants get, it takes the
// layout of the arrays, the number of steps and the start of what no source and no side prescribes.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "fdtd.hpp"
#include "scene/scene.hpp"

namespace fdtd {

namespace {

using Real = long double;

/// What the sources add to one number in a step. A further one brings a term, and one more rounding of the sum, an
/// eighth of the 4 epsilon of tolerance(). Terms may cancel each other, and the rounding errors stay.
struct Sum {
    Real largest = 0, further = 0, left = 0;
    void add(Real term, Real size) {
        if (largest > 0) further += std::abs(term) + size / 8;
        largest = std::max(largest, left = size);
    }
    Real more() const { return largest + further - left; } ///< than is left; 0 for one source
};

/// An array of columns x rows.
struct Array {
    Array(std::size_t columns_, std::size_t rows) : columns(columns_), values(columns_ * rows) {}
    Real& operator()(std::size_t i, std::size_t j) { return values[j * columns + i]; }
    Real more(std::size_t i, std::size_t j) const { return sums.empty() ? 0 : sums[j * columns + i].more(); }
    /// The size of what was added to get a number.
    Real size(std::size_t i, std::size_t j) const { return std::abs(values[j * columns + i]) + more(i, j); }
    std::size_t columns;
    std::vector<Real> values;
    std::vector<Sum> sums; ///< empty where no source adds
};

/// The constant and the loss of the z component in a cell (mu and sigma* in TE), and of the other two (epsilon and
/// sigma).
struct Constants {
    Real z, z_loss, xy, xy_loss;
};

/// The loss rate of the layers at two sides, in 1/s, at a position counted in cells.
Real loss_rate(const Side& low, const Side& high, std::size_t n, Real at, double step, Real speed) {
    Real rate = 0;
    for (const bool at_low : {true, false}) {
        const Side& side = at_low ? low : high;
        if (side.kind != Side::Kind::pml) continue;
        const Real thick = static_cast<Real>(side.cells);
        const Real depth = std::min(at_low ? thick - at : at - (static_cast<Real>(n) - thick), thick) / thick;
        if (depth <= 0) continue;
        const Real integral = thick * static_cast<Real>(step) / (static_cast<Real>(side.grading) + 1);
        rate += -std::log(static_cast<Real>(side.reflection)) * speed / (2 * integral) *
                std::pow(depth, static_cast<Real>(side.grading));
    }
    return rate;
}

/// A waveform at the time t = n dt, by the formulas of its comments; a column in the step that n lies in or ends.
Real value_of(const Waveform& w, Real n, Real dt) {
    const Real pi = std::numbers::pi_v<Real>, t = n * dt;
    const auto bell = [&] {
        const Real from_peak = (t - static_cast<Real>(w.delay)) / static_cast<Real>(w.width);
        return std::exp(-from_peak * from_peak);
    };
    const auto oscillation = [&] {
        return std::sin(2 * pi * static_cast<Real>(w.frequency) * t + static_cast<Real>(w.phase));
    };
    Real shape = 0;
    switch (w.kind) {
    case Waveform::Kind::book: // equation 4.3.11 is the sixth power of a sine, written as a sum of cosines
        if (n > 0 && n <= 40) shape = std::pow(std::sin(n * pi / 40), Real(6));
        break;
    case Waveform::Kind::gaussian: shape = bell(); break;
    case Waveform::Kind::sine:
        shape = oscillation();
        if (t < static_cast<Real>(w.rise)) { // (1 - cos 2a) / 2 is the square of sin a
            const Real s = std::sin(pi * t / (2 * static_cast<Real>(w.rise)));
            shape *= s * s;
        }
        break;
    case Waveform::Kind::modulated_gaussian: shape = bell() * oscillation(); break;
    case Waveform::Kind::column:
        if (n > 0 && n <= static_cast<Real>(w.numbers.size()))
            shape = static_cast<Real>(w.numbers[static_cast<std::size_t>(std::ceil(n)) - 1]);
        break;
    }
    return static_cast<Real>(w.amplitude) * shape;
}

/// What a source does to Z, X or Y in a step, counted from 1. The step takes Z from the time step - 1 to step, and then
/// X and Y from step - 1/2 to step + 1/2. A hard source sets the value of the time at which its component then stands.
/// A soft one is a current, which equation 4.2.1 subtracts, at the middle of that interval. X and Y are -Hx and -Hy in
/// TM.
Real driving_value(const Source& source, Mode mode, std::size_t step, Real dt) {
    const bool whole = source.component == Component::z || source.waveform.kind == Waveform::Kind::column;
    const Real from = static_cast<Real>(step) - (whole ? Real(1) : Real(0.5));
    const Real value =
        source.hard ? value_of(source.waveform, from + 1, dt) : -value_of(source.waveform, from + Real(0.5), dt);
    return mode == Mode::tm && source.component != Component::z ? -value : value;
}

} // namespace

template <class T> Reference<T> reference(const Scene& scene, const Problem<T>& p) {
    const std::size_t nx = scene.nx, ny = scene.ny, pitch = p.pitch();
    const bool te = scene.mode == Mode::te;
    const Real dx = static_cast<Real>(scene.dx), dy = static_cast<Real>(scene.dy),
               dt = static_cast<Real>(scene.time_step());
    const CellMedia& own = scene.media;
    std::vector<Constants> of_cell;
    Real speed = 0; // the largest
    for (std::size_t cell = 0; cell < nx * ny; ++cell) {
        Material m = scene.materials[scene.map.empty() ? 0 : scene.map[cell]];
        if (!own.eps_r.empty()) m.eps_r = own.eps_r[cell];
        if (!own.mu_r.empty()) m.mu_r = own.mu_r[cell];
        if (!own.sigma.empty()) m.sigma = own.sigma[cell];
        if (!own.sigma_m.empty()) m.sigma_m = own.sigma_m[cell];
        const Real eps = Real(m.eps_r) * Real(eps_0), mu = Real(m.mu_r) * Real(mu_0);
        of_cell.push_back(te ? Constants{mu, Real(m.sigma_m), eps, Real(m.sigma)}
                             : Constants{eps, Real(m.sigma), mu, Real(m.sigma_m)});
        speed = std::max(speed, 1 / std::sqrt(eps * mu));
    }
    const auto constants = [&](std::size_t i, std::size_t j) -> const Constants& { return of_cell[j * nx + i]; };
    std::vector<Real> loss_x[2], loss_y[2]; // at whole positions, at half ones
    for (const int half : {0, 1}) {
        const Real offset = half == 0 ? Real(0) : Real(0.5);
        for (std::size_t i = 0; i <= nx; ++i)
            loss_x[half].push_back(loss_rate(scene.left, scene.right, nx, Real(i) + offset, scene.dx, speed));
        for (std::size_t j = 0; j <= ny; ++j)
            loss_y[half].push_back(loss_rate(scene.bottom, scene.top, ny, Real(j) + offset, scene.dy, speed));
    }
    const auto fixed = [&](const Side& side) {
        return side.kind == Side::Kind::dirichlet || (side.kind != Side::Kind::pml && !te);
    };

    // Z in two parts, driven by x and by y differences; X lies on the lower edges, Y on the left ones. Signs are those
    // of TE; TM has X = -Hx and Y = -Hy.
    Array zx(nx, ny), zy(nx, ny), x(nx, ny + 1), y(nx + 1, ny);
    const auto depth = [](const Side& side) { return side.kind == Side::Kind::pml ? side.cells : 0; };
    const auto in_layer = [&](std::size_t i, std::size_t j) {
        return i < depth(scene.left) || i >= nx - depth(scene.right) || j < depth(scene.bottom) ||
               j >= ny - depth(scene.top);
    };
    for (std::size_t j = 0; j <= ny; ++j)
        for (std::size_t i = 0; i <= nx; ++i) {
            const std::size_t at = j * pitch + i;
            if (i < nx && j < ny) {
                zx(i, j) = in_layer(i, j) ? Real(p.start.v[at]) : 0;
                zy(i, j) = Real(p.start.u[at]) - zx(i, j);
            }
            if (i < nx) x(i, j) = Real(p.start.p[at]);
            if (j < ny) y(i, j) = Real(p.start.q[at]);
        }
    // Given values; bottom and top have the corners.
    const auto give = [&](const Side& side, std::size_t i, std::size_t j) {
        if (side.kind == Side::Kind::dirichlet) zy(i, j) = static_cast<Real>(side.value) - zx(i, j);
    };
    for (std::size_t j = 0; j < ny; ++j) {
        give(scene.left, 0, j);
        give(scene.right, nx - 1, j);
    }
    for (std::size_t i = 0; i < nx; ++i) {
        give(scene.bottom, i, 0);
        give(scene.top, i, ny - 1);
    }

    // Tangential E at driven sides: Ez in the outermost cells at a time, or Ex and Ey on the border's edges.
    const auto drive_side = [&](const Side& side, bool upright, std::size_t edge, std::size_t cell, Real time) {
        if (side.kind != Side::Kind::driven) return;
        const bool column = side.waveform.kind == Waveform::Kind::column; // number k for the whole of step k
        const Real value = value_of(side.waveform, column ? std::floor(time) : time, dt);
        for (std::size_t k = 0; k < (upright ? ny : nx); ++k) {
            const std::size_t i = upright ? cell : k, j = upright ? k : cell;
            if (!te) zy(i, j) = value - zx(i, j);
            else if (upright) y(edge, k) = value;
            else x(k, edge) = value;
        }
    };
    const auto drive_sides = [&](Real time) { // bottom and top have the corners
        drive_side(scene.left, true, 0, 0, time);
        drive_side(scene.right, true, nx, nx - 1, time);
        drive_side(scene.bottom, false, 0, 0, time);
        drive_side(scene.top, false, ny, ny - 1, time);
    };
    drive_sides(te ? Real(0.5) : Real(0));

    Reference<T> result{make_output(p), 0, 0};
    Real z_scale = 0, xy_scale = 0;
    // Calls apply(i, j, value, hard) for every cell of the sources of a component, in step k from 0. It returns what
    // was added, and the size of the sum.
    const auto drive = [&](Component component, std::size_t k, Array& numbers, Real& scale, const auto& apply) {
        const auto other = [&](const Source& source) { return source.component != component; };
        if (std::ranges::all_of(scene.sources, other)) return;
        numbers.sums.assign(numbers.values.size(), {});
        for (const Source& source : scene.sources) {
            if (other(source)) continue;
            const Real value = driving_value(source, scene.mode, k + 1, dt);
            auto strength = source.strength.begin();
            for (std::size_t j = source.y0; j < source.y1; ++j)
                for (std::size_t i = source.x0; i < source.x1; ++i) {
                    const auto [added, size] =
                        apply(i, j, source.strength.empty() ? value : value * Real(*strength++), source.hard);
                    Sum& sum = numbers.sums[j * numbers.columns + i];
                    if (source.hard) sum = {};
                    sum.add(added, size);
                }
        }
        for (const Sum& sum : numbers.sums) scale = std::max(scale, sum.left + sum.more());
    };
    for (std::size_t k = 0; k < p.steps(); ++k) {
        const auto may_change = [&](std::size_t i, std::size_t j) {
            return !((i == 0 && fixed(scene.left)) || (i == nx - 1 && fixed(scene.right)) ||
                     (j == 0 && fixed(scene.bottom)) || (j == ny - 1 && fixed(scene.top)));
        };
        const auto z_half_loss = [&](std::size_t i, std::size_t j) {
            return constants(i, j).z_loss * dt / (2 * constants(i, j).z);
        };
        const auto z_gain = [&](std::size_t i, std::size_t j) {
            return dt / constants(i, j).z / (1 + z_half_loss(i, j));
        };
        for (std::size_t j = 0; j < ny; ++j)
            for (std::size_t i = 0; i < nx; ++i) {
                if (!may_change(i, j)) continue;
                const Real h = z_half_loss(i, j);
                const Real a = (1 - h) / (1 + h), b = z_gain(i, j);
                // Layers multiply keep and gain: exact in lossless media, and of second order in lossy ones.
                const Real rx = loss_x[1][i] * dt / 2, ry = loss_y[1][j] * dt / 2;
                const Real from_x = b / (1 + rx) * (y(i + 1, j) - y(i, j)) / dx;
                const Real from_y = b / (1 + ry) * (x(i, j + 1) - x(i, j)) / dy;
                z_scale = std::max(z_scale, std::abs(zx(i, j)) + std::abs(zy(i, j)) +
                                                b / dx * (y.size(i + 1, j) + y.size(i, j)) +
                                                b / dy * (x.size(i, j + 1) + x.size(i, j)));
                zx(i, j) = a * (1 - rx) / (1 + rx) * zx(i, j) - from_x;
                zy(i, j) = a * (1 - ry) / (1 + ry) * zy(i, j) + from_y;
                if (!in_layer(i, j)) {
                    zy(i, j) += zx(i, j);
                    zx(i, j) = 0;
                }
            }
        if (!te) drive_sides(Real(k) + 1);
        drive(Component::z, k, zy, z_scale, [&](std::size_t i, std::size_t j, Real value, bool hard) {
            const Real added = hard || !may_change(i, j) ? 0 : z_gain(i, j) * value;
            zy(i, j) = hard ? value - zx(i, j) : zy(i, j) + added;
            return std::pair{added, std::abs(zx(i, j)) + std::abs(zy(i, j))};
        });
        for (std::size_t i = 0; i < scene.probes.size(); ++i)
            result.out.recorded[k * scene.probes.size() + i] =
                static_cast<T>(zx(scene.probes[i].x, scene.probes[i].y) + zy(scene.probes[i].x, scene.probes[i].y));

        const auto z = [&](std::size_t i, std::size_t j) { return zx(i, j) + zy(i, j); };
        const auto z_size = [&](std::size_t i, std::size_t j) { return std::abs(z(i, j)) + zy.more(i, j); };
        // An edge between two cells has the mean of their constants and of their losses.
        const auto keep_and_gain = [&](const Constants& one, const Constants& other, Real rate) {
            const Real constant = (one.xy + other.xy) / 2, loss = (one.xy_loss + other.xy_loss) / 2;
            const Real h = loss * dt / (2 * constant), r = rate * dt / 2;
            return std::pair{(1 - h) / (1 + h) * (1 - r) / (1 + r), dt / constant / (1 + h) / (1 + r)};
        };
        for (std::size_t j = 1; j < ny; ++j)
            for (std::size_t i = 0; i < nx; ++i) {
                const auto [c, d] = keep_and_gain(constants(i, j - 1), constants(i, j), loss_y[0][j]);
                xy_scale = std::max(xy_scale, std::abs(x(i, j)) + d / dy * (z_size(i, j) + z_size(i, j - 1)));
                x(i, j) = c * x(i, j) + d * (z(i, j) - z(i, j - 1)) / dy;
            }
        for (std::size_t j = 0; j < ny; ++j)
            for (std::size_t i = 1; i < nx; ++i) {
                const auto [c, d] = keep_and_gain(constants(i - 1, j), constants(i, j), loss_x[0][i]);
                xy_scale = std::max(xy_scale, std::abs(y(i, j)) + d / dx * (z_size(i, j) + z_size(i - 1, j)));
                y(i, j) = c * y(i, j) - d * (z(i, j) - z(i - 1, j)) / dx;
            }
        if (te) drive_sides(Real(k) + Real(1.5));
        // Border edges (j = 0, i = 0) belong to the side: a source there does nothing.
        const auto drive_edge = [](Real& edge, Real gain, Real value, bool hard) {
            const Real added = hard ? 0 : gain * value;
            edge = hard ? value : edge + added;
            return std::pair{added, std::abs(edge)};
        };
        drive(Component::x, k, x, xy_scale, [&](std::size_t i, std::size_t j, Real value, bool hard) {
            if (j == 0) return std::pair{Real(0), Real(0)};
            const Real d = keep_and_gain(constants(i, j - 1), constants(i, j), loss_y[0][j]).second;
            return drive_edge(x(i, j), d, value, hard);
        });
        drive(Component::y, k, y, xy_scale, [&](std::size_t i, std::size_t j, Real value, bool hard) {
            if (i == 0) return std::pair{Real(0), Real(0)};
            const Real d = keep_and_gain(constants(i - 1, j), constants(i, j), loss_x[0][i]).second;
            return drive_edge(y(i, j), d, value, hard);
        });
        for (const Real value : x.values) xy_scale = std::max(xy_scale, std::abs(value));
        for (const Real value : y.values) xy_scale = std::max(xy_scale, std::abs(value));
        for (std::size_t i = 0; i < zx.values.size(); ++i)
            z_scale = std::max(z_scale, std::abs(zx.values[i]) + std::abs(zy.values[i]));
    }

    for (std::size_t j = 0; j <= ny; ++j)
        for (std::size_t i = 0; i <= nx; ++i) {
            const std::size_t at = j * pitch + i;
            if (i < nx && j < ny) {
                result.out.field.u[at] = static_cast<T>(zx(i, j) + zy(i, j));
                if (p.rules.layers) result.out.field.v[at] = static_cast<T>(zx(i, j));
            }
            if (i < nx) result.out.field.p[at] = static_cast<T>(x(i, j));
            if (j < ny) result.out.field.q[at] = static_cast<T>(y(i, j));
        }
    result.u_scale = static_cast<double>(z_scale);
    result.edge_scale = static_cast<double>(xy_scale);
    return result;
}

template Reference<float> reference(const Scene&, const Problem<float>&);
template Reference<double> reference(const Scene&, const Problem<double>&);

} // namespace fdtd
