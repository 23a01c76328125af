#include <algorithm>
#include <array>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <sstream>

#include "checks.hpp"
#include "gpulab/jobs.hpp"
#include "gpulab_testing/program.hpp"
#include "perturbed_threads.hpp"
#include "runs.hpp"
#include "split.hpp"
#if defined(GPULAB_WITH_OPENCL)
#include "gpulab/opencl/context.hpp"
#endif

using gpulab::Backend;
using gpulab::testing::Faults;
using gpulab::testing::VariantCases;
using namespace cg;
using namespace cg::testing;

namespace {

const VariantCases in_double(variants<double>(), "solves in double", "", check_variant<double>);
const VariantCases in_float(variants<float>(), "solves in float", "", check_variant<float>);

/// For tools that take long: ragged groups, a halo, Jacobi, and two iterations at least.
template <class T> void check_tiny(const gpulab::Variant<Run<T>>& v, Faults& faults) {
    faults.check("tiny systems", [&] { return first_fault<T>(v.run, tiny_systems<T>()); });
    if (takes_several_devices(v.name)) faults.check("three parts", [&] { return tiny_parts_fault<T>(v.run); });
}

const VariantCases oclgrind_double(variants<double>(), "in double under oclgrind", "[.oclgrind]", check_tiny<double>,
                                   gpulab::testing::only_on<Backend::opencl>);
const VariantCases oclgrind_float(variants<float>(), "in float under oclgrind", "[.oclgrind]", check_tiny<float>,
                                  gpulab::testing::only_on<Backend::opencl>);
#if defined(GPULAB_WITH_CUDA)
template <class T> void check_tools(const gpulab::Variant<Run<T>>& v, Faults& faults) {
    check_tiny<T>(v, faults);
    // 512: whole blocks, so that the second row of a thread would be the one behind the end.
    faults.check("whole numbers", [&] { return whole_fault<T>(v.run, {33, 512}); });
    faults.check("more than a block",
                 [&] { return first_fault<T>(v.run, {generated<T>("laplace2d:37x19", settings(0, 2), true)}); });
}
const VariantCases sanitizer_double(variants<double>(), "in double under compute-sanitizer", "[.sanitizer]",
                                    check_tools<double>, gpulab::testing::own_cuda);
const VariantCases sanitizer_float(variants<float>(), "in float under compute-sanitizer", "[.sanitizer]",
                                   check_tools<float>, gpulab::testing::own_cuda);
#endif

#if defined(GPULAB_WITH_CUDA)
// Late blocks and late warps: some read scalars and shares of sums long after the others have gone on.
const gpulab::Variant<Run<double>> perturbed_rungs[] = {
    {"cuda_persistent", "", Backend::cuda, perturbed::cuda_persistent<double>, {.cooperative_launch = true}},
    {"cuda_devices", "", Backend::cuda, perturbed::cuda_devices<double>},
    {"cuda_devices_stores", "", Backend::cuda, perturbed::cuda_devices_stores<double>}};

/// @param warp,first see set_late_threads()
template <int warp, unsigned first> void check_perturbed(const gpulab::Variant<Run<double>>& v, Faults& faults) {
    perturbed::set_late_threads(warp, first);
    faults.check("late threads", [&] { // several blocks of each kernel, in one part and in two
        return first_fault<double>(v.run, {generated<double>("laplace2d:60x50", settings(0, 12), true),
                                           generated<double>("springs:40x40", settings(0, 12, true))});
    });
}
const VariantCases with_late_blocks(perturbed_rungs, "solves with perturbed blocks", "", check_perturbed<-1, 0>),
    with_other_late_blocks(perturbed_rungs, "solves with other late blocks", "", check_perturbed<-1, 1>),
    with_late_warps(perturbed_rungs, "solves with perturbed warps", "", check_perturbed<5, 0>),
    with_other_late_warps(perturbed_rungs, "solves with other late warps", "", check_perturbed<5, 1>);
#endif

/// The rungs for several devices, on all devices of a back end at once; skipped where there is one.
template <class T> void check_all_devices(Backend backend) {
    const auto& devices = gpulab::testing::devices_or_skip(backend);
    if (devices.size() < 2) {
        gpulab::testing::leave_turns();
        SKIP("there is one " << gpulab::name_of(backend) << " device only");
    }
    for (const auto& v : variants<T>()) {
        if (v.backend != backend || !takes_several_devices(v.name)) continue;
        INFO(v.name);
        std::string unmet;
        for (const auto& device : devices) unmet += gpulab::unmet_need(v.needs, device);
        if (!unmet.empty()) SKIP(unmet);
        gpulab::use(devices);
        const bool on_gpu = !std::ranges::all_of(devices, &gpulab::Device::is_cpu);
        CHECK(all_devices_fault<T>(v.run, on_gpu) == "");
    }
}

} // namespace

