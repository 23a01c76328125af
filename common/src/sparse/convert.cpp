#include "gpulab/sparse/convert.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>

#include "gpulab/device.hpp"
#include "gpulab/error.hpp"
#include "gpulab/parallel.hpp"

namespace gpulab {

namespace {

/// With fewer entries than this another thread is not worth starting.
constexpr std::size_t worth_a_thread = 1 << 16;

std::size_t index(std::int64_t offset) { return static_cast<std::size_t>(offset); }

/// Counts how often each index occurs and turns the counts into offsets: start[i] is where the entries of i begin.
std::vector<std::int64_t> offsets_of(const std::vector<std::int32_t>& indices, std::size_t n) {
    std::vector<std::int64_t> start(n + 1);
    for (const std::int32_t i : indices) ++start[static_cast<std::size_t>(i) + 1];
    for (std::size_t i = 0; i < n; ++i) start[i + 1] += start[i];
    return start;
}

/// Sorts one row by column and adds up entries at the same position.
/// @return how many entries are left
template <class T>
std::size_t sort_row(std::int32_t* column, T* value, std::size_t length,
                     std::vector<std::pair<std::int32_t, T>>& work) {
    const auto not_rising = [](std::int32_t a, std::int32_t b) { return a >= b; };
    if (std::adjacent_find(column, column + length, not_rising) == column + length) return length; // nothing to do
    work.clear();
    for (std::size_t k = 0; k < length; ++k) work.emplace_back(column[k], value[k]);
    std::stable_sort(work.begin(), work.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::size_t left = 0;
    for (const auto& [c, v] : work) {
        if (left > 0 && column[left - 1] == c) {
            value[left - 1] += v;
        } else {
            column[left] = c;
            value[left++] = v;
        }
    }
    return left;
}

} // namespace

template <class T> Csr<T> to_csr(const Coo<T>& m) {
    if (m.row.size() != m.nonzeros() || m.column.size() != m.nonzeros())
        throw Error("the COO matrix is malformed: its arrays differ in length");
    for (std::size_t k = 0; k < m.nonzeros(); ++k)
        if (m.row[k] < 0 || static_cast<std::size_t>(m.row[k]) >= m.rows || m.column[k] < 0 ||
            static_cast<std::size_t>(m.column[k]) >= m.columns)
            throw Error(fmt::format("the COO matrix is malformed: entry {} is at ({}, {}) of {} x {}", k, m.row[k],
                                    m.column[k], m.rows, m.columns));

    Csr<T> csr{m.rows, m.columns, offsets_of(m.row, m.rows), std::vector<std::int32_t>(m.nonzeros()),
               std::vector<T>(m.nonzeros())};
    std::vector<std::int64_t> next(csr.row_start.begin(), csr.row_start.end() - 1);
    for (std::size_t k = 0; k < m.nonzeros(); ++k) {
        const std::size_t to = index(next[static_cast<std::size_t>(m.row[k])]++);
        csr.column[to] = m.column[k];
        csr.value[to] = m.value[k];
    }

    std::vector<std::int64_t> left(m.rows); // entries of each row once duplicates are added up
    for_ranges(m.rows, worth_a_thread, [&](std::size_t begin, std::size_t end) {
        std::vector<std::pair<std::int32_t, T>> work;
        for (std::size_t i = begin; i < end; ++i) {
            const std::size_t first = index(csr.row_start[i]);
            left[i] = static_cast<std::int64_t>(
                sort_row(csr.column.data() + first, csr.value.data() + first, csr.row_length(i), work));
        }
    });
    std::int64_t to = 0; // close the gaps left by duplicates
    for (std::size_t i = 0; i < m.rows; ++i) {
        const std::int64_t from = csr.row_start[i];
        if (to != from) {
            std::copy_n(csr.column.begin() + from, left[i], csr.column.begin() + to);
            std::copy_n(csr.value.begin() + from, left[i], csr.value.begin() + to);
            csr.row_start[i] = to;
        }
        to += left[i];
    }
    csr.row_start[m.rows] = to;
    csr.column.resize(index(to));
    csr.value.resize(index(to));
    const bool finite = std::all_of(m.value.begin(), m.value.end(), [](T v) { return std::isfinite(v); });
    if (finite && !std::all_of(csr.value.begin(), csr.value.end(), [](T v) { return std::isfinite(v); }))
        throw Error("entries at the same place add up to more than the type holds");
    return csr;
}

template <class T> Csr<T> to_csr(const Ell<T>& m) {
    Csr<T> csr;
    csr.rows = m.rows;
    csr.columns = m.columns;
    csr.row_start.assign(m.rows + 1, 0);
    for (std::size_t i = 0; i < m.rows; ++i) {
        for (std::size_t s = 0; s < m.width; ++s) {
            const std::size_t k = s * m.rows + i;
            if (m.column[k] == Ell<T>::no_column) continue;
            csr.column.push_back(m.column[k]);
            csr.value.push_back(m.value[k]);
        }
        csr.row_start[i + 1] = static_cast<std::int64_t>(csr.value.size());
    }
    return csr;
}

template <class T> Csr<T> to_csr(const Csc<T>& m) {
    Csr<T> csr{m.rows, m.columns, offsets_of(m.row, m.rows), std::vector<std::int32_t>(m.nonzeros()),
               std::vector<T>(m.nonzeros())};
    std::vector<std::int64_t> next(csr.row_start.begin(), csr.row_start.end() - 1);
    for (std::size_t j = 0; j < m.columns; ++j)
        for (std::size_t k = index(m.column_start[j]); k < index(m.column_start[j + 1]); ++k) {
            const std::size_t to = index(next[static_cast<std::size_t>(m.row[k])]++);
            csr.column[to] = static_cast<std::int32_t>(j);
            csr.value[to] = m.value[k];
        }
    return csr;
}

template <class T> Coo<T> to_coo(const Csr<T>& m) {
    Coo<T> coo{m.rows, m.columns, std::vector<std::int32_t>(m.nonzeros()), m.column, m.value};
    for_ranges(m.rows, worth_a_thread, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
            std::fill(coo.row.begin() + m.row_start[i], coo.row.begin() + m.row_start[i + 1],
                      static_cast<std::int32_t>(i));
    });
    return coo;
}

template <class T> Csc<T> to_csc(const Csr<T>& m) {
    Csc<T> csc{m.rows, m.columns, offsets_of(m.column, m.columns), std::vector<std::int32_t>(m.nonzeros()),
               std::vector<T>(m.nonzeros())};
    std::vector<std::int64_t> next(csc.column_start.begin(), csc.column_start.end() - 1);
    for (std::size_t i = 0; i < m.rows; ++i)
        for (std::size_t k = index(m.row_start[i]); k < index(m.row_start[i + 1]); ++k) {
            const std::size_t to = index(next[static_cast<std::size_t>(m.column[k])]++);
            csc.row[to] = static_cast<std::int32_t>(i);
            csc.value[to] = m.value[k];
        }
    return csc;
}

template <class T> Ell<T> to_ell(const Csr<T>& m, double most_padding) {
    std::size_t width = 0;
    for (std::size_t i = 0; i < m.rows; ++i) width = std::max(width, m.row_length(i));
    const double slots = static_cast<double>(m.rows) * static_cast<double>(width);
    if (slots > 1e6 && slots > most_padding * static_cast<double>(m.nonzeros()))
        throw Unsupported(fmt::format("ELL pads {} rows to the longest, {}: {:.3g} slots for {:.3g} non-zeros", m.rows,
                                      width, slots, static_cast<double>(m.nonzeros())));
    const double bytes = slots * (sizeof(T) + 4.0);
    if (const auto memory = static_cast<double>(host_memory_bytes()); memory > 0 && bytes > 0.9 * memory)
        throw Unsupported(fmt::format("ELL takes {:.3g} bytes, more than main memory has", bytes));

    Ell<T> ell{m.rows, m.columns, width, std::vector<std::int32_t>(m.rows * width), std::vector<T>(m.rows * width)};
    for_ranges(m.rows, worth_a_thread, [&](std::size_t begin, std::size_t end) {
        for (std::size_t s = 0; s < width; ++s)
            for (std::size_t i = begin; i < end; ++i) {
                const bool used = s < m.row_length(i);
                const std::size_t from = index(m.row_start[i]) + s, to = s * m.rows + i;
                ell.column[to] = used ? m.column[from] : Ell<T>::no_column;
                ell.value[to] = used ? m.value[from] : T{0};
            }
    });
    return ell;
}

template <class T> std::vector<T> to_dense(const Csr<T>& m) {
    std::vector<T> dense(m.rows * m.columns);
    for (std::size_t i = 0; i < m.rows; ++i)
        for (std::size_t k = index(m.row_start[i]); k < index(m.row_start[i + 1]); ++k)
            dense[i * m.columns + static_cast<std::size_t>(m.column[k])] += m.value[k];
    return dense;
}

#define INSTANTIATE(T)                             \
    template Csr<T> to_csr(const Coo<T>&);         \
    template Csr<T> to_csr(const Ell<T>&);         \
    template Csr<T> to_csr(const Csc<T>&);         \
    template Coo<T> to_coo(const Csr<T>&);         \
    template Csc<T> to_csc(const Csr<T>&);         \
    template Ell<T> to_ell(const Csr<T>&, double); \
    template std::vector<T> to_dense(const Csr<T>&);
INSTANTIATE(float)
INSTANTIATE(double)

} // namespace gpulab
