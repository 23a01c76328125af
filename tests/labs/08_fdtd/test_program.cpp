// The program as a user meets it: the contract of all programs, and what is this lab's own.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "checks.hpp"
#include "gpulab/file.hpp"
#include "gpulab/image/image.hpp"
#include "gpulab/input_file.hpp"
#include "gpulab_testing/contract.hpp"
#include "gpulab_testing/in_folder.hpp"
#include "levels/levels.hpp"
#include "result_files.hpp"
#include "simulation.hpp"
#include "studies.hpp"

using gpulab::Backend;
using gpulab::testing::InFolder;
using gpulab::testing::names_of;
using gpulab::testing::StudyCase;
using namespace fdtd;
using namespace fdtd::testing;
using Words = std::set<std::string>;
using Json = nlohmann::json;

namespace {
const gpulab::testing::Program program("fdtd", FDTD_PROGRAM);

/// Excuses the rungs that are wrong by their own test.
gpulab::testing::KnownWrong wrong_rungs() {
    return gpulab::testing::known_wrong(variants<double>(),
                                        [](const auto& v) { return every_kind_fault(rung_of<double>(v)); });
}

/// Takes away the rows of Core rungs. What is wrong with them, or "": each must have been left out with the reason that
/// the scene is not the book's.
std::string core_fault(nlohmann::json& run) {
    nlohmann::json others = nlohmann::json::array();
    for (const auto& row : run.at("variants")) {
        if (!core_rungs().contains(row.at("name").get<std::string>())) {
            others.push_back(row);
            continue;
        }
        const std::string reason = row.value("reason", "");
        const bool no_device = row.at("backend") == "cuda" && gpulab::devices(Backend::cuda).empty();
        if (row.at("status") != "skipped" || (!no_device && !reason.starts_with("computes the book's problem only")))
            return "not left out: " + row.dump();
    }
    run["variants"] = others;
    return "";
}

/// What is wrong with the figures of a row, or "": each must follow from the times in the same file.
/// @param names the figures that the row must have, beside those of every row @param base_ms the time that "gain"
/// refers to; 0: there must be no gain
std::string figures_fault(const nlohmann::json& run, const nlohmann::json& row, const Words& names,
                          double base_ms = 0) {
    const auto& problem = run.at("problem");
    const double steps = problem.at("steps");
    const double grid_steps = problem.at("nx").get<double>() * problem.at("ny").get<double>() * steps;
    // The book's tables count n x n cells, without the layers around them.
    const double cell_steps = problem.contains("n") ? std::pow(problem.at("n").get<double>(), 2) * steps : grid_steps;
    const double ms = row.at("kernel_ms").at("median"), number_bytes = problem.at("type") == "double" ? 8 : 4;
    std::map<std::string, double> expected = {{"mcells_per_s", cell_steps / (ms / 1000) / 1e6},
                                              {"bytes", 6 * number_bytes * grid_steps},
                                              {"flops", 12 * grid_steps}};
    if (names.contains("seconds")) expected["seconds"] = ms / 1000;
    if (names.contains("seconds_1000")) expected["seconds_1000"] = ms / 1000 * 1000 / steps;
    if (!run.at("sequential_ms").is_null()) {
        const double sequential = run.at("sequential_ms");
        expected["speedup"] = sequential / ms;
        if (names.contains("sequential_mcells_per_s"))
            expected["sequential_mcells_per_s"] = cell_steps / (sequential / 1000) / 1e6;
    }
    if (base_ms > 0) expected["gain"] = base_ms / ms;
    for (const std::string& name : names)
        if (!expected.contains(name)) return "nothing to compute " + name + " from: " + run.dump();
    for (const auto& [name, value] : expected)
        if (!row.contains(name) || !(std::abs(row.at(name).get<double>() / value - 1) < 1e-12))
            return fmt::format("{} should be {}: {}", name, value, row.dump());
    if (row.contains("gain") && base_ms == 0) return "a gain over nothing: " + row.dump();
    const std::string reference = problem.contains("n")                    ? "sequential_O3"
                                  : problem.value("boundary", "") == "pml" ? "cpu_scene"
                                                                           : "cpu_sequential";
    return gpulab::testing::reference_fault(run, reference);
}

/// What is wrong with the grid of a run of the book's tables, or "": 25 cells of layers are outside its n x n cells.
std::string grid_fault(const nlohmann::json& run) {
    const auto& problem = run.at("problem");
    const int n = problem.at("n"), side = problem.at("boundary") == "pml" ? n + 50 : n;
    return problem.at("nx") == side && problem.at("ny") == side ? "" : "another grid: " + problem.dump();
}

/// The same for all rows of a study. @param rows the least number of rows with a time
std::string study_figures_fault(const nlohmann::json& runs, const Words& names, std::size_t rows) {
    std::size_t timed = 0;
    for (const auto& run : runs) {
        std::map<std::string, double> base; // by device
        if (run.at("problem").contains("n"))
            if (const std::string fault = grid_fault(run); !fault.empty()) return fault;
        for (const auto& row : run.at("variants")) {
            if (row.at("kernel_ms").is_null()) continue;
            ++timed;
            const std::string device = row.at("device");
            const bool layers = run.at("problem").value("boundary", "") == "pml";
            if (run.at("study") == "ladder" && row.at("name") == (layers ? "cuda_scene" : "cuda_coalesced"))
                base[device] = row.at("kernel_ms").at("median");
            if (const std::string fault = figures_fault(run, row, names, base[device]); !fault.empty()) return fault;
        }
    }
    return timed >= rows ? "" : fmt::format("only {} rows have a time", timed);
}

gpulab::testing::Operation operation(const std::string& type) {
    return {"--nx 70 --ny 50 --steps 30 --repeat 1 --type " + type,
            {{"nx", 70}, {"ny", 50}, {"steps", 30}, {"type", type}},
            gpulab::testing::backends_of(variants<double>()),
            "cpu_sequential",
            wrong_rungs(),
            [](const Json& run, const Json& row) { return figures_fault(run, row, {"speedup"}); }};
}

std::optional<StudyCase> study_of(const std::string& name) {
    if (name == "figure-4-5") return std::nullopt;
    if (name == "figure-4-4") return StudyCase{"--steps 40", 1, wrong_rungs()};
    if (name == "block-shapes") // each of 512 threads but the last
        return StudyCase{"--nx 70 --steps 4",
                         11,
                         wrong_rungs(),
                         [](const Json& run) {
                             const int x = run["problem"]["block_x"], y = run["problem"]["block_y"];
                             return x * y == 512 || (x == 32 && y == 32) ? "" : "another shape";
                         },
                         {Backend::opencl, Backend::cuda}};
    if (name == "table-4-1") return StudyCase{"--nx 300 --steps 4", 16, wrong_rungs(), {}, {Backend::cuda}};
    return StudyCase{"--nx 300 --steps 4", 2, wrong_rungs()};
}

/// A scene with a source that a file drives, and a probe.
constexpr const char* driven_by_file =
    R"({"nx": 12, "ny": 10, "dx": 0.01, "steps": 9, "probes": [{"at": [2, 3]}], "sources": [
        {"field": "Hz", "at": [5, 5], "waveform": {"type": "column", "file": "numbers.gz"}}]})";

