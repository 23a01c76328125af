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

namespace {

const VariantCases in_double(cg::variants<double>(), "solves in double", "", cg::testing::check_variant<double>);
const VariantCases in_float(cg::variants<float>(), "solves in float", "", cg::testing::check_variant<float>);

/// For tools that take long: ragged groups, a halo, Jacobi, and two iterations at least.
template <class T> void check_tiny(const gpulab::Variant<cg::Run<T>>& v, Faults& faults) {
    faults.check("tiny systems", [&] { return cg::testing::first_fault<T>(v.run, cg::testing::tiny_systems<T>()); });
    if (cg::takes_several_devices(v.name))
        faults.check("three parts", [&] { return cg::testing::tiny_parts_fault<T>(v.run); });
}

#if defined(GPULAB_WITH_OPENCL)
const VariantCases oclgrind_double(cg::variants<double>(), "in double under oclgrind", "[.oclgrind]",
                                   check_tiny<double>, gpulab::testing::only_on<Backend::opencl>);
const VariantCases oclgrind_float(cg::variants<float>(), "in float under oclgrind", "[.oclgrind]", check_tiny<float>,
                                  gpulab::testing::only_on<Backend::opencl>);
#endif
#if defined(GPULAB_WITH_CUDA)
template <class T> void check_tools(const gpulab::Variant<cg::Run<T>>& v, Faults& faults) {
    check_tiny<T>(v, faults);
    // 512: whole blocks, so that the second row of a thread would be the one behind the end.
    faults.check("whole numbers", [&] { return cg::testing::whole_fault<T>(v.run, {33, 512}); });
    faults.check("more than a block", [&] {
        return cg::testing::first_fault<T>(
            v.run, {cg::testing::generated<T>("laplace2d:37x19", cg::testing::settings(0, 2), true)});
    });
}
const VariantCases sanitizer_double(cg::variants<double>(), "in double under compute-sanitizer", "[.sanitizer]",
                                    check_tools<double>, gpulab::testing::own_cuda);
const VariantCases sanitizer_float(cg::variants<float>(), "in float under compute-sanitizer", "[.sanitizer]",
                                   check_tools<float>, gpulab::testing::own_cuda);
#endif

#if defined(GPULAB_WITH_CUDA)
// Late blocks and late warps: some read scalars and shares of sums long after the others have gone on.
using Late = gpulab::Variant<cg::Run<double>>;
const Late perturbed_blocks[] =
    {{"cuda_persistent", "", Backend::cuda, perturbed::persistent<-1, 0>, {.cooperative_launch = true}},
     {"cuda_devices", "", Backend::cuda, perturbed::devices<-1, 0>},
     {"cuda_devices_stores", "", Backend::cuda, perturbed::devices_stores<-1, 0>}},
           other_late_blocks[] =
               {{"cuda_persistent", "", Backend::cuda, perturbed::persistent<-1, 1>, {.cooperative_launch = true}},
                {"cuda_devices", "", Backend::cuda, perturbed::devices<-1, 1>},
                {"cuda_devices_stores", "", Backend::cuda, perturbed::devices_stores<-1, 1>}},
           late_warps[] =
               {{"cuda_persistent", "", Backend::cuda, perturbed::persistent<5, 0>, {.cooperative_launch = true}},
                {"cuda_devices", "", Backend::cuda, perturbed::devices<5, 0>},
                {"cuda_devices_stores", "", Backend::cuda, perturbed::devices_stores<5, 0>}},
           other_late_warps[] = {
               {"cuda_persistent", "", Backend::cuda, perturbed::persistent<5, 1>, {.cooperative_launch = true}},
               {"cuda_devices", "", Backend::cuda, perturbed::devices<5, 1>},
               {"cuda_devices_stores", "", Backend::cuda, perturbed::devices_stores<5, 1>}};
void check_perturbed(const Late& v, Faults& faults) {
    faults.check("late threads", [&] { // several blocks of each kernel, in one part and in two
        return cg::testing::first_fault<double>(
            v.run, {cg::testing::generated<double>("laplace2d:60x50", cg::testing::settings(0, 12), true),
                    cg::testing::generated<double>("springs:40x40", cg::testing::settings(0, 12, true))});
    });
}
const VariantCases with_late_blocks(perturbed_blocks, "solves with perturbed blocks", "", check_perturbed);
const VariantCases with_other_late_blocks(other_late_blocks, "solves with other late blocks", "", check_perturbed);
const VariantCases with_late_warps(late_warps, "solves with perturbed warps", "", check_perturbed);
const VariantCases with_other_late_warps(other_late_warps, "solves with other late warps", "", check_perturbed);
#endif

/// The rungs for several devices, on all devices of a back end at once; skipped where there is one.
template <class T> void check_all_devices(Backend backend) {
    const auto& devices = gpulab::testing::devices_or_skip(backend);
    if (devices.size() < 2) {
        gpulab::testing::leave_turns();
        SKIP("there is one " << gpulab::name_of(backend) << " device only");
    }
    for (const auto& v : cg::variants<T>()) {
        if (v.backend != backend || !cg::takes_several_devices(v.name)) continue;
        INFO(v.name);
        std::string unmet;
        for (const auto& device : devices) unmet += gpulab::unmet_need(v.needs, device);
        if (!unmet.empty()) SKIP(unmet);
        gpulab::use(devices);
        const bool on_gpu = !std::ranges::all_of(devices, &gpulab::Device::is_cpu);
        CHECK(cg::testing::all_devices_fault<T>(v.run, on_gpu) == "");
    }
}

} // namespace

