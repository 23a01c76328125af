#include "gpulab/sparse/generate.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <fmt/format.h>

#include "gpulab/device.hpp"
#include "gpulab/error.hpp"
#include "gpulab/input.hpp"
#include "gpulab/number.hpp"
#include "gpulab/options.hpp"
#include "gpulab/parallel.hpp"

namespace gpulab {

namespace {

constexpr std::size_t worth_a_thread = 1 << 14; // rows

/// Makes a matrix: lays out its row pointers, then fills in its entries, with ranges of rows in parallel.
/// @param length the non-zeros of a row
/// @param fill `fill(i, column, value)` writes the entries of row i
template <class T, class Length, class Fill>
Csr<T> build(std::size_t rows, std::size_t columns, const Length& length, const Fill& fill) {
    if (rows > max_sparse_order || columns > max_sparse_order)
        throw UsageError(fmt::format("a matrix of {} x {} is too large: at most {} rows and columns are possible", rows,
                                     columns, max_sparse_order));
    const auto memory = static_cast<double>(host_memory_bytes());
    const auto must_fit = [&](double bytes) {
        if (memory > 0 && bytes > memory)
            throw UsageError(fmt::format("the matrix needs {:.1f} GiB of main memory; this computer has {:.1f} GiB",
                                         bytes / 1073741824, memory / 1073741824));
    };
    must_fit(8.0 * static_cast<double>(rows));
    Csr<T> m;
    m.rows = rows;
    m.columns = columns;
    m.row_start.resize(rows + 1);
    for_ranges(rows, worth_a_thread, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) m.row_start[i + 1] = static_cast<std::int64_t>(length(i));
    });
    for (std::size_t i = 0; i < rows; ++i) m.row_start[i + 1] += m.row_start[i];
    const auto nonzeros = static_cast<std::size_t>(m.row_start[rows]);
    must_fit(8.0 * static_cast<double>(rows) + (sizeof(T) + 4.0) * static_cast<double>(nonzeros));
    m.column.resize(nonzeros);
    m.value.resize(nonzeros);
    // Ranges with equally many non-zeros, so that no range takes much longer than the others.
    const unsigned parts = parts_for(nonzeros, 1 << 16);
    for_parts(parts, [&](unsigned p) {
        const auto row_at = [&](unsigned q) {
            if (q == parts) return rows;
            const auto at = static_cast<std::int64_t>(nonzeros / parts * q);
            return static_cast<std::size_t>(std::lower_bound(m.row_start.begin(), m.row_start.end() - 1, at) -
                                            m.row_start.begin());
        };
        for (std::size_t i = row_at(p); i < row_at(p + 1); ++i)
            fill(i, m.column.data() + m.row_start[i], m.value.data() + m.row_start[i]);
    });
    return m;
}

/// A value in (-1, 1), never 0.
template <class T> T random_value(std::uint64_t seed, std::uint64_t bits) {
    return detail::inside(static_cast<T>(2 * random_unit(seed, bits) - 1), T{-1}, T{1});
}

/// The words between colons.
std::vector<std::string> split(const std::string& text, char at) {
    std::vector<std::string> words(1);
    for (const char c : text)
        if (c == at) words.emplace_back();
        else words.back() += c;
    return words;
}

} // namespace

template <class T> Csr<T> lecture_example() { return {3, 4, {0, 2, 4, 5}, {1, 2, 1, 3, 0}, {1, 2, 3, 4, 5}}; }

namespace {

/// -1 for each neighbour on an nx x ny x nz grid.
template <class T> Csr<T> laplacian(std::size_t nx, std::size_t ny, std::size_t nz, T diagonal) {
    const std::size_t plane = nx * ny;
    const auto length = [=](std::size_t i) {
        const std::size_t x = i % nx, y = i / nx % ny, z = i / plane;
        return std::size_t{1} + (x > 0) + (x + 1 < nx) + (y > 0) + (y + 1 < ny) + (z > 0) + (z + 1 < nz);
    };
    const auto fill = [=](std::size_t i, std::int32_t* column, T* value) {
        const std::size_t x = i % nx, y = i / nx % ny, z = i / plane;
        const auto put = [&](bool inside, std::size_t j, T v) {
            if (!inside) return;
            *column++ = static_cast<std::int32_t>(j);
            *value++ = v;
        };
        put(z > 0, i - plane, T{-1});
        put(y > 0, i - nx, T{-1});
        put(x > 0, i - 1, T{-1});
        put(true, i, diagonal);
        put(x + 1 < nx, i + 1, T{-1});
        put(y + 1 < ny, i + nx, T{-1});
        put(z + 1 < nz, i + plane, T{-1});
    };
    return build<T>(plane * nz, plane * nz, length, fill);
}

} // namespace

