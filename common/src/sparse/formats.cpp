#include "gpulab/sparse/formats.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <fmt/format.h>

#include "gpulab/error.hpp"
#include "gpulab/sparse/rows.hpp"

namespace gpulab {

template <class T> void check_structure(const Csr<T>& m) {
    const auto wrong = [](const std::string& what) { throw Error("the CSR matrix is malformed: " + what); };
    if (m.rows > max_sparse_order || m.columns > max_sparse_order)
        wrong(fmt::format("{} x {} is more than 32-bit indices reach", m.rows, m.columns));
    if (m.row_start.size() != m.rows + 1)
        wrong(fmt::format("{} rows need {} row pointers, there are {}", m.rows, m.rows + 1, m.row_start.size()));
    if (m.column.size() != m.value.size())
        wrong(fmt::format("{} columns for {} values", m.column.size(), m.value.size()));
    if (m.row_start.front() != 0) wrong(fmt::format("the first row pointer is {}, not 0", m.row_start.front()));
    if (m.row_start.back() != static_cast<std::int64_t>(m.nonzeros()))
        wrong(fmt::format("the last row pointer is {}, but there are {} values", m.row_start.back(), m.nonzeros()));
    for (std::size_t i = 0; i < m.rows; ++i)
        if (m.row_start[i] > m.row_start[i + 1])
            wrong(fmt::format("row {} ends at {} before it starts at {}", i, m.row_start[i + 1], m.row_start[i]));
    for (std::size_t k = 0; k < m.nonzeros(); ++k)
        if (m.column[k] < 0 || static_cast<std::size_t>(m.column[k]) >= m.columns)
            wrong(fmt::format("entry {} is in column {} of {}", k, m.column[k], m.columns));
}

template void check_structure(const Csr<float>&);
template void check_structure(const Csr<double>&);

template <class T> std::vector<std::int32_t> narrow_offsets(const Csr<T>& m) {
    if (m.row_start.back() > max_narrow_offset)
        throw Unsupported(fmt::format("{} non-zeros are more than this variant's 32-bit offsets can count, {}",
                                      m.row_start.back(), max_narrow_offset));
    return {m.row_start.begin(), m.row_start.end()};
}

template std::vector<std::int32_t> narrow_offsets(const Csr<float>&);
template std::vector<std::int32_t> narrow_offsets(const Csr<double>&);

template <class T> void check_finite(const Csr<T>& m, const std::string& name) {
    for (std::size_t i = 0; i < m.rows; ++i)
        for (auto k = static_cast<std::size_t>(m.row_start[i]); k < static_cast<std::size_t>(m.row_start[i + 1]); ++k)
            if (!std::isfinite(m.value[k]))
                throw UsageError(fmt::format("{}: the value in row {}, column {} is {}: only finite values can be used",
                                             name, i + 1, m.column[k] + 1, m.value[k]));
}

template void check_finite(const Csr<float>&, const std::string&);
template void check_finite(const Csr<double>&, const std::string&);

RowStatistics row_statistics(const std::vector<std::int64_t>& row_start) {
    RowStatistics s;
    s.rows = row_start.size() - 1;
    if (s.rows == 0) return s;
    s.shortest = static_cast<std::size_t>(row_start.back());
    double squares = 0;
    for (std::size_t i = 0; i < s.rows; ++i) {
        const auto length = static_cast<std::size_t>(row_start[i + 1] - row_start[i]);
        s.empty += length == 0;
        s.shortest = std::min(s.shortest, length);
        s.longest = std::max(s.longest, length);
        squares += static_cast<double>(length) * static_cast<double>(length);
        const auto bin = static_cast<std::size_t>(std::bit_width(length));
        if (bin >= s.histogram.size()) s.histogram.resize(bin + 1);
        ++s.histogram[bin];
    }
    const auto rows = static_cast<double>(s.rows);
    s.mean = static_cast<double>(row_start.back()) / rows;
    s.deviation = std::sqrt(std::max(0.0, squares / rows - s.mean * s.mean));
    return s;
}

} // namespace gpulab
