#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <numbers>

#include "checks.hpp"
#include "gpulab/options.hpp"
#include "perturbed_blocks.hpp"
#include "rungs.hpp"
#include "simulation.hpp"
#if defined(GPULAB_WITH_OPENCL)
#include "opencl/launch.hpp"
#endif

using gpulab::Backend;
using gpulab::testing::Faults;
using gpulab::testing::VariantCases;
using namespace fdtd;
using namespace fdtd::testing;

namespace {

const VariantCases doubles(variants<double>(), "computes the field in double", "", check_variant<double>);
const VariantCases floats(variants<float>(), "computes the field in float", "", check_variant<float>);

const VariantCases oclgrind(
    variants<double>(), "under oclgrind", "[.oclgrind]",
    [](const auto& v, Faults& faults) {
        faults.check("small grids", [&] { return fault_under_tools<double>(rung_of<double>(v), 19, 7); });
    },
    gpulab::testing::only_on<Backend::opencl>);
#if defined(GPULAB_WITH_CUDA)
const VariantCases sanitizer(
    variants<double>(), "under compute-sanitizer", "[.sanitizer]",
    [](const auto& v, Faults& faults) {
        faults.check("small grids", [&] { return fault_under_tools<double>(rung_of<double>(v), 101, 37); });
    },
    gpulab::testing::only_on<Backend::cuda>);

// Late blocks: a band of cuda_steps runs after another that it overlaps, and a tile of cuda_persistent long after those
// whose rings hold its cells. On 33 x 31 cells its tiles are as small as they may be.
const gpulab::Variant<Run<float>> perturbed_rungs[] = {
    {"cuda_steps", "", Backend::cuda, perturbed::cuda_steps<float>},
    {"cuda_persistent", "", Backend::cuda, perturbed::cuda_persistent<float>, {.cooperative_launch = true}}};

/// @param even whether every other block is late, from the first one on
template <bool even> void check_perturbed(const gpulab::Variant<Run<float>>& v, Faults& faults) {
    if (even) perturbed::set_late_blocks(2, 0);
    else if (v.name == "cuda_steps") perturbed::set_late_blocks(2, 1);
    else perturbed::set_late_blocks(17, 3);
    faults.check("late blocks", [&]() -> std::string {
        for (const Kind kind : {Kind::sources, Kind::many, Kind::all, Kind::graded})
            for (const auto& [nx, ny] :
                 std::vector<std::pair<std::size_t, std::size_t>>{{33, 31}, {61, 45}, {130, 70}}) {
                const std::string fault =
                    fault_in<float>({v.run, v.backend}, example<float>(kind, Mode::te, nx, ny, 13));
                if (!fault.empty()) return fault;
            }
        return "";
    });
}
const VariantCases with_even_perturbed(perturbed_rungs, "computes the field with perturbed blocks", "",
                                       check_perturbed<true>);
const VariantCases with_some_perturbed(perturbed_rungs, "computes the field with other late blocks", "",
                                       check_perturbed<false>);
#endif

/// Numbers just within 4 N epsilon of the right ones are accepted, and those just beyond are not.
template <class T> void check_tolerance() {
    constexpr std::size_t steps = 12;
    const auto e = example<T>(Kind::all, Mode::te, 30, 26, steps);
    const double allowed = 4.0 * steps * std::numeric_limits<T>::epsilon();
    const std::size_t at = e.problem.pitch() + 1; // of the cell (1, 1), which is in the layers, too
    Output<T> out = e.answer.out;
    REQUIRE(compare(e.problem, e.answer, out).error == 0);
    for (const auto& [numbers, scale] : {std::pair{&out.field.u, e.answer.u_scale},
                                         {&out.field.p, e.answer.edge_scale},
                                         {&out.field.q, e.answer.edge_scale},
                                         {&out.field.v, e.answer.u_scale},
                                         {&out.recorded, e.answer.u_scale}}) {
        T& number = (*numbers)[at];
        const T right = number;
        number = static_cast<T>(right + 0.9 * allowed * scale);
        CHECK(compare(e.problem, e.answer, out).message == "");
        number = static_cast<T>(right + 1.1 * allowed * scale);
        CHECK(!compare(e.problem, e.answer, out).passed);
        number = right;
    }
}

std::size_t steps_timed = 0; // by the variant below, in its last run
/// A variant that always takes a quarter of a millisecond per step.
void quarter_per_step(const Problem<double>& p, Output<double>&, Stopwatch& watch) {
    steps_timed = p.steps();
    watch.start();
    while (watch.wants_more()) watch.record(0.25 * static_cast<double>(p.steps()));
}

/// What a scene looks like over time.
struct Recording {
    std::vector<Snapshot> snapshots;
    std::vector<double> recorded;
};
std::size_t parts_computed = 0;
void counted_scene(const Problem<double>& p, Output<double>& out, Stopwatch& watch) {
    ++parts_computed;
    cpu_scene<double>(p, out, watch);
}
/// All of it, each snapshot taken before the next part was computed.
Recording recording_of(const Scene& scene, Keep keep) {
    Recording all;
    parts_computed = 0;
    all.recorded = simulate<double>(scene, counted_scene, keep, [&](const Snapshot& s) {
        all.snapshots.push_back(s);
        CHECK((keep == Keep::last_field || parts_computed == all.snapshots.size()));
    });
    CHECK(all.snapshots.size() == snapshots_of(scene, keep));
    return all;
}

/// A scene of sources in one cell, with the times and amplitudes of the given ones.
Scene in_one_cell(const std::vector<double>& amplitudes, std::size_t steps) {
    Scene scene = scene_of(Kind::plain, Mode::te, 20, 12, steps);
    Source source = source_in(9, 9, 10, 10, false);
    source.waveform.kind = Waveform::Kind::sine;
    source.waveform.frequency = 1e9;
    source.waveform.phase = 1.5;
    for (const double amplitude : amplitudes) {
        source.waveform.amplitude = amplitude;
        scene.sources.push_back(source);
    }
    return scene;
}
template <class T> void check_sources_in_one_cell(const std::vector<double>& amplitudes, std::size_t steps) {
    for (const Component component : {Component::z, Component::x}) {
        Scene scene = in_one_cell(amplitudes, steps);
        for (Source& source : scene.sources) source.component = component;
        const auto p = make_problem<T>(scene);
        const Reference<T> right = reference(scene, p);
        CHECK(compare(p, right, computed(p)).message == "");
        const Reference<T> others = as_reference(p, computed(p)); // where another variant gives the right answer
        CHECK((others.u_scale >= right.u_scale && others.edge_scale >= right.edge_scale));
        scene.sources[1].waveform.amplitude *= 2;
        CHECK(!compare(p, right, computed(make_problem<T>(scene))).passed);
    }
}
} // namespace

