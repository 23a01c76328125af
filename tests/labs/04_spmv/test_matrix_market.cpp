// Matrix Market files: every kind that is read, every fault that is named, and whatever the fuzzer once found.
#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <limits>
#include <thread>

#include "checks.hpp"
#include "fuzz/reader_properties.hpp"
#include "gpulab/error.hpp"
#include "gpulab/file.hpp"
#include "gpulab/sparse/convert.hpp"
#include "gpulab/sparse/matrix_market.hpp"
#include "gpulab_testing/program.hpp"

namespace fs = std::filesystem;
using namespace gpulab::testing;
using namespace spmv::testing;
using gpulab::Csr;

namespace {

/// Reads a text in one part and in several, which must agree.
Csr<double> read(const std::string& text) {
    const auto one = gpulab::parse_matrix_market<double>(text, "input", 1);
    for (const unsigned parts : {2u, 3u, 7u}) REQUIRE(gpulab::parse_matrix_market<double>(text, "input", parts) == one);
    return gpulab::to_csr(one);
}

std::string error_of(const std::string& text, unsigned parts = 1) {
    return message_of<gpulab::Error>([&] { gpulab::parse_matrix_market<double>(text, "input", parts); });
}

const std::string real_general = "%%MatrixMarket matrix coordinate real general\n";

} // namespace

TEST_CASE("coordinate files of every field and symmetry are read") {
    CHECK(read(real_general + "3 4 5\n1 2 1\n1 3 2\n2 2 3\n2 4 4\n3 1 5\n") == gpulab::lecture_example<double>());
    CHECK(read(real_general + "2 2 2\n2 2 -1.5e-3\n1 1 +2.\n") == Csr<double>{2, 2, {0, 1, 2}, {0, 1}, {2, -0.0015}});
    CHECK(read("%%MatrixMarket matrix coordinate integer general\n1 2 1\n1 2 -7\n") ==
          Csr<double>{1, 2, {0, 1}, {1}, {-7}});
    CHECK(read("%MatrixMarket matrix coordinate real general\n1 2 1\n1 2 -7\n") ==
          Csr<double>{1, 2, {0, 1}, {1}, {-7}}); // what C's printf("%%...") writes
    CHECK(read("%%MatrixMarket matrix coordinate pattern general\n1 2 1\n1 2\n") ==
          Csr<double>{1, 2, {0, 1}, {1}, {1}});
    // The lower triangle stands in the file; both are in the matrix.
    CHECK(read("%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 4\n2 1 3\n") ==
          Csr<double>{2, 2, {0, 2, 3}, {0, 1, 0}, {4, 3, 3}});
    CHECK(read("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 1\n2 1\n") ==
          Csr<double>{2, 2, {0, 1, 2}, {1, 0}, {1, 1}});
    CHECK(read("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n2 1 3\n") ==
          Csr<double>{2, 2, {0, 1, 2}, {1, 0}, {-3, 3}});
}

TEST_CASE("array files go down the columns, and their zeros are not stored") {
    CHECK(read("%%MatrixMarket matrix array real general\n2 3\n1\n2\n3\n0\n5\n6\n") ==
          Csr<double>{2, 3, {0, 3, 5}, {0, 1, 2, 0, 2}, {1, 3, 5, 2, 6}});
    CHECK(read("%%MatrixMarket matrix array integer symmetric\n3 3\n1\n2\n3\n4\n5\n6\n") ==
          Csr<double>{3, 3, {0, 3, 6, 9}, {0, 1, 2, 0, 1, 2, 0, 1, 2}, {1, 2, 3, 2, 4, 5, 3, 5, 6}});
    CHECK(read("%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n3\n") ==
          Csr<double>{3, 3, {0, 2, 4, 6}, {1, 2, 0, 2, 0, 1}, {-1, -2, 1, -3, 2, 3}});
}

