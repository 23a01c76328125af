#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <fstream>
#include <limits>
#include <set>
#include <sstream>

#include "checks.hpp"
#include "cuda/by_shape.hpp"
#include "large.hpp"
#include "studies.hpp"

using gpulab::Backend;
using gpulab::Device;
using gpulab::testing::devices_or_skip;
using matmul::Problem;
using matmul::testing::first_fault;
using matmul::testing::Shape;
using matmul::testing::shapes;
using matmul::testing::small_shapes;

namespace {

/// A variant may refuse a shape only where its limit is known.
template <class T> int refused(std::string_view variant, const std::vector<Shape>& tried) {
    if (variant == "cuda_one_block")
        return static_cast<int>(std::ranges::count_if(tried, [](const Shape& s) { return s.m * s.n > 1024; }));
    static const std::set<std::string_view> only_float = {"cuda_register_1d", "cuda_register_2d", "cuda_vector_loads",
                                                          "cuda_pipeline",    "cuda_warp_tiles",  "cuda_by_shape"};
    return std::is_same_v<T, double> && only_float.contains(variant) ? static_cast<int>(tried.size()) : 0;
}

/// Every variant of a back end on every device of it, on every shape: against the CPU's product in double.
template <class T> void check_all(Backend backend, const std::vector<Shape>& tried) {
    int checked = 0;
    for (const Device& device : devices_or_skip(backend)) {
        if (std::is_same_v<T, double> && !device.fp64) continue;
        gpulab::use(device);
        for (const auto& variant : matmul::variants<T>()) {
            if (variant.backend != backend) continue;
            INFO(variant.name << " on " << device.name << (sizeof(T) == 4 ? ", float" : ", double"));
            REQUIRE(variant.run != nullptr);
            int done = 0;
            CHECK(first_fault<T>(variant.run, tried, &done) == "");
            CHECK(done == static_cast<int>(tried.size()) - refused<T>(variant.name, tried));
            ++checked;
        }
    }
    CHECK(checked >= 3);
}

/// The same with whole numbers alone and each variant run once, for shapes that take long.
void check_once(Backend backend, const std::vector<Shape>& tried) {
    for (const Device& device : devices_or_skip(backend)) {
        gpulab::use(device);
        for (const Shape& s : tried) {
            const auto& [p, reference] = matmul::testing::examples<float>(s).whole;
            matmul::Output<float> c(p.size());
            for (const auto& variant : matmul::variants<float>()) {
                if (variant.backend != backend || refused<float>(variant.name, {s}) > 0) continue;
                INFO(variant.name << " on " << device.name << ", " << s.m << " x " << s.k << " x " << s.n);
                gpulab::poison(c);
                gpulab::Stopwatch once;
                variant.run(p, c, once);
                CHECK(gpulab::take_stray_write() == "");
                CHECK(gpulab::compare(reference, c, 0).message == "");
            }
        }
    }
}

/// (1 2 3; 4 5 6) (7 8; 9 10; 11 12) = (58 64; 139 154), exact in every arithmetic.
template <class T> void check_by_hand(Backend backend) {
    const Problem<T> p{2, 3, 2, {1, 2, 3, 4, 5, 6}, {7, 8, 9, 10, 11, 12}};
    for (const Device& device : devices_or_skip(backend)) {
        if (std::is_same_v<T, double> && !device.fp64) continue;
        gpulab::use(device);
        for (const auto& variant : matmul::variants<T>()) {
            if (variant.backend != backend || refused<T>(variant.name, {{2, 3, 2}}) > 0) continue;
            INFO(variant.name << " on " << device.name);
            matmul::Output<T> c(4);
            gpulab::Stopwatch once;
            variant.run(p, c, once);
            CHECK(c == matmul::Output<T>{58, 64, 139, 154});
        }
    }
}

/// A row of A times the identity is that row; a non-finite number must come through, and only where it belongs: one in
/// the last row of A reaches exactly that row of C, one in the last column of B exactly that column. At a size that one
/// block takes, and at one with ragged edges on every side of several tiles.
template <class T> void check_identity_and_infinity(Backend backend) {
    for (const Shape& s : {Shape{24, 24, 24}, Shape{129, 131, 131}, Shape{257, 132, 132}}) {
        Problem<T> identity = matmul::make_problem<T>(s.m, s.k, s.n, gpulab::testing::seed);
        for (std::size_t i = 0; i < s.k; ++i)
            for (std::size_t j = 0; j < s.n; ++j) identity.b[i * s.n + j] = i == j ? T{1} : T{0};
        Problem<T> infinite = matmul::make_problem<T>(s.m, s.k, s.n, gpulab::testing::seed);
        infinite.a[s.m * s.k - 1] = std::numeric_limits<T>::infinity();  // in the last row
        infinite.a[s.m / 2 * s.k] = std::numeric_limits<T>::quiet_NaN(); // and in one in the middle
        const std::size_t middle = s.k / 2;
        infinite.b[middle * s.n + s.n - 1] = std::numeric_limits<T>::quiet_NaN(); // in the last column
        infinite.a[middle] = 0;                                                   // 0 times NaN is NaN,
        infinite.b[(s.k - 1) * s.n] = 0; // and so is infinity times 0: nothing may be left out because it is 0
        for (const Device& device : devices_or_skip(backend)) {
            if (std::is_same_v<T, double> && !device.fp64) continue;
            gpulab::use(device);
            for (const auto& variant : matmul::variants<T>()) {
                if (variant.backend != backend || refused<T>(variant.name, {s}) > 0) continue;
                INFO(variant.name << " on " << device.name << ", " << s.m << " x " << s.k << " x " << s.n);
                matmul::Output<T> c(s.m * s.n);
                gpulab::Stopwatch once;
                variant.run(identity, c, once);
                CHECK(c == identity.a);
                variant.run(infinite, c, once);
                for (std::size_t i = 0; i < s.m; ++i)
                    for (std::size_t j = 0; j < s.n; ++j)
                        REQUIRE(std::isfinite(c[i * s.n + j]) == (i != s.m / 2 && i != s.m - 1 && j != s.n - 1));
            }
        }
    }
}

/// Every variant that takes any shape, on every GPU of a back end with the memory, with one matrix of more elements
/// than 32 bits count.
void check_large(Backend backend, matmul::testing::Large matrix) {
    for (const auto& [device, elements] : gpulab::testing::large_devices_or_skip(backend, 2, 2)) {
        gpulab::use(device);
        for (const bool in_fours : {false, true}) { // rows that are not, and that are, a multiple of 16 bytes long
            const Problem<float> p = matmul::testing::large_problem(matrix, elements, in_fours);
            matmul::Output<float> c(p.size());
            for (const auto& variant : matmul::variants<float>()) {
                if (variant.backend != backend || variant.name == "cuda_one_block") continue;
                const bool vectors = variant.name == "cuda_vector_loads" || variant.name == "cuda_by_shape";
                if (in_fours && !vectors) continue; // one kernel for all n, or that of cuda_by_shape
                INFO(variant.name << " on " << device.name << ", " << p.m << " x " << p.k << " x " << p.n);
                CHECK(matmul::testing::large_fault(variant.run, p, matrix, c) == "");
            }
        }
    }
}

} // namespace

