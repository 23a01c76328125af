#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <memory>

#include "gpulab/device.hpp"
#include "gpulab/error.hpp"
#include "gpulab/file.hpp"
#include "gpulab/sparse/convert.hpp"
#include "gpulab/sparse/matrix_market.hpp"

namespace gpulab {

namespace {

/// The whole of a file: a regular one in a single read, anything else (a pipe) until it ends.
std::string read_file(const std::string& path) {
    namespace fs = std::filesystem;
    const auto cannot = [&](const std::string& why) {
        return UsageError(fmt::format("cannot read {}: {}", path, why));
    };
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) throw cannot("it is a directory");
    errno = 0;
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
    if (!file) throw cannot(std::strerror(errno));
    std::string text;
    if (fs::is_regular_file(path, ignored)) {
        const auto bytes = fs::file_size(path);
        if (const auto memory = host_memory_bytes(); memory > 0 && bytes > memory)
            throw cannot(fmt::format("its {} bytes do not fit main memory", bytes));
        text.resize(bytes);
        text.resize(std::fread(text.data(), 1, text.size(), file.get()));
    } else {
        char buffer[1 << 16];
        while (const std::size_t n = std::fread(buffer, 1, sizeof buffer, file.get())) text.append(buffer, n);
    }
    if (std::ferror(file.get())) throw cannot(std::strerror(errno));
    return text;
}

} // namespace

template <class T> Csr<T> read_matrix_market(const std::string& path) {
    Coo<T> coo;
    {
        const std::string text = read_file(path);
        coo = parse_matrix_market<T>(text, path);
    }
    // Few entries may announce very many rows, and CSR stores an offset for each.
    const double bytes = 16.0 * static_cast<double>(coo.rows) + (sizeof(T) + 4.0) * static_cast<double>(coo.nonzeros());
    const auto memory = static_cast<double>(host_memory_bytes());
    if (memory > 0 && bytes > memory)
        throw UsageError(
            fmt::format("{}: {} rows and {} entries do not fit main memory", path, coo.rows, coo.nonzeros()));
    return to_csr(coo);
}

template <class T> void write_matrix_market(const std::string& path, const Csr<T>& matrix) {
    OutputFile file(path);
    file.write(to_matrix_market(matrix));
}

template Csr<float> read_matrix_market(const std::string&);
template Csr<double> read_matrix_market(const std::string&);
template void write_matrix_market(const std::string&, const Csr<float>&);
template void write_matrix_market(const std::string&, const Csr<double>&);

} // namespace gpulab
