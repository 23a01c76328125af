/// @file
/// Problems and answers as bytes, on their way between the judge of an exercise and its worker.
///
/// A task lists the fields of its problem once, `fields(archive, problem)` with `archive(p.k, p.a, p.b)`. The same list
/// writes the problem with a Writer and reads it with a Reader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "gpulab/error.hpp"

namespace gpulab::grading {

/// Appends fields to a string of bytes.
class Writer {
public:
    /// Writes numbers, enumerations, plain structures, strings and vectors of them, in this order.
    template <class... Fields> void operator()(const Fields&... fields) { (write(fields), ...); }

    const std::string& bytes() const { return bytes_; }

private:
    template <class T> void write(const T& value) {
        static_assert(std::is_trivially_copyable_v<T>);
        bytes_.append(reinterpret_cast<const char*>(&value), sizeof(T));
    }
    template <class T> void write(const std::vector<T>& values) {
        write(std::uint64_t{values.size()});
        if constexpr (std::is_trivially_copyable_v<T>)
            bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
        else
            for (const T& value : values) write(value);
    }
    void write(const std::string& text) {
        write(std::uint64_t{text.size()});
        bytes_ += text;
    }

    std::string bytes_;
};

/// Takes fields from a string of bytes, in the order in which a Writer wrote them. The bytes may come from a program
/// that is not trusted: every length is checked.
class Reader {
public:
    /// @param bytes what a Writer wrote; they must live as long as the Reader
    explicit Reader(std::string_view bytes) : rest_(bytes) {}

    /// Reads numbers, enumerations, plain structures, strings and vectors of them, in this order.
    /// @throws Error when the bytes end too early
    template <class... Fields> void operator()(Fields&... fields) { (read(fields), ...); }

    /// Whether all bytes have been read.
    bool at_end() const { return rest_.empty(); }

private:
    std::string_view take(std::uint64_t bytes) {
        if (bytes > rest_.size()) throw Error("the message ends too early");
        const std::string_view taken = rest_.substr(0, bytes);
        rest_.remove_prefix(bytes);
        return taken;
    }
    template <class T> void read(T& value) {
        static_assert(std::is_trivially_copyable_v<T>);
        std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    }
    template <class T> void read(std::vector<T>& values) {
        std::uint64_t count = 0;
        read(count);
        if constexpr (std::is_trivially_copyable_v<T>) {
            if (count > rest_.size() / sizeof(T)) throw Error("the message ends too early");
            values.resize(count);
            const std::string_view bytes = take(count * sizeof(T));
            if (count > 0) std::memcpy(values.data(), bytes.data(), bytes.size());
        } else {
            if (count > rest_.size()) throw Error("the message ends too early");
            values.assign(count, T{});
            for (T& value : values) read(value);
        }
    }
    void read(std::string& text) {
        std::uint64_t count = 0;
        read(count);
        text = take(count);
    }

    std::string_view rest_;
};

/// How a worker answers one case.
enum class Answer : std::uint8_t {
    output = 0,      ///< the output follows
    wrong = 1,       ///< the run itself proved to be wrong: a write outside a buffer
    unsupported = 2, ///< the rung refused the problem
    build_error = 3, ///< the kernel does not compile
    error = 4,       ///< any other exception
    no_device = 5    ///< there is no device of the rung's back end
};

} // namespace gpulab::grading