TEST_CASE("every CPU variant multiplies a product known by hand", "[cpu]") {
    check_by_hand<float>(Backend::cpu);
    check_by_hand<double>(Backend::cpu);
}
TEST_CASE("every OpenCL variant multiplies a product known by hand", "[opencl]") {
    check_by_hand<float>(Backend::opencl);
    check_by_hand<double>(Backend::opencl);
}
TEST_CASE("every CUDA variant multiplies a product known by hand", "[cuda]") {
    check_by_hand<float>(Backend::cuda);
    check_by_hand<double>(Backend::cuda);
}

TEST_CASE("every CPU variant multiplies every shape of float and double", "[cpu]") {
    check_all<float>(Backend::cpu, shapes());
    check_all<double>(Backend::cpu, shapes());
}
TEST_CASE("every OpenCL variant multiplies every shape of float and double", "[opencl]") {
    check_all<float>(Backend::opencl, shapes());
    check_all<double>(Backend::opencl, shapes());
}
TEST_CASE("every CUDA variant multiplies every shape of float and double", "[cuda]") {
    check_all<float>(Backend::cuda, shapes());
    check_all<double>(Backend::cuda, shapes());
}

TEST_CASE("every CPU variant keeps the identity and infinities", "[cpu]") {
    check_identity_and_infinity<float>(Backend::cpu);
    check_identity_and_infinity<double>(Backend::cpu);
}
TEST_CASE("every OpenCL variant keeps the identity and infinities", "[opencl]") {
    check_identity_and_infinity<float>(Backend::opencl);
    check_identity_and_infinity<double>(Backend::opencl);
}
TEST_CASE("every CUDA variant keeps the identity and infinities", "[cuda]") {
    check_identity_and_infinity<float>(Backend::cuda);
    check_identity_and_infinity<double>(Backend::cuda);
}