template <class T> Csr<T> laplace_2d(std::size_t nx, std::size_t ny) { return laplacian<T>(nx, ny, 1, T{4}); }

template <class T> Csr<T> laplace_3d(std::size_t nx, std::size_t ny, std::size_t nz) {
    return laplacian<T>(nx, ny, nz, T{6});
}

template <class T>
Csr<T> random_rows(std::size_t rows, std::size_t columns, const std::function<std::size_t(std::size_t)>& length,
                   std::uint64_t seed) {
    const auto fill = [=](std::size_t i, std::int32_t* column, T* value) {
        const std::size_t n = length(i);
        for (std::size_t k = 0; k < n; ++k) {
            const std::size_t low = columns * k / n, high = columns * (k + 1) / n; // the part of the row for entry k
            const std::uint64_t bits = random_bits(seed, i * 0x100000001B3u + k);
            column[k] = static_cast<std::int32_t>(low + (bits >> 20) % (high - low));
            value[k] = random_value<T>(seed + 1, bits);
        }
    };
    return build<T>(rows, columns, length, fill);
}

template <class T>
Csr<T> power_law_rows(std::size_t rows, std::size_t columns, double mean_length, double exponent, std::uint64_t seed) {
    if (!(mean_length >= 0) || mean_length > static_cast<double>(columns))
        throw UsageError(fmt::format("rows of {} columns cannot have {} non-zeros on average", columns, mean_length));
    // By inversion of the distribution function, a uniform u in (0, 1) gives the length scale * u^(-1 / (exponent -
    // 1)).
    std::vector<double> weight(rows);
    for_ranges(rows, worth_a_thread, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) // at most 1e300, because a scale of 0 times infinity is NaN
            weight[i] = std::min(std::pow(random_unit(seed + 2, i), -1 / (exponent - 1)), 1e300);
    });
    const auto length = [&](std::size_t i, double scale) {
        return static_cast<std::size_t>(std::min(scale * weight[i], static_cast<double>(columns)));
    };
    // Search the scale at which the lengths, rounded down and cut to the width of the matrix, have the requested mean.
    const double wanted = mean_length * static_cast<double>(rows);
    const auto total = [&](double scale) {
        std::atomic<std::size_t> sum_of_all = 0;
        for_ranges(rows, worth_a_thread, [&](std::size_t begin, std::size_t end) {
            std::size_t sum = 0;
            for (std::size_t i = begin; i < end; ++i) sum += length(i, scale);
            sum_of_all += sum;
        });
        return static_cast<double>(sum_of_all);
    };
    double low = 0, high = static_cast<double>(columns) + 1;
    for (int step = 0; step < 60 && high - low > 1e-9 * high; ++step) {
        const double middle = (low + high) / 2;
        (total(middle) < wanted ? low : high) = middle;
    }
    // With an exponent near 1 nearly all rows are full or empty, whatever the scale.
    if (const double reached = total(high); std::abs(reached - wanted) > 1 + 0.01 * wanted)
        throw UsageError(fmt::format("power law: {} rows of {} columns with exponent {} have {:.4g} non-zeros on "
                                     "average at best, not {}; choose another exponent",
                                     rows, columns, exponent, reached / static_cast<double>(rows), mean_length));
    return random_rows<T>(
        rows, columns, [&](std::size_t i) { return length(i, high); }, seed);
}

template <class T> Csr<T> banded(std::size_t rows, std::size_t half_width, std::uint64_t seed) {
    const auto first = [=](std::size_t i) { return i > half_width ? i - half_width : 0; };
    const auto length = [=](std::size_t i) { return std::min(rows - 1 - i, half_width) + i - first(i) + 1; };
    const auto fill = [=](std::size_t i, std::int32_t* column, T* value) {
        for (std::size_t k = 0; k < length(i); ++k) {
            column[k] = static_cast<std::int32_t>(first(i) + k);
            value[k] = random_value<T>(seed, i * 0x100000001B3u + k);
        }
    };
    return build<T>(rows, rows, length, fill);
}

