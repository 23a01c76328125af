/// @file
/// Matrices of the other formats as CSR again. The entries of a row keep their order; padding is dropped, and so are
/// zeros where the format cannot tell them from padding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gpulab/sparse/formats.hpp"

namespace spmv::testing {

/// @param each_entry each_entry(put): calls put(row, column, value) for all entries
template <class T, class EachEntry>
gpulab::Csr<T> csr_of(std::size_t rows, std::size_t columns, const EachEntry& each_entry) {
    std::vector<std::vector<std::int32_t>> column(rows);
    std::vector<std::vector<T>> value(rows);
    each_entry([&](std::size_t i, std::size_t j, T v) {
        column[i].push_back(static_cast<std::int32_t>(j));
        value[i].push_back(v);
    });
    gpulab::Csr<T> csr{rows, columns, {0}, {}, {}};
    for (std::size_t i = 0; i < rows; ++i) {
        csr.column.insert(csr.column.end(), column[i].begin(), column[i].end());
        csr.value.insert(csr.value.end(), value[i].begin(), value[i].end());
        csr.row_start.push_back(static_cast<std::int64_t>(csr.value.size()));
    }
    return csr;
}

template <class T, class Put> void put_ell(const gpulab::Ell<T>& m, const Put& put) {
    for (std::size_t k = 0; k < m.value.size(); ++k)
        if (m.column[k] != gpulab::Ell<T>::no_column)
            put(k % m.rows, static_cast<std::size_t>(m.column[k]), m.value[k]);
}

template <class T> gpulab::Csr<T> as_csr(const gpulab::Ell<T>& m) {
    return csr_of<T>(m.rows, m.columns, [&](const auto& put) { put_ell(m, put); });
}

template <class T> gpulab::Csr<T> as_csr(const gpulab::Hyb<T>& m) {
    return csr_of<T>(m.ell.rows, m.ell.columns, [&](const auto& put) {
        put_ell(m.ell, put);
        for (std::size_t k = 0; k < m.rest.nonzeros(); ++k)
            put(static_cast<std::size_t>(m.rest.row[k]), static_cast<std::size_t>(m.rest.column[k]), m.rest.value[k]);
    });
}

template <class T> gpulab::Csr<T> as_csr(const gpulab::Csc<T>& m) {
    return csr_of<T>(m.rows, m.columns, [&](const auto& put) {
        for (std::size_t j = 0; j < m.columns; ++j)
            for (auto k = static_cast<std::size_t>(m.column_start[j]);
                 k < static_cast<std::size_t>(m.column_start[j + 1]); ++k)
                put(static_cast<std::size_t>(m.row[k]), j, m.value[k]);
    });
}

template <class T> gpulab::Csr<T> as_csr(const gpulab::Dia<T>& m) {
    return csr_of<T>(m.rows, m.columns, [&](const auto& put) {
        for (std::size_t k = 0; k < m.value.size(); ++k)
            if (m.value[k] != 0)
                put(k % m.rows, k % m.rows + static_cast<std::size_t>(m.offset[k / m.rows]), m.value[k]);
    });
}

template <class T> gpulab::Csr<T> as_csr(const gpulab::Jds<T>& m) {
    return csr_of<T>(m.rows, m.columns, [&](const auto& put) {
        for (std::size_t s = 0; s + 1 < m.start.size(); ++s)
            for (auto k = static_cast<std::size_t>(m.start[s]); k < static_cast<std::size_t>(m.start[s + 1]); ++k)
                put(static_cast<std::size_t>(m.row[k - static_cast<std::size_t>(m.start[s])]),
                    static_cast<std::size_t>(m.column[k]), m.value[k]);
    });
}

template <class T> gpulab::Csr<T> as_csr(const gpulab::Bcsr<T>& m) {
    constexpr std::size_t side = gpulab::Bcsr<T>::side;
    return csr_of<T>(m.rows, m.columns, [&](const auto& put) {
        for (std::size_t b = 0; b + 1 < m.block_start.size(); ++b)
            for (auto k = static_cast<std::size_t>(m.block_start[b]);
                 k < static_cast<std::size_t>(m.block_start[b + 1]); ++k)
                for (std::size_t e = 0; e < side * side; ++e)
                    if (const T v = m.value[k * side * side + e]; v != 0)
                        put(b * side + e / side, static_cast<std::size_t>(m.block_column[k]) * side + e % side, v);
    });
}

} // namespace spmv::testing