TEST_CASE("the tolerance is 4 N epsilon of the largest terms for every array") {
    check_tolerance<float>();
    check_tolerance<double>();
}

TEST_CASE("sources that cancel each other, or are many, are judged by what they add, not by what is left", "[cpu]") {
    check_sources_in_one_cell<double>({1, -1}, 10);
    check_sources_in_one_cell<double>({100, 1, -100}, 1);
    check_sources_in_one_cell<float>(std::vector(1024, 1.0), 8);
    // One source has the scale of the field.
    const Scene scene = in_one_cell({1}, 1);
    const auto one = reference(scene, make_problem<double>(scene));
    CHECK(one.u_scale == std::abs(one.out.field.u[9 * make_problem<double>(scene).pitch() + 9]));
}

TEST_CASE("a column drives with its number k in step k, whatever it drives", "[cpu]") {
    for (const Mode mode : {Mode::te, Mode::tm})
        for (const Component component : {Component::z, Component::x, Component::y})
            for (const bool hard : {false, true}) {
                Scene scene = scene_of(Kind::plain, mode, 9, 8, 4);
                Source source = source_in(4, 4, 5, 5, hard);
                source.component = component;
                source.waveform.kind = Waveform::Kind::column;
                source.waveform.numbers = {10, 20, 30};
                scene.sources = {source};
                scene.left.kind = Side::Kind::driven;
                scene.left.waveform = source.waveform;
                const auto p = make_problem<double>(scene);
                std::vector<double> driven, four = {10, 20, 30, 0};
                for (const double value : p.values) driven.push_back(std::abs(value)); // the side's come first
                CHECK(std::vector(driven.begin(), driven.begin() + 4) == four);
                CHECK(std::vector(driven.begin() + 4, driven.end()) == four);
                CHECK(compare(p, reference(scene, p), computed(p)).message == "");
            }
}