TEST_CASE("every CPU variant multiplies matrices that are long and thin", "[cpu]") {
    check_once(Backend::cpu, matmul::testing::long_shapes());
}
TEST_CASE("every OpenCL variant multiplies matrices that are long and thin", "[opencl]") {
    check_once(Backend::opencl, matmul::testing::long_shapes());
}
TEST_CASE("every CUDA variant multiplies matrices that are long and thin", "[cuda]") {
    check_once(Backend::cuda, matmul::testing::long_shapes());
}

namespace {

/// A shape and the way that cuda_by_shape takes for it on an H200 (132 multiprocessors).
struct Way {
    Shape shape;
    bool large, vector, split;
};
const std::vector<Way> ways = {
    {{1700, 65, 2300}, true, true, false},   {{1700, 65, 2301}, true, false, false},
    {{1025, 300, 2500}, false, true, false}, {{1025, 301, 2501}, false, false, false},
    {{256, 131'072, 252}, true, true, true}, {{255, 131'071, 250}, true, false, true},
    {{200, 9001, 132}, false, true, true},   {{200, 9001, 130}, false, false, true},
};

} // namespace

TEST_CASE("the choice by shape takes each of its ways") {
    std::set<std::array<bool, 3>> taken;
    for (const Way& way : ways) {
        const auto& [m, k, n] = way.shape;
        INFO(m << " x " << k << " x " << n);
        const matmul::ByShape choice = matmul::choose_by_shape(m, k, n, 132);
        CHECK(choice.large == way.large);
        CHECK(choice.vector == way.vector);
        CHECK((choice.parts > 1) == way.split);
        taken.insert({choice.large, choice.vector, choice.parts > 1});
        CHECK_FALSE(matmul::choose_by_shape(m, k, n, 132, false).large); // too little shared memory for it
    }
    CHECK(taken.size() == 8);
}

TEST_CASE("the choice by shape leaves nothing of k out and no part empty") {
    std::vector<Shape> tried = shapes();
    for (const Way& way : ways) tried.push_back(way.shape);
    tried.insert(tried.end(), {{1024, 1024, 1024}, {8192, 8192, 8192}, {1 << 30, 1, 1}, {1, 1 << 30, 1}});
    for (const Shape& s : tried)
        for (const std::size_t multiprocessors : {1, 8, 108, 132}) {
            INFO(s.m << " x " << s.k << " x " << s.n << " on " << multiprocessors);
            const matmul::ByShape choice = matmul::choose_by_shape(s.m, s.k, s.n, multiprocessors);
            CHECK(choice.vector == (s.n % 4 == 0));
            CHECK(choice.parts >= 1);
            CHECK(choice.part > 0);
            CHECK(choice.part % matmul::part_unit == 0);
            CHECK(choice.parts * choice.part >= s.k);
            CHECK((choice.parts == 1 || (choice.parts - 1) * choice.part < s.k));
        }
}

TEST_CASE("every CUDA variant reaches elements of A that 32 bits do not count", "[cuda][large]") {
    check_large(Backend::cuda, matmul::testing::Large::a);
}
TEST_CASE("every CUDA variant reaches elements of B that 32 bits do not count", "[cuda][large]") {
    check_large(Backend::cuda, matmul::testing::Large::b);
}
TEST_CASE("every CUDA variant reaches elements of C that 32 bits do not count", "[cuda][large]") {
    check_large(Backend::cuda, matmul::testing::Large::c);
}
TEST_CASE("every OpenCL variant reaches elements of A that 32 bits do not count", "[opencl][large]") {
    check_large(Backend::opencl, matmul::testing::Large::a);
}
TEST_CASE("every OpenCL variant reaches elements of B that 32 bits do not count", "[opencl][large]") {
    check_large(Backend::opencl, matmul::testing::Large::b);
}
TEST_CASE("every OpenCL variant reaches elements of C that 32 bits do not count", "[opencl][large]") {
    check_large(Backend::opencl, matmul::testing::Large::c);
}

#if defined(GPULAB_WITH_CUDA)
TEST_CASE("every way of the choice by shape meets ragged edges and long sums", "[cuda]") {
    for (const Device& device : devices_or_skip(Backend::cuda)) {
        gpulab::use(device);
        for (const Way& way : ways) CHECK(first_fault<float>(matmul::cuda_by_shape, {way.shape}) == "");
        CHECK(first_fault<float>(matmul::cuda_warp_tiles, {{1700, 65, 2300}, {1153, 50, 129}}) == "");
    }
}

TEST_CASE("every CUDA variant adds up long sums without losing a product", "[cuda]") {
    check_all<float>(Backend::cuda, matmul::testing::deep_shapes());
}