template <class T> Csr<T> stiffness(std::size_t rows, std::uint64_t seed) {
    const auto bar = [=](std::size_t i) { return 1 + 9 * random_unit(seed, i); }; // of the bar before node i
    const auto length = [=](std::size_t i) { return std::size_t{1} + (i > 0) + (i + 1 < rows); };
    const auto fill = [=](std::size_t i, std::int32_t* column, T* value) {
        const auto put = [&](std::size_t j, double v) {
            *column++ = static_cast<std::int32_t>(j), *value++ = static_cast<T>(v);
        };
        if (i > 0) put(i - 1, -bar(i));
        put(i, bar(i) + bar(i + 1));
        if (i + 1 < rows) put(i + 1, -bar(i + 1));
    };
    return build<T>(rows, rows, length, fill);
}

template <class T> Csr<T> springs(std::size_t nx, std::size_t ny, std::size_t nz, std::uint64_t seed) {
    const std::size_t directions = nz > 1 ? 3 : 2, n[3] = {nx, ny, nz};
    if (nx * ny * nz > max_sparse_order / directions)
        throw UsageError(fmt::format("a net of {} masses is too large: at most {} rows are possible", nx * ny * nz,
                                     max_sparse_order));
    // Calls body(d, other) for the neighbours of a mass, itself among them, in ascending order.
    const auto neighbours = [=](std::size_t mass, const auto& body) {
        const auto at = std::array{mass % nx, mass / nx % ny, mass / nx / ny};
        for (int dz = -1; dz <= 1; ++dz)
            for (int dy = -1; dy <= 1; ++dy)
                for (int dx = -1; dx <= 1; ++dx) {
                    const std::array d{dx, dy, dz};
                    bool inside = true;
                    for (std::size_t c = 0; c < 3; ++c) // below 0 wraps around, beyond every size
                        inside = inside && at[c] + static_cast<std::size_t>(d[c]) < n[c];
                    if (!inside) continue;
                    body(d, mass + static_cast<std::size_t>(dx) + nx * static_cast<std::size_t>(dy) +
                                nx * ny * static_cast<std::size_t>(dz));
                }
    };
    const auto strength = [=](std::size_t a, std::size_t b) { // of the spring between two masses
        return 1e5 * (1 + 9 * random_unit(seed, std::min(a, b) * 27 + std::max(a, b) % 27));
    };
    // The share of a spring along d in the force along `row` when a mass moves along `column`.
    const auto share = [](const std::array<int, 3>& d, std::size_t row, std::size_t column) {
        return static_cast<double>(d[row] * d[column]) / (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    };
    const auto length = [=](std::size_t i) {
        std::size_t count = 0;
        neighbours(i / directions, [&](const auto&, std::size_t) { ++count; });
        return count * directions;
    };
    const auto fill = [=](std::size_t i, std::int32_t* column, T* value) {
        const std::size_t mass = i / directions, row = i % directions;
        double own[3] = {0, 0, 0};
        own[row] = 1e3; // a weak spring holds every mass, so that the net cannot float away
        neighbours(mass, [&](const std::array<int, 3>& d, std::size_t other) {
            if (other == mass) return;
            for (std::size_t c = 0; c < directions; ++c) own[c] += strength(mass, other) * share(d, row, c);
        });
        neighbours(mass, [&](const std::array<int, 3>& d, std::size_t other) {
            for (std::size_t c = 0; c < directions; ++c) {
                *column++ = static_cast<std::int32_t>(other * directions + c);
                *value++ = static_cast<T>(other == mass ? own[c] : -strength(mass, other) * share(d, row, c));
            }
        });
    };
    return build<T>(nx * ny * nz * directions, nx * ny * nz * directions, length, fill);
}

const char* const generator_help =
    "lecture | laplace2d:N or NXxNY | laplace3d:N or NXxNYxNZ | stiffness:N | springs:NXxNY or NXxNYxNZ | "
    "random:ROWS[xCOLUMNS]:LENGTH or LEAST-MOST | powerlaw:ROWS[xCOLUMNS]:MEAN[:EXPONENT] | banded:ROWS:HALFWIDTH";

namespace {

/// A parsed description. Fields that its kind does not use keep these values.
struct Recipe {
    std::string kind;
    std::size_t n[3] = {1, 1, 1}; // rows and columns, or the sides of the grid
    std::size_t least = 0, most = 0;
    double mean = 0, exponent = 2.5;
    std::size_t half_width = 0;
};

Recipe parse_recipe(const std::string& description) {
    const std::string what = "--generate " + description;
    const auto wrong = [&](const std::string& why) {
        return UsageError(what + ": " + why + " (" + generator_help + ")");
    };
    const std::vector<std::string> words = split(description, ':');
    const auto parameters = [&](std::size_t least, std::size_t most) {
        if (words.size() - 1 < least || words.size() - 1 > most) throw wrong("wrong number of parameters");
    };
    // "100x200" gives {100, 200}; at least 1 each, and no product of them may pass what 32-bit indices reach.
    const auto sizes = [&](const std::string& text, std::size_t most) {
        std::vector<std::size_t> list;
        double product = 1;
        for (const std::string& word : split(text, 'x')) {
            list.push_back(static_cast<std::size_t>(parse_size(word, what)));
            if (list.back() == 0 || list.back() > max_sparse_order)
                throw wrong("'" + word + "' is not a possible size");
            product *= static_cast<double>(list.back());
        }
        if (list.size() > most) throw wrong("'" + text + "' has too many sizes");
        if (words[0].starts_with("laplace") && list.size() == 1)
            product = std::pow(static_cast<double>(list[0]), static_cast<double>(most));
        if (words[0].starts_with("laplace") && product > static_cast<double>(max_sparse_order))
            throw wrong(fmt::format("at most {} rows are possible", max_sparse_order));
        return list;
    };
    const auto number = [&](const std::string& text) {
        const std::optional<double> value = real_in(text);
        if (!value || !std::isfinite(*value)) throw wrong("'" + text + "' is not a number");
        return *value;
    };

    Recipe r;
    r.kind = words[0];
    if (r.kind == "lecture") {
        parameters(0, 0);
    } else if (r.kind == "laplace2d" || r.kind == "laplace3d") {
        parameters(1, 1);
        const std::size_t dimensions = r.kind == "laplace2d" ? 2 : 3;
        const auto n = sizes(words[1], dimensions);
        if (n.size() != 1 && n.size() != dimensions) throw wrong("give one size or three");
        for (std::size_t d = 0; d < dimensions; ++d) r.n[d] = n.size() == 1 ? n[0] : n[d];
    } else if (r.kind == "stiffness") {
        parameters(1, 1);
        r.n[0] = r.n[1] = sizes(words[1], 1)[0];
    } else if (r.kind == "springs") {
        parameters(1, 1);
        const auto n = sizes(words[1], 3);
        if (n.size() == 1) throw wrong("give two sizes or three");
        double masses = 1;
        for (std::size_t d = 0; d < n.size(); ++d) {
            r.n[d] = n[d];
            masses *= static_cast<double>(n[d]);
        }
        const std::size_t most = max_sparse_order / (r.n[2] > 1 ? 3 : 2); // a row for each direction
        if (masses > static_cast<double>(most)) throw wrong(fmt::format("at most {} masses are possible", most));
    } else if (r.kind == "random") {
        parameters(2, 2);
        const auto n = sizes(words[1], 2);
        r.n[0] = n[0];
        r.n[1] = n.back();
        const std::vector<std::string> range = split(words[2], '-');
        if (range.size() > 2) throw wrong("'" + words[2] + "' is no range of lengths");
        r.least = static_cast<std::size_t>(parse_size(range[0], what));
        r.most = static_cast<std::size_t>(parse_size(range.back(), what));
        if (r.least > r.most || r.most > r.n[1])
            throw wrong(fmt::format("row lengths {} to {} do not fit {} columns", r.least, r.most, r.n[1]));
    } else if (r.kind == "powerlaw") {
        parameters(2, 3);
        const auto n = sizes(words[1], 2);
        r.n[0] = n[0];
        r.n[1] = n.back();
        r.mean = number(words[2]);
        if (!(r.mean >= 0 && r.mean <= static_cast<double>(r.n[1])))
            throw wrong(fmt::format("rows of {} columns cannot have {} non-zeros on average", r.n[1], r.mean));
        if (words.size() > 3) r.exponent = number(words[3]);
        if (!(r.exponent > 1 && r.exponent <= 100)) throw wrong("the exponent must be above 1 and at most 100");
    } else if (r.kind == "banded") {
        parameters(2, 2);
        r.n[0] = r.n[1] = sizes(words[1], 1)[0];
        r.half_width = static_cast<std::size_t>(parse_size(words[2], what));
    } else {
        throw wrong("no such generator");
    }
    return r;
}

} // namespace

MatrixSize generated_size(const std::string& description) {
    const Recipe r = parse_recipe(description);
    const auto first = static_cast<double>(r.n[0]), second = static_cast<double>(r.n[1]);
    if (r.kind == "lecture") return {3, 4, 5};
    if (r.kind == "laplace2d") return {r.n[0] * r.n[1], r.n[0] * r.n[1], 5 * first * second};
    if (r.kind == "laplace3d") {
        const std::size_t rows = r.n[0] * r.n[1] * r.n[2];
        return {rows, rows, 7 * static_cast<double>(rows)};
    }
    if (r.kind == "stiffness") return {r.n[0], r.n[0], 3 * first};
    if (r.kind == "springs") {
        const bool flat = r.n[2] == 1;
        const std::size_t rows = r.n[0] * r.n[1] * r.n[2] * (flat ? 2 : 3);
        return {rows, rows, (flat ? 18.0 : 81.0) * static_cast<double>(rows)};
    }
    if (r.kind == "random")
        return {r.n[0], r.n[1], first * (static_cast<double>(r.least) + static_cast<double>(r.most)) / 2};
    if (r.kind == "powerlaw") return {r.n[0], r.n[1], first * r.mean};
    return {r.n[0], r.n[1], first * std::min(2 * static_cast<double>(r.half_width) + 1, first)};
}

template <class T> Csr<T> generate_matrix(const std::string& description, std::uint64_t seed) {
    const Recipe r = parse_recipe(description);
    if (r.kind == "lecture") return lecture_example<T>();
    if (r.kind == "laplace2d") return laplace_2d<T>(r.n[0], r.n[1]);
    if (r.kind == "laplace3d") return laplace_3d<T>(r.n[0], r.n[1], r.n[2]);
    if (r.kind == "stiffness") return stiffness<T>(r.n[0], seed);
    if (r.kind == "springs") return springs<T>(r.n[0], r.n[1], r.n[2], seed);
    if (r.kind == "powerlaw") return power_law_rows<T>(r.n[0], r.n[1], r.mean, r.exponent, seed);
    if (r.kind == "banded") return banded<T>(r.n[0], r.half_width, seed);
    const auto length = [=](std::size_t i) {
        return r.least + static_cast<std::size_t>(random_bits(seed + 3, i) >> 8) % (r.most - r.least + 1);
    };
    return random_rows<T>(r.n[0], r.n[1], length, seed);
}

#define INSTANTIATE(T)                                                                                    \
    template Csr<T> lecture_example();                                                                    \
    template Csr<T> laplace_2d(std::size_t, std::size_t);                                                 \
    template Csr<T> laplace_3d(std::size_t, std::size_t, std::size_t);                                    \
    template Csr<T> random_rows(std::size_t, std::size_t, const std::function<std::size_t(std::size_t)>&, \
                                std::uint64_t);                                                           \
    template Csr<T> power_law_rows(std::size_t, std::size_t, double, double, std::uint64_t);              \
    template Csr<T> banded(std::size_t, std::size_t, std::uint64_t);                                      \
    template Csr<T> stiffness(std::size_t, std::uint64_t);                                                \
    template Csr<T> springs(std::size_t, std::size_t, std::size_t, std::uint64_t);                        \
    template Csr<T> generate_matrix(const std::string&, std::uint64_t);
INSTANTIATE(float)
INSTANTIATE(double)

} // namespace gpulab
