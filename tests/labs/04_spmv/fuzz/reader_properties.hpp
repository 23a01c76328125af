/// @file
/// What must hold of the Matrix Market reader for any bytes at all: for the fuzzer, and for the test that replays what
/// the fuzzer kept.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <string>
#include <string_view>

#include "../as_csr.hpp"
#include "gpulab/error.hpp"
#include "gpulab/sparse/convert.hpp"
#include "gpulab/sparse/matrix_market.hpp"

namespace spmv::testing {

/// Whether a message begins with "input:LINE: " and LINE is a line of the text (or the first of an empty one).
inline bool names_line(const std::string& message, std::string_view text) {
    const std::string prefix = "input:";
    if (!message.starts_with(prefix)) return false;
    std::size_t at = prefix.size(), line = 0;
    while (at < message.size() && std::isdigit(static_cast<unsigned char>(message[at])))
        line = 10 * line + static_cast<std::size_t>(message[at++] - '0');
    const auto lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')) + 1;
    return at + 1 < message.size() && message[at] == ':' && line >= 1 && line <= lines &&
           message.find('\n') == std::string::npos;
}

/// Reads the text in one part and in three.
/// @return what does not hold, or "" when all does
inline std::string broken_property(std::string_view text) {
    gpulab::Coo<double> one, three;
    std::string error_of_one, error_of_three;
    try {
        one = gpulab::parse_matrix_market<double>(text, "input", 1);
    } catch (const gpulab::Error& e) {
        error_of_one = e.what();
    }
    try {
        three = gpulab::parse_matrix_market<double>(text, "input", 3);
    } catch (const gpulab::Error& e) {
        error_of_three = e.what();
    }
    if (error_of_one != error_of_three)
        return "in one part: '" + error_of_one + "', in three: '" + error_of_three + "'";
    if (!error_of_one.empty())
        return names_line(error_of_one, text) ? "" : "the error names no line of the text: " + error_of_one;
    const auto same = [](double a, double b) { return a == b || (a != a && b != b); }; // NaN is not equal to itself
    if (one.rows != three.rows || one.columns != three.columns || one.row != three.row || one.column != three.column ||
        !std::equal(one.value.begin(), one.value.end(), three.value.begin(), three.value.end(), same))
        return "one part and three parts give different matrices";
    if (one.rows > 10000 || one.columns > 10000) return ""; // CSR stores an offset per row, however few the entries

    // What was read is a matrix, and it survives being written and read again.
    const gpulab::Csr<double> csr = gpulab::to_csr(one);
    try {
        gpulab::check_structure(csr);
        const auto finite = [](double v) { return v - v == 0; }; // sums of duplicates may overflow
        if (!std::all_of(csr.value.begin(), csr.value.end(), finite)) return "";
        const std::string written = gpulab::to_matrix_market(csr);
        if (!(gpulab::to_csr(gpulab::parse_matrix_market<double>(written, "input", 1)) == csr))
            return "written and read again it is another matrix";
        if (!(gpulab::to_csr(gpulab::to_coo(csr)) == csr)) return "through COO it becomes another matrix";
        if (!(as_csr(gpulab::to_csc(csr)) == csr)) return "through CSC it becomes another matrix";
    } catch (const gpulab::Error& e) {
        return std::string("a matrix that was read is refused: ") + e.what();
    }
    return "";
}

} // namespace spmv::testing
