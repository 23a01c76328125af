#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <limits>
#include <memory>

#include "gpulab/device.hpp"
#include "gpulab/error.hpp"
#include "gpulab/file.hpp"
#include "gpulab/sparse/convert.hpp"
#include "gpulab/sparse/matrix_market.hpp"

namespace gpulab {

namespace {

/// The text of a regular file, all of it or its beginning. Nothing else is read: a device or a pipe may never end.
/// @param most bytes to read
/// @param size becomes the length of the file
std::string read_file(const std::string& path, std::uintmax_t most, std::uintmax_t& size) {
    namespace fs = std::filesystem;
    const auto cannot = [&](const std::string& why) {
        return UsageError(fmt::format("cannot read {}: {}", path, why));
    };
    std::error_code ignored;
    if (fs::is_directory(path, ignored)) throw cannot("it is a directory");
    if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored)) throw cannot("it is not a regular file");
    errno = 0;
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
    if (!file) throw cannot(std::strerror(errno));
    size = fs::file_size(path, ignored);
    const std::uintmax_t bytes = std::min(size, most);
    if (const auto memory = host_memory_bytes(); memory > 0 && bytes > memory)
        throw cannot(fmt::format("its {} bytes do not fit main memory", bytes));
    std::string text(bytes, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), file.get()));
    if (std::ferror(file.get())) throw cannot(std::strerror(errno));
    return text;
}

} // namespace

MatrixSize matrix_market_size(const std::string& path) {
    std::uintmax_t bytes = 0;
    MatrixSize size = announced_size(read_file(path, 1 << 20, bytes));
    size.nonzeros = std::min(size.nonzeros, static_cast<double>(bytes)); // an entry takes 2 bytes or more, mirrored 4
    return size;
}

template <class T> Csr<T> read_matrix_market(const std::string& path) {
    Coo<T> coo;
    {
        std::uintmax_t size = 0;
        const std::string text = read_file(path, std::numeric_limits<std::uintmax_t>::max(), size);
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