TEMPLATE_TEST_CASE("rungs for several devices solve on all OpenCL devices", "[opencl][two-devices]", float, double) {
    check_all_devices<TestType>(Backend::opencl);
}
TEMPLATE_TEST_CASE("rungs for several devices solve on all CUDA devices", "[cuda]", float, double) {
    check_all_devices<TestType>(Backend::cuda);
}

#if defined(GPULAB_WITH_OPENCL)
TEST_CASE("two parts on a CPU with several compute units are two different sub-devices", "[opencl][two-devices]") {
    std::size_t divided = 0;
    for (const gpulab::Device& device : gpulab::testing::devices_or_skip(Backend::opencl)) {
        if (!device.is_cpu || device.compute_units < 2) continue;
        gpulab::use(device);
        const cl::Device whole = gpulab::opencl().device();
        if (whole.getInfo<CL_DEVICE_PARTITION_MAX_SUB_DEVICES>() < 2) continue;
        INFO(device.name);
        const auto parts = gpulab::opencl_parts(device, 2);
        REQUIRE(parts.size() == 2);
        CHECK(parts[0]->device()() != parts[1]->device()());
        for (const gpulab::OpenClContext* part : parts) {
            CHECK(part->device()() != whole());
            CHECK(part->description().compute_units == 1);
        }
        ++divided;
    }
    if (divided == 0) SKIP("there is no OpenCL device that can be divided");
}

TEST_CASE("groups are tried once on identical devices and at similar sizes, and written to the file",
          "[opencl][two-devices]") {
    const gpulab::testing::ScratchFile file;
    const auto solve = [&](const std::string& matrix) {
        auto c = generated<double>(matrix, settings(1e-8, 500));
        c.problem.tuning = file.path();
        solved(c.problem, "opencl_tuned");
    };
    std::map<std::string, std::string> text; // of the file, by the name of the devices
    for (const gpulab::Device& device : gpulab::testing::devices_or_skip(Backend::opencl)) {
        if (!device.fp64) continue;
        gpulab::use(device);
        INFO(device.name);
        const bool known = text.contains(device.name);
        solve("laplace2d:11"); // 121 rows
        if (known) CHECK(file.text() == text[device.name]);
        text[device.name] = file.text();
        CHECK(std::ranges::count(file.text(), '\n') == 1 + 5 * static_cast<std::ptrdiff_t>(text.size()));
        solve("laplace2d:10");
        CHECK(file.text() == text[device.name]);
    }
    if (text.empty()) SKIP("no OpenCL device has double precision");
    solve("laplace2d:12"); // 144 rows: beyond 128, they are tried anew
    CHECK(std::ranges::count(file.text(), '\n') == 6 + 5 * static_cast<std::ptrdiff_t>(text.size()));
}

/// One part leaves the second device without work: the bound is that of one device.
TEST_CASE("a rung gets no more devices than it has parts", "[.][two-devices]") {
    if (gpulab::devices(Backend::opencl).size() < 2) SKIP("there are not two OpenCL devices");
    gpulab::Options options("cg", "a test");
    options.variants(variants<double>());
    // By name: of a GPU and CPUs the program takes only the GPU unless it is told.
    const std::array arguments = {"cg", "--variant", "opencl_devices_halo", "--device", "opencl:0,opencl:1"};
    REQUIRE(options.parse(static_cast<int>(arguments.size()), arguments.data()));
    const auto devices = [&](std::size_t parts) {
        const auto jobs = cg::jobs<double>(options, parts);
        REQUIRE(jobs.size() == 1);
        return jobs.front().devices.size();
    };
    CHECK(devices(0) == 2);
    CHECK(devices(1) == 1);
    CHECK(devices(2) == 2);
    CHECK(devices(3) == 2);
}

