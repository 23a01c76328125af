#include "gpulab/sparse/convert.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <string>
#include <utility>

#include "gpulab/device.hpp"
#include "gpulab/error.hpp"
#include "gpulab/math.hpp"
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

/// Refuses a format that pads too much. A million slots are always allowed.
/// @param how what the format does to the matrix, for the message
void check_padding(const std::string& how, double slots, std::size_t nonzeros, double max_padding) {
    if (slots > 1e6 && slots > max_padding * static_cast<double>(nonzeros))
        throw Unsupported(
            fmt::format("{}: {:.3g} slots for {:.3g} non-zeros", how, slots, static_cast<double>(nonzeros)));
}

/// Refuses a format that needs more than main memory.
void check_fits(const char* format, double bytes) {
    if (const auto memory = static_cast<double>(host_memory_bytes()); memory > 0 && bytes > 0.9 * memory)
        throw Unsupported(fmt::format("{} takes {:.3g} bytes, more than main memory has", format, bytes));
}

/// The first `width` entries of each row.
template <class T> Ell<T> ell_of_width(const Csr<T>& m, std::size_t width) {
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

/// longer[l]: how many rows have more than l entries; one element for each l below the longest row.
template <class T> std::vector<std::size_t> rows_longer_than(const Csr<T>& m) {
    std::vector<std::size_t> longer;
    for (std::size_t i = 0; i < m.rows; ++i) {
        const std::size_t length = m.row_length(i);
        if (length > longer.size()) longer.resize(length);
        if (length > 0) ++longer[length - 1];
    }
    for (std::size_t l = longer.size(); l-- > 1;) longer[l - 1] += longer[l];
    return longer;
}

/// The most entries that at least a third of the rows have.
template <class T> std::size_t hyb_width(const Csr<T>& m) {
    std::size_t width = 0;
    for (const std::size_t rows : rows_longer_than(m)) width += 3 * rows >= m.rows;
    return width;
}

/// The offsets, column - row, of the diagonals that hold an entry, rising.
template <class T> std::vector<std::int32_t> diagonals_of(const Csr<T>& m) {
    std::vector<bool> used(m.rows + m.columns); // used[rows + offset]
    for (std::size_t i = 0; i < m.rows; ++i)
        for (std::size_t k = index(m.row_start[i]); k < index(m.row_start[i + 1]); ++k)
            used[m.rows - i + static_cast<std::size_t>(m.column[k])] = true;
    std::vector<std::int32_t> offsets;
    for (std::size_t d = 0; d < used.size(); ++d)
        if (used[d])
            offsets.push_back(
                static_cast<std::int32_t>(static_cast<std::int64_t>(d) - static_cast<std::int64_t>(m.rows)));
    return offsets;
}

/// Bytes of a DIA matrix. A double: rows and diagonals may be 2^31 each.
template <class T> double dia_bytes_of(std::size_t rows, std::size_t diagonals) {
    return static_cast<double>(diagonals) * (4 + static_cast<double>(rows) * sizeof(T));
}

/// Finds the blocks of one row of blocks. @param columns becomes their columns, rising
template <class T> void find_blocks(const Csr<T>& m, std::size_t block_row, std::vector<std::int32_t>& columns) {
    constexpr std::size_t side = Bcsr<T>::side;
    columns.clear();
    const std::size_t first = block_row * side, last = std::min(first + side, m.rows);
    for (std::size_t k = index(m.row_start[first]); k < index(m.row_start[last]); ++k)
        columns.push_back(m.column[k] / static_cast<std::int32_t>(side));
    std::sort(columns.begin(), columns.end());
    columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
}

/// Where each row of blocks begins, and at the end the number of blocks.
template <class T> std::vector<std::int64_t> block_starts(const Csr<T>& m) {
    const std::size_t block_rows = ceil_div(m.rows, Bcsr<T>::side);
    std::vector<std::int64_t> start(block_rows + 1);
    for_ranges(block_rows, worth_a_thread, [&](std::size_t begin, std::size_t end) {
        std::vector<std::int32_t> columns;
        for (std::size_t b = begin; b < end; ++b) {
            find_blocks(m, b, columns);
            start[b + 1] = static_cast<std::int64_t>(columns.size());
        }
    });
    for (std::size_t b = 0; b < block_rows; ++b) start[b + 1] += start[b];
    return start;
}

/// Bytes of a BCSR matrix.
template <class T> double bcsr_bytes_of(const std::vector<std::int64_t>& block_start) {
    return static_cast<double>(block_start.size()) * 8 +
           static_cast<double>(block_start.back()) * (4 + Bcsr<T>::side * Bcsr<T>::side * sizeof(T));
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

template <class T> Ell<T> to_ell(const Csr<T>& m, double max_padding) {
    const std::size_t width = rows_longer_than(m).size();
    const double slots = static_cast<double>(m.rows) * static_cast<double>(width);
    check_padding(fmt::format("ELL pads {} rows to the longest, {}", m.rows, width), slots, m.nonzeros(), max_padding);
    check_fits("ELL", slots * (sizeof(T) + 4.0));
    return ell_of_width(m, width);
}

template <class T> Dia<T> to_dia(const Csr<T>& m, double max_padding) {
    Dia<T> dia{m.rows, m.columns, diagonals_of(m), {}};
    const std::size_t diagonals = dia.offset.size();
    check_padding(fmt::format("DIA stores {} diagonals of {} rows in full", diagonals, m.rows),
                  static_cast<double>(m.rows) * static_cast<double>(diagonals), m.nonzeros(), max_padding);
    check_fits("DIA", dia_bytes_of<T>(m.rows, diagonals));
    dia.value.resize(m.rows * diagonals);
    for_ranges(m.rows, worth_a_thread, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i)
            for (std::size_t k = index(m.row_start[i]); k < index(m.row_start[i + 1]); ++k) {
                const auto offset = static_cast<std::int32_t>(m.column[k] - static_cast<std::int64_t>(i));
                const auto d = std::lower_bound(dia.offset.begin(), dia.offset.end(), offset) - dia.offset.begin();
                dia.value[static_cast<std::size_t>(d) * m.rows + i] += m.value[k];
            }
    });
    return dia;
}