TEST_CASE("what a scene makes of its numbers is refused where the type cannot hold it") {
    Scene scene = in_one_cell({1e30}, 3);
    scene.sources[0].strength = {1e30};
    CHECK(gpulab::testing::message_of<gpulab::UsageError>([&] { make_problem<float>(scene); }) ==
          "sources[0]: gives numbers beyond 3.4e+38, the most that type float holds");
    CHECK_NOTHROW(make_problem<double>(scene));
    scene.sources.clear();
    scene.initial = {{.kind = Initial::Kind::gaussian, .amplitude = 1e39, .x = 4, .y = 4}};
    CHECK(
        gpulab::testing::message_of<gpulab::UsageError>([&] { make_problem<float>(scene); }).starts_with("initial: "));
}

TEST_CASE("the time of all steps follows from that of the steps that were timed") {
    Scene scene = scene_of(Kind::plain, Mode::te, 100, 100, 10);
    CHECK(sequential_ms<double>(scene, quarter_per_step) == 2.5);
    CHECK(steps_timed == 10);
    scene.steps = 1'000'000; // 10^10 cell updates, of which it times 2 * 10^8
    CHECK(std::abs(sequential_ms<double>(scene, quarter_per_step) / 250'000 - 1) < 1e-12);
    CHECK(steps_timed == 20'000);
}

#if defined(GPULAB_WITH_OPENCL)
TEST_CASE("OpenCL rungs that change fields in turn time from the first pass to the last", "[opencl]") {
    const auto p = make_problem<float>(scene_of(Kind::plain, Mode::te, 8, 8, 5));
    for (const gpulab::Device& device : gpulab::testing::devices_or_skip(Backend::opencl)) {
        gpulab::use(device);
        for (const auto& timed : {std::vector<bool>{true}, {true, true}, {true, false, false, false, true}}) {
            ClProblem<float> problem(p);
            Output<float> out = make_output(p);
            Stopwatch once;
            std::vector<bool> events;
            // Each pass copies the field and puts its number into the first cell.
            run_in_turns(p, problem, out, once, static_cast<cl_int>(timed.size()),
                         [&](const cl::CommandQueue& queue, cl_int k, const ClFields<float>& from,
                             const ClFields<float>& to, cl::Event* event) {
                             CHECK(static_cast<std::size_t>(k) == events.size());
                             events.push_back(event != nullptr);
                             copy(from, to, queue);
                             queue.enqueueFillBuffer(to.u.data(), static_cast<float>(k + 1), 0, sizeof(float), nullptr,
                                                     event);
                         });
            INFO(timed.size() << " passes");
            CHECK(events == timed);
            CHECK(out.field.u[0] == static_cast<float>(timed.size()));
            CHECK(out.field.u[1] == 0);
        }
    }
}
#endif

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
    const auto p = make_problem<double>({.nx = 4,
                                         .ny = 3,
                                         .materials = {Material{}, {"glass", 5, 1, 0, 0}},
                                         .map = {0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1}});
    const auto q_of = [&](std::size_t i) { return p.table[2 + p.map[2 * p.array_size() + i]].add; };
    CHECK(std::abs(q_of(1) / q_of(2) - 3) < 1e-12); // (1 + 5) / 2
    CHECK(std::abs(q_of(1) / q_of(3) - 5) < 1e-12);
    CHECK(std::abs(p.table[p.map[2]].add / p.table[p.map[1]].add - 1) < 1e-12); // mu is the same
}

TEST_CASE("a scene computed in parts gives the same field and the same record", "[cpu]") {
    for (const Kind kind : {Kind::all, Kind::driven})
        for (const Mode mode : {Mode::te, Mode::tm}) {
            Scene scene = scene_of(kind, mode, 60, 50, 20);
            if (kind == Kind::driven) scene.initial = {{.x = 12, .y = 12, .width_x = 3, .width_y = 3}};
            const auto whole = make_problem<double>(scene);
            const Output<double> out = computed(whole);
            CHECK(compare(whole, reference(scene, whole), out).message == "");
            scene.frame_every = 7;
            const Recording recording = recording_of(scene, Keep::fields);
            REQUIRE(recording.snapshots.size() == 3);
            CHECK(recording.recorded == out.recorded);
            const Snapshot& last = recording.snapshots.back();
            const double sign = mode == Mode::te ? 1 : -1; // P and Q are Ex and Ey, or -Hx and -Hy
            each_cell(whole, [&](std::size_t i, std::size_t j, std::size_t at) {
                const std::size_t cell = j * scene.nx + i;
                REQUIRE(last.values[cell] == static_cast<float>(out.field.u[at]));
                REQUIRE(last.x[cell] == static_cast<float>(sign * out.field.p[at]));
                REQUIRE(last.y[cell] == static_cast<float>(sign * out.field.q[at]));
                // Files do not say -0, unless a number is too small for a float.
                if (kind == Kind::all) REQUIRE(!(last.x[cell] == 0 && std::signbit(last.x[cell])));
            });
            const Recording pictures = recording_of(scene, Keep::pictures);
            CHECK(pictures.snapshots.back().values == last.values);
            CHECK((pictures.snapshots.back().x.empty() && pictures.snapshots.back().y.empty()));
            const Recording end = recording_of(scene, Keep::last_field);
            REQUIRE(end.snapshots.size() == 1);
            CHECK((end.snapshots[0].step == 20 && end.snapshots[0].x == last.x &&
                   end.snapshots[0].values == last.values));
            CHECK(end.recorded == out.recorded);
            for (const Keep keep : {Keep::pictures, Keep::fields, Keep::last_field})
                for (const Snapshot& s : recording_of(scene, keep).snapshots)
                    CHECK(bytes_of_snapshot(scene, keep) ==
                          4.0 * static_cast<double>(s.values.size() + s.x.size() + s.y.size()));
        }
}

TEST_CASE("what a snapshot holds next to a source has the direction that Maxwell's equations give", "[cpu]") {
    // A positive current along z: Hx and Hy go around it; -Mz, the current of TE, makes Ex and Ey.
    for (const Mode mode : {Mode::te, Mode::tm}) {
        Scene scene{.mode = mode, .nx = 9, .ny = 9, .steps = 1};
        Source source = source_in(4, 4, 5, 5);
        source.waveform.kind = Waveform::Kind::sine; // U = sin(1.5) in the cell (4, 4)
        source.waveform.phase = 1.5;
        scene.sources = {source};
        const Snapshot s = recording_of(scene, Keep::fields).snapshots.back();
        // TE: eps dEx/dt = dHz/dy and eps dEy/dt = -dHz/dx. TM: mu dHx/dt = -dEz/dy and mu dHy/dt = dEz/dx.
        const float x = mode == Mode::te ? 1.0f : -1.0f;
        const std::size_t here = 4 * 9 + 4;
        CHECK((s.values[here] > 0 && s.x[here] * x > 0 && s.x[here + 9] * x < 0));
        CHECK((s.y[here] * x < 0 && s.y[here + 1] * x > 0));
        CHECK((s.x[here + 1] == 0 && s.y[here + 9] == 0 && s.x[here - 9] == 0 && s.y[here - 1] == 0));
    }
}

TEST_CASE("no variant is compared with itself") {
    gpulab::Device device;
    for (const double steps : {1e6, 1e8, 1e12})
        for (const auto& v : variants<double>())
            for (const bool is_cpu : {false, true}) {
                if (is_cpu && v.backend == Backend::cuda) continue;
                device.backend = v.backend;
                device.is_cpu = is_cpu;
                const std::string_view other = compared_with(v.name, device, steps);
                INFO(v.name << ", " << steps << " cell updates, with " << other);
                CHECK(other != v.name);
                CHECK(other.empty() == (steps == 1e6));
                if (other.empty()) continue;
                const auto& table = variants<double>();
                const auto row = std::ranges::find(table, other, &gpulab::Variant<Run<double>>::name);
                REQUIRE(row != table.end());
                const bool same = steps == 1e12 && v.backend != Backend::cpu && !is_cpu;
                CHECK(row->backend == (same ? v.backend : Backend::cpu));
            }
    CHECK(note_of_comparison(1e6) == "");
    CHECK(note_of_comparison(1e8).find("cpu_scene_threads") != std::string::npos);
}

TEST_CASE("above every limit the judge of the program accepts right answers and rejects a wrong one", "[cpu]") {
    const Scene scene = scene_of(Kind::all, Mode::te, 60, 50, 20);
    const auto p = make_problem<double>(scene);
    gpulab::Options options("fdtd", "");
    options.variants(variants<double>());
    REQUIRE(options.parse(1, std::array{"fdtd"}.data()));
    for (const JudgesLimits& limits : {JudgesLimits{}, JudgesLimits{0, 1e9}, JudgesLimits{0, 0}}) {
        Judge<double> judge(scene, p, limits);
        for (auto job : gpulab::jobs(variants<double>(), options)) {
            if (!job.skip.empty() || core_rungs().contains(job.variant.name)) continue;
            INFO(job.variant.name << ", limits " << limits.reference << " and " << limits.cpu);
            Output<double> out = make_output(p);
            gpulab::use(job.devices);
            in_turn([&] {
                Stopwatch once;
                job.variant.run(p, out, once);
                CHECK(judge(job, out).message == "");
                out.field.u[20 * p.pitch() + 20] += 1e-9;
                CHECK(!judge(job, out).passed);
            });
            // On a GPU its own back end's rungs are the judges. Here OpenCL's are, whatever the device is.
            if (job.variant.backend != Backend::opencl) continue;
            job.devices.front().is_cpu = false;
            in_turn([&] { CHECK(!judge(job, out).passed); });
            out.field.u[20 * p.pitch() + 20] -= 1e-9;
            in_turn([&] { CHECK(judge(job, out).message == ""); });
        }
    }
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

TEST_CASE("a side with given values keeps them, and no other side has them", "[cpu]") {
    // Four sides, one value each; bottom and top have the corners.
    for (const Mode mode : {Mode::te, Mode::tm}) {
        Scene scene = scene_of(Kind::plain, mode, 11, 8, 25);
        const auto field = [&] {
            const auto p = make_problem<double>(scene);
            const Output<double> out = computed(p);
            return [u = out.field.u, pitch = p.pitch()](std::size_t i, std::size_t j) { return u[j * pitch + i]; };
        };
        double value = 1;
        for (Side* side : {&scene.left, &scene.right, &scene.bottom, &scene.top}) {
            side->kind = Side::Kind::dirichlet;
            side->value = value++;
        }
        const auto given = field();
        for (std::size_t j = 1; j < 7; ++j) CHECK((given(0, j) == 1 && given(10, j) == 2));
        for (std::size_t i = 0; i < 11; ++i) CHECK((given(i, 0) == 3 && given(i, 7) == 4));
        CHECK(given(5, 4) != 0); // the values have reached the middle

        // One side alone: in TM the conductors beside it hold 0.
        scene.left = scene.bottom = scene.top = Side{};
        const auto right = field();
        for (std::size_t j = 1; j < 7; ++j) CHECK(right(10, j) == 2);
        for (std::size_t j = 1; j < 7; ++j) CHECK((mode == Mode::tm ? right(0, j) == 0 : right(0, j) != 2));
    }
}

TEST_CASE("the reference takes a side's values from the scene", "[cpu]") {
    Scene scene = scene_of(Kind::plain, Mode::te, 11, 8, 3);
    scene.left.kind = scene.top.kind = Side::Kind::dirichlet;
    scene.left.value = 0.5;
    scene.top.value = -0.25;
    auto p = make_problem<double>(scene);
    std::ranges::fill(p.start.u, 0);
    const auto answer = reference(scene, p);
    for (std::size_t j = 0; j < 7; ++j) CHECK(answer.out.field.u[j * p.pitch()] == 0.5);
    for (std::size_t i = 0; i < 11; ++i) CHECK(answer.out.field.u[7 * p.pitch() + i] == -0.25);
}

TEST_CASE("the field at the start is what the scene says, where the boundary does not decide", "[cpu]") {
    for (const Mode mode : {Mode::te, Mode::tm}) {
        const bool te = mode == Mode::te;
        Scene scene{.mode = mode, .nx = 9, .ny = 7, .steps = 1};
        scene.right.kind = Side::Kind::dirichlet;
        scene.right.value = -3;
        const Initial part{.amplitude = 2, .x = 4.5, .y = 3.5, .width_x = 2, .width_y = 4},
            other{.component = Component::x,
                  .kind = Initial::Kind::numbers,
                  .amplitude = 2,
                  .numbers = std::vector(63, 0.5)};
        scene.initial = {part, part, other};
        check_scene(scene);
        const auto p = make_problem<double>(scene);
        const auto u = [&](std::size_t i, std::size_t j) { return p.start.u[j * p.pitch() + i]; };
        CHECK(u(4, 3) == 4); // twice
        CHECK(std::abs(u(6, 3) - 4 * std::exp(-1.0)) < 1e-14);
        CHECK(std::abs(u(4, 5) - 4 * std::exp(-0.25)) < 1e-14);
        CHECK(u(8, 3) == -3);
        CHECK((te ? u(0, 0) > 0 : u(0, 0) == 0));
        CHECK(p.start.p[p.pitch() + 2] == (te ? 1 : -1)); // -Hx
        CHECK((p.start.p[2] == 0 && p.start.p[7 * p.pitch() + 2] == 0));
        CHECK(std::ranges::count(p.start.q, 0.0) == static_cast<std::ptrdiff_t>(p.array_size()));

        scene.right = Side{};
        scene.initial = {{.kind = Initial::Kind::mode, .m = 2, .n = 1}};
        const auto q = make_problem<double>(scene);
        const double pi = std::numbers::pi;
        const double here =
            te ? std::cos(2 * pi * 1.5 / 9) * std::cos(pi * 2.5 / 7) : std::sin(2 * pi * 1 / 8) * std::sin(pi * 2 / 6);
        CHECK(std::abs(q.start.u[2 * q.pitch() + 1] - here) < 1e-14);
    }
}

TEST_CASE("sources have the sign of their component and the time at which it is computed") {
    // A ramp, 1 at 1 s: its value is the time. Step 3 takes U from 2 to 3, P and Q from 2.5 to 3.5.
    for (const Mode mode : {Mode::te, Mode::tm})
        for (const Component component : {Component::z, Component::x, Component::y})
            for (const bool hard : {false, true}) {
                Scene scene{.mode = mode, .nx = 9, .ny = 9, .steps = 3};
                Source source = source_in(4, 4, 5, 5, hard);
                source.component = component;
                source.waveform.kind = Waveform::Kind::sine; // so slow that the sine is its argument
                source.waveform.frequency = 1e-6;
                source.waveform.amplitude = 1e6 / (2 * std::numbers::pi);
                scene.sources = {source};
                const auto p = make_problem<double>(scene);
                const bool z = component == Component::z;
                const double time = z ? (hard ? 3 : 2.5) : (hard ? 3.5 : 3);
                const double sign = (hard ? 1 : -1) * (mode == Mode::tm && !z ? -1 : 1);
                INFO((mode == Mode::te ? "TE, " : "TM, ") << name_of(mode, component) << (hard ? ", hard" : ", soft"));
                CHECK(std::abs(p.values[2] / (sign * time * p.dt) - 1) < 1e-12);
            }
}

TEST_CASE("only materials that are in the grid limit the time step", "[cpu]") {
    Scene scene;
    scene.nx = scene.ny = 6;
    scene.materials = {Material{}, {"glass", 4, 1, 0, 0}, {"unused", 0.25, 1, 0, 0}};
    const double vacuum = largest_speed(scene); // no map: the first material fills the grid
    CHECK(std::abs(vacuum * std::sqrt(eps_0 * mu_0) - 1) < 1e-12);
    scene.map.assign(36, 1);
    CHECK(std::abs(largest_speed(scene) / vacuum - 0.5) < 1e-12);
    scene.dt = 1.9 * 0.01 / vacuum / std::sqrt(2.0); // twice that of vacuum would be the limit
    CHECK_NOTHROW(check_scene(scene));
    scene.map[20] = 0;
    CHECK(std::abs(largest_speed(scene) / vacuum - 1) < 1e-12);
    CHECK_THROWS_AS(check_scene(scene), gpulab::UsageError);
    scene.map[21] = 2;
    CHECK(std::abs(largest_speed(scene) / vacuum - 2) < 1e-12);

    // Layers, too, are made for the materials in the grid: the reference computes theirs by itself.
    scene = scene_of(Kind::all, Mode::te, 30, 30, 12);
    scene.materials.push_back({"unused", 0.01, 1, 0, 0});
    const auto p = make_problem<double>(scene);
    const Output<double> out = computed(p);
    CHECK(compare(p, reference(scene, p), out).message == "");
}

TEST_CASE("the first steps of every scene are as accurate as the others", "[cpu]") {
    // The field is then as small as the first values of a pulse.
    for (const std::string& name : scene_names())
        for (const std::size_t steps : {1, 2, 3, 10}) {
            const Scene scene = read_scene(name, {.nx = 80, .ny = 72, .steps = steps});
            const auto p = make_problem<double>(scene);
            const Output<double> out = computed(p);
            INFO(name << ", " << steps << " steps");
            CHECK(compare(p, reference(scene, p), out).message == "");
        }
}
