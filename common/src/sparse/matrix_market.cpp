// Parses and writes the text of Matrix Market files. The files themselves: matrix_market_file.cpp.
#include "gpulab/sparse/matrix_market.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/compile.h>
#include <fmt/format.h>
#include <iterator>
#include <optional>
#include <vector>

#include "gpulab/error.hpp"
#include "gpulab/number.hpp"
#include "gpulab/parallel.hpp"

namespace gpulab {

namespace {

enum class Field { real, integer, pattern };
enum class Symmetry { general, symmetric, skew };

struct Header {
    bool coordinate = true;
    Field field = Field::real;
    Symmetry symmetry = Symmetry::general;
    std::int64_t rows = 0, columns = 0;
    std::int64_t entries = 0;  // announced (coordinate) or implied (array)
    std::size_t size_line = 0; // its number, counting from 1
    std::size_t body = 0;      // where the text after the size line begins
};

/// A fault found in a line. The caller, which knows the line's number, turns it into an Error.
struct Fault {
    std::string what;
};

bool blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

/// Splits a text into lines.
class Lines {
public:
    explicit Lines(std::string_view text) : rest_(text) {}
    /// @return false at the end of the text
    bool next(std::string_view& line) {
        if (rest_.empty()) return false;
        const std::size_t end = std::min(rest_.find('\n'), rest_.size());
        line = rest_.substr(0, end);
        rest_.remove_prefix(std::min(end + 1, rest_.size()));
        ++number_;
        return true;
    }
    std::size_t number() const { return number_; } ///< of the line that next() gave last, counted from 1
    std::string_view rest() const { return rest_; }

private:
    std::string_view rest_;
    std::size_t number_ = 0;
};

/// Splits a line into words.
class Words {
public:
    explicit Words(std::string_view line) : rest_(line) { skip_blanks(); }
    bool empty() const { return rest_.empty(); }
    std::string_view next() {
        std::size_t end = 0;
        while (end < rest_.size() && !blank(rest_[end])) ++end;
        const std::string_view word = rest_.substr(0, end);
        rest_.remove_prefix(end);
        skip_blanks();
        return word;
    }

private:
    void skip_blanks() {
        std::size_t n = 0;
        while (n < rest_.size() && blank(rest_[n])) ++n;
        rest_.remove_prefix(n);
    }
    std::string_view rest_;
};

/// A word for a message: cut to 40 characters, without characters that a terminal would act on.
std::string shown(std::string_view word) {
    std::string text;
    for (const char c : word.substr(0, 40)) text += c >= 0x20 && c < 0x7F ? c : '?';
    return text + (word.size() > 40 ? "..." : "");
}

std::string lower(std::string_view word) {
    std::string text(word);
    for (char& c : text)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return text;
}

/// Blank or a comment.
bool ignored(std::string_view line) {
    const Words words(line);
    if (words.empty()) return true;
    return line[line.find_first_not_of(" \t\r\v\f")] == '%';
}

std::string_view required(Words& words, const char* what) {
    if (words.empty()) throw Fault{fmt::format("{} is missing", what)};
    return words.next();
}

std::int64_t parse_integer(std::string_view word, const char* what) {
    std::int64_t number = 0;
    const char* const end = word.data() + word.size();
    const char* const begin = word.data() + (word.size() > 1 && word[0] == '+' && word[1] != '-');
    const auto [stop, error] = std::from_chars(begin, end, number);
    if (error == std::errc::result_out_of_range) throw Fault{fmt::format("{} {} is too large", what, shown(word))};
    if (error != std::errc{} || stop != end)
        throw Fault{fmt::format("{} '{}' is not a whole number{}", what, shown(word), hint_of_minus(word))};
    return number;
}

/// A number as C, and as Fortran (1D+00), write it; also nan and inf.
double parse_real(std::string_view word) {
    std::string fortran;
    if (const std::size_t d = word.find_first_of("dD"); d != std::string_view::npos && d > 0 && d + 1 < word.size() &&
                                                        word.find_first_of("xXnN") == std::string_view::npos) {
        fortran = word;
        fortran[d] = 'e';
    }
    const std::string_view text = fortran.empty() ? word : std::string_view(fortran);
    const std::optional<double> number = real_in(text);
    if (!number) throw Fault{fmt::format("the value '{}' is not a number{}", shown(word), hint_of_minus(word))};
    if (std::isinf(*number) && text.find_first_of("iI") == std::string_view::npos)
        throw Fault{fmt::format("the value {} is too large", shown(word))};
    return *number;
}

/// A whole number, also one that is written with a point or an exponent: 1.0
double parse_whole(std::string_view word) {
    if (word.find_first_of(".eEdD") == std::string_view::npos)
        return static_cast<double>(parse_integer(word, "the value"));
    const double number = parse_real(word);
    if (!(std::isfinite(number) && number == std::floor(number)))
        throw Fault{fmt::format("the value '{}' is not a whole number", shown(word))};
    return number;
}

template <class T> T parse_value(Words& words, Field field) {
    if (field == Field::pattern) return T{1};
    const std::string_view word = required(words, "the value");
    const double number = field == Field::integer ? parse_whole(word) : parse_real(word);
    const T value = static_cast<T>(number);
    if (std::isinf(value) && !std::isinf(number))
        throw Fault{fmt::format("the value {} is too large for single precision", shown(word))};
    return value;
}

void nothing_more(Words& words) {
    if (!words.empty()) throw Fault{fmt::format("'{}' is one word too many", shown(words.next()))};
}

Header parse_banner(std::string_view line) {
    Words words(line);
    const std::string banner = words.empty() ? "" : lower(words.next());
    if (banner != "%%matrixmarket" && banner != "%matrixmarket") // C's printf("%%MatrixMarket") writes one %
        throw Fault{"the file does not begin with %%MatrixMarket"};
    Header h;
    const std::string object = lower(required(words, "the word 'matrix'"));
    if (object != "matrix") throw Fault{fmt::format("'{}' is not 'matrix'", shown(object))};
    const std::string format = lower(required(words, "the format, coordinate or array,"));
    if (format != "coordinate" && format != "array")
        throw Fault{fmt::format("the format '{}' is not coordinate or array", shown(format))};
    h.coordinate = format == "coordinate";
    const std::string field = lower(required(words, "the field, real, integer or pattern,"));
    const std::string symmetry = lower(required(words, "the symmetry, general, symmetric or skew-symmetric,"));
    nothing_more(words);
    if (field == "complex") // a real hermitian matrix is a symmetric one
        throw Fault{"complex matrices are not supported: real, integer and pattern are"};
    if (field == "real" || field == "double") h.field = Field::real;
    else if (field == "integer") h.field = Field::integer;
    else if (field == "pattern") h.field = Field::pattern;
    else throw Fault{fmt::format("the field '{}' is not real, integer or pattern", shown(field))};
    if (symmetry == "general") h.symmetry = Symmetry::general;
    else if (symmetry == "symmetric" || symmetry == "hermitian") h.symmetry = Symmetry::symmetric;
    else if (symmetry == "skew-symmetric") h.symmetry = Symmetry::skew;
    else throw Fault{fmt::format("the symmetry '{}' is not general, symmetric or skew-symmetric", shown(symmetry))};
    if (h.field == Field::pattern && !h.coordinate) throw Fault{"an array file cannot be of field pattern"};
    if (h.field == Field::pattern && h.symmetry == Symmetry::skew)
        throw Fault{"a pattern, whose values are all 1, cannot be skew-symmetric"};
    return h;
}

std::int64_t parse_size_word(Words& words, const char* what) {
    const std::int64_t number = parse_integer(required(words, what), what);
    if (number < 0) throw Fault{fmt::format("{} {} is negative", what, number)};
    return number;
}

void parse_sizes(std::string_view line, Header& h) {
    Words words(line);
    h.rows = parse_size_word(words, "the number of rows");
    h.columns = parse_size_word(words, "the number of columns");
    const auto most = static_cast<std::int64_t>(max_sparse_order);
    if (h.rows > most || h.columns > most)
        throw Fault{
            fmt::format("{} x {} is too large: at most {} rows and columns are possible", h.rows, h.columns, most)};
    if (h.symmetry != Symmetry::general && h.rows != h.columns)
        throw Fault{fmt::format("a symmetric matrix must be square, not {} x {}", h.rows, h.columns)};
    if (h.coordinate) {
        h.entries = parse_size_word(words, "the number of entries");
    } else { // both factors are below 2^31, so nothing overflows
        h.entries = h.symmetry == Symmetry::general     ? h.rows * h.columns
                    : h.symmetry == Symmetry::symmetric ? h.rows * (h.rows + 1) / 2
                                                        : h.rows * (h.rows - 1) / 2;
    }
    nothing_more(words);
}

/// Parses the header line by line. A fault is in the line that `lines` gave last.
Header parse_header(Lines& lines) {
    std::string_view line;
    if (!lines.next(line)) throw Fault{"the file is empty"};
    if (line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3); // the mark of UTF-8 that some editors write
    Header h = parse_banner(line);
    do {
        if (!lines.next(line)) throw Fault{"the file ends before the line of sizes"};
    } while (ignored(line));
    parse_sizes(line, h);
    return h;
}

/// The part of the text that one thread parses, and what it holds.
template <class T> struct Part {
    std::string_view text;
    std::vector<std::int32_t> row, column;
    std::vector<T> value;
    std::int64_t entries = 0; // as written in the file
    std::size_t lines = 0;
    std::optional<std::string> fault; // in line number `lines` of this part

    /// An entry beside the diagonal, and its line in this part.
    struct Place {
        std::int64_t row = 0, column = 0;
        std::size_t line = 0; // 0: there is none
    };
    Place below, above; // the first of each triangle, in a symmetric file

    void add(std::int64_t i, std::int64_t j, T v) {
        row.push_back(static_cast<std::int32_t>(i));
        column.push_back(static_cast<std::int32_t>(j));
        value.push_back(v);
    }
};

template <class T> void parse_entry(std::string_view line, std::size_t number, const Header& h, Part<T>& part) {
    Words words(line);
    if (!h.coordinate) { // its position follows from the number of values before it: see place_array_entries()
        part.value.push_back(parse_value<T>(words, h.field));
        nothing_more(words);
        return;
    }
    const std::int64_t i = parse_integer(required(words, "the row"), "the row");
    const std::int64_t j = parse_integer(required(words, "the column"), "the column");
    if (i < 1 || i > h.rows) throw Fault{fmt::format("row {} is not in 1 ... {}", i, h.rows)};
    if (j < 1 || j > h.columns) throw Fault{fmt::format("column {} is not in 1 ... {}", j, h.columns)};
    const T value = parse_value<T>(words, h.field);
    nothing_more(words);
    if (h.symmetry == Symmetry::skew && i == j)
        throw Fault{fmt::format("({}, {}) is on the diagonal, which is zero in a skew-symmetric matrix", i, j)};
    if (h.symmetry != Symmetry::general && i != j)
        if (auto& first = i > j ? part.below : part.above; first.line == 0) first = {i, j, number};
    part.add(i - 1, j - 1, value);
    if (h.symmetry != Symmetry::general && i != j)
        part.add(j - 1, i - 1, h.symmetry == Symmetry::skew ? -value : value);
}

template <class T> void parse_part(const Header& h, std::size_t body_bytes, Part<T>& part) {
    // Memory is taken by the length of the text, never by a number in the header.
    const std::size_t at_most = part.text.size() / 4 + 1; // "1 1\n" is the shortest entry
    const double share =
        static_cast<double>(part.text.size()) / static_cast<double>(std::max<std::size_t>(body_bytes, 1));
    const auto expected = static_cast<std::size_t>(
        std::min(static_cast<double>(at_most), 1.02 * share * static_cast<double>(h.entries) + 16));
    const std::size_t stored = h.coordinate && h.symmetry != Symmetry::general ? 2 * expected : expected;
    part.value.reserve(stored);
    if (h.coordinate) {
        part.row.reserve(stored);
        part.column.reserve(stored);
    }
    Lines lines(part.text);
    std::string_view line;
    try {
        while (lines.next(line)) {
            if (ignored(line)) continue;
            parse_entry(line, lines.number(), h, part);
            ++part.entries;
        }
    } catch (const Fault& fault) {
        part.fault = fault.what;
    }
    part.lines = lines.number();
}

/// Cuts a text into parts that end at line ends.
template <class T> std::vector<Part<T>> cut(std::string_view body, unsigned parts) {
    std::vector<Part<T>> list(parts);
    std::size_t begin = 0;
    for (unsigned p = 0; p < parts; ++p) {
        std::size_t end = body.size();
        if (p + 1 < parts) {
            end = std::max(begin, body.size() / parts * (p + 1));
            end = std::min(body.find('\n', end), body.size() - 1) + 1;
            if (body.empty()) end = 0;
        }
        list[p].text = body.substr(begin, end - begin);
        begin = end;
    }
    return list;
}

/// The number, within a part, of the line that holds its entry `index` (from 0).
std::size_t line_of_entry(std::string_view text, std::int64_t index) {
    Lines lines(text);
    std::string_view line;
    while (lines.next(line))
        if (!ignored(line) && index-- == 0) break;
    return lines.number();
}

/// Gives the values of an array file, which is written column by column, their positions, and drops zeros.
template <class T> void place_array_entries(const Header& h, const std::vector<Part<T>>& parts, Coo<T>& coo) {
    Part<T> all;
    const bool half = h.symmetry != Symmetry::general;
    const std::int64_t below = h.symmetry == Symmetry::skew ? 1 : 0; // the first row of column j is j + below
    std::int64_t i = half ? below : 0, j = 0;
    for (const Part<T>& part : parts)
        for (const T v : part.value) {
            while (i >= h.rows) i = half ? ++j + below : (++j, 0);
            if (v != T{0}) {
                all.add(i, j, v);
                if (half && i != j) all.add(j, i, h.symmetry == Symmetry::skew ? -v : v);
            }
            ++i;
        }
    coo.row = std::move(all.row);
    coo.column = std::move(all.column);
    coo.value = std::move(all.value);
}

} // namespace

template <class T> Coo<T> parse_matrix_market(std::string_view text, const std::string& name, unsigned parts) {
    const auto fail = [&](std::size_t line, const std::string& what) {
        throw Error(fmt::format("{}:{}: {}", name, line, what));
    };

    Lines lines(text);
    Header h;
    try {
        h = parse_header(lines);
    } catch (const Fault& fault) {
        fail(std::max<std::size_t>(lines.number(), 1), fault.what);
    }
    const std::size_t header_lines = lines.number();
    const std::string_view body = lines.rest();

    // The entries, in parallel.
    if (parts == 0) parts = parts_for(body.size(), 1 << 18);
    std::vector<Part<T>> list = cut<T>(body, parts);
    for_parts(parts, [&](unsigned p) { parse_part(h, body.size(), list[p]); });

    // A part counts its own lines, so the lines of the parts before it are added.
    std::size_t before = header_lines;
    std::int64_t entries = 0;
    bool below = false, above = false; // which triangles of a symmetric file have entries
    for (const Part<T>& part : list) {
        // The first entry of the second triangle, if there are both: their entries would be added up.
        typename Part<T>::Place other;
        if (above) other = part.below;
        else if (below) other = part.above;
        else if (part.below.line > 0 && part.above.line > 0)
            other = part.below.line > part.above.line ? part.below : part.above;
        const bool too_many = part.entries > h.entries - entries;
        const std::size_t surplus = too_many ? line_of_entry(part.text, h.entries - entries) : 0;
        if (other.line > 0 && (!too_many || other.line < surplus))
            fail(before + other.line,
                 fmt::format("({}, {}) is {} the diagonal, and earlier entries are {} it: a symmetric file holds one "
                             "triangle only",
                             other.row, other.column, other.row > other.column ? "below" : "above",
                             other.row > other.column ? "above" : "below"));
        if (too_many) fail(before + surplus, fmt::format("one entry too many: {} were announced", h.entries));
        below = below || part.below.line > 0;
        above = above || part.above.line > 0;
        if (part.fault) fail(before + part.lines, *part.fault);
        before += part.lines;
        entries += part.entries;
    }
    if (entries < h.entries) fail(before, fmt::format("the file ends after {} of {} entries", entries, h.entries));

    Coo<T> coo;
    coo.rows = static_cast<std::size_t>(h.rows);
    coo.columns = static_cast<std::size_t>(h.columns);
    if (!h.coordinate) {
        place_array_entries(h, list, coo);
        return coo;
    }
    std::vector<std::size_t> offset(parts + 1);
    for (unsigned p = 0; p < parts; ++p) offset[p + 1] = offset[p] + list[p].value.size();
    coo.row.resize(offset[parts]);
    coo.column.resize(offset[parts]);
    coo.value.resize(offset[parts]);
    for_parts(parts, [&](unsigned p) {
        const auto at = static_cast<std::ptrdiff_t>(offset[p]);
        std::copy(list[p].row.begin(), list[p].row.end(), coo.row.begin() + at);
        std::copy(list[p].column.begin(), list[p].column.end(), coo.column.begin() + at);
        std::copy(list[p].value.begin(), list[p].value.end(), coo.value.begin() + at);
        list[p] = {};
    });
    return coo;
}

MatrixSize announced_size(std::string_view text) {
    Lines lines(text);
    try {
        const Header h = parse_header(lines);
        const double mirrored = h.symmetry != Symmetry::general ? 2 : 1;
        return {static_cast<std::size_t>(h.rows), static_cast<std::size_t>(h.columns),
                mirrored * static_cast<double>(h.entries)};
    } catch (const Fault&) {
        return {};
    }
}

template <class T> std::string to_matrix_market(const Csr<T>& m) {
    const unsigned parts = parts_for(m.nonzeros(), 1 << 16);
    std::vector<std::string> texts(parts);
    for_parts(parts, [&](unsigned p) {
        const std::size_t begin = m.rows * p / parts, end = m.rows * (p + 1) / parts;
        std::string& text = texts[p];
        const auto out = std::back_inserter(text);
        for (std::size_t i = begin; i < end; ++i)
            for (std::int64_t k = m.row_start[i]; k < m.row_start[i + 1]; ++k) {
                const auto at = static_cast<std::size_t>(k);
                fmt::format_to(out, FMT_COMPILE("{} {} {}\n"), i + 1, std::int64_t{m.column[at]} + 1, m.value[at]);
            }
    });
    std::string all =
        fmt::format("%%MatrixMarket matrix coordinate real general\n{} {} {}\n", m.rows, m.columns, m.nonzeros());
    std::size_t bytes = all.size();
    for (const std::string& text : texts) bytes += text.size();
    all.reserve(bytes);
    for (const std::string& text : texts) all += text;
    return all;
}

template <class T> std::string array_text(const std::vector<T>& values, std::size_t columns) {
    std::string text =
        fmt::format("%%MatrixMarket matrix array real general\n{} {}\n", values.size() / columns, columns);
    for (const T value : values) fmt::format_to(std::back_inserter(text), FMT_COMPILE("{}\n"), value);
    return text;
}

#define INSTANTIATE(T)                                                                   \
    template Coo<T> parse_matrix_market(std::string_view, const std::string&, unsigned); \
    template std::string array_text(const std::vector<T>&, std::size_t);                 \
    template std::string to_matrix_market(const Csr<T>&);
INSTANTIATE(float)
INSTANTIATE(double)

} // namespace gpulab
