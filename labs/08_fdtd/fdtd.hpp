/// @file
/// Any problem of Yee's scheme, for the Further rungs and the program: the Core has book.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "book.hpp"
#include "gpulab/forward.hpp"
#include "rules.hpp"

namespace fdtd {

struct Scene;

/// A problem, ready to be computed.
template <class T> struct Problem {
    Rules<T> rules;
    Mode mode = Mode::te;
    double dx = 0, dy = 0, dt = 0;
    std::vector<std::uint8_t> map; ///< index of the coefficients in `table` for U, then for P, then for Q; or empty
    /// For U, then for P and Q (their indices count from materials_u). With graded media array_size() entries for U,
    /// then for P, then for Q: those of cell (i, j) at j * pitch + i.
    std::vector<Coefficients<T>> table;
    /// Factors of the absorbing layers, 1 outside them: for each column keep and gain of U, then of Q (4 (nx + 1)
    /// numbers), then for each row keep and gain of U, then of P (4 (ny + 1) numbers). Empty without layers.
    std::vector<T> layers;
    std::vector<Patch> patches;    ///< the sources, driven sides first
    std::vector<T> values;         ///< of source s in step k: element s * steps + k
    std::vector<T> strengths;      ///< of all sources that differ from cell to cell
    std::vector<ProbeCell> probes; ///< in the order of the scene
    Fields<T> start;               ///< the field before the first step
    unsigned block_x = 256;        ///< threads of a block along a row, in the variants that let one choose
    unsigned block_y = 1;

    std::size_t nx() const { return static_cast<std::size_t>(rules.nx); }
    std::size_t ny() const { return static_cast<std::size_t>(rules.ny); }
    std::size_t steps() const { return static_cast<std::size_t>(rules.steps); }
    std::size_t pitch() const { return static_cast<std::size_t>(rules.pitch); }
    std::size_t array_size() const { return pitch() * (ny() + 1); }              ///< of u, p and q
    std::size_t layered_size() const { return rules.layers ? array_size() : 0; } ///< of v
    std::size_t recorded_size() const { return steps() * static_cast<std::size_t>(rules.probes); }
    double cell_steps() const {
        return static_cast<double>(nx()) * static_cast<double>(ny()) * static_cast<double>(steps());
    }
};

/// A problem from a scene: coefficients, sources, and the start, a field of zeros (Dirichlet sides excepted).
/// @param scene as check_scene() accepts it: read_scene() has called it, and whoever makes a scene calls it
/// @param first the first step is step first + 1 of the scene, for a run in parts
/// @param steps as many as the scene has, when 0
template <class T> Problem<T> make_problem(const Scene& scene, std::size_t first = 0, std::size_t steps = 0);

/// Fills the start with random numbers in (-1, 1) for U, and of the matching size for P and Q, so that every cell of
/// the first step counts. Border edges stay 0, and U keeps its value at sides that prescribe it.
template <class T> void randomise(Problem<T>& p, std::uint64_t seed);

/// An output of the right size, unwritten.
template <class T> Output<T> make_output(const Problem<T>& p);

/// The right answer, and how large the numbers in it were.
template <class T> struct Reference {
    Output<T> out;
    double u_scale = 0;    ///< the largest sum of absolute terms of any U in any step
    double edge_scale = 0; ///< the same for P and Q
};

/// Computes a problem in a way that no variant shares: the book's equations, cell by cell, with coefficients and the
/// values of sources and sides computed from the scene, in long double.
/// @param p all steps of the scene or the first ones; its start counts where no side prescribes U
template <class T> Reference<T> reference(const Scene& scene, const Problem<T>& p);

/// The tolerance of the field after n steps: 4 n epsilon on the scale of the terms that are added.
///
/// A step adds at most seven rounded terms per number, and the coefficients themselves are rounded: an error of less
/// than 4 epsilon on the scale of the largest terms. The scheme does not amplify it below the CFL limit, but errors of
/// all steps may add up.
template <class T> double tolerance(std::size_t steps) {
    return 4 * static_cast<double>(steps) * std::numeric_limits<T>::epsilon();
}

/// Compares every U, P, Q, split part and recorded number; padding is left out. The message counts elements in this
/// order: nx ny of U, nx (ny + 1) of P, (nx + 1) ny of Q, nx ny of the split part, recorded numbers.
template <class T> gpulab::Comparison compare(const Problem<T>& p, const Reference<T>& reference, const Output<T>& out);

/// All numbers of an output without padding, in the order of compare(). The split part counts inside the layers only.
template <class T> std::vector<T> flat(const Problem<T>& p, const Output<T>& out);

/// The ladder, in reading order: one row per rung.
template <class T> std::span<const gpulab::Variant<Run<T>>> variants();

/// Bytes that a step must move when U, P and Q are read and written once: 6 numbers per cell.
template <class T> double bytes_per_cell() { return 6.0 * sizeof(T); }
/// Operations of a cell in a step in a lossless medium: 4 differences, 4 multiplications, 4 additions.
inline constexpr double flops_per_cell = 12;

} // namespace fdtd