const gpulab::testing::ProgramCases contract([] {
    constexpr double field = 4.0 * 8 * 3017 * 2001; // bytes of the four arrays, with their padding
    return gpulab::testing::LabProgram{.program = program,
                                       .readme = FDTD_README,
                                       .variants = names_of(variants<double>()),
                                       .studies = study_list(),
                                       .options = "--scene --nx --ny --steps --type --frames --vtk --field --probes",
                                       .smallest = "--nx 16 --ny 16 --steps 1",
                                       .refusals = R"(
            --nx 2 | --ny 0 | --steps 0 | --steps x | --nx 40000 | --type half
            --scene nowhere | --scene /dev/zero | --scene '' | --scene number | --scene number --nx 30
            --scene wrong : colour: is not a key
            --study ladder --scene book | --study ladder --nx 299 | --study growth --nx 15
            --frames file | --frames file/below | --frames '' | --vtk file | --vtk file/below | --vtk ''
            --study figure-4-4 --nx 30 | --field /nonexistent/folder/x.csv | --probes x.csv --field ./x.csv)",
                                       .files = {{"file", "x"},
                                                 {"wrong", R"({"nx": 20, "ny": 10, "dx": 0.01, "colour": "red"})"},
                                                 {"number", R"({"nx": 20, "ny": 10, "dx": 0.01, "courant": 2})"}},
                                       .silent = true,
                                       .operations = {operation("float"), operation("double")},
                                       .piped = {{"--variant cpu_scene --repeat 1 --scene /dev/stdin --probes out.gz",
                                                  driven_by_file,
                                                  "step,time,\"probe 0\"\n1,",
                                                  {{"numbers.gz", "1\n-1\n"}}}},
                                       .memory = {{"--nx 3000 --ny 2000 --steps 10", 3.5 * field, 6 * field}},
                                       .study = study_of,
                                       .per_element = "ns_per_cell_and_step",
                                       .elements =
                                           [](const Json& problem, const Json&) {
                                               return problem["nx"].get<double>() * problem["ny"].get<double>() *
                                                      problem["steps"].get<double>();
                                           },
                                       .growth = {{"--nx 100 --steps 3", 3, wrong_rungs()}}};
});

