#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <set>
#include <source_location>
#include <tuple>

#include "checks.hpp"
#include "cuda/by_shape.hpp"
#include "large.hpp"
#include "rungs.hpp"
#include "studies.hpp"

using namespace gpulab::testing;
using namespace matmul::testing;
using gpulab::Backend;
using gpulab::Device;
using matmul::Problem;

namespace {

/// A shape and the way that cuda_by_shape takes for it on an H200 (132 multiprocessors).
struct Way {
    Shape shape;
    std::size_t tile;
    bool vector, split;
};
const std::vector<Way> ways = {
    {{5368, 3565, 675}, 0, false, false}, {{5510, 10406, 135}, 0, false, true}, {{598, 552, 5192}, 0, true, false},
    {{256, 131'072, 252}, 0, true, true}, {{133, 120, 5061}, 1, false, false},  {{255, 131'071, 250}, 1, false, true},
    {{1025, 300, 2500}, 1, true, false},  {{1024, 1024, 1024}, 1, true, true},  {{257, 50, 515}, 2, false, false},
    {{65, 2000, 63}, 2, false, true},     {{500, 500, 500}, 2, true, false},    {{65, 2000, 64}, 2, true, true},
    {{300, 301, 302}, 3, false, false},   {{200, 9001, 130}, 3, false, true},   {{128, 128, 128}, 3, true, false},
    {{200, 9001, 132}, 3, true, true},
};

/// The rungs that are written for float only.
bool only_float(std::string_view variant) {
    static const std::set<std::string_view> all = {
        "cuda_register_1d", "cuda_register_2d", "cuda_vector_loads", "cuda_pipeline",    "cuda_warp_tiles",
        "cuda_by_shape",    "cuda_tensor_fp16", "cuda_tensor_bf16",  "cuda_tensor_tf32", "cuda_three_tf32",
        "cuda_cublas_fp16", "cuda_cublas_bf16", "cuda_cublas_tf32"};
    return all.contains(variant);
}
bool takes_double(std::string_view variant, Backend) { return !only_float(variant); }

/// All that one variant must do, on the current device.
template <class T> void check_variant(const gpulab::Variant<matmul::Run<T>>& v, Faults& faults) {
    check_rung(rung_of<T>(v), faults);
}

const VariantCases floats(matmul::variants<float>(), "multiplies floats", "", check_variant<float>);
const VariantCases doubles(matmul::variants<double>(), "multiplies doubles", "", check_variant<double>, takes_double);

/// The same at small shapes, for tools a thousand times slower than the device.
template <class T, std::size_t rounds> void check_small(const gpulab::Variant<matmul::Run<T>>& v, Faults& faults) {
    faults.check("small shapes", [&] { return fault_under_tools(rung_of<T>(v), rounds); });
}

const VariantCases oclgrind(matmul::variants<float>(), "under oclgrind", "[.oclgrind]", check_small<float, 2>,
                            only_on<Backend::opencl>);
const VariantCases oclgrind_doubles(matmul::variants<double>(), "in double under oclgrind", "[.oclgrind]",
                                    check_small<double, 2>, only_on<Backend::opencl>);

/// Each matrix in turn with more elements than 32 bits count, and rows that are not, and that are, a multiple of 32
/// bytes long. Two problems are kept, because a variant may take both kinds of rows. Where A or B is large, C is small;
/// where C is large, A and B are small: there are never more than two large arrays.
std::string large_fault(const gpulab::Variant<matmul::Run<float>>& v, Large matrix, std::size_t elements) {
    static const std::set<std::string_view> with_vectors = {
        "cuda_vector_loads", "cuda_pipeline",    "cuda_warp_tiles", "cuda_by_shape",
        "cuda_tensor_bf16",  "cuda_tensor_tf32", "cuda_three_tf32", "opencl_register_tile"};
    static LastMade last[2];
    return first_in(std::vector{false, true}, [&](bool in_eights) -> std::string {
        if (in_eights && !with_vectors.contains(v.name)) return ""; // one kernel for all shapes
        const auto& p = last[in_eights ? 1 : 0].get<Problem<float>>(
            fmt::format("{} of {} elements", static_cast<int>(matrix), elements),
            [&] { return large_problem(matrix, elements, in_eights); });
        matmul::Output<float> c(p.size());
        const std::string fault = matmul::testing::large_fault(v.run, p, matrix, c);
        return fault.empty() ? "" : fmt::format("{} x {} x {}: {}", p.m, p.k, p.n, fault);
    });
}

template <Large matrix> LargeCases large_cases(const std::string& name) {
    return {matmul::variants<float>(), fmt::format("computes with elements of {} beyond a 32-bit index", name), 2, 2,
            [](const auto& v, std::size_t elements) { return large_fault(v, matrix, elements); }};
}
const LargeCases large[] = {large_cases<Large::a>("A"), large_cases<Large::b>("B"), large_cases<Large::c>("C")};

} // namespace

