/// @file
/// A problem as people describe it: a scene, in memory and as a JSON file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "rules.hpp"

namespace fdtd {

/// A medium. Permittivity and permeability are relative to vacuum.
struct Material {
    std::string name = "vacuum";
    double eps_r = 1;   ///< relative permittivity, above 0
    double mu_r = 1;    ///< relative permeability, above 0
    double sigma = 0;   ///< electric conductivity in S/m, at least 0
    double sigma_m = 0; ///< magnetic loss (sigma* of the book) in ohm/m, at least 0
};

inline constexpr double eps_0 = 8.854e-12;                        ///< F/m, with the digits of the book
inline constexpr double mu_0 = 4 * 3.14159265358979323846 * 1e-7; ///< H/m

/// The value of a source over time. Times are in seconds.
struct Waveform {
    /// Shapes of the pulse.
    enum class Kind {
        book,               ///< equation 4.3.11 of the book: 40 steps long
        gaussian,           ///< exp(-((t - delay) / width)^2)
        sine,               ///< sin(2 pi frequency t + phase), switched on smoothly over `rise`
        modulated_gaussian, ///< the product of both
        column              ///< one number per step, then 0
    };
    Kind kind = Kind::book;
    double amplitude = 1;
    double frequency = 0; ///< Hz
    double phase = 0;     ///< radians
    double rise = 0;
    double delay = 0;
    double width = 0;
    std::vector<double> numbers = {}; ///< column

    /// The value at the time t = n dt. n is a whole number, or one and a half for what is computed between two steps;
    /// a column of numbers gives number k for k - 1 < n <= k.
    double at(double n, double dt) const;
};

/// What happens at one side of the grid.
struct Side {
    /// Kinds of boundaries.
    enum class Kind {
        conductor, ///< perfect conductor: the tangential electric field is 0
        dirichlet, ///< the component along z has a given value in the outermost cells
        pml,       ///< Berenger's split-field layer in front of a conductor: absorbs waves
        driven     ///< the tangential electric field is given over time (section 4.2.1 of the book)
    };
    Kind kind = Kind::conductor;
    double value = 0;         ///< dirichlet: the value; in a corner that of the bottom or the top counts
    std::size_t cells = 25;   ///< pml: thickness; the layer is a part of the nx x ny cells
    double grading = 3;       ///< pml: the loss grows as this power of the depth
    double reflection = 1e-8; ///< pml: the share of a wave's amplitude that comes back at normal incidence, in theory
    Waveform waveform = {};   ///< driven: E_x or E_y on the side's edges in TE, E_z in the outermost cells in TM
};

/// A component of the field by its direction. Which field it belongs to follows from the mode.
enum class Component : int { z = 0, x = 1, y = 2 };

/// Cells [x0, x1) x [y0, y1) in which one component is driven.
struct Source {
    Component component = Component::z;
    std::size_t x0 = 0, y0 = 0, x1 = 1, y1 = 1;
    /// Hard: the component is set to the waveform's value, whatever arrives there. Soft: the waveform is a current
    /// density (M or J of the book's equation 4.2.1), which adds to what arrives.
    bool hard = true;
    Waveform waveform = {};
    /// Factors of the waveform, one per cell, row by row from y0 on; empty: 1 everywhere (exercise 4.4 of the book).
    std::vector<double> strength = {};
};

struct Scene;

/// A part of the field at the start, lines 55 and 56 of the book's program 4.3. Parts add up. The component along z is
/// that of time 0, the others are those of dt / 2.
struct Initial {
    /// Shapes of a part.
    enum class Kind {
        gaussian, ///< exp(-((X - x) / width_x)^2 - ((Y - y) / width_y)^2)
        mode,     ///< of a box of conductors: a product of m half waves along x and n along y, of the component along z
        numbers   ///< one per cell
    };
    Component component = Component::z;
    Kind kind = Kind::gaussian;
    double amplitude = 1;
    double x = 0, y = 0, width_x = 1, width_y = 1; ///< in cells; cell (i, j) has its centre at (i + 1/2, j + 1/2)
    std::size_t m = 0, n = 0;
    std::vector<double> numbers = {}; ///< nx * ny, row y = 0 first

