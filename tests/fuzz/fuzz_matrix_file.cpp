// libFuzzer target: whatever bytes are in a Matrix Market file, compressed or not, labs 04, 06, 07 and 09 read it or
// throw an error of one line that names the file.
#include <zlib.h>

#include <cstdint>
#include <functional>
#include <string>

#include "fuzzed_file.hpp"
#include "gpulab/error.hpp"
#include "gpulab/sparse/matrix_market.hpp"
#include "labs/06_tridiagonal/files.hpp"
#include "labs/07_lu/files.hpp"

// Without lu.cpp, which needs the whole lab.
double lu::norm(const std::vector<double>& matrix, std::size_t) { return matrix.empty() ? 0 : matrix.front(); }

namespace tridiagonal { // what the writer in files.cpp calls, and no reader
template <class T> std::string zero_pivot_message(const Output<T>&) { return ""; }
template <class T> std::vector<T> solve_others(const Problem<T>&, const Reference<T>&) { return {}; }
template std::string zero_pivot_message(const Output<float>&);
template std::string zero_pivot_message(const Output<double>&);
template std::vector<float> solve_others(const Problem<float>&, const Reference<float>&);
template std::vector<double> solve_others(const Problem<double>&, const Reference<double>&);
} // namespace tridiagonal

namespace {

std::string gzip(std::string text) {
    z_stream stream{};
    deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY); // 16: the format of gzip
    std::string packed(deflateBound(&stream, static_cast<uLong>(text.size())), '\0');
    stream.next_in = reinterpret_cast<Bytef*>(text.data());
    stream.avail_in = static_cast<uInt>(text.size());
    stream.next_out = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_out = static_cast<uInt>(packed.size());
    deflate(&stream, Z_FINISH);
    packed.resize(stream.total_out);
    deflateEnd(&stream);
    return packed;
}

/// @return whether there was no error
bool reads(const std::function<void()>& read) { return fuzz::accepts<gpulab::Error>(read, fuzz::file_name()); }

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    std::string bytes(reinterpret_cast<const char*>(data + 1), size - 1);
    if (data[0] % 2 == 1) bytes = gzip(bytes); // right checksums; else they may be compressed, but hardly are
    if (data[0] % 8 == 3) bytes.resize(bytes.size() - 1 - data[0] / 8 % 8);
    fuzz::write_file(bytes);
    const std::string& name = fuzz::file_name();
    gpulab::MatrixSize announced;
    gpulab::Csr<double> matrix;
    const bool sized = reads([&] { announced = gpulab::matrix_market_size(name); });
    const bool read = reads([&] { matrix = gpulab::read_matrix_market<double>(name); });
    fuzz::require(sized || !read, "the matrix is read, its size is not");
    if (read) {
        fuzz::require(announced.rows == matrix.rows && announced.columns == matrix.columns, "another size");
        gpulab::check_structure(matrix);
        fuzz::require(static_cast<double>(matrix.nonzeros()) <= announced.nonzeros, "more entries than announced");
    }
    reads([&] { (void)gpulab::read_matrix_market<float>(name); });
    const std::size_t systems = 1 + data[0] / 64;
    reads([&] {
        const auto p = tridiagonal::read_problem<float>(name, systems);
        fuzz::require(p.n * p.systems == p.a.size() && p.a.size() == p.d.size(), "another number of equations");
    });
    reads([&] {
        const lu::Dense dense = lu::read_dense(name);
        fuzz::require(dense.values.size() == dense.rows * dense.columns, "another number of elements");
    });
    reads([&] { (void)lu::read_problem(name); });
    reads([&] {
        const std::vector<double> x = gpulab::read_vector<double>(name);
        fuzz::require(read && x.size() == (matrix.columns == 1 ? matrix.rows : matrix.columns),
                      "another number of elements");
    });
    return 0;
}