/// The numbers with a decimal point in a text, in their order.
std::vector<double> numbers_in(const std::string& text) {
    std::vector<double> all;
    const std::regex number(R"(-?\d+\.\d+)");
    for (auto at = std::sregex_iterator(text.begin(), text.end(), number); at != std::sregex_iterator(); ++at)
        all.push_back(std::stod(at->str()));
    return all;
}
} // namespace

TEST_CASE("the README names every scene, and the tables of both types have the same names", "[program]") {
    const std::vector<std::string> scenes = scene_names();
    CHECK(gpulab::testing::absent_from(FDTD_README, {scenes.begin(), scenes.end()}) == Words{});
    CHECK(names_of(variants<float>()) == names_of(variants<double>()));
}

TEST_CASE("the Core rungs of the README's ladder are those that compute the book's problem only", "[program]") {
    const std::string page = gpulab::testing::bytes_of(FDTD_README);
    const std::size_t core = page.find("**Core**"), further = page.find("**Further**");
    REQUIRE((core != std::string::npos && core < further && further != std::string::npos));
    for (const std::string& name : names_of(variants<double>())) {
        const std::size_t row = page.find("| `" + name + "` |");
        INFO(name);
        CHECK((row > core && row < further) == core_rungs().contains(name));
    }
}

TEST_CASE("a Core rung that is asked for a scene beyond the book's says in one line which rungs compute it",
          "[program]") {
    for (const std::string name : {"cpu_sequential", "cpu_threads"})
        for (const std::string& says : {name + ": computes the book's problem only",
                                        std::string("cpu_scene, opencl_scene and cuda_scene compute the others")})
            CHECK(program.refusal_fault("--scene scatterer --variant " + name, says) == "");
}

TEST_CASE("every scene passes on every variant that can run it, and Core rungs leave all but the book's to others",
          "[program][thorough]") {
    for (const std::string& scene : scene_names()) {
        INFO(scene);
        auto run = program.results("--scene " + scene + " --nx 80 --ny 72 --steps 40 --repeat 1");
        CHECK(run["problem"]["scene"] == scene);
        if (scene != "book") CHECK(core_fault(run) == "");
        CHECK(gpulab::testing::run_fault(run, scene == "book" ? "cpu_sequential" : "cpu_scene", wrong_rungs()) == "");
    }
}

TEST_CASE("pictures, fields and probes are written", "[program]") {
    const InFolder here(program);
    const std::string arguments = "--scene double-slit --nx 60 --ny 52 --steps 60 --variant cpu_scene --repeat 1 ";
    here.done(arguments + "--frames pictures --vtk vtk --field field.csv --probes probes.csv");
    for (const std::string step : {"000020", "000040", "000060"}) {
        const gpulab::Image image = gpulab::read_png(here.path("pictures/frame-" + step + ".png"));
        CHECK((image.width == 60 * 5 && image.height == 52 * 5));
        CHECK(here.has("vtk/field-" + step + ".vti"));
    }
    CHECK(here.has("pictures/animation.png"));
    CHECK(here.has("vtk/series.pvd"));
    here.done(arguments + "--field last.csv");
    CHECK(here.text("field.csv") == here.text("last.csv")); // of the last step, whatever else is written
    CHECK(here.text("field.csv").size() > 60 * 52 * 6);
    CHECK(here.text("probes.csv").size() > 60 * 10);
}