    /// The value in a cell: at its centre, on its lower edge (x) or on its left edge (y).
    double at(const Scene& scene, std::size_t i, std::size_t j) const;
};

/// Constants of the media by cell, as in Material: nx * ny numbers each, row y = 0 first. Where one is empty, that of
/// the cell's material counts. (Exercise 4.3 of the book.)
struct CellMedia {
    std::vector<double> eps_r, mu_r, sigma, sigma_m;
};

/// A cell in which the component along z is recorded in every step.
struct Probe {
    std::string name;
    std::size_t x = 0, y = 0;
};

/// Everything about a problem.
struct Scene {
    Mode mode = Mode::te;
    std::size_t nx = 150, ny = 150;      ///< cells, layers included
    double dx = 0.01, dy = 0.01;         ///< metres
    double dt = 0;                       ///< seconds; 0: `courant` decides
    double courant = 0.7071067811865475; ///< dt as a share of the largest stable one
    std::size_t steps = 200;
    std::vector<Material> materials = {Material{}}; ///< 1 to max_materials; the first fills the grid
    std::vector<std::uint8_t> map = {};             ///< nx * ny indices of materials, row y = 0 first; empty: uniform
    CellMedia media = {};
    Side left = {}, right = {}, bottom = {}, top = {};
    std::vector<Initial> initial = {};
    std::vector<Source> sources = {};
    std::vector<Probe> probes = {};
    std::size_t frame_every = 10; ///< steps from one picture to the next
    double frame_scale = 0;       ///< the value of the strongest colour; 0: the largest in all frames

    std::vector<std::string> files = {}; ///< that the scene was read from: its own, the map, numbers

    double time_step() const; ///< dt, or what `courant` gives
    double cells() const { return static_cast<double>(nx) * static_cast<double>(ny); }
    bool graded() const; ///< whether cells have media of their own
    Material material_at(std::size_t i, std::size_t j) const;
    bool fixes_z(const Side& side) const; ///< whether this side prescribes the component along z in its outermost cells
};

/// The speed of a wave in the fastest of the materials in the grid, in m/s.
double largest_speed(const Scene& scene);

/// The largest dt that is stable (Courant, Friedrichs and Lewy), for the fastest of the materials in the grid:
/// 1 / (v sqrt(1/dx^2 + 1/dy^2)).
double largest_stable_dt(const Scene& scene);

/// The most sources, and the most probes, of a scene.
inline constexpr std::size_t max_sources = 4096;
/// The most materials: pairs of them then still have an index of one byte.
inline constexpr std::size_t max_materials = 22;
/// The most cells along a side of the grid.
inline constexpr std::size_t max_cells = 32768;
/// The most steps.
inline constexpr std::size_t max_steps = 100'000'000;

/// Checks what a scene holds.
/// @throws gpulab::UsageError whose message begins with the key at fault, such as "sources[1].region: ..."
void check_scene(const Scene& scene);

/// What replaces a scene's own values. Positions in a scene are cells of the scene's own grid; with another nx or ny
/// they move in proportion, and dx and dy change so that the size in metres remains.
struct Overrides {
    std::size_t nx = 0, ny = 0, steps = 0; ///< 0: the scene's
};

/// Reads a scene from a JSON text, and checks it.
/// @param folder where the files that the scene names (a map, a column of numbers) are looked for
/// @throws gpulab::UsageError that names the key at fault
Scene parse_scene(const std::string& text, const std::string& folder = ".", const Overrides& overrides = {});

/// Reads a scene from a file, or one of the bundled scenes by its name: "book".
/// @throws gpulab::UsageError that begins with the file's name, and names the key at fault
Scene read_scene(const std::string& name, const Overrides& overrides = {});

/// The names of the bundled scenes.
std::vector<std::string> scene_names();

/// What a component is called in a mode: "Hz", "Ex", "Ey" or "Ez", "Hx", "Hy".
const char* name_of(Mode mode, Component component);

} // namespace fdtd