template <class T> Hyb<T> to_hyb(const Csr<T>& m) {
    check_fits("HYB", hyb_bytes(m));
    const std::size_t width = hyb_width(m);
    Hyb<T> hyb{ell_of_width(m, width), {m.rows, m.columns, {}, {}, {}}};
    for (std::size_t i = 0; i < m.rows; ++i)
        for (std::size_t k = index(m.row_start[i]) + width; k < index(m.row_start[i + 1]); ++k) {
            hyb.rest.row.push_back(static_cast<std::int32_t>(i));
            hyb.rest.column.push_back(m.column[k]);
            hyb.rest.value.push_back(m.value[k]);
        }
    return hyb;
}

template <class T> Jds<T> to_jds(const Csr<T>& m) {
    const std::vector<std::size_t> longer = rows_longer_than(m);
    Jds<T> jds{m.rows,
               m.columns,
               std::vector<std::int32_t>(m.rows),
               {0},
               std::vector<std::int32_t>(m.nonzeros()),
               std::vector<T>(m.nonzeros())};
    for (const std::size_t rows : longer) jds.start.push_back(jds.start.back() + static_cast<std::int64_t>(rows));

    // A row of l entries comes after all longer ones: a counting sort.
    std::vector<std::size_t> next = longer;
    next.push_back(0);
    for (std::size_t i = 0; i < m.rows; ++i) jds.row[next[m.row_length(i)]++] = static_cast<std::int32_t>(i);

    for_ranges(m.rows, worth_a_thread, [&](std::size_t begin, std::size_t end) {
        for (std::size_t r = begin; r < end; ++r) {
            const auto i = static_cast<std::size_t>(jds.row[r]);
            for (std::size_t s = 0; s < m.row_length(i); ++s) {
                jds.column[index(jds.start[s]) + r] = m.column[index(m.row_start[i]) + s];
                jds.value[index(jds.start[s]) + r] = m.value[index(m.row_start[i]) + s];
            }
        }
    });
    return jds;
}

