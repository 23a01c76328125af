// What the runners of both back ends share: a case is a JSON object,
//
//     {"items": [8], "group": [8], "arguments": [[3, 1, 4], [null, null], 10]}
//
// An array is a buffer of int, in which null stands for an element that nobody has written; a number is an int. For
// each case a runner writes one line into a file: the buffers after the launch, or outside of which buffer the kernel
// wrote; and the bytes of local memory that a group takes. judge.py judges these. What a kernel prints goes to stdout.
#pragma once

#include <cstddef>
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "gpulab/error.hpp"
#include "gpulab/poison.hpp"

namespace start {

using nlohmann::json;

constexpr int unwritten = gpulab::poison_value<int>();

inline std::vector<int> values_of(const json& array) {
    std::vector<int> values;
    for (const json& one : array) values.push_back(one.is_null() ? unwritten : one.get<int>());
    return values;
}

inline json array_of(const std::vector<int>& values) {
    json array = json::array();
    for (const int one : values) array.push_back(one == unwritten ? json() : json(one));
    return array;
}

// Marks where a launch begins in what its kernel prints, and in what a tool says of it.
inline void launch_begins() {
    std::cout << '\f' << std::flush;
    std::cerr << '\f' << std::flush;
}

// The line of a case. Reading a buffer also checks its guard bands.
template <class Buffer> json after(const std::vector<Buffer>& buffers) {
    json arrays = json::array();
    try {
        for (const Buffer& buffer : buffers) {
            std::vector<int> values(buffer.size());
            buffer.copy_to(values);
            arrays.push_back(array_of(values));
        }
    } catch (const gpulab::WrongResult&) { // it wrote outside of the next buffer
        return {{"stray", arrays.size()}};
    }
    return {{"buffers", arrays}};
}

} // namespace start
