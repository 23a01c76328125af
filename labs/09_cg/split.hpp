/// @file
/// Sharing the rows out over devices or processes, and what these must exchange.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cg.hpp"
#include "gpulab/sparse/formats.hpp"

namespace cg {

/// Contiguous ranges of rows: part i has the rows [first[i], first[i + 1]). A part may be empty.
struct Split {
    std::vector<std::size_t> first; ///< parts + 1 numbers; the first is 0, the last the number of rows

    std::size_t parts() const { return first.size() - 1; }
    std::size_t rows(std::size_t part) const { return first[part + 1] - first[part]; }
    /// The part that has a row.
    std::size_t owner(std::size_t row) const;
};

/// Cuts the rows so that the non-zeros are shared out in proportion to the weights. A row counts as its number of
/// non-zeros plus one, because the vectors take time too.
/// @param weights one positive number per part
template <class T> Split split_rows(const gpulab::Csr<T>& matrix, const std::vector<double>& weights);

/// Shares the rows out again, in proportion to the speed at which parts have multiplied: non-zeros and rows by the
/// time.
/// @param equal what they had
/// @param ms the time in which each has multiplied its rows; 0 for a part that was not measured, such as one without a
///        row: it counts as the slowest of the others
template <class T>
Split split_by_speed(const gpulab::Csr<T>& matrix, const Split& equal, const std::vector<double>& ms);

/// What one part needs: its rows, and the elements of p that it needs from others (its *halo*).
///
/// The part's p has its own elements 0 ... rows - 1 and then the halo, sorted by row number. So the elements that come
/// from one other part are contiguous.
template <class T> struct Part {
    std::size_t number = 0, parts = 1;          ///< of this part, and how many there are
    std::size_t first = 0;                      ///< the first row
    gpulab::Csr<T> matrix;                      ///< its rows; the columns count in the part's p
    std::size_t inner_begin = 0, inner_end = 0; ///< the longest run of rows that need no halo, and are in none
    std::vector<std::int32_t> halo;             ///< row numbers in the whole matrix, ascending

    /// Elements that travel between this part and another.
    struct Link {
        std::size_t part = 0;             ///< the other one
        std::size_t begin = 0, count = 0; ///< where, in this part's send buffer or halo
        std::size_t place = 0;            ///< where a piece of `send` begins in the halo of the other part
    };
    std::vector<std::int32_t> send; ///< own elements to be sent, as indices into the part's p, grouped by receiver
    std::vector<Link> sends;        ///< pieces of `send`
    std::vector<Link> receives;     ///< pieces of `halo`

    std::size_t rows() const { return matrix.rows; }
    std::size_t inner_rows() const { return inner_end - inner_begin; }
    std::size_t p_size() const { return matrix.rows + halo.size(); }
};

/// Cuts a matrix. Part i sends to part j exactly what part j has in its halo from part i, in the same order.
template <class T> std::vector<Part<T>> make_parts(const gpulab::Csr<T>& matrix, const Split& split);

/// Part `index` of make_parts(), for a process that needs no others.
template <class T> Part<T> make_part(const gpulab::Csr<T>& matrix, const Split& split, std::size_t index);

/// The rows of a part with the columns as they are: they count in the whole vector, and there is no halo.
template <class T> Part<T> rows_of(const gpulab::Csr<T>& matrix, const Split& split, std::size_t index);

/// A problem in this number of parts, shared out as Problem::balance says.
/// @param note becomes a line with the rows of each part, unless they have equally many non-zeros
/// @param ms `ms(i, part)`: the time in which the device of part i multiplies these rows; not called for an empty part
/// @param units_times_clock `units_times_clock(i)`: of the device of part i, in any unit
template <class T, class Time, class Rating>
std::vector<Part<T>> split_over(const Problem<T>& problem, std::size_t count, std::string& note, const Time& ms,
                                const Rating& units_times_clock) {
    const Split equal = split_rows(problem.matrix, std::vector<double>(count, 1.0));
    if (problem.balance == Balance::nnz) return make_parts(problem.matrix, equal);
    std::vector<double> numbers(count); // a rating, or milliseconds: 0 for a part without a row
    Split split;
    if (problem.balance == Balance::units) {
        for (std::size_t i = 0; i < count; ++i) numbers[i] = units_times_clock(i);
        split = split_rows(problem.matrix, numbers);
        note = "rows by compute units times clock rate:";
    } else {
        const std::vector<Part<T>> parts = make_parts(problem.matrix, equal);
        for (std::size_t i = 0; i < count; ++i)
            if (parts[i].rows() > 0) numbers[i] = ms(i, parts[i]);
        split = split_by_speed(problem.matrix, equal, numbers);
        note = "rows by measured speed:";
    }
    for (std::size_t i = 0; i < count; ++i) note += " " + std::to_string(split.rows(i));
    return make_parts(problem.matrix, split);
}

/// The elements of a vector that belong to the rows of a part; nothing of an empty vector.
template <class T> std::vector<T> piece(const std::vector<T>& whole, const Part<T>& part) {
    if (whole.empty()) return {};
    const auto begin = whole.begin() + static_cast<std::ptrdiff_t>(part.first);
    return std::vector<T>(begin, begin + static_cast<std::ptrdiff_t>(part.rows()));
}

} // namespace cg