template <class T> Bcsr<T> to_bcsr(const Csr<T>& m) {
    constexpr std::size_t side = Bcsr<T>::side;
    Bcsr<T> bcsr{m.rows, m.columns, block_starts(m), {}, {}};
    check_fits("BCSR", bcsr_bytes_of<T>(bcsr.block_start));
    const std::size_t blocks = index(bcsr.block_start.back());
    bcsr.block_column.resize(blocks);
    bcsr.value.resize(blocks * side * side);
    for_ranges(bcsr.block_start.size() - 1, worth_a_thread, [&](std::size_t begin, std::size_t end) {
        std::vector<std::int32_t> columns;
        for (std::size_t b = begin; b < end; ++b) {
            find_blocks(m, b, columns);
            const std::size_t first = index(bcsr.block_start[b]);
            std::copy(columns.begin(), columns.end(), bcsr.block_column.begin() + bcsr.block_start[b]);
            for (std::size_t i = b * side; i < std::min((b + 1) * side, m.rows); ++i)
                for (std::size_t k = index(m.row_start[i]); k < index(m.row_start[i + 1]); ++k) {
                    const auto j = static_cast<std::size_t>(m.column[k]);
                    const auto block =
                        std::lower_bound(columns.begin(), columns.end(), m.column[k] / static_cast<std::int32_t>(side));
                    const std::size_t n = first + index(block - columns.begin());
                    bcsr.value[n * side * side + i % side * side + j % side] += m.value[k];
                }
        }
    });
    return bcsr;
}

template <class T> double dia_bytes(const Csr<T>& m) { return dia_bytes_of<T>(m.rows, diagonals_of(m).size()); }

template <class T> double hyb_bytes(const Csr<T>& m) {
    const std::vector<std::size_t> longer = rows_longer_than(m);
    const std::size_t width = hyb_width(m);
    std::size_t rest = 0; // entries
    for (std::size_t s = width; s < longer.size(); ++s) rest += longer[s];
    return static_cast<double>(m.rows) * static_cast<double>(width) * (sizeof(T) + 4) +
           static_cast<double>(rest) * (sizeof(T) + 8);
}

template <class T> double bcsr_bytes(const Csr<T>& m) { return bcsr_bytes_of<T>(block_starts(m)); }

template <class T> std::vector<T> to_dense(const Csr<T>& m) {
    std::vector<T> dense(m.rows * m.columns);
    for (std::size_t i = 0; i < m.rows; ++i)
        for (std::size_t k = index(m.row_start[i]); k < index(m.row_start[i + 1]); ++k)
            dense[i * m.columns + static_cast<std::size_t>(m.column[k])] += m.value[k];
    return dense;
}

#define INSTANTIATE(T)                             \
    template Csr<T> to_csr(const Coo<T>&);         \
    template Coo<T> to_coo(const Csr<T>&);         \
    template Csc<T> to_csc(const Csr<T>&);         \
    template Ell<T> to_ell(const Csr<T>&, double); \
    template Dia<T> to_dia(const Csr<T>&, double); \
    template Hyb<T> to_hyb(const Csr<T>&);         \
    template Jds<T> to_jds(const Csr<T>&);         \
    template Bcsr<T> to_bcsr(const Csr<T>&);       \
    template double dia_bytes(const Csr<T>&);      \
    template double hyb_bytes(const Csr<T>&);      \
    template double bcsr_bytes(const Csr<T>&);     \
    template std::vector<T> to_dense(const Csr<T>&);
INSTANTIATE(float)
INSTANTIATE(double)

} // namespace gpulab