TEST_CASE("a field that a type or a file cannot hold is one line, and no file says inf", "[program]") {
    const InFolder here(
        program, {{"big", R"({"nx": 20, "ny": 16, "dx": 1e9, "steps": 20, "sources": [{"field": "Ex", "at": [9, 7],
                   "waveform": {"type": "sine", "frequency": 0, "phase": 1.5, "amplitude": 1e30}}]})"}});
    const std::string command = "--backend cpu --repeat 1 --scene big ";
    CHECK(here(command).exit_code == 0);
    const auto in_float = here(command + "--type float");
    CHECK(in_float.exit_code == 2);
    CHECK(in_float.err == "fdtd: the field (reference) has numbers beyond 3.4e+38, the most that type float holds\n");
    for (const std::string option : {"--field", "--vtk"}) {
        const auto run = here(command + option + " out");
        CHECK(run.exit_code == 2);
        CHECK(run.out.find("2 right, 0 wrong") != std::string::npos);
        CHECK(run.err.starts_with("fdtd: the field of step "));
        if (option == "--field") CHECK_FALSE(here.has("out"));
    }
}

TEST_CASE("many pictures and long runs are announced", "[program]") {
    Scene scene;
    ResultFiles files;
    files.frames = "folder";
    CHECK(note_of_results(scene, files, 20'000) == "");
    CHECK(note_of_results(scene, files, 50'000)
              .starts_with(
                  "The files take 20 snapshots of 150 x 150 cells: about 100 s to compute")); // twice, for the scale
    scene.frame_scale = 1;
    scene.frame_every = 1;
    CHECK(note_of_results(scene, files, 50'000) == "");
    scene.steps = 1'000'000;
    CHECK(note_of_results(scene, files, 7.2e6)
              .starts_with("The files take 1000000 snapshots of 150 x 150 cells: about 2 hours to compute"));
    const InFolder here(program, {{"s", R"({"nx": 3, "ny": 3, "dx": 1, "steps": 1001, "frames": {"every": 1}})"}});
    const auto run = here("--backend cpu --repeat 1 --scene s --vtk vtk");
    CHECK(run.out.find("The files take 1001 snapshots") < run.out.find("1001 .vti files"));
}

TEST_CASE("pictures of a wrong field are written, and the exit code says that it is wrong", "[program]") {
    const InFolder here(gpulab::testing::Program("fdtd", FDTD_MOTIONLESS));
    const auto run = here("--steps 20 --variant cpu_sequential --repeat 1 --frames pictures");
    INFO(run.out << run.err);
    CHECK(run.exit_code == 1);
    CHECK(run.out.find("\nResults of cpu_sequential, which are WRONG:\n") != std::string::npos);
    CHECK(here.has("pictures/animation.png"));
}

TEST_CASE("the variant whose results are written is the fastest", "[program]") {
    gpulab::testing::Outcome run;
    const Json rows = InFolder(program).results("--backend cpu --steps 20 --repeat 3 --field f", &run)["variants"];
    REQUIRE(run.exit_code == 0);
    REQUIRE(rows.size() > 1);
    const auto fastest = std::min_element(rows.begin(), rows.end(), [](const Json& a, const Json& b) {
        return a["kernel_ms"]["median"] < b["kernel_ms"]["median"];
    });
    CHECK(run.out.find("\nResults of " + (*fastest)["name"].get<std::string>() + ":\n") != std::string::npos);
}

TEST_CASE("files that a scene from a pipe names are looked for in the current folder", "[program]") {
    const InFolder here(program, {{"scene", driven_by_file}});
    CHECK(here.fed(here.path("scene"), "--variant cpu_scene --repeat 1 --scene /dev/stdin")
              .err.find("cannot read numbers.gz: No such file") != std::string::npos);
}

TEST_CASE("no output overwrites a file that the scene is read from", "[program]") {
    const InFolder here(program, {{"animation.png", "1\n"}});
    std::filesystem::create_directory(here.path("frames"));
    const std::string scene = here.path("scene.json"), map = here.path("frames/frame-000001.png"),
                      numbers = here.path("animation.png");
    {
        gpulab::OutputFile file(map);
        gpulab::write_png(file, {1, 1, 1, {0}});
    }
    const std::string text =
        R"({"nx": 12, "ny": 10, "dx": 0.01, "steps": 9, "map": "frames/frame-000001.png", "sources": [
        {"field": "Hz", "at": [5, 5], "waveform": {"type": "column", "file": "animation.png"}}]})";
    here.write("scene.json", text);
    const std::string options = "--scene " + scene + " --variant cpu_scene --repeat 1 ";
    for (const std::string& output : {"--field " + scene, "--csv " + scene, "--field " + map, "--csv " + numbers,
                                      "--frames " + here.path(), "--frames " + here.path("frames")}) {
        INFO(output);
        CHECK(program.refusal_fault(options + output) == "");
        CHECK(here.text("scene.json") == text);
        CHECK(here.text("animation.png") == "1\n");
        CHECK(gpulab::read_png(map).bytes() == 1);
    }
    CHECK(here(options + "--frames others --vtk frames").exit_code == 0);
}

TEST_CASE("files of a simulation that takes long on a CPU are written by cpu_scene_threads, and a line says so",
          "[program][thorough]") {
    const InFolder here(program,
                        {{"long", R"({"nx": 300, "ny": 300, "dx": 0.01, "steps": 11500, "frames": {"every": 11500},
                   "probes": [{"name": "near", "at": [160, 150]}],
                   "sources": [{"field": "Hz", "at": [150, 150], "waveform": {"type": "book", "amplitude": 1e4}}]})"}});
    const std::string arguments = "--backend cpu --type float --scene long";
    const auto run = here.done(arguments + " --field field.csv --probes probes.csv --vtk vtk");
    CHECK(run.out.find("cpu_scene_threads computes the files") != std::string::npos);
    CHECK(run.out.find("take long on a CPU") != std::string::npos);
    CHECK(here.text("field.csv").starts_with("x,y,Hz,Ex,Ey\n"));
    CHECK(std::ranges::count(here.text("probes.csv"), '\n') == 11501);
    CHECK(here.has("vtk/field-011500.vti"));
    CHECK(here.done(arguments).out.find("computes the files") == std::string::npos);
}

TEST_CASE("a folder that cannot be written is refused before anything is computed", "[program]") {
    const InFolder here(program);
    // What only looks as if it could be made.
    std::filesystem::create_symlink("nowhere", here.path("dangling"));
    std::filesystem::create_symlink("circle", here.path("circle"));
    const std::string arguments = "--steps 20 --variant cpu_sequential --repeat 1 ";
    for (const std::string& name : {std::string("dangling"), std::string("circle"), std::string(300, 'x')})
        CHECK(here(arguments + "--vtk " + name).out == "");
    CHECK(here(arguments + "--frames new/folder").exit_code == 0);
    CHECK(here.has("new/folder/animation.png"));
}

TEST_CASE("a field that the memory cannot hold is refused before anything is computed, many pictures are not",
          "[program]") {
    // A grid of the largest size takes 36 GiB for each field; the number of pictures does not count.
    Scene scene;
    scene.nx = scene.ny = 2000;
    scene.steps = 10'000'000;
    scene.frame_every = 1;
    CHECK(bytes_of_snapshot(scene, Keep::fields) == 3 * 4 * 4e6);
    CHECK(bytes_of_picture(scene) == 12 * 4e6);
    CHECK(bytes_of_media(scene, 8) == 0);
    scene.map.assign(4'000'000, 0);
    CHECK(bytes_of_media(scene, 8) == 3.0 * 2017 * 2001);
    scene.media.eps_r.assign(4'000'000, 1);
    CHECK(bytes_of_media(scene, 8) == 96.0 * 2017 * 2001);
    if (6 * 4 * 32785.0 * 32769 * 8 < static_cast<double>(gpulab::host_memory_bytes())) return;
    for (const std::string option : {"--frames", "--vtk"})
        CHECK(program.refusal_fault("--backend cpu --nx 32768 --ny 32768 --steps 1 " + option + " out",
                                    "of main memory", {}, true) == "");
}

TEST_CASE("without a scale in the scene, the strongest colour of all pictures stands for the largest value of all",
          "[program]") {
    const InFolder here(program, {{"pulse", R"({"nx": 30, "ny": 30, "dx": 0.01, "steps": 60, "frames": {"every": 10},
                   "sources": [{"field": "Hz", "at": [15, 15], "kind": "hard", "waveform": {"type": "book"}}]})"}});
    here.done("--backend cpu --repeat 1 --scene pulse --frames frames");
    // The source is 1 after step 20, more than anywhere else and ever after; its cell is the darkest red there.
    const auto red_of_source = [&](const std::string& step) {
        const gpulab::Image image = gpulab::read_png(here.path("frames/frame-" + step + ".png"));
        return int{image.pixels[((29 - 15) * 10 * image.width + 15 * 10) * 3]};
    };
    CHECK(red_of_source("000020") == 103);
    CHECK(red_of_source("000010") > 103);
}

TEST_CASE("records and sources that the memory cannot hold are refused before anything is computed", "[program]") {
    std::string sources, probes;
    for (int i = 0; i < 16; ++i) {
        const std::string comma = i == 0 ? "" : ", ";
        sources += comma + R"({"field": "Hz", "at": [1, 1], "waveform": {"type": "book"}})";
        probes += comma + R"({"at": [1, 1]})";
    }
    const gpulab::testing::Files files = {
        {"long", R"({"nx": 3, "ny": 3, "dx": 0.01, "steps": 100000000, "sources": [)" + sources + R"(], "probes": [)" +
                     probes + "]}"}};
    // 10^8 steps with 32 series of 8 bytes, three times; and lines of 553 bytes, twice
    constexpr double gib = 1024.0 * 1024 * 1024, series = 3 * 1e8 * 32 * 8 / gib, file = 2 * 1e8 * 553 / gib;
    const double memory = static_cast<double>(gpulab::host_memory_bytes()) / gib;
    for (const auto& [option, needed] : {std::pair{"", series}, {"--probes p.csv", series + file}}) {
        if (needed < memory) continue; // it would be computed, for hours
        CHECK(program.refusal_fault(fmt::format("--backend cpu --scene long {}", option),
                                    fmt::format("needs {:.1f} GiB of main memory", needed), files, true) == "");
    }
}

TEST_CASE("table-4-2 gives mean and range of its rows from 1500 cells on for both boundaries, after the last row",
          "[program][thorough]") {
    gpulab::testing::Outcome run;
    const Json runs =
        program.results("--study table-4-2 --backend cpu --nx 2100 --steps 1 --repeat 1 --warmup 0", &run);
    REQUIRE(run.exit_code == 0);
    CHECK(study_figures_fault(runs, {"speedup", "sequential_mcells_per_s"}, 6) == "");
    const std::size_t conductor = run.out.find("Conductor, mean"), layers = run.out.find("PML, mean");
    REQUIRE(conductor != std::string::npos);
    REQUIRE(layers != std::string::npos);
    CHECK(conductor < layers);
    CHECK(run.out.find("boundary = pml") < conductor); // no heading follows
    for (const auto& [boundary, at] : {std::pair("conductor", conductor), {"pml", layers}}) {
        std::vector<double> sequential, fast, gain;
        for (const auto& one : runs) {
            if (one["problem"]["boundary"] != boundary || one["problem"]["n"] < 1500) continue;
            for (const auto& row : one["variants"]) {
                REQUIRE(row["name"] == (boundary == std::string("pml") ? "cpu_scene_threads" : "cpu_threads"));
                sequential.push_back(row["sequential_mcells_per_s"]);
                fast.push_back(row["mcells_per_s"]);
                gain.push_back(one["sequential_ms"].get<double>() / row["kernel_ms"]["median"].get<double>());
            }
        }
        REQUIRE(sequential.size() == 2); // 1500 and 2100 cells
        // "Conductor, mean and range over the sizes from 1500 on: sequential 1.00 (0.50) MCells/s, cpu_threads 2.00
        // (1.00) MCells/s, speed-up 3.00 (2.00)", perhaps in several lines, and the range of two sizes is their
        // difference.
        const std::vector<double> printed = numbers_in(run.out.substr(at));
        REQUIRE(printed.size() >= 6);
        std::size_t next = 0;
        for (const auto& x : {sequential, fast, gain}) {
            CHECK(std::abs(printed[next++] - (x[0] + x[1]) / 2) < 0.0051); // two digits after the point
            CHECK(std::abs(printed[next++] - std::abs(x[0] - x[1])) < 0.0051);
        }
    }
}

TEST_CASE("the figures of a study's rows follow from the times in the same file", "[program][thorough]") {
    const std::string few = " --backend cpu --nx 300 --steps 4 --repeat 1 --warmup 0";
    CHECK(study_figures_fault(program.results("--study ladder" + few), {"seconds", "speedup"}, 4) == "");
    CHECK(study_figures_fault(program.results("--study figure-4-6" + few), {"speedup", "sequential_mcells_per_s"}, 2) ==
          "");
    gpulab::testing::Outcome book;
    const Json runs = program.results("--study figure-4-4 --backend cpu --type float --steps 40 --repeat 1", &book);
    CHECK(study_figures_fault(runs, {"seconds"}, 1) == "");
    CHECK(std::regex_search(book.out,
                            std::regex("\n  largest \\|Hz\\| after step 20: \\d+\\.\\d{3}, 40: \\d+\\.\\d{3}\n")));
}

TEST_CASE("the studies of the book's tables have its 1000 steps, and those with many rungs 200", "[program]") {
    for (const std::string study : {"table-4-1", "table-4-2", "figure-4-5", "figure-4-6"})
        CHECK(default_steps(study) == 1000);
    for (const std::string study : {"figure-4-4", "block-shapes", "ladder", "growth"})
        CHECK(default_steps(study) == 200);
}

TEST_CASE("gains over cuda_coalesced follow from the times in the same file", "[program][thorough][cuda]") {
    (void)gpulab::testing::devices_or_skip(Backend::cuda);
    const auto runs = program.results("--study ladder --backend cuda --nx 300 --steps 4 --repeat 1");
    CHECK(study_figures_fault(runs, {"seconds", "speedup"}, 8) == "");
}

TEST_CASE("table-4-1 computes each grid with the four blocks that its rows name", "[program][thorough][cuda]") {
    const std::string device = gpulab::testing::devices_or_skip(Backend::cuda)[0].id();
    const std::vector<std::string> four = {"conductor 128", "conductor 256", "conductor 512", "conductor 1024",
                                           "pml 128",       "pml 256",       "pml 512",       "pml 1024"};
    for (const int steps : {4, 1000}) {
        const auto runs =
            program.results(fmt::format("--study table-4-1 --nx 300 --steps {} --repeat 1 --device {}", steps, device));
        CHECK(study_figures_fault(runs, {"seconds_1000"}, 16) == "");
        std::vector<std::string> fewer, in_full;
        for (const auto& run : runs) {
            const auto& problem = run["problem"];
            CHECK(problem["n"] == 300);
            REQUIRE(run["variants"].size() == 2);
            CHECK(run["variants"][0]["name"] == (problem["boundary"] == "pml" ? "cuda_scene" : "cuda_block_shape"));
            CHECK(run["variants"][1]["name"] == "cuda_scene_shared");
            (problem["steps"] == 1000 ? in_full : fewer)
                .push_back(fmt::format("{} {}", problem["boundary"].get<std::string>(), problem["block_x"].get<int>()));
        }
        CHECK(fewer == (steps == 4 ? four : std::vector<std::string>{}));
        CHECK(in_full == four);
    }
}

TEST_CASE(
    "figure-4-5 times four levels with both boundaries, says how much longer layers take, and runs one grid in full",
    "[program][thorough]") {
    gpulab::testing::Outcome run;
    const Json runs = program.results("--study figure-4-5 --nx 300 --steps 3 --repeat 1 --warmup 0", &run);
    REQUIRE(run.exit_code == 0);
    REQUIRE(runs.size() == 4);
    CHECK(study_figures_fault(runs, {"seconds_1000"}, 10) == "");
    for (const std::size_t first : {0, 2}) {
        const auto &conductor = runs[first], &layers = runs[first + 1];
        CHECK(conductor["problem"]["boundary"] == "conductor");
        CHECK(layers["problem"]["boundary"] == "pml");
        const std::vector<std::string> names =
            first == 0 ? std::vector<std::string>{"sequential_O0", "sequential_O1", "sequential_O2", "sequential_O3"}
                       : std::vector<std::string>{"sequential_O3"};
        for (const auto& one : {conductor, layers}) {
            CHECK(one["problem"]["n"] == 300);
            CHECK(one["problem"]["steps"] == (first == 0 ? 3 : 1000));
            CHECK(one["problem"]["compiler"] == std::string(name_of_compiler()));
            REQUIRE(one["variants"].size() == names.size());
        }
        for (std::size_t i = 0; i < names.size(); ++i) {
            const auto &without = conductor["variants"][i], &with = layers["variants"][i];
            CHECK(without["name"] == names[i]);
            CHECK(with["name"] == names[i]);
            CHECK(without["status"] == "passed");
            CHECK(with["status"] == "passed");
            const double ratio =
                with["kernel_ms"]["median"].get<double>() / without["kernel_ms"]["median"].get<double>();
            CHECK_FALSE(without.contains("longer_percent"));
            CHECK(std::abs(with["longer_percent"].get<double>() - 100 * (ratio - 1)) < 1e-9 * 100 * ratio);
        }
    }
    // A grid whose steps are all run anyway does not run twice.
    const auto in_full = program.results("--study figure-4-5 --nx 64 --repeat 1 --warmup 0");
    REQUIRE(in_full.size() == 2);
    for (const auto& one : in_full) CHECK(one["problem"]["steps"] == 1000);
    // One size: its own figure is the mean.
    const double longer = runs[1]["variants"][3]["longer_percent"];
    CHECK(run.out.find(fmt::format("Layers take {:.1f} % longer than the conductor at O3", longer)) !=
          std::string::npos);
    CHECK(run.out.find("s per 1000: the time of 1000 steps, in proportion") != std::string::npos);
}

TEST_CASE("a row has a gain when the base was timed before it, on the same device", "[program]") {
    const auto row = [](const char* variant, Backend backend, int index, double ms) {
        gpulab::Result r;
        r.variant = variant;
        r.device.backend = backend;
        r.device.index = index;
        r.kernel.median = ms;
        r.kernel.repeats = ms > 0 ? 3 : 0;
        return r;
    };
    using All = std::map<std::string, double>;
    const auto of = [](Figures& figures, const gpulab::Result& r) {
        All all;
        for (const gpulab::Parameter& p : figures.of(r, 6e6)) all[p.name] = std::get<double>(p.value);
        return all;
    };
    Figures figures("slow");
    CHECK(of(figures, row("first", Backend::cuda, 0, 4)) == All{{"mcells_per_s", 1500}, {"seconds", 0.004}});
    CHECK(of(figures, row("slow", Backend::cuda, 0, 12)) ==
          All{{"mcells_per_s", 500}, {"seconds", 0.012}, {"gain", 1}});
    CHECK(of(figures, row("fast", Backend::cuda, 0, 3)) ==
          All{{"mcells_per_s", 2000}, {"seconds", 0.003}, {"gain", 4}});
    CHECK(of(figures, row("skipped", Backend::cuda, 0, 0)) == All{});
    CHECK(of(figures, row("fast", Backend::cuda, 1, 3)) == All{{"mcells_per_s", 2000}, {"seconds", 0.003}});
    CHECK(of(figures, row("slow", Backend::cuda, 1, 6)).at("gain") == 1);
    CHECK(of(figures, row("fast", Backend::cuda, 1, 3)).at("gain") == 2);
    CHECK(of(figures, row("fast", Backend::cuda, 0, 3)).at("gain") == 4);
    Figures without;
    CHECK(of(without, row("fast", Backend::cpu, 0, 3)) == All{{"mcells_per_s", 2000}, {"seconds", 0.003}});
}