TEST_CASE("comments, blank lines, tabs, CRLF, any case, a missing last newline and empty matrices are all right") {
    CHECK(read("%%MATRIXmarket Matrix COORDINATE Real GENERAL\r\n% a comment\r\n\r\n  % another\n 3\t4 5 \r\n\n1 2 1\n"
               "1 3 2\n% between\n2  2  3\r\n2 4 4\n\n3 1 5") == gpulab::lecture_example<double>());
    CHECK(read("\xEF\xBB\xBF" + real_general + "1 1 1\n1 1 2\n").value == std::vector<double>{2}); // a mark of UTF-8
    CHECK(gpulab::announced_size("\xEF\xBB\xBF" + real_general + "3 4 5\n").columns == 4);
    CHECK(read(real_general + "0 0 0\n").rows == 0);
    CHECK(read(real_general + "3 2 0") == Csr<double>{3, 2, {0, 0, 0, 0}, {}, {}});
    CHECK(read("%%MatrixMarket matrix array real general\n0 5\n").columns == 5);
}

TEST_CASE("entries at the same position add up, and a stored zero is kept") {
    CHECK(read(real_general + "2 2 4\n1 1 1\n2 2 0\n1 1 2.5\n1 1 -1\n") ==
          Csr<double>{2, 2, {0, 1, 2}, {0, 1}, {2.5, 0}});
}

TEST_CASE("values are read as Fortran writes them, whole numbers with a point, nan and inf") {
    CHECK(read(real_general + "1 4 4\n1 1 1D+00\n1 2 -2.5d-3\n1 3 1.5E2\n1 4 +3D2\n").value ==
          std::vector<double>{1, -0.0025, 150, 300});
    CHECK(read("%%MatrixMarket matrix coordinate integer general\n1 3 3\n1 1 1.0\n1 2 -2.\n1 3 1e3\n").value ==
          std::vector<double>{1, -2, 1000});
    for (const auto& text : {"1 1 nan\n1 2 inf\n1 3 -Infinity\n", "1 1 NaN\n1 2 Inf\n1 3 -inf\n"}) {
        const auto m = gpulab::parse_matrix_market<float>(real_general + "1 3 3\n" + text, "input");
        CHECK(std::isnan(m.value[0]));
        CHECK(m.value[1] == std::numeric_limits<float>::infinity());
        CHECK(m.value[2] == -std::numeric_limits<float>::infinity());
    }
}

TEST_CASE("a real hermitian file is a symmetric one, and a symmetric file may hold either triangle") {
    const Csr<double> whole{2, 2, {0, 2, 3}, {0, 1, 0}, {4, 3, 3}};
    CHECK(read("%%MatrixMarket matrix coordinate real hermitian\n2 2 2\n1 1 4\n2 1 3\n") == whole);
    CHECK(read("%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 4\n1 2 3\n") == whole);
    CHECK(read("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n1 2 3\n") ==
          Csr<double>{2, 2, {0, 1, 2}, {1, 0}, {3, -3}});
}