/// For the test with two devices: without it, a PoCL that ignored the request would only make the others skip.
TEST_CASE("PoCL has as many devices as POCL_DEVICES names", "[.][two-devices]") {
    std::istringstream names(std::getenv("POCL_DEVICES") ? std::getenv("POCL_DEVICES") : "");
    std::size_t wanted = 0, found = 0;
    for (std::string name; names >> name;) ++wanted;
    for (const gpulab::Device& device : gpulab::devices(Backend::opencl))
        found += device.platform.find("Portable Computing Language") != std::string::npos;
    if (found == 0) SKIP("there is no PoCL");
    CHECK(wanted == 2);
    CHECK(found == wanted);
}
#endif

TEST_CASE("the comparison accepts what ends with infinity or NaN as the reference does, and nothing else") {
    const auto c = generated<double>("laplace2d:3", settings(1e-8, 500));
    constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    for (const double last : {infinity, nan}) {
        Reference reference;
        reference.history = {3, 2, last};
        reference.allowed = {1e-9, 1e-9, last};
        reference.complete = true;
        reference.end = End::not_finite;
        Output<double> out;
        out.x.assign(c.problem.n(), last);
        out.history = reference.history;
        out.end = End::not_finite;
        const auto judged = compare(c.problem, reference, out);
        INFO(judged.message);
        CHECK(judged.passed);
        out.history[2] = 1;
        CHECK_FALSE(compare(c.problem, reference, out).passed);
    }
}

TEST_CASE("histories are the same when their bits are, which NaN does not change") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    CHECK(same_bits({}, {}));
    CHECK(same_bits({1, nan}, {1, nan}));
    CHECK_FALSE(same_bits({1, nan}, {2, nan}));
    CHECK_FALSE(same_bits({1, nan}, {1}));
}

TEST_CASE("what ends an iteration is said with its number, counted from 1") {
    const auto p = generated<double>("laplace2d:3", settings(1e-8, 500)).problem;
    Output<double> out;
    out.history = {8, 4};
    out.curvature = -2;
    out.end = End::not_positive;
    CHECK(describe_end(p, out) == "the matrix is not positive definite: p.Ap = -2 in iteration 2");
    out.end = End::not_finite;
    CHECK(describe_end(p, out) == "a number became infinite or NaN in iteration 2; the last residual was 4");
}

TEST_CASE("an absolute tolerance is no multiple of the norm of b, with Jacobi neither") {
    for (const bool jacobi : {false, true}) {
        Settings s = settings(0.25, 5, jacobi);
        const double norm = 2; // of four ones
        CHECK(make_problem<double>(gpulab::stiffness<double>(4, 1), {1, 1, 1, 1}, {}, s).stop_at == 0.25 * norm);
        s.absolute = true;
        CHECK(make_problem<double>(gpulab::stiffness<double>(4, 1), {1, 1, 1, 1}, {}, s).stop_at == 0.25);
    }
}

TEST_CASE("the comparison sees a wrong solution, a wrong history and a wrong end") {
    const auto c = generated<double>("laplace2d:12", settings(1e-8, 500));
    const auto reference = make_reference(c.problem);
    Output<double> out = solved(c.problem);
    REQUIRE(compare(c.problem, reference, out).passed);
    SECTION("one element of x") { out.x[77] += 1e-6; }
    SECTION("one element of x that is infinite") { out.x[77] = std::numeric_limits<double>::infinity(); }
    SECTION("one element of x, never written") { out.x[0] = gpulab::poison_value<double>(); }
    SECTION("one residual") { out.history[5] *= 1 + 1e-9; }
    SECTION("a residual that is NaN") { out.history[5] = std::numeric_limits<double>::quiet_NaN(); }
    SECTION("an iteration too many") { out.history.push_back(out.history.back() / 2); }
    SECTION("an iteration too few") { out.history.pop_back(); }
    SECTION("the limit, though there is none") { out.end = End::limit; }
    SECTION("not positive definite") { out.end = End::not_positive; }
    SECTION("an infinite number") { out.end = End::not_finite; }
    SECTION("no history") { out.history.clear(); }
    SECTION("too few elements") { out.x.pop_back(); }
    CHECK_FALSE(compare(c.problem, reference, out).passed);
}