TEST_CASE("rungs for several devices solve in double on all OpenCL devices", "[opencl][two-devices]") {
    check_all_devices<double>(Backend::opencl);
}
TEST_CASE("rungs for several devices solve in float on all OpenCL devices", "[opencl][two-devices]") {
    check_all_devices<float>(Backend::opencl);
}
TEST_CASE("rungs for several devices solve in double on all CUDA devices", "[cuda]") {
    check_all_devices<double>(Backend::cuda);
}
TEST_CASE("rungs for several devices solve in float on all CUDA devices", "[cuda]") {
    check_all_devices<float>(Backend::cuda);
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
        auto c = cg::testing::generated<double>(matrix, cg::testing::settings(1e-8, 500));
        c.problem.tuning = file.path();
        cg::Output<double> out;
        out.x.resize(c.problem.n());
        gpulab::Stopwatch once;
        gpulab::testing::in_turn([&] { gpulab::run_of(cg::variants<double>(), "opencl_tuned")(c.problem, out, once); });
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
    options.variants(cg::variants<double>());
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
    const auto c = cg::testing::generated<double>("laplace2d:3", cg::testing::settings(1e-8, 500));
    constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
    for (const double last : {infinity, nan}) {
        cg::Reference reference;
        reference.history = {3, 2, last};
        reference.allowed = {1e-9, 1e-9, last};
        reference.complete = true;
        reference.end = cg::End::not_finite;
        cg::Output<double> out;
        out.x.assign(c.problem.n(), last);
        out.history = reference.history;
        out.end = cg::End::not_finite;
        const auto judged = cg::compare(c.problem, reference, out);
        INFO(judged.message);
        CHECK(judged.passed);
        out.history[2] = 1;
        CHECK_FALSE(cg::compare(c.problem, reference, out).passed);
    }
}

TEST_CASE("histories are the same when their bits are, which NaN does not change") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    CHECK(cg::same_bits({}, {}));
    CHECK(cg::same_bits({1, nan}, {1, nan}));
    CHECK_FALSE(cg::same_bits({1, nan}, {2, nan}));
    CHECK_FALSE(cg::same_bits({1, nan}, {1}));
}

TEST_CASE("what ends an iteration is said with its number, counted from 1") {
    const auto p = cg::testing::generated<double>("laplace2d:3", cg::testing::settings(1e-8, 500)).problem;
    cg::Output<double> out;
    out.history = {8, 4};
    out.curvature = -2;
    out.end = cg::End::not_positive;
    CHECK(cg::describe_end(p, out) == "the matrix is not positive definite: p.Ap = -2 in iteration 2");
    out.end = cg::End::not_finite;
    CHECK(cg::describe_end(p, out) == "a number became infinite or NaN in iteration 2; the last residual was 4");
}