TEST_CASE("the answers to the large problems are right, as smaller ones of their kind show", "[cpu]") {
    for (const Large matrix : {Large::a, Large::b, Large::c})
        for (const bool in_eights : {false, true}) {
            const Problem<float> p = large_problem(matrix, 1 << 20, in_eights);
            INFO(p.m << " x " << p.k << " x " << p.n);
            CHECK((p.k % 8 == 0 && p.n % 8 == 0) == in_eights);
            CHECK(std::max({p.m * p.k, p.k * p.n, p.m * p.n}) >= 1 << 20);
            matmul::Output<float> c(p.size());
            CHECK(matmul::testing::large_fault(gpulab::run_of(matmul::variants<float>(), "cpu_ikj"), p, matrix, c) ==
                  "");
        }
}

TEST_CASE("the choice by shape takes each of its paths") {
    using Choice = matmul::ByShape;
    std::set<std::tuple<std::size_t, bool, bool>> taken;
    for (const Way& way : ways) {
        const auto& [m, k, n] = way.shape;
        INFO(m << " x " << k << " x " << n);
        const Choice choice = matmul::choose_by_shape(m, k, n, 132);
        CHECK(choice.way == Choice::Way::tiles);
        CHECK(choice.tile == way.tile);
        CHECK(choice.vector == way.vector);
        CHECK((choice.parts > 1) == way.split);
        taken.insert({choice.tile, choice.vector, choice.parts > 1});
        CHECK(matmul::choose_by_shape(m, k, n, 132, false).tile > 0); // too little shared memory for it
    }
    CHECK(taken.size() == 16);
    CHECK(matmul::choose_by_shape(9, 256, 8, 132).way == Choice::Way::thin_columns);
    CHECK(matmul::choose_by_shape(8, 256, 8, 132).way == Choice::Way::thin_columns);
    CHECK(matmul::choose_by_shape(8, 256, 9, 132).way == Choice::Way::thin_rows);
    CHECK(matmul::choose_by_shape(1, 5000, 5000, 132).parts == 13); // 40 blocks for each part
    CHECK(matmul::choose_by_shape(9, 256, 9, 132).way == Choice::Way::tiles);
    CHECK(matmul::choose_by_shape(8, 255, 8, 132).way == Choice::Way::tiles);
}

