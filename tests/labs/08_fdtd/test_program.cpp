// The program as a user sees it: options, files and exit codes; and the hand-out against the tables of the program.
#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <set>
#include <string>

#include "checks.hpp"
#include "gpulab/image/image.hpp"
#include "gpulab_testing/hand_out.hpp"
#include "gpulab_testing/program.hpp"
#include "studies.hpp"

using gpulab::Backend;
using gpulab::testing::names_of;
using gpulab::testing::ScratchFile;
using Words = std::set<std::string>;

namespace {
const gpulab::testing::Program program("fdtd", FDTD_PROGRAM);

/// Excuses the rungs that are wrong by their own test.
gpulab::testing::KnownWrong wrong_rungs() {
    return gpulab::testing::known_wrong(fdtd::variants<double>(), [](fdtd::Run<double>* run) {
        return fdtd::testing::every_kind_fault<double>({run, Backend::cuda, true});
    });
}

/// A folder for one test, removed at its end.
class ScratchFolder {
public:
    ScratchFolder() { std::filesystem::create_directory(file_.path()); }
    ~ScratchFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(file_.path(), ignored);
    }
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;
    std::string path(const std::string& name) const { return file_.path() + "/" + name; }

private:
    ScratchFile file_;
};
} // namespace

TEST_CASE("the README's ladder is the variant table") {
    CHECK(gpulab::testing::variants_in_ladder(FDTD_README) == names_of(fdtd::variants<double>()));
    CHECK(names_of(fdtd::variants<float>()) == names_of(fdtd::variants<double>()));
}

TEST_CASE("the README names every study and every scene") {
    CHECK(gpulab::testing::absent_from(FDTD_README, gpulab::testing::names_of_studies(fdtd::study_list())) == Words{});
    const std::vector<std::string> scenes = fdtd::scene_names();
    CHECK(gpulab::testing::absent_from(FDTD_README, {scenes.begin(), scenes.end()}) == Words{});
}

TEST_CASE("the program lists every variant, study and option and exits 0") {
    CHECK(program.missing("--list", names_of(fdtd::variants<double>())) == Words{});
    CHECK(program.missing("--study list", gpulab::testing::names_of_studies(fdtd::study_list())) == Words{});
    CHECK(program.missing("--help", {"--scene", "--nx", "--ny", "--steps", "--type", "--frames", "--vtk", "--field",
                                     "--probes"}) == Words{});
}

TEST_CASE("bad input is one line on stderr, exit code 2 and no file") {
    const ScratchFile wrong, number;
    wrong.write(R"({"nx": 20, "ny": 10, "dx": 0.01, "colour": "red"})");
    number.write(R"({"nx": 20, "ny": 10, "dx": 0.01, "courant": 2})");
    for (const std::string& arguments :
         {std::string("--nx 2"), std::string("--ny 0"), std::string("--steps 0"), std::string("--steps x"),
          std::string("--nx 40000"), std::string("--type half"), std::string("--scene nowhere"),
          std::string("--scene /dev/zero"), std::string("--scene ''"), "--scene " + wrong.path(),
          "--scene " + number.path(), std::string("--variant cuda_magic"), std::string("--study speed"),
          std::string("--study ladder --scene book"), std::string("--study figure-4-4 --nx 30"),
          std::string("--field /nonexistent/folder/x.csv"), std::string("--probes x.csv --field ./x.csv"),
          "--scene " + number.path() + " --nx 30", std::string("stray")}) {
        INFO(arguments);
        CHECK(program.refusal_fault(arguments) == "");
    }
    const gpulab::testing::Outcome outcome = program("--scene " + wrong.path());
    CHECK(outcome.err.find("colour: is not a key") != std::string::npos);
}

TEST_CASE("a full run passes every variant that can run, skips the others with reasons, and writes both files") {
    for (const std::string type : {"float", "double"}) {
        INFO(type);
        const ScratchFile csv;
        const auto run =
            program.results("--nx 70 --ny 50 --steps 30 --repeat 1 --type " + type + " --csv " + csv.path());
        CHECK(run["lab"] == "fdtd");
        CHECK(run["problem"]["nx"] == 70);
        CHECK(run["problem"]["steps"] == 30);
        CHECK(run["variants"].size() == gpulab::testing::rows_of(fdtd::variants<double>()));
        CHECK(gpulab::testing::run_fault(run, wrong_rungs()) == "");
        CHECK(csv.text().find("opencl_steps") != std::string::npos);
    }
}

TEST_CASE("every scene passes on every variant that can run it") {
    for (const std::string& scene : fdtd::scene_names()) {
        INFO(scene);
        const auto run = program.results("--scene " + scene + " --nx 80 --ny 72 --steps 40 --repeat 1");
        CHECK(run["problem"]["scene"] == scene);
        CHECK(gpulab::testing::run_fault(run, wrong_rungs()) == "");
    }
}

TEST_CASE("pictures, fields and probes are written") {
    const ScratchFolder folder;
    const std::string arguments =
        "--scene double-slit --nx 60 --ny 52 --steps 60 --variant cpu_sequential --repeat 1 --frames " +
        folder.path("pictures") + " --vtk " + folder.path("vtk") + " --field " + folder.path("field.csv") +
        " --probes " + folder.path("probes.csv");
    CHECK(program(arguments).exit_code == 0);
    for (const char* step : {"000020", "000040", "000060"}) {
        const gpulab::Image image = gpulab::read_png(folder.path(std::string("pictures/frame-") + step + ".png"));
        CHECK((image.width == 60 * 5 && image.height == 52 * 5));
        CHECK(std::filesystem::exists(folder.path(std::string("vtk/field-") + step + ".vti")));
    }
    CHECK(std::filesystem::exists(folder.path("pictures/animation.png")));
    CHECK(std::filesystem::exists(folder.path("vtk/series.pvd")));
    CHECK(std::filesystem::file_size(folder.path("field.csv")) > 60 * 52 * 6);
    CHECK(std::filesystem::file_size(folder.path("probes.csv")) > 60 * 10);
    CHECK(program("--steps 20 --variant cpu_sequential --repeat 1 --frames " + folder.path("field.csv")).exit_code ==
          2);
}

TEST_CASE("the studies run at a small size") {
    CHECK(program.study_fault("figure-4-4", "--steps 40", 1, wrong_rungs()) == "");
    for (const std::string study : {"ladder", "table-4-2", "figure-4-6"}) {
        INFO(study);
        CHECK(program.study_fault(study, "--nx 300 --steps 4", 2, wrong_rungs()) == "");
    }
    if (gpulab::devices(Backend::cuda).empty()) CHECK(program.refusal_fault("--study table-4-1 --nx 300") == "");
    else CHECK(program.study_fault("table-4-1", "--nx 300 --steps 4", 8, wrong_rungs()) == "");
}