TEST_CASE("any tile of the study computes the product", "[cuda]") {
    for (const Device& device : devices_or_skip(Backend::cuda)) {
        gpulab::use(device);
        for (const matmul::Tile tile : {matmul::Tile{1, 1, 1}, matmul::Tile{4, 64, 32}, matmul::Tile{32, 8, 5},
                                        matmul::Tile{1, 256, 32}, matmul::Tile{256, 1, 32}}) {
            INFO(tile.rows << " x " << tile.columns << ", depth " << tile.depth);
            for (const Shape& s : {Shape{33, 17, 65}, Shape{64, 64, 64}}) {
                const auto p = matmul::make_problem<float>(s.m, s.k, s.n, gpulab::testing::seed);
                const auto reference = matmul::reference_product(p);
                matmul::Output<float> c(p.size());
                const auto run = [&](const Problem<float>& q, matmul::Output<float>& out, gpulab::Stopwatch& watch) {
                    matmul::cuda_tile(q, out, watch, tile);
                };
                CHECK(gpulab::testing::fault_of(run, p, c, [&] { return compare(p, reference, c); }) == "");
            }
        }
    }
}

TEST_CASE("small CUDA products for the sanitizers", "[.sanitizer]") {
    check_once(Backend::cuda, {{1, 1, 1},
                               {17, 1, 33},
                               {33, 31, 32},
                               {129, 65, 128},
                               {130, 17, 261},
                               {64, 700, 96},
                               {65, 2000, 63},   // k in parts
                               {1700, 17, 2300}, // the large tile
                               {1700, 17, 2301}});
}
#endif

TEST_CASE("every OpenCL variant on small shapes, for oclgrind", "[.oclgrind]") {
    check_once(Backend::opencl, small_shapes());
}

TEST_CASE("the reference is the product that a plain sum in double gives") {
    const auto p = matmul::make_problem<double>(37, 41, 53, gpulab::testing::seed);
    const auto c = matmul::reference_product(p);
    for (std::size_t i = 0; i < p.m; ++i)
        for (std::size_t j = 0; j < p.n; ++j) {
            double sum = 0, scale = 0;
            for (std::size_t l = 0; l < p.k; ++l) {
                sum += p.a[i * p.k + l] * p.b[l * p.n + j];
                scale += std::abs(p.a[i * p.k + l] * p.b[l * p.n + j]);
            }
            REQUIRE(std::abs(c[i * p.n + j] - sum) <= 41 * std::numeric_limits<double>::epsilon() * scale);
        }
}

TEST_CASE("the comparison sees a lost product, a lost digit and an element nobody wrote") {
    const auto p = matmul::make_problem<float>(40, 1024, 30, gpulab::testing::seed);
    const auto reference = matmul::reference_product(p);
    REQUIRE(compare(p, reference, reference).passed);

    auto lost = reference; // the product of the last column of A and the last row of B, in one element
    lost[77] -= p.a[77 / 30 * 1024 + 1023] * p.b[1023 * 30 + 77 % 30];
    CHECK_FALSE(compare(p, reference, lost).passed);

    Problem<float> rounded = p; // to the 10 bits of TF32
    for (float& x : rounded.a) x = std::round(x * 1024) / 1024;
    CHECK_FALSE(compare(p, reference, reference_product(rounded)).passed);

    auto unwritten = reference;
    unwritten[1199] = std::numeric_limits<float>::quiet_NaN();
    CHECK_FALSE(compare(p, reference, unwritten).passed);
}

TEST_CASE("a CPU is not asked for products that take minutes, however short their sums") {
    gpulab::Options options("matmul", "");
    options.variants(matmul::variants<float>());
    REQUIRE(options.parse(3, std::array{"matmul", "--variant", "cpu_ikj"}.data()));
    Device cpu, gpu;
    gpu.backend = Backend::cuda;
    const Problem<float> small{1024, 1024, 1024, {}, {}}, large{1025, 1024, 1024, {}, {}}, tall{1 << 30, 1, 1, {}, {}};
    CHECK(matmul::too_slow(options, "cpu_ijk", cpu, small) == "");
    CHECK(matmul::too_slow(options, "cpu_ijk", cpu, large) != "");
    CHECK(matmul::too_slow(options, "cpu_ijk", cpu, tall) != "");
    CHECK(matmul::too_slow(options, "cpu_ikj", cpu, tall) == ""); // asked for by name
    CHECK(matmul::too_slow(options, "cuda_grid", gpu, tall) == "");
}