TEMPLATE_TEST_CASE("the comparison accepts in a history what rounding explains, and no more", "", float, double) {
    // ((1, 0), (0, 3)) x = (1, 1): the residual after one iteration is (1, -1) / 2, and alpha q is (1, 3) / 2.
    using T = TestType;
    SymmetricMatrix<T> m(2);
    m.add(0, 0, 1);
    m.add(1, 1, 3);
    const auto p = make_problem<T>(m.matrix(), {1, 1}, {}, settings(0, 2));
    Output<T> out = solved(p);
    REQUIRE(out.history.size() == 3); // compare() holds the last one against b - A x, too
    const double epsilon = std::numeric_limits<T>::epsilon();
    // The reference changes alpha by 16 + sqrt(2) epsilon and, through p . q, by 8; and each element of q by 8. So the
    // residual changes by at most that part of alpha q, and eight times as much is allowed.
    const double most = 8 * (16 + std::sqrt(2.0) + 8 + 8) * epsilon * std::hypot(0.5, 1.5);
    const double least = (16 + std::sqrt(2.0)) * epsilon * out.history[1]; // always
    const auto passes = [&](double change) {
        Output<T> changed = out;
        changed.history[1] += change;
        return compare(p, make_reference(p), changed).passed;
    };
    CHECK(passes(0));
    CHECK(passes(0.8 * least));
    CHECK(passes(-0.8 * least));
    CHECK_FALSE(passes(1.05 * most));
    CHECK_FALSE(passes(-1.05 * most));
}

TEST_CASE("of the kernel times of several devices, the longest of each kind counts") {
    using Times = std::vector<std::pair<std::string, double>>;
    CHECK(longest_times({{{"dot", 3}, {"spmv", 5}}, {{"dot", 4}, {"pack", 0.5}}, {{"dot", 2}, {"spmv", 1}}}) ==
          Times{{"dot", 4}, {"pack", 0.5}, {"spmv", 5}});
    CHECK(longest_times({}).empty());
}

#if defined(GPULAB_WITH_OPENCL)
TEST_CASE("a kernel that only the second and third part run has a time", "[opencl]") {
    const auto& device = gpulab::testing::devices_or_skip(Backend::opencl).front();
    SymmetricMatrix<double> m(49);
    for (std::size_t i = 0; i < 49; ++i) m.add(i, i, static_cast<double>(4 + i % 3));
    for (std::size_t i = 29; i + 1 < 49; ++i) m.add(i, i + 1, -1); // 29 rows alone, 29 of 87 non-zeros
    auto c = system<double>("coupled rows at the end", m.matrix(), settings(0, 3));
    c.problem.parts = 3;
    const auto parts = make_parts(c.problem.matrix, split_rows(c.problem.matrix, {1, 1, 1}));
    REQUIRE(parts[0].send.empty());
    REQUIRE_FALSE(parts[1].send.empty());
    gpulab::use(device);
    const Output<double> out = solved(c.problem, "opencl_devices_halo");
    CHECK(std::ranges::count(out.kernel_ms, "pack", [](const auto& entry) { return entry.first; }) == 1);
}
#endif

TEST_CASE("the rungs for several GPUs refuse --flush-l2, and no others do") {
    for (const bool flush : {false, true}) {
        gpulab::Options options("cg", "a test");
        options.variants(variants<double>());
        const std::array arguments = {"cg", "--flush-l2"};
        REQUIRE(options.parse(flush ? 2 : 1, arguments.data()));
        for (const auto& v : variants<double>()) {
            INFO(v.name);
            const bool refused = flush && (v.name == "cuda_devices" || v.name == "cuda_devices_stores");
            CHECK(refused_option(options, v.name).starts_with("--flush-l2: ") == refused);
            if (!refused) CHECK(refused_option(options, v.name) == "");
        }
    }
}

TEST_CASE("a solution whose squares underflow is judged by its residual") {
    const auto c = generated<double>("laplace2d:4", settings(1e-8, 500));
    gpulab::Csr<double> matrix = c.problem.matrix;
    for (double& value : matrix.value) value *= 1e300;
    const auto problem = make_problem(matrix, c.problem.b, {}, settings(1e-8, 500));
    Output<double> out = solved(problem);
    CHECK(compare(problem, make_reference(problem), out).message == "");
    CHECK(residual_gap(problem, out) > 0);
    out.x[0] *= 1.001;
    CHECK_FALSE(compare(problem, make_reference(problem), out).passed);
}

TEST_CASE("the true residual is rounded once, however many rows there are") {
    auto c = generated<double>("laplace2d:128", settings(1e-8, 500));
    std::vector<double> b(c.problem.n(), 0.1); // 0.01 added 16384 times in double makes it wrong by 55 epsilon
    const auto problem = make_problem(c.problem.matrix, b, {}, settings(1e-8, 500));
    const double found = true_residual(problem, std::vector<double>(problem.n()));
    CHECK(std::abs(found / 12.8 - 1) <= 2 * std::numeric_limits<double>::epsilon());
}