TEST_CASE("an absolute tolerance is no multiple of the norm of b, with Jacobi neither") {
    for (const bool jacobi : {false, true}) {
        cg::Settings s = cg::testing::settings(0.25, 5, jacobi);
        const double norm = 2; // of four ones
        CHECK(cg::make_problem<double>(gpulab::stiffness<double>(4, 1), {1, 1, 1, 1}, {}, s).stop_at == 0.25 * norm);
        s.absolute = true;
        CHECK(cg::make_problem<double>(gpulab::stiffness<double>(4, 1), {1, 1, 1, 1}, {}, s).stop_at == 0.25);
    }
}

TEST_CASE("the comparison sees a wrong solution, a wrong history and a wrong end") {
    const auto c = cg::testing::generated<double>("laplace2d:12", cg::testing::settings(1e-8, 500));
    const auto reference = cg::make_reference(c.problem);
    cg::Output<double> out;
    cg::Stopwatch once;
    gpulab::run_of(cg::variants<double>(), "cpu_sequential")(c.problem, out, once);
    REQUIRE(cg::compare(c.problem, reference, out).passed);
    SECTION("one element of x") { out.x[77] += 1e-6; }
    SECTION("one element of x that is infinite") { out.x[77] = std::numeric_limits<double>::infinity(); }
    SECTION("one element of x, never written") { out.x[0] = gpulab::poison_value<double>(); }
    SECTION("one residual") { out.history[5] *= 1 + 1e-9; }
    SECTION("a residual that is NaN") { out.history[5] = std::numeric_limits<double>::quiet_NaN(); }
    SECTION("an iteration too many") { out.history.push_back(out.history.back() / 2); }
    SECTION("an iteration too few") { out.history.pop_back(); }
    SECTION("the limit, though there is none") { out.end = cg::End::limit; }
    SECTION("not positive definite") { out.end = cg::End::not_positive; }
    SECTION("an infinite number") { out.end = cg::End::not_finite; }
    SECTION("no history") { out.history.clear(); }
    SECTION("too few elements") { out.x.pop_back(); }
    CHECK_FALSE(cg::compare(c.problem, reference, out).passed);
}

TEMPLATE_TEST_CASE("the comparison accepts in a history what rounding explains, and no more", "", float, double) {
    // ((1, 0), (0, 3)) x = (1, 1): the residual after one iteration is (1, -1) / 2, and alpha q is (1, 3) / 2.
    using T = TestType;
    cg::testing::SymmetricMatrix<T> m(2);
    m.add(0, 0, 1);
    m.add(1, 1, 3);
    const auto p = cg::make_problem<T>(m.matrix(), {1, 1}, {}, cg::testing::settings(0, 2));
    cg::Output<T> out;
    cg::Stopwatch once;
    gpulab::run_of(cg::variants<T>(), "cpu_sequential")(p, out, once);
    REQUIRE(out.history.size() == 3); // compare() holds the last one against b - A x, too
    const double epsilon = std::numeric_limits<T>::epsilon();
    // The reference changes alpha by 16 + sqrt(2) epsilon and, through p . q, by 8; and each element of q by 8. So the
    // residual changes by at most that part of alpha q, and eight times as much is allowed.
    const double most = 8 * (16 + std::sqrt(2.0) + 8 + 8) * epsilon * std::hypot(0.5, 1.5);
    const double least = (16 + std::sqrt(2.0)) * epsilon * out.history[1]; // always
    const auto passes = [&](double change) {
        cg::Output<T> changed = out;
        changed.history[1] += change;
        return cg::compare(p, cg::make_reference(p), changed).passed;
    };
    CHECK(passes(0));
    CHECK(passes(0.8 * least));
    CHECK(passes(-0.8 * least));
    CHECK_FALSE(passes(1.05 * most));
    CHECK_FALSE(passes(-1.05 * most));
}

