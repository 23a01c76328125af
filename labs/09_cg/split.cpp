#include "split.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "gpulab/error.hpp"

namespace cg {

std::size_t Split::owner(std::size_t row) const {
    // The last part that begins at or before the row: an empty part begins where the next one does.
    return static_cast<std::size_t>(std::upper_bound(first.begin(), first.end() - 1, row) - first.begin()) - 1;
}

template <class T> Split split_rows(const gpulab::Csr<T>& matrix, const std::vector<double>& weights) {
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    if (weights.empty() || !(sum > 0) || !std::isfinite(sum)) throw gpulab::Error("parts need positive weights");
    const auto load = [&](std::size_t rows) { // of the first rows, `rows` in all
        return static_cast<double>(matrix.row_start[rows]) + static_cast<double>(rows);
    };
    const double all = load(matrix.rows);
    Split split;
    split.first.push_back(0);
    double share = 0;
    for (std::size_t part = 0; part + 1 < weights.size(); ++part) {
        share += weights[part];
        const double wanted = all * (share / sum);
        std::size_t low = split.first.back(), high = matrix.rows; // the first row at which the load reaches the share
        while (low < high) {
            const std::size_t middle = low + (high - low) / 2;
            if (load(middle) < wanted) low = middle + 1;
            else high = middle;
        }
        if (low > split.first.back() && wanted - load(low - 1) < load(low) - wanted) --low; // nearer
        split.first.push_back(low);
    }
    split.first.push_back(matrix.rows);
    return split;
}

template <class T>
Split split_by_speed(const gpulab::Csr<T>& matrix, const Split& equal, const std::vector<double>& ms) {
    std::vector<double> speeds(equal.parts());
    double slowest = 0;
    for (std::size_t i = 0; i < speeds.size(); ++i) {
        if (!(ms[i] > 0)) continue;
        const auto nonzeros = matrix.row_start[equal.first[i + 1]] - matrix.row_start[equal.first[i]];
        speeds[i] = (static_cast<double>(nonzeros) + static_cast<double>(equal.rows(i))) / ms[i];
        if (speeds[i] > 0 && (slowest == 0 || speeds[i] < slowest)) slowest = speeds[i];
    }
    for (double& speed : speeds)
        if (!(speed > 0)) speed = slowest > 0 ? slowest : 1;
    return split_rows(matrix, speeds);
}

template <class T> Part<T> rows_of(const gpulab::Csr<T>& matrix, const Split& split, std::size_t index) {
    Part<T> part;
    const std::size_t first = split.first[index], last = split.first[index + 1];
    const auto begin = static_cast<std::ptrdiff_t>(matrix.row_start[first]);
    const auto end = static_cast<std::ptrdiff_t>(matrix.row_start[last]);
    part.number = index;
    part.parts = split.parts();
    part.first = first;
    part.inner_end = last - first;
    part.matrix.rows = last - first;
    part.matrix.columns = matrix.columns;
    part.matrix.row_start.resize(last - first + 1);
    for (std::size_t i = first; i <= last; ++i) part.matrix.row_start[i - first] = matrix.row_start[i] - begin;
    part.matrix.column.assign(matrix.column.begin() + begin, matrix.column.begin() + end);
    part.matrix.value.assign(matrix.value.begin() + begin, matrix.value.begin() + end);
    return part;
}

namespace {

/// Of every part the row numbers outside it that its rows refer to, ascending.
template <class T> std::vector<std::vector<std::int32_t>> halos_of(const gpulab::Csr<T>& matrix, const Split& split) {
    std::vector<std::vector<std::int32_t>> halos(split.parts());
    for (std::size_t part = 0; part < split.parts(); ++part) {
        std::vector<std::int32_t>& halo = halos[part];
        const std::size_t first = split.first[part], last = split.first[part + 1];
        for (std::size_t i = first; i < last; ++i)
            for (const std::size_t k : matrix.row(i))
                if (const auto j = static_cast<std::size_t>(matrix.column[k]); j < first || j >= last)
                    halo.push_back(matrix.column[k]);
        std::sort(halo.begin(), halo.end());
        halo.erase(std::unique(halo.begin(), halo.end()), halo.end());
    }
    return halos;
}

/// Rows of the matrix of a part in which the column numbers are those of the part's p, and what travels.
template <class T>
Part<T> part_of(const gpulab::Csr<T>& matrix, const Split& split, std::size_t index,
                const std::vector<std::vector<std::int32_t>>& halos) {
    Part<T> part = rows_of(matrix, split, index);
    part.halo = halos[index];
    gpulab::Csr<T>& a = part.matrix;
    const std::size_t first = part.first, rows = a.rows;
    a.columns = rows + part.halo.size();
    std::vector<bool> border(rows); // rows that need the halo, or are in that of another part
    for (std::size_t i = 0; i < rows; ++i) {
        for (const std::size_t k : a.row(i)) {
            const std::int32_t j = a.column[k];
            if (static_cast<std::size_t>(j) >= first && static_cast<std::size_t>(j) < first + rows) {
                a.column[k] = j - static_cast<std::int32_t>(first);
            } else {
                const auto at = std::lower_bound(part.halo.begin(), part.halo.end(), j) - part.halo.begin();
                a.column[k] = static_cast<std::int32_t>(rows + static_cast<std::size_t>(at));
                border[i] = true;
            }
        }
    }
    for (std::size_t k = 0; k < part.halo.size(); ++k) {
        const std::size_t owner = split.owner(static_cast<std::size_t>(part.halo[k]));
        if (part.receives.empty() || part.receives.back().part != owner) part.receives.push_back({owner, k, 0});
        ++part.receives.back().count;
    }
    for (std::size_t to = 0; to < halos.size(); ++to) {
        const auto& wanted = halos[to]; // its own halo has no row of this part
        const auto begin = std::lower_bound(wanted.begin(), wanted.end(), static_cast<std::int64_t>(first));
        const auto end = std::lower_bound(begin, wanted.end(), static_cast<std::int64_t>(first + rows));
        if (begin == end) continue;
        part.sends.push_back({to, part.send.size(), static_cast<std::size_t>(end - begin),
                              static_cast<std::size_t>(begin - wanted.begin())});
        for (auto row = begin; row != end; ++row) part.send.push_back(*row - static_cast<std::int32_t>(first));
    }
    for (const std::int32_t i : part.send) border[static_cast<std::size_t>(i)] = true;
    part.inner_begin = part.inner_end = 0;
    for (std::size_t i = 0, run = 0; i < rows; ++i) {
        if (border[i]) run = i + 1; // where the next run begins
        else if (i + 1 - run > part.inner_rows()) {
            part.inner_begin = run;
            part.inner_end = i + 1;
        }
    }
    return part;
}

} // namespace

template <class T> std::vector<Part<T>> make_parts(const gpulab::Csr<T>& matrix, const Split& split) {
    const auto halos = halos_of(matrix, split);
    std::vector<Part<T>> parts;
    for (std::size_t i = 0; i < split.parts(); ++i) parts.push_back(part_of(matrix, split, i, halos));
    return parts;
}

template <class T> Part<T> make_part(const gpulab::Csr<T>& matrix, const Split& split, std::size_t index) {
    return part_of(matrix, split, index, halos_of(matrix, split));
}

#define INSTANTIATE(T)                                                                              \
    template Split split_rows(const gpulab::Csr<T>&, const std::vector<double>&);                   \
    template Split split_by_speed(const gpulab::Csr<T>&, const Split&, const std::vector<double>&); \
    template std::vector<Part<T>> make_parts(const gpulab::Csr<T>&, const Split&);                  \
    template Part<T> rows_of(const gpulab::Csr<T>&, const Split&, std::size_t);                     \
    template Part<T> make_part(const gpulab::Csr<T>&, const Split&, std::size_t);
INSTANTIATE(float)
INSTANTIATE(double)

} // namespace cg
