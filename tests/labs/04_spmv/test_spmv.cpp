#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "checks.hpp"
#include "gpulab/sparse/convert.hpp"
#include "gpulab/sparse/generate.hpp"

using namespace gpulab::testing;
using namespace spmv::testing;
using gpulab::Backend;

namespace {

/// The product that a COO rung does once it has converted, or null.
template <class T> spmv::RunCoo<T>* coo_product_of(std::string_view variant) {
    if (variant == "cpu_coo") return spmv::cpu_multiply_coo<T>;
    if (variant == "cuda_coo") return GPULAB_IF_CUDA(spmv::cuda_multiply_coo<T>);
    return nullptr;
}

/// A diagonal and a full row, with an x that is not finite at its end.
template <class T> spmv::Problem<T> infinite_x(T last) {
    spmv::Problem<T> p = spmv::make_problem(one_dense_row<T>(129), 1);
    p.x.back() = last;
    return p;
}

/// All that one variant must do, on the current device.
template <class T> void check(const gpulab::Variant<spmv::Run<T>>& v, Faults& faults) {
    const std::size_t largest = std::size_t{1} << (largest_near_tile(v.backend) > 1 << 21 ? 20 : 16);
    const Extent<T> extent{all_cases<T>(), {2, 5, 11, 23, 45, 70}, largest};
    check_variant(v, faults, extent);
    if (spmv::RunCoo<T>* const multiply = coo_product_of<T>(v.name))
        faults.check("entries in any order", [&] { return first_coo_fault<T>(multiply, extent.cases); });
    const auto takes_one_long_row = [&](const std::string& what) {
        const spmv::Problem<T> p = spmv::make_problem(one_dense_row<T>(20011), 1);
        return refusal_fault(v.run, p, spmv::Output<T>(p.matrix.rows), what);
    };
    if (v.name.ends_with("_ell"))
        faults.check("a row too long for ELL", [&] { return takes_one_long_row("20011 rows as long as the longest"); });
    if (v.name.ends_with("_dia"))
        faults.check("too many diagonals", [&] { return takes_one_long_row("20011 whole diagonals"); });
    if (multiplies_padding(v.name))
        faults.check("an infinite x", [&] {
            const T infinity = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
            return first_in(std::vector{infinity, -infinity, nan}, [&](T last) {
                return refusal_fault(v.run, infinite_x(last), spmv::Output<T>(129), "padding times infinity");
            });
        });
}

/// For oclgrind, a thousand times slower than the device: ragged groups, rows longer than a slice, empty rows.
template <class T> void check_small(const gpulab::Variant<spmv::Run<T>>& v, Faults& faults) {
    faults.check("small matrices", [&] { return first_fault<T>(v.run, tiny_cases<T>(), false); });
}

/// For compute-sanitizer: two tiles and a ragged one of every rung, rows across their edges.
template <class T> void check_tools(const gpulab::Variant<spmv::Run<T>>& v, Faults& faults) {
    faults.check("small matrices", [&] {
        auto cases = tiny_cases<T>();
        Rows<T> rows;                                                    // 1536 non-zeros are a tile of row blocks,
        for (const std::size_t length : {700, 0, 3, 1200, 2000, 0, 513}) // 1248 rows and non-zeros one of merge path
            rows.add(length);
        for (std::size_t i = 0; i < 1100; ++i) rows.add(i % 3); // more sums than a block of bins has threads
        cases.push_back({"long rows, then short ones", rows.matrix});
        // A chunk of bins spans at most 65536 columns; a block takes 64 chunks at a time.
        cases.push_back({"columns 65536 apart", far_apart<T>(65536, 2 * 64 + 5)});
        if (v.name != "cuda_warp_shared") // its tile is four rows, and this took 18 s under racecheck
            cases.push_back(with_lengths<T>("400000 rows of two", // blocks of 256 searches of row blocks
                                            400'000, 80, [](std::size_t) { return 2; }));
        return first_fault<T>(v.run, cases, false);
    });
}

template <class T> bool add_cases(const std::string& type) {
    const auto products = spmv::variants<T>();
    VariantCases(products, "multiplies in " + type, "", check<T>);
    VariantCases(products, "in " + type + " under oclgrind", "[.oclgrind]", check_small<T>, only_on<Backend::opencl>);
    VariantCases(products, "in " + type + " under compute-sanitizer", "[.sanitizer]", check_tools<T>, own_cuda);
    return true;
}
const bool added[] = {add_cases<float>("float"), add_cases<double>("double")};

// More rows than all multiprocessors together have sums for: a multiprocessor takes several bins.
const VariantCases large(
    spmv::variants<float>(), "multiplies 12 million rows", "[large]",
    [](const auto& v, Faults& faults) {
        faults.check("12 million rows", [&] {
            if (v.name == "cuda_dia") // refuses 3000 diagonals
                return first_fault<float>(
                    v.run, {{"three diagonals", gpulab::generate_matrix<float>("banded:12000000:1", 7)}});
            return first_fault<float>(
                v.run, {with_lengths<float>("0 to 2 entries", 12000000, 3000, [](std::size_t i) { return i % 3; })});
        });
        std::vector<TileAt> tiles;
        faults.check("contract", [&] { return contract_violation<float>(v, {2}, tiles); });
        for (const auto& [tile, mean] : tiles)
            if (tile.of == "sums")
                faults.check("as many rows as there are sums", [&, size = tile.size] {
                    return first_in(std::vector{size - 1, size, size + 1}, [&](std::size_t rows) {
                        return first_fault<float>(v.run, {with_lengths<float>(fmt::format("{} rows of one", rows), rows,
                                                                              3000, [](std::size_t) { return 1; })});
                    });
                });
    },
    own_cuda);
} // namespace

TEST_CASE("more non-zeros than 32-bit offsets can count are refused with a message") {
    gpulab::Csr<float> m; // as far as narrow_offsets() looks
    m.rows = 1;
    m.row_start = {0, gpulab::max_narrow_offset};
    CHECK(gpulab::narrow_offsets(m) == std::vector<std::int32_t>{0, 2147482623});
    m.row_start = {0, gpulab::max_narrow_offset + 1};
    CHECK_THROWS_AS(gpulab::narrow_offsets(m), gpulab::Unsupported);
    m.row_start = {0, std::int64_t{1} << 32}; // would be 0 in 32 bits
    CHECK_THROWS_AS(gpulab::narrow_offsets(m), gpulab::Unsupported);
}

TEST_CASE("whole numbers show a single lost entry of a row of 20000, which the tolerance for random numbers hides") {
    const auto m = gpulab::random_rows<float>(
        1, 20011, [](std::size_t) { return std::size_t{20011}; }, 1);
    const spmv::Problem<float> whole = whole_numbers(m), random = spmv::make_problem(m, 1);
    const auto without = [](const spmv::Problem<float>& p, std::size_t k) {
        return spmv::Output<float>{spmv::make_reference(p).y[0] - p.matrix.value[k] * p.x[k]};
    };
    std::size_t least = 0; // the smallest product
    for (std::size_t k = 0; k < m.nonzeros(); ++k)
        if (std::abs(random.matrix.value[k] * random.x[k]) < std::abs(random.matrix.value[least] * random.x[least]))
            least = k;
    CHECK(spmv::compare(spmv::make_reference(random), without(random, least)).passed);
    for (const std::size_t k : {std::size_t{0}, least, std::size_t{20010}})
        CHECK_FALSE(gpulab::compare(spmv::make_reference(whole).y, without(whole, k), 0.0).passed);
}

TEST_CASE("the check sees one wrong entry, one missing row and one NaN") {
    const spmv::Problem<float> p = spmv::make_problem(gpulab::laplace_2d<float>(20, 20), 3);
    const auto reference = spmv::make_reference(p);
    spmv::Output<float> y = reference.y;
    REQUIRE(spmv::compare(reference, y).passed);
    SECTION("off by a millionth of the row") { y[7] += 1e-5f; }
    SECTION("unwritten") { y[399] = gpulab::poison_value<float>(); }
    SECTION("zero") { y[0] = 0; }
    CHECK_FALSE(spmv::compare(reference, y).passed);
}