TEST_CASE("the size of a matrix is found behind any number of comments, compressed or not, and through a pipe") {
    const ScratchFolder folder;
    const std::string plain = folder.path("a.mtx"), packed = folder.path("a.mtx.gz"), pipe = folder.path("pipe");
    std::string text = real_general;
    while (text.size() < 3'000'000) text += "% a comment of the many that are in some files\n";
    text += "3 4 5\n1 2 1\n1 3 2\n2 2 3\n2 4 4\n3 1 5\n";
    std::ofstream(plain) << text;
    gzFile out = gzopen(packed.c_str(), "wb");
    REQUIRE(gzwrite(out, text.data(), static_cast<unsigned>(text.size())) == static_cast<int>(text.size()));
    REQUIRE(gzclose(out) == Z_OK);
    REQUIRE(fs::file_size(packed) < 100'000);
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    for (const std::string& path : {plain, packed, pipe}) {
        INFO(path);
        std::thread writer;
        if (path == pipe) writer = std::thread([&] { std::ofstream(pipe) << text; });
        const gpulab::MatrixSize size = gpulab::matrix_market_size(path);
        CHECK((size.rows == 3 && size.columns == 4 && size.nonzeros == 5));
        CHECK(gpulab::read_matrix_market<double>(path) == gpulab::lecture_example<double>());
        if (path == pipe) writer.join();
    }
    // After the size of one file was asked for, which must be read to its end for it, another file is read.
    std::ofstream(folder.path("b.mtx")) << real_general << "1 1 1\n1 1 7\n";
    CHECK(gpulab::matrix_market_size(packed).rows == 3);
    CHECK(gpulab::read_matrix_market<double>(folder.path("b.mtx")) == Csr<double>{1, 1, {0, 1}, {0}, {7}});
    CHECK(gpulab::read_matrix_market<double>(packed) == gpulab::lecture_example<double>());
    CHECK(gpulab::matrix_market_size(packed).rows == 3);
    CHECK(gpulab::matrix_market_size(folder.path("b.mtx")).rows == 1);
    const auto complaint = [](const std::string& path) {
        return message_of<gpulab::Error>([&] { gpulab::read_matrix_market<float>(path); });
    };
    fs::resize_file(packed, fs::file_size(packed) - 9);
    CHECK(complaint(packed) == "cannot read " + packed + ": its gzip data is truncated");
    std::ofstream(plain) << real_general << "1 1 2\n1 1 3e38\n1 1 3e38\n";
    CHECK(complaint(plain).starts_with(plain + ": entries at the same place add up to more"));
}

TEST_CASE("every malformed file gives an error that names file and line") {
    struct Bad {
        std::string text;
        std::string error; // its beginning
    };
    const std::string size = real_general + "2 2 2\n";
    const std::vector<Bad> all = {
        {"", "input:1: the file is empty"},
        {"\n", "input:1: the file does not begin"},
        {"%%MatrixMarke matrix coordinate real general\n1 1 0\n", "input:1: the file does not begin"},
        {"1 1 1\n1 1 1\n", "input:1: the file does not begin"},
        {"%%MatrixMarket\n", "input:1: the word 'matrix' is missing"},
        {"%%MatrixMarket vector coordinate real general\n", "input:1: 'vector' is not"},
        {"%%MatrixMarket matrix sparse real general\n", "input:1: the format 'sparse'"},
        {"%%MatrixMarket matrix coordinate float general\n", "input:1: the field 'float'"},
        {"%%MatrixMarket matrix coordinate real diagonal\n", "input:1: the symmetry 'diagonal'"},
        {"%%MatrixMarket matrix coordinate real\n", "input:1: the symmetry, "},
        {"%%MatrixMarket matrix coordinate real general now\n", "input:1: 'now' is one word too many"},
        {"%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n", "input:1: complex matrices"},
        {"%%MatrixMarket matrix coordinate complex hermitian\n", "input:1: complex matrices"},
        {"%%MatrixMarket matrix coordinate real symmetric\n3 3 4\n1 1 1\n2 1 1\n3 2 1\n1 2 1\n",
         "input:6: (1, 2) is above the diagonal, and earlier entries are below it"},
        {"%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n1 2 1\n3 1 1\n",
         "input:4: (3, 1) is below the diagonal, and earlier entries are above it"},
        {"%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 nan\n", "input:3: the value 'nan'"},
        {"%%MatrixMarket matrix array pattern general\n2 2\n", "input:1: an array file cannot"},
        {"%%MatrixMarket matrix coordinate pattern skew-symmetric\n", "input:1: a pattern"},
        {real_general, "input:1: the file ends before the line of sizes"},
        {real_general + "% only\n% comments\n", "input:3: the file ends before the line of sizes"},
        {real_general + "2 2\n", "input:2: the number of entries is missing"},
        {real_general + "2 2 1 1\n", "input:2: '1' is one word too many"},
        {real_general + "-2 2 1\n", "input:2: the number of rows -2 is negative"},
        {real_general + "2 2 -1\n", "input:2: the number of entries -1 is negative"},
        {real_general + "2.5 2 1\n", "input:2: the number of rows '2.5' is not a whole number"},
        {real_general + "two 2 1\n", "input:2: the number of rows 'two'"},
        {real_general + "2147483648 2 1\n", "input:2: 2147483648 x 2 is too large"},
        {real_general + "2 99999999999999999999 1\n", "input:2: the number of columns 99999999999999999999 is too"},
        {real_general + "2 2 2147483648\n1 1 1\n", "input:3: the file ends after 1 of 2147483648 entries"},
        {"%%MatrixMarket matrix coordinate real symmetric\n2 3 1\n", "input:2: a symmetric matrix must be square"},
        {size + "1 1 1\n", "input:3: the file ends after 1 of 2 entries"},
        {size + "1 1 1\n2 2 2\n\n1 2 3\n", "input:6: one entry too many: 2 were announced"},
        {size + "1 1 1\n3 1 1\n", "input:4: row 3 is not in 1 ... 2"},
        {size + "1 1 1\n0 1 1\n", "input:4: row 0 is not in 1 ... 2"},
        {size + "% c\n\n1 3 1\n", "input:5: column 3 is not in 1 ... 2"},
        {size + "1 -1 1\n", "input:3: column -1 is not"},
        {size + "1 1 x\n", "input:3: the value 'x' is not a number"},
        {size + "1 1 \xE2\x88\x92"
                "5\n",
         "input:3: the value '???5' is not a number; its minus is not the character -"},
        {size + "1 \xE2\x80\x93"
                "1 5\n",
         "input:3: the column '???1' is not a whole number; its minus"},
        {size + "1 1 1.5abc\n", "input:3: the value '1.5abc'"},
        {size + "1 1 nanx\n", "input:3: the value 'nanx'"},
        {size + "1 1 1D\n", "input:3: the value '1D'"},
        {size + "1 1 D0\n", "input:3: the value 'D0'"},
        {size + "1 1 1e5D3\n", "input:3: the value '1e5D3'"},
        {size + "1 1 1e999\n", "input:3: the value 1e999 is too large"},
        {size + "1 x 1\n", "input:3: the column 'x'"},
        {size + "1 1 1\n1 2\n", "input:4: the value is missing"},
        {size + "1\n", "input:3: the column is missing"},
        {size + "1 1 1 1\n", "input:3: '1' is one word too many"},
        {"%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 2.5\n", "input:3: the value '2.5'"},
        {"%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 9223372036854775808\n", "input:3: the value"},
        {"%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n1 1 1\n", "input:3: (1, 1) is on the diagonal"},
        {"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n", "input:5: the file ends after 3 of 4 entries"},
        {"%%MatrixMarket matrix array real general\n1 2\n1 2\n", "input:3: '2' is one word too many"},
        {"%%MatrixMarket matrix array real general\n1 1\n1\n2\n", "input:4: one entry too many"},
    };
    for (const Bad& bad : all) {
        INFO(bad.text << error_of(bad.text));
        CHECK(error_of(bad.text).starts_with(bad.error));
        CHECK(error_of(bad.text, 4) == error_of(bad.text));
    }
}

TEST_CASE("a value too large for float is an error in float and none in double, and one too small becomes 0") {
    const std::string text = real_general + "1 1 1\n1 1 1e300\n";
    CHECK_NOTHROW(gpulab::parse_matrix_market<double>(text, "input"));
    CHECK_THROWS_AS(gpulab::parse_matrix_market<float>(text, "input"), gpulab::Error);
    CHECK(read(real_general + "1 1 1\n1 1 1e-999\n").value == std::vector<double>{0});
}

TEST_CASE("an error deep in a large file is reported at its line, however the file is cut into parts") {
    std::string text = real_general + "1000 1000 100000\n";
    for (int k = 0; k < 100000; ++k) text += k == 77777 ? "1000 1001 1\n" : "1000 1000 0.25\n";
    for (const unsigned parts : {1u, 2u, 5u, 16u}) CHECK(error_of(text, parts).starts_with("input:77780: column 1001"));
}

TEMPLATE_TEST_CASE("a matrix written and read again is the same to the last bit", "", float, double) {
    for (const auto& c : all_cases<TestType>()) {
        if (c.name.find("unsorted") != std::string::npos || c.name.find("shuffled") != std::string::npos)
            continue; // reading sorts
        INFO(c.name);
        const std::string text = gpulab::to_matrix_market(c.matrix);
        CHECK(gpulab::to_csr(gpulab::parse_matrix_market<TestType>(text, "input")) == c.matrix);
    }
}

TEST_CASE("files are written and read, and an error names a file that cannot be read") {
    const ScratchFolder folder;
    const std::string path = folder.path("a.mtx");
    const Csr<double> m = gpulab::laplace_2d<double>(30, 20);
    gpulab::write_matrix_market(path, m);
    CHECK(gpulab::read_matrix_market<double>(path) == m);
    CHECK_THROWS_AS(gpulab::read_matrix_market<double>(folder.path("missing.mtx")), gpulab::UsageError);
    CHECK_THROWS_AS(gpulab::read_matrix_market<double>(folder.path()), gpulab::UsageError);
    CHECK_THROWS_AS(gpulab::read_matrix_market<double>("/dev/zero"), gpulab::UsageError); // would never end
    CHECK_THROWS_AS(gpulab::matrix_market_size("/dev/zero"), gpulab::UsageError);
    CHECK_THROWS_AS(gpulab::matrix_market_size(folder.path("missing.mtx")), gpulab::UsageError);
    const gpulab::MatrixSize size = gpulab::matrix_market_size(path);
    CHECK((size.rows == 600 && size.columns == 600 && size.nonzeros == static_cast<double>(m.nonzeros())));
    // What the header says is believed as far as the file is long.
    std::ofstream(path) << real_general << "5 7 2000000000\n1 1 1\n";
    CHECK((gpulab::matrix_market_size(path).columns == 7 && gpulab::matrix_market_size(path).nonzeros < 1000));
    std::ofstream(path) << real_general << "2 2 1\n1 1 x\n";
    CHECK(message_of<gpulab::Error>([&] { gpulab::read_matrix_market<double>(path); }) ==
          path + ":3: the value 'x' is not a number");
}

TEST_CASE("the size of a matrix is known from the header alone") {
    const auto is = [](const std::string& text, std::size_t rows, std::size_t columns, double nonzeros) {
        const gpulab::MatrixSize size = gpulab::announced_size(text);
        return size.rows == rows && size.columns == columns && size.nonzeros == nonzeros;
    };
    CHECK(is(real_general + "% comment\n\n3 4 5\n1 2 1\n", 3, 4, 5));
    CHECK(is("%%MatrixMarket matrix coordinate pattern symmetric\n9 9 4\n", 9, 9, 8)); // at most
    CHECK(is("%%MatrixMarket matrix array real general\n3 4\n", 3, 4, 12));
    CHECK(is("%%MatrixMarket matrix array real symmetric\n4 4\n", 4, 4, 20)); // at most
    CHECK(is("no header", 0, 0, 0));
    CHECK(is(real_general + "3 4\n", 0, 0, 0));
    CHECK(is("", 0, 0, 0));
}

TEST_CASE("every file of the fuzzer's corpus is read, or refused with its line") {
    std::size_t files = 0;
    for (const auto& entry : fs::directory_iterator(SPMV_CORPUS)) {
        INFO(entry.path());
        CHECK(broken_property(bytes_of(entry.path().string())) == "");
        ++files;
    }
    CHECK(files >= 8);
}

TEST_CASE("the fuzzer's check rejects an error without a line") {
    CHECK(names_line("input:2: no", "a\nb"));
    CHECK_FALSE(names_line("input:3: no", "a\nb"));
    CHECK_FALSE(names_line("input: no", "a\nb"));
    CHECK_FALSE(names_line("no", "a\nb"));
}