TEST_CASE("of the kernel times of several devices, the longest of each kind counts") {
    using Times = std::vector<std::pair<std::string, double>>;
    CHECK(cg::longest_times({{{"dot", 3}, {"spmv", 5}}, {{"dot", 4}, {"pack", 0.5}}, {{"dot", 2}, {"spmv", 1}}}) ==
          Times{{"dot", 4}, {"pack", 0.5}, {"spmv", 5}});
    CHECK(cg::longest_times({}).empty());
}

#if defined(GPULAB_WITH_OPENCL)
TEST_CASE("a kernel that only the second and third part run has a time", "[opencl]") {
    const auto& device = gpulab::testing::devices_or_skip(Backend::opencl).front();
    cg::testing::SymmetricMatrix<double> m(49);
    for (std::size_t i = 0; i < 49; ++i) m.add(i, i, static_cast<double>(4 + i % 3));
    for (std::size_t i = 29; i + 1 < 49; ++i) m.add(i, i + 1, -1); // 29 rows alone, 29 of 87 non-zeros
    auto c = cg::testing::system<double>("coupled rows at the end", m.matrix(), cg::testing::settings(0, 3));
    c.problem.parts = 3;
    const auto parts = cg::make_parts(c.problem.matrix, cg::split_rows(c.problem.matrix, {1, 1, 1}));
    REQUIRE(parts[0].send.empty());
    REQUIRE_FALSE(parts[1].send.empty());
    gpulab::use(device);
    cg::Output<double> out;
    cg::Stopwatch once;
    gpulab::testing::in_turn(
        [&] { gpulab::run_of(cg::variants<double>(), "opencl_devices_halo")(c.problem, out, once); });
    CHECK(std::ranges::count(out.kernel_ms, "pack", [](const auto& entry) { return entry.first; }) == 1);
}
#endif

TEST_CASE("the rungs for several GPUs refuse --flush-l2, and no others do") {
    for (const bool flush : {false, true}) {
        gpulab::Options options("cg", "a test");
        options.variants(cg::variants<double>());
        const std::array arguments = {"cg", "--flush-l2"};
        REQUIRE(options.parse(flush ? 2 : 1, arguments.data()));
        for (const auto& v : cg::variants<double>()) {
            INFO(v.name);
            const bool refused = flush && (v.name == "cuda_devices" || v.name == "cuda_devices_stores");
            CHECK(cg::refused_option(options, v.name).starts_with("--flush-l2: ") == refused);
            if (!refused) CHECK(cg::refused_option(options, v.name) == "");
        }
    }
}

TEST_CASE("a solution whose squares underflow is judged by its residual") {
    const auto c = cg::testing::generated<double>("laplace2d:4", cg::testing::settings(1e-8, 500));
    gpulab::Csr<double> matrix = c.problem.matrix;
    for (double& value : matrix.value) value *= 1e300;
    const auto problem = cg::make_problem(matrix, c.problem.b, {}, cg::testing::settings(1e-8, 500));
    cg::Output<double> out;
    cg::Stopwatch once;
    gpulab::run_of(cg::variants<double>(), "cpu_sequential")(problem, out, once);
    CHECK(cg::compare(problem, cg::make_reference(problem), out).message == "");
    CHECK(cg::residual_gap(problem, out) > 0);
    out.x[0] *= 1.001;
    CHECK_FALSE(cg::compare(problem, cg::make_reference(problem), out).passed);
}

TEST_CASE("the true residual is rounded once, however many rows there are") {
    auto c = cg::testing::generated<double>("laplace2d:128", cg::testing::settings(1e-8, 500));
    std::vector<double> b(c.problem.n(), 0.1); // 0.01 added 16384 times in double makes it wrong by 55 epsilon
    const auto problem = cg::make_problem(c.problem.matrix, b, {}, cg::testing::settings(1e-8, 500));
    const double found = cg::true_residual(problem, std::vector<double>(problem.n()));
    CHECK(std::abs(found / 12.8 - 1) <= 2 * std::numeric_limits<double>::epsilon());
}