TEST_CASE("the choice by shape covers all of k and leaves no part empty") {
    std::vector<Shape> tried = shapes();
    for (const Way& way : ways) tried.push_back(way.shape);
    tried.insert(tried.end(), {{8192, 8192, 8192}, {1 << 30, 1, 1}, {1, 1 << 30, 1}, {1, 5000, 5000}, {5000, 5000, 1}});
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

#if defined(GPULAB_WITH_CUDA)
namespace perturbed { // in perturbed_warp_tile.cu
matmul::Run<float> pipeline, three_stages, four_stages;
}

namespace {

/// initcheck takes C of two baselines for unset, though their values are right.
bool sanitized_in_float(std::string_view variant, Backend of) {
    return of == Backend::cuda && variant != "cuda_cublas_bf16" && variant != "cuda_cublas_fp16";
}
// For compute-sanitizer: enough tiles of k that the pipeline goes round its stages.
const VariantCases sanitizer_floats(matmul::variants<float>(), "under compute-sanitizer", "[.sanitizer]",
                                    check_small<float, 5>, sanitized_in_float);
const VariantCases sanitizer_doubles(matmul::variants<double>(), "in double under compute-sanitizer", "[.sanitizer]",
                                     check_small<double, 5>, [](std::string_view variant, Backend of) {
                                         return of == Backend::cuda && !only_float(variant);
                                     });

/// A check of a kernel that is no variant, or no variant's usual choice.
void check_on_cuda(std::string_view what, const std::function<void(Faults&)>& check) {
    gpulab::testing::detail::check_on_devices(what, Backend::cuda, true, {}, check);
}

/// The kernels of the study of tiles: those of two rungs with other tiles. @param what is multiplied, in their names
template <class T>
std::vector<std::pair<std::string, Rung<T>>> study_rungs(const std::string& what,
                                                         const std::vector<matmul::Tile>& tiles) {
    std::vector<std::pair<std::string, Rung<T>>> all;
    const auto add = [&](const std::string& name, auto* kernel, matmul::Tile tile) {
        const auto run = [=](const Problem<T>& p, matmul::Output<T>& c, gpulab::Stopwatch& watch) {
            kernel(p, c, watch, tile);
        };
        all.push_back({name, {.run = run, .backend = Backend::cuda, .of_study = true}});
    };
    for (const matmul::Tile t : tiles)
        add(fmt::format("cuda_shared_dynamic multiplies{} with tiles of {} x {} x {}", what, t.rows, t.columns,
                        t.depth),
            matmul::cuda_tile<T>, t);
    for (const unsigned side : {8, 32})
        add(fmt::format("cuda_shared_static multiplies{} with a side of {}", what, side), matmul::cuda_static_tile<T>,
            {side, side, side});
    return all;
}

const std::vector<matmul::Tile> tiles = {{1, 1, 1}, {4, 64, 32}, {32, 8, 5}, {1, 256, 32}, {256, 1, 32}};

/// A small shape, and a choice that suits it.
struct Chosen {
    Shape shape;
    matmul::ByShape choice;
};

/// Each tile, a little more than one of it, with rows that are and are not a multiple of 16 bytes; few rows and
/// columns; all with k in one part and in several.
std::vector<Chosen> each_path(std::size_t k) {
    std::vector<Chosen> all;
    for (const std::size_t parts : {1, 3}) {
        const auto add = [&](const Shape& s, matmul::ByShape choice) {
            choice.vector = s.n % 4 == 0;
            choice.cut(s.k, parts);
            all.push_back({s, choice});
        };
        for (std::size_t t = 0; t < std::size(matmul::tiles_by_shape); ++t)
            for (const std::size_t more : {4, 5})
                add({matmul::tiles_by_shape[t].rows + 3, k, matmul::tiles_by_shape[t].columns + more}, {.tile = t});
        for (std::size_t few = 1; few <= matmul::few; ++few) {
            for (const std::size_t n : {132, 131}) add({few, k, n}, {.way = matmul::ByShape::Way::thin_rows});
            if (parts == 1) add({37, k, few}, {.way = matmul::ByShape::Way::thin_columns});
        }
    }
    return all;
}

/// Makes a check of each path, each at its shape.
void check_each_path(Faults& faults, std::size_t k,
                     const std::function<std::string(const AnyRun<float>&, const Shape&)>& fault) {
    for (const Chosen& chosen : each_path(k)) {
        const auto& [m, of, n] = chosen.shape;
        const AnyRun<float> run = [&](const Problem<float>& p, matmul::Output<float>& c, gpulab::Stopwatch& watch) {
            matmul::multiply_as_chosen(p, c, watch, chosen.choice);
        };
        faults.check(fmt::format("{} x {} x {}, {} parts", m, of, n, chosen.choice.parts),
                     [&] { return fault(run, chosen.shape); });
    }
}

} // namespace

TEST_CASE("cuda_by_shape gives right results on each of its paths", "[cuda]") {
    check_on_cuda("cuda_by_shape", [](Faults& faults) {
        check_each_path(faults, 300, [](const auto& path, const Shape& s) { return first_fault<float>(path, {s}); });
        check_each_path(faults, 70, [](const auto& path, const Shape& s) {
            const std::string fault = zeros_fault<float>(path, {}, s);
            return fault.empty() ? denormals_fault<float>(path, {}, s) : fault;
        });
        check_each_path(faults, 40, [](const auto& path, const Shape& s) { return edges_fault<float>(path, {}, s); });
        const AnyRun<float> run = matmul::cuda_by_shape;
        std::vector<Shape> all;
        for (const Way& way : ways)
            if (way.shape.m * way.shape.k * way.shape.n < 2'000'000'000)
                all.push_back(way.shape); // the reference takes long
        faults.check("ragged edges and long sums", [&] { return whole_fault<float>(run, all); });
        // The parts of k, one product more and less, and a number of parts that is no power of two.
        std::vector<Shape> parts;
        for (std::size_t k = 2000; k < 2100; ++k) parts.push_back({33, k, 65 + k % 4});
        faults.check("parts of k", [&] { return whole_fault<float>(run, parts); });
    });
}

TEST_CASE("cuda_by_shape on each of its paths under compute-sanitizer", "[.sanitizer]") {
    check_on_cuda("cuda_by_shape", [](Faults& faults) {
        check_each_path(faults, 83, [](const auto& path, const Shape& s) { return fault_once<float>(path, {s}); });
    });
}

// A GPU forgives a pipeline that waits one group short: its copies have mostly arrived. Here none has before its wait.
TEST_CASE("cuda_pipeline and the rungs after it wait for what they read, however late it arrives", "[cuda]") {
    check_on_cuda("the kernels with late copies", [](Faults& faults) {
        std::vector<Shape> all;
        for (const std::size_t k : {163, 1, 15, 16, 17, 32, 33, 48, 49, 64, 65, 80, 81, 400})
            for (const std::size_t n : {132, 131}) all.push_back({130, k, n});
        const auto check = [&](const char* what, const AnyRun<float>& run) {
            faults.check(what, [&] { return whole_fault<float>(run, all); });
        };
        check("three stages", perturbed::three_stages);
        check("cuda_pipeline's own kernel", perturbed::pipeline);
        check("four stages", perturbed::four_stages);
    });
}

namespace {
/// A test case for each kernel of the study, so that they run side by side.
template <class T> bool add_study_cases(const std::string& what, const std::vector<matmul::Tile>& with) {
    for (const auto& [name, rung] : study_rungs<T>(what, with))
        gpulab::testing::detail::add_test_case(
            name, "[cuda]",
            [name = name, rung = rung] { check_on_cuda(name, [&](Faults& faults) { check_rung(rung, faults); }); },
            std::source_location::current());
    return true;
}
const bool study_cases[] = {add_study_cases<float>("", tiles), add_study_cases<double>(" doubles", {{8, 32, 32}})};
} // namespace

TEST_CASE("the kernels of the study under compute-sanitizer", "[.sanitizer]") {
    check_on_cuda("the study's kernels", [](Faults& faults) {
        for (const auto& [name, rung] : study_rungs<float>("", tiles))
            faults.check(name, [&rung = rung] { return fault_under_tools(rung, 3); });
    });
}

// The rungs in a lower precision, against the product of the elements that they take: float's tolerance is enough.
TEST_CASE("on tensor cores, rounded elements are multiplied as precisely as in float", "[cuda]") {
    check_on_cuda("tensor cores", [](Faults& faults) {
        const auto check = [&](std::string_view name, const auto& taken) {
            Problem<float> p = matmul::make_problem<float>(300, 4100, 260, seed);
            for (float& x : p.a) x = taken(x);
            for (float& x : p.b) x = taken(x);
            const matmul::Output<float> reference = matmul::reference_product(p);
            const AnyRun<float> run = gpulab::run_of(matmul::variants<float>(), name);
            faults.check(name, [&] {
                matmul::Output<float> c(p.size());
                return fault_of(run, p, c, [&] { return compare(p, reference, c); });
            });
        };
        for (const std::string of : {"cuda_tensor_", "cuda_cublas_"}) {
            check(of + "fp16", [](float x) { return with_bits(x, 11, -24); });
            check(of + "bf16", [](float x) { return with_bits(x, 8); });
            check(of + "tf32", [](float x) { return with_bits(x, 11); });
        }
    });
}

namespace {
/// All that a variant must do, done by `run` in its place.
void check_large_tiles(std::string_view name,
                       void run(const Problem<float>&, matmul::Output<float>&, gpulab::Stopwatch&)) {
    check_on_cuda(name, [&](Faults& faults) {
        for (const auto& v : matmul::variants<float>()) {
            if (v.name != name) continue;
            Rung<float> rung = rung_of<float>(v);
            rung.run = run;
            matmul::testing::check_rung(rung, faults);
        }
    });
}
} // namespace

TEST_CASE("cuda_tensor_bf16 is right with large tiles", "[cuda]") {
    check_large_tiles("cuda_tensor_bf16", matmul::cuda_tensor_bf16_large);
}
TEST_CASE("cuda_tensor_tf32 is right with large tiles", "[cuda]") {
    check_large_tiles("cuda_tensor_tf32", matmul::cuda_tensor_tf32_large);
}

// Long sums, in which sums that are cut off, not rounded, would lose more than float's own roundings do.
TEST_CASE("cuda_three_tf32 is within four times the error of float", "[cuda]") {
    check_on_cuda("cuda_three_tf32", [](Faults& faults) {
        for (const std::size_t k : {64, 1024, 16384}) {
            const Problem<float> p = matmul::make_problem<float>(200, k, 190, seed);
            const matmul::Output<float> reference = matmul::reference_product(p);
            const auto error_of = [&](std::string_view name) { // root mean square
                matmul::Output<float> c(p.size());
                gpulab::Stopwatch once;
                gpulab::run_of(matmul::variants<float>(), name)(p, c, once);
                double squares = 0;
                for (std::size_t i = 0; i < c.size(); ++i) squares += std::pow(double{c[i]} - double{reference[i]}, 2);
                return std::sqrt(squares / static_cast<double>(c.size()));
            };
            faults.check(fmt::format("k = {}", k), [&] {
                const double three = error_of("cuda_three_tf32"), library = error_of("cuda_cublas");
                return three <= 4 * library ? "" : fmt::format("error {}, that of cuBLAS {}", three, library);
            });
        }
    });
}

TEST_CASE("a CUDA rung refuses what it cannot compute", "[cuda]") {
    for (const Device& device : devices_or_skip(Backend::cuda)) {
        gpulab::use(device);
        gpulab::Stopwatch once;
        int refused = 0;
        matmul::Output<double> c(1);
        for (const auto& variant : matmul::variants<double>()) {
            if (!only_float(variant.name)) continue;
            CHECK_THROWS_AS(variant.run(whole_example<double>({1, 1, 1}).problem, c, once), gpulab::Unsupported);
            ++refused;
        }
        CHECK(refused == 13);
        for (const Shape& s : {Shape{1, 1, 1025}, Shape{1025, 1, 1}, Shape{33, 1, 32}}) {
            matmul::Output<float> many(s.m * s.n);
            CHECK_THROWS_AS(matmul::cuda_one_block(whole_example<float>(s).problem, many, once), gpulab::Unsupported);
        }
        matmul::Output<float> largest(1);
        matmul::cuda_tensor_fp16({1, 1, 1, {65519}, {-1}}, largest, once);
        CHECK(largest[0] == -65504);
        CHECK_THROWS_AS(matmul::cuda_tensor_fp16({1, 1, 1, {65520}, {-1}}, largest, once), gpulab::Unsupported);
        CHECK_THROWS_AS(matmul::cuda_cublas_fp16({1, 1, 1, {-1}, {65520}}, largest, once), gpulab::Unsupported);
    }
}
#endif

TEST_CASE("the tests use a rung's tile sizes and the sizes next to them") {
    const std::vector<gpulab::Tile> tiles = {{64, "m"}, {1024, "m"}, {16, "k"}, {64, "k"}, {128, "n"}, {4, "n"}};
    const std::vector<Shape> near = shapes_next_to(tiles);
    const auto has = [](const std::vector<Shape>& all, std::size_t m, std::size_t k, std::size_t n) {
        return std::ranges::any_of(all, [&](const Shape& s) { return s.m == m && s.k == k && s.n == n; });
    };
    CHECK((has(near, 63, 1, 1) && has(near, 2049, 1, 1) && has(near, 1, 1, 129) && has(near, 1, 15, 1)));
    CHECK((has(near, 3, 5, 127) && has(near, 193, 4, 8) && has(near, 5, 33 * 64 + 1, 4)));
    for (std::size_t size = 1; size <= 40; ++size) CHECK((has(near, size, 5, 3) && has(near, 3, size, 5)));
    const std::vector<Shape> corners = corners_of(tiles);
    CHECK(corners.size() == 27);
    CHECK((has(corners, 63, 63, 127) && has(corners, 65, 65, 129) && has(corners, 64, 64, 128)));
}

TEST_CASE("the reference equals a plain sum in double precision") {
    const auto p = matmul::make_problem<double>(37, 41, 53, seed);
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

TEST_CASE("the comparison finds a lost product, a lost digit and an element that was not written") {
    const auto p = matmul::make_problem<float>(40, 1024, 30, seed);
    const auto reference = matmul::reference_product(p);
    REQUIRE(compare(p, reference, reference).passed);

    auto lost = reference; // the product of the last column of A and the last row of B, in one element
    lost[77] -= p.a[77 / 30 * 1024 + 1023] * p.b[1023 * 30 + 77 % 30];
    CHECK_FALSE(compare(p, reference, lost).passed);

    // One product in TF32: not within the tolerance of float, nor within that of three products, but within its own.
    Problem<float> rounded = p;
    for (float& x : rounded.a) x = with_bits(x, 11);
    const auto one_product = reference_product(rounded);
    CHECK_FALSE(compare(p, reference, one_product).passed);
    CHECK_FALSE(compare(p, reference, one_product, matmul::input_error("cuda_three_tf32")).passed);
    CHECK(compare(p, reference, one_product, matmul::input_error("cuda_tensor_tf32")).passed);

    // A small element loses 2^-25 in FP16, and no more.
    const Problem<float> small = {1, 1, 1, {0x1p-20F}, {1}};
    const auto half_error = matmul::input_error("cuda_tensor_fp16");
    CHECK(compare(small, {0x1p-20F}, {0x1p-20F + 0x1p-25F}, half_error).passed);
    CHECK_FALSE(compare(small, {0x1p-20F}, {0x1p-20F + 0x1p-23F}, half_error).passed);
    CHECK_FALSE(compare(small, {0x1p-20F}, {0x1p-20F + 0x1p-25F}, {half_error.relative}).passed);

    auto unwritten = reference;
    unwritten[1199] = std::numeric_limits<float>::quiet_NaN();
    CHECK_FALSE(compare(p, reference, unwritten).passed);
}

TEST_CASE("CPU variants skip products that would take minutes, however short the sums") {
    gpulab::Options options("matmul", "");
    options.variants(matmul::variants<float>());
    REQUIRE(options.parse(3, std::array{"matmul", "--variant", "cpu_ikj"}.data()));
    Device cpu, gpu;
    gpu.backend = Backend::cuda;
    const Problem<float> small{1024, 1024, 1024, {}, {}}, large{1025, 1024, 1024, {}, {}}, tall{1 << 30, 1, 1, {}, {}};
    CHECK(matmul::too_slow(options, "cpu_ijk", cpu, small) == "");
    CHECK(matmul::too_slow(options, "cpu_ijk", cpu, large)
              .starts_with("2.15e+09 operations for 1.05e+06 elements take long on a CPU"));
    CHECK(matmul::too_slow(options, "cpu_ijk", cpu, tall) != "");
    CHECK(matmul::too_slow(options, "cpu_ikj", cpu, tall) == ""); // asked for by name
    CHECK(matmul::too_slow(options, "cuda_grid", gpu, tall) == "");
}
