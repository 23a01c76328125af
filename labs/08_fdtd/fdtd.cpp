#include "fdtd.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <type_traits>

#include "gpulab/compare.hpp"
#include "gpulab/error.hpp"
#include "gpulab/input.hpp"
#include "gpulab/math.hpp"
#include "rungs.hpp"
#include "scene/scene.hpp"

namespace fdtd {

namespace {

/// Permittivity and permeability by their role in the equations for U, P and Q.
struct Medium {
    double m = 0, loss_m = 0; // of U
    double e = 0, loss_e = 0; // of P and Q
};

Medium medium(Mode mode, const Material& of) {
    const double eps = of.eps_r * eps_0, mu = of.mu_r * mu_0;
    if (mode == Mode::te) return {mu, of.sigma_m, eps, of.sigma};
    return {eps, of.sigma, mu, of.sigma_m};
}

/// Equation 4.2.10 of the book, divided by the cell's sides.
template <class T> Coefficients<T> coefficients(const Problem<T>& p, double constant, double loss) {
    const double half = loss * p.dt / (2 * constant), b = p.dt / constant / (1 + half);
    return {static_cast<T>((1 - half) / (1 + half)), static_cast<T>(b / p.dx), static_cast<T>(b / p.dy),
            static_cast<T>(b)};
}

/// Those of P or Q on an edge, which takes the mean of the constants of its two cells.
template <class T> Coefficients<T> edge_coefficients(const Problem<T>& p, const Medium& a, const Medium& b) {
    return coefficients(p, (a.e + b.e) / 2, (a.loss_e + b.loss_e) / 2);
}

Box around(const Box& a, const Box& b) {
    if (a.x0 == a.x1) return b;
    return {std::min(a.x0, b.x0), std::min(a.y0, b.y0), std::max(a.x1, b.x1), std::max(a.y1, b.y1)};
}

/// Factors of the layers at one pair of sides, at the positions i + offset for i = 0 ... n: keep, then gain.
template <class T>
void add_factors(std::vector<T>& to, const Side& low, const Side& high, std::size_t n, double offset, double step,
                 double speed, double dt) {
    std::vector<T> gain;
    for (std::size_t i = 0; i <= n; ++i) {
        const double at = static_cast<double>(i) + offset;
        double rate = 0; // sigma / epsilon, in 1/s
        const auto add = [&](const Side& side, double depth) {
            const auto thick = static_cast<double>(side.cells);
            if (side.kind != Side::Kind::pml || depth <= 0) return;
            // Two passes through the layer leave exp(-2 / v times the integral of the rate over the depth).
            const double most = -(side.grading + 1) * speed * std::log(side.reflection) / (2 * thick * step);
            rate += most * std::pow(std::min(depth / thick, 1.0), side.grading);
        };
        add(low, static_cast<double>(low.cells) - at);
        add(high, at - (static_cast<double>(n) - static_cast<double>(high.cells)));
        const double half = rate * dt / 2;
        to.push_back(static_cast<T>((1 - half) / (1 + half)));
        gain.push_back(static_cast<T>(1 / (1 + half)));
    }
    to.insert(to.end(), gain.begin(), gain.end());
}

/// Calls body(at, column, row, left, below) for each place of an array: its element, its cell, and the columns and rows
/// of the cells beside its edges. At the border the cells of the grid that are nearest.
template <class T, class Body> void each_place(const Problem<T>& p, const Body& body) {
    for (std::size_t j = 0; j <= p.ny(); ++j)
        for (std::size_t i = 0; i <= p.nx(); ++i)
            body(j * p.pitch() + i, std::min(i, p.nx() - 1), std::min(j, p.ny() - 1), i == 0 ? 0 : i - 1,
                 j == 0 ? 0 : j - 1);
}

/// The indices of the coefficients of U, P and Q in each cell. An edge lies between two cells and takes the mean of
/// their media: index high (high + 1) / 2 + low for the materials low <= high.
template <class T> void fill_map(const Scene& scene, Problem<T>& p) {
    const std::size_t size = p.array_size();
    const auto material = [&](std::size_t i, std::size_t j) { return std::size_t{scene.map[j * scene.nx + i]}; };
    const auto pair = [](std::size_t a, std::size_t b) {
        const std::size_t high = std::max(a, b), low = std::min(a, b);
        return static_cast<std::uint8_t>(high * (high + 1) / 2 + low);
    };
    p.map.assign(3 * size, 0);
    each_place(p, [&](std::size_t at, std::size_t column, std::size_t row, std::size_t left, std::size_t below) {
        p.map[at] = static_cast<std::uint8_t>(material(column, row));
        p.map[size + at] = pair(material(column, below), material(column, row));
        p.map[2 * size + at] = pair(material(left, row), material(column, row));
    });
}

/// Coefficients of U, P and Q for each cell.
template <class T> void fill_table(const Scene& scene, Problem<T>& p) {
    const std::size_t size = p.array_size();
    p.table.assign(3 * size, Coefficients<T>{});
    const auto of = [&](std::size_t i, std::size_t j) { return medium(scene.mode, scene.material_at(i, j)); };
    each_place(p, [&](std::size_t at, std::size_t column, std::size_t row, std::size_t left, std::size_t below) {
        const Medium here = of(column, row);
        p.table[at] = coefficients(p, here.m, here.loss_m);
        p.table[size + at] = edge_coefficients(p, of(column, below), here);
        p.table[2 * size + at] = edge_coefficients(p, of(left, row), here);
    });
}

/// The start that the scene gives, in cells and on edges that may change.
template <class T> void add_initial(const Scene& scene, Problem<T>& p) {
    for (const Initial& initial : scene.initial) {
        const Component c = initial.component;
        std::vector<T>& numbers = c == Component::z ? p.start.u : c == Component::x ? p.start.p : p.start.q;
        const double sign = scene.mode == Mode::tm && c != Component::z ? -1 : 1;
        const Box b =
            c == Component::z ? p.rules.change : Box{c == Component::y, c == Component::x, p.rules.nx, p.rules.ny};
        for (int j = b.y0; j < b.y1; ++j)
            for (int i = b.x0; i < b.x1; ++i) {
                const auto x = static_cast<std::size_t>(i), y = static_cast<std::size_t>(j);
                numbers[y * p.pitch() + x] += static_cast<T>(sign * initial.at(scene, x, y));
            }
    }
}

} // namespace

template <class T> Problem<T> make_problem(const Scene& scene, std::size_t first, std::size_t steps) {
    Problem<T> p;
    Rules<T>& r = p.rules;
    p.mode = scene.mode;
    p.dx = scene.dx;
    p.dy = scene.dy;
    p.dt = scene.time_step();
    r.nx = static_cast<int>(scene.nx);
    r.ny = static_cast<int>(scene.ny);
    r.pitch = static_cast<int>(gpulab::round_up(scene.nx + 1, 16)); // rows begin at multiples of 128 bytes
    r.steps = static_cast<int>(steps == 0 ? scene.steps : steps);

    // Media.
    const auto of = [&](std::size_t i) { return medium(scene.mode, scene.materials[i]); };
    r.u = coefficients(p, of(0).m, of(0).loss_m);
    r.e = edge_coefficients(p, of(0), of(0));
    if (scene.graded()) {
        r.mapped = r.graded = 1;
        r.materials_u = static_cast<int>(p.array_size());
        fill_table(scene, p);
    } else if (!scene.map.empty()) {
        r.mapped = 1;
        r.materials_u = static_cast<int>(scene.materials.size());
        for (std::size_t i = 0; i < scene.materials.size(); ++i)
            p.table.push_back(coefficients(p, of(i).m, of(i).loss_m));
        for (std::size_t high = 0; high < scene.materials.size(); ++high)
            for (std::size_t low = 0; low <= high; ++low) p.table.push_back(edge_coefficients(p, of(low), of(high)));
        fill_map(scene, p);
    }

    // Sides. TE: at a perfect conductor P and Q along the border are 0, and they never change. TM: U is 0 in the
    // outermost cells.
    const auto fixed = [&](const Side& side) { return scene.fixes_z(side); };
    const auto layer = [](const Side& side) { return side.kind == Side::Kind::pml ? static_cast<int>(side.cells) : 0; };
    r.change = {fixed(scene.left), fixed(scene.bottom), r.nx - fixed(scene.right), r.ny - fixed(scene.top)};
    r.inner = {layer(scene.left), layer(scene.bottom), r.nx - layer(scene.right), r.ny - layer(scene.top)};
    r.layers = r.inner.x0 > 0 || r.inner.y0 > 0 || r.inner.x1 < r.nx || r.inner.y1 < r.ny;
    if (r.layers) {
        const double speed = largest_speed(scene);
        for (const double offset : {0.5, 0.0})
            add_factors(p.layers, scene.left, scene.right, scene.nx, offset, p.dx, speed, p.dt);
        for (const double offset : {0.5, 0.0})
            add_factors(p.layers, scene.bottom, scene.top, scene.ny, offset, p.dy, speed, p.dt);
    }

    // Sources. U goes from time k - 1 to k in step k, so its current is that of k - 1/2; P and Q go from k - 1/2 to
    // k + 1/2, with the current of k. In TM mode P and Q are -Hx and -Hy. A column has a number for each step, whatever
    // the time of what it drives.
    const auto value_at = [&](const Waveform& waveform, std::size_t step, double shift) {
        if (waveform.kind == Waveform::Kind::column) shift = 0;
        return waveform.at(static_cast<double>(step) + shift, p.dt);
    };
    const auto check_held = [](T number, const std::string& key) { // products of what the scene allows may be too large
        if (!std::isfinite(number))
            throw gpulab::UsageError(fmt::format("{}: gives numbers beyond {:.2g}, the most that type {} holds", key,
                                                 std::numeric_limits<T>::max(), sizeof(T) == 8 ? "double" : "float"));
    };
    const auto add_source = [&](const std::string& key, const Patch& patch, const Waveform& waveform, double sign,
                                double shift) {
        p.patches.push_back(patch);
        r.driven = around(r.driven, patch.box);
        T largest = 1; // of the factors
        for (std::size_t i = patch.strengths < 0 ? p.strengths.size() : static_cast<std::size_t>(patch.strengths);
             i < p.strengths.size(); ++i)
            largest = std::max(largest, std::abs(p.strengths[i]));
        for (std::size_t k = 1; k <= p.steps(); ++k) {
            p.values.push_back(static_cast<T>(sign * value_at(waveform, first + k, shift)));
            check_held(p.values.back() * largest, key);
        }
    };
    // A driven side sets the tangential E: P or Q on the border in TE, U in the outermost cells in TM.
    const bool te = scene.mode == Mode::te;
    struct Border {
        const Side& side;
        Box cells, edges;
        int component; // of the edges
    };
    const Border borders[] = {{scene.left, {0, 0, 1, r.ny}, {0, 0, 1, r.ny}, 4},
                              {scene.right, {r.nx - 1, 0, r.nx, r.ny}, {r.nx, 0, r.nx + 1, r.ny}, 4},
                              {scene.bottom, {0, 0, r.nx, 1}, {0, 0, r.nx, 1}, 3},
                              {scene.top, {0, r.ny - 1, r.nx, r.ny}, {0, r.ny, r.nx, r.ny + 1}, 3}};
    for (const auto& [side, cells, edges, component] : borders)
        if (side.kind == Side::Kind::driven)
            add_source("boundary", {te ? edges : cells, te ? component : 0, 1}, side.waveform, 1, te ? 0.5 : 0);
    for (const Source& source : scene.sources) {
        const Box box{static_cast<int>(source.x0), static_cast<int>(source.y0), static_cast<int>(source.x1),
                      static_cast<int>(source.y1)};
        Patch patch{box, static_cast<int>(source.component), source.hard};
        if (!source.strength.empty()) patch.strengths = static_cast<int>(p.strengths.size());
        for (const double x : source.strength) p.strengths.push_back(static_cast<T>(x));
        const bool z = source.component == Component::z;
        const double sign = (source.hard ? 1.0 : -1.0) * (scene.mode == Mode::tm && !z ? -1.0 : 1.0);
        const double shift = z ? (source.hard ? 0 : -0.5) : (source.hard ? 0.5 : 0);
        add_source(fmt::format("sources[{}]", &source - scene.sources.data()), patch, source.waveform, sign, shift);
    }
    r.sources = static_cast<int>(p.patches.size());
    for (const Probe& probe : scene.probes) {
        const ProbeCell cell{static_cast<int>(probe.x), static_cast<int>(probe.y)};
        p.probes.push_back(cell);
        r.probed = around(r.probed, {cell.x, cell.y, cell.x + 1, cell.y + 1});
    }
    r.probes = static_cast<int>(p.probes.size());

    // The start.
    p.start.u.assign(p.array_size(), 0);
    p.start.p = p.start.q = p.start.u;
    p.start.v.assign(p.layered_size(), 0);
    const auto fill = [&](std::vector<T>& numbers, const Box& box, double value) {
        for (int j = box.y0; j < box.y1; ++j)
            for (int i = box.x0; i < box.x1; ++i)
                numbers[static_cast<std::size_t>(j) * p.pitch() + static_cast<std::size_t>(i)] = static_cast<T>(value);
    };
    for (const Border& border : borders)
        if (border.side.kind == Side::Kind::dirichlet) fill(p.start.u, border.cells, border.side.value);
    add_initial(scene, p);
    for (const auto* numbers : {&p.start.u, &p.start.p, &p.start.q})
        for (const T x : *numbers) check_held(x, "initial");
    // Driven sides hold the value of the start: P and Q are half a step later than U.
    for (const auto& [side, cells, edges, component] : borders) {
        if (side.kind != Side::Kind::driven) continue;
        const double value = value_at(side.waveform, first, te ? 0.5 : 0);
        if (te) fill(component == 3 ? p.start.p : p.start.q, edges, value);
        else fill(p.start.u, cells, value);
    }
    return p;
}

template <class T> bool is_books(const Problem<T>& p) {
    const Rules<T>& r = p.rules;
    const auto point = [](const Patch& s) {
        return s.component == 0 && s.hard && s.strengths < 0 && s.box.x1 == s.box.x0 + 1 && s.box.y1 == s.box.y0 + 1;
    };
    const bool all_change = r.change.x0 == 0 && r.change.y0 == 0 && r.change.x1 == r.nx && r.change.y1 == r.ny;
    return p.mode == Mode::te && !r.mapped && !r.layers && all_change && r.probes == 0 &&
           (r.sources == 0 || (r.sources == 1 && point(p.patches[0])));
}

template <class T> BookProblem<T> book_of(const Problem<T>& p) {
    if (!is_books(p))
        throw gpulab::Unsupported(
            "computes the book's problem only: TE, one medium, a conductor, one hard source in one "
            "cell; cpu_scene, opencl_scene and cuda_scene compute the others");
    const Rules<T>& r = p.rules;
    const Box source = r.sources ? p.patches[0].box : Box{-1, -1, 0, 0};
    const Book<T> g = {r.u.keep, r.u.x, r.u.y, r.e.keep, r.e.x, r.e.y, r.nx, r.ny, r.pitch, source.x0, source.y0};
    return {g,         p.start,  p.steps(), p.values, r.u.add, r.e.add, static_cast<T>(p.dx), static_cast<T>(p.dy),
            p.block_x, p.block_y};
}

template <class T> void randomise(Problem<T>& p, std::uint64_t seed) {
    // A wave's E is sqrt(mu / epsilon) times its H: sqrt(m / e) for P and Q.
    const double size = std::sqrt(static_cast<double>(p.rules.e.add) / static_cast<double>(p.rules.u.add));
    for (std::size_t j = 0; j <= p.ny(); ++j)
        for (std::size_t i = 0; i <= p.nx(); ++i) {
            const std::size_t at = j * p.pitch() + i;
            const auto number = [&](std::uint64_t more, double factor) {
                return static_cast<T>(factor * (2 * gpulab::random_unit(seed + more, at) - 1));
            };
            const int x = static_cast<int>(i), y = static_cast<int>(j);
            if (p.rules.change.holds(x, y)) p.start.u[at] = number(0, 1);
            if (i < p.nx() && j > 0 && j < p.ny()) p.start.p[at] = number(1, size);
            if (j < p.ny() && i > 0 && i < p.nx()) p.start.q[at] = number(2, size);
            if (p.rules.layers && i < p.nx() && j < p.ny() && !p.rules.inner.holds(x, y))
                p.start.v[at] = number(3, 0.5);
        }
}

template <class T> Output<T> make_output(const Problem<T>& p) {
    Output<T> out;
    out.field.u.resize(p.array_size());
    out.field.p.resize(p.array_size());
    out.field.q.resize(p.array_size());
    out.field.v.resize(p.layered_size());
    out.recorded.resize(p.recorded_size());
    poison(out);
    return out;
}

template <class T> std::vector<T> flat(const Problem<T>& p, const Output<T>& out) {
    std::vector<T> all;
    all.reserve(3 * p.array_size() + p.layered_size() + p.recorded_size());
    const auto add = [&](const std::vector<T>& of, std::size_t columns, std::size_t rows) {
        for (std::size_t j = 0; j < rows; ++j) {
            const auto row = of.begin() + static_cast<std::ptrdiff_t>(j * p.pitch());
            all.insert(all.end(), row, row + static_cast<std::ptrdiff_t>(columns));
        }
    };
    add(out.field.u, p.nx(), p.ny());
    add(out.field.p, p.nx(), p.ny() + 1);
    add(out.field.q, p.nx() + 1, p.ny());
    for (int j = 0; p.rules.layers && j < p.rules.ny; ++j)
        for (int i = 0; i < p.rules.nx; ++i) {
            const std::size_t at = static_cast<std::size_t>(j) * p.pitch() + static_cast<std::size_t>(i);
            all.push_back(p.rules.inner.holds(i, j) ? T{0} : out.field.v[at]);
        }
    all.insert(all.end(), out.recorded.begin(), out.recorded.end());
    return all;
}

template <class T>
gpulab::Comparison compare(const Problem<T>& p, const Reference<T>& reference, const Output<T>& out) {
    const std::size_t u_end = p.nx() * p.ny(), edges_end = u_end + p.nx() * (p.ny() + 1) + (p.nx() + 1) * p.ny();
    return gpulab::compare(flat(p, reference.out), flat(p, out), tolerance<T>(p.steps()), [&](std::size_t i) {
        return i < u_end || i >= edges_end ? reference.u_scale : reference.edge_scale;
    });
}

template <class T> std::span<const gpulab::Variant<Run<T>>> variants() {
    constexpr bool in_double = std::is_same_v<T, double>;
#define RUNG(backend, if_built, function, ...) GPULAB_ROW(backend, if_built(function<T>), function, __VA_ARGS__)
    static constexpr gpulab::Variant<Run<T>> table[] = {
#include "rungs.inc"
    };
    return table;
}

#define FDTD_FOR(T)                                                                                \
    template Problem<T> make_problem(const Scene&, std::size_t, std::size_t);                      \
    template bool is_books(const Problem<T>&);                                                     \
    template BookProblem<T> book_of(const Problem<T>&);                                            \
    template void randomise(Problem<T>&, std::uint64_t);                                           \
    template Output<T> make_output(const Problem<T>&);                                             \
    template std::vector<T> flat(const Problem<T>&, const Output<T>&);                             \
    template gpulab::Comparison compare(const Problem<T>&, const Reference<T>&, const Output<T>&); \
    template std::span<const gpulab::Variant<Run<T>>> variants<T>();
FDTD_FOR(float)
FDTD_FOR(double)
#undef FDTD_FOR

} // namespace fdtd
