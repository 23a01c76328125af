#include <array>
#include <catch2/catch_test_macros.hpp>

#include "checks.hpp"
#include "gpulab/options.hpp"
#include "rungs.hpp"
#include "simulation.hpp"

using gpulab::Backend;
using gpulab::testing::Faults;
using gpulab::testing::VariantCases;
using namespace fdtd;
using fdtd::testing::Kind;

namespace {

template <class T> void check_variant(const gpulab::Variant<Run<T>>& v, Faults& faults) {
    fdtd::testing::Rung<T> rung = fdtd::testing::rung_of<T>(v);
    for (const auto& check : fdtd::testing::checks<T>()) faults.check(check.name, [&] { return check.fault(rung); });
}

const VariantCases doubles(variants<double>(), "computes the field in double", "", check_variant<double>);
const VariantCases floats(variants<float>(), "computes the field in float", "", check_variant<float>);

#if defined(GPULAB_WITH_OPENCL)
const VariantCases oclgrind(
    variants<double>(), "under oclgrind", "[.oclgrind]",
    [](const auto& v, Faults& faults) {
        faults.check("small grids", [&] {
            return fdtd::testing::fault_under_tools<double>(fdtd::testing::rung_of<double>(v), 19, 7);
        });
    },
    gpulab::testing::only_on<Backend::opencl>);
#endif
#if defined(GPULAB_WITH_CUDA)
const VariantCases sanitizer(
    variants<double>(), "under compute-sanitizer", "[.sanitizer]",
    [](const auto& v, Faults& faults) {
        faults.check("small grids", [&] {
            return fdtd::testing::fault_under_tools<double>(fdtd::testing::rung_of<double>(v), 101, 37);
        });
    },
    gpulab::testing::only_on<Backend::cuda>);
#endif

} // namespace

TEST_CASE("the coefficients are those of equation 4.2.10") {
    Scene scene;
    scene.materials = {{"lossy", 2, 3, 0.1, 50}};
    const auto p = make_problem<double>(scene);
    const double eps = 2 * eps_0, mu = 3 * mu_0, dt = p.dt;
    CHECK(std::abs(p.rules.u.keep - (1 - 50 * dt / (2 * mu)) / (1 + 50 * dt / (2 * mu))) < 1e-14);
    CHECK(std::abs(p.rules.u.add / ((dt / mu) / (1 + 50 * dt / (2 * mu))) - 1) < 1e-14);
    CHECK(std::abs(p.rules.e.keep - (1 - 0.1 * dt / (2 * eps)) / (1 + 0.1 * dt / (2 * eps))) < 1e-14);
    CHECK(std::abs(p.rules.e.x / ((dt / eps) / (1 + 0.1 * dt / (2 * eps)) / scene.dx) - 1) < 1e-14);
}

TEST_CASE("an edge between two media has the mean of their constants") {
    Scene scene;
    scene.nx = 4, scene.ny = 3;
    scene.materials = {Material{}, {"glass", 5, 1, 0, 0}};
    scene.map = {0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1};
    const auto p = make_problem<double>(scene);
    const auto q_of = [&](std::size_t i) { return p.table[2 + p.map[2 * p.array_size() + i]].add; };
    CHECK(std::abs(q_of(1) / q_of(2) - 3) < 1e-12); // (1 + 5) / 2
    CHECK(std::abs(q_of(1) / q_of(3) - 5) < 1e-12);
    CHECK(std::abs(p.table[p.map[2]].add / p.table[p.map[1]].add - 1) < 1e-12); // mu is the same
}

TEST_CASE("a scene computed in parts gives the same field and the same record", "[cpu]") {
    Scene scene = fdtd::testing::scene_of(Kind::all, Mode::tm, 60, 50, 20);
    const auto whole = make_problem<double>(scene);
    Output<double> out = make_output(whole);
    Stopwatch once;
    cpu_sequential<double>(whole, out, once);
    scene.frame_every = 7;
    const Recording recording = simulate<double>(scene, cpu_sequential<double>);
    CHECK(recording.snapshots.size() == 3);
    CHECK(recording.recorded == out.recorded);
    for (std::size_t j = 0; j < scene.ny; ++j)
        for (std::size_t i = 0; i < scene.nx; ++i)
            REQUIRE(recording.snapshots.back().values[j * scene.nx + i] ==
                    static_cast<float>(out.field.u[j * whole.pitch() + i]));
}

TEST_CASE("a CPU is not asked for steps that take minutes") {
    gpulab::Options options("fdtd", "");
    options.variants(variants<double>());
    REQUIRE(options.parse(3, std::array{"fdtd", "--variant", "cpu_threads"}.data()));
    gpulab::Device cpu, opencl_cpu, gpu;
    opencl_cpu.backend = gpu.backend = Backend::opencl;
    opencl_cpu.is_cpu = true;
    CHECK(too_slow(options, "cpu_sequential", cpu, patience) == "");
    CHECK(too_slow(options, "cpu_sequential", cpu, 2 * patience) ==
          "2e+09 cell updates take long on a CPU; --variant cpu_sequential runs it anyway");
    CHECK(too_slow(options, "opencl_plain", opencl_cpu, 2 * patience) != "");
    CHECK(too_slow(options, "opencl_plain", gpu, 2 * patience) == "");
    CHECK(too_slow(options, "cpu_threads", cpu, 2 * patience) == ""); // asked for by name
}
