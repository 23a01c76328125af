// The sequential program, which is compiled with four levels of the compiler.
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "checks.hpp"
#include "gpulab_testing/program.hpp"
#include "levels/levels.hpp"

using namespace fdtd;
using namespace fdtd::testing;

namespace {

/// Lets sides absorb, with layers of different thickness.
Scene with_layers(Scene scene, bool left, bool right, bool bottom, bool top) {
    const auto absorb = [](Side& side, bool wanted, std::size_t cells) {
        if (wanted) {
            side.kind = Side::Kind::pml;
            side.cells = cells;
            side.reflection = 1e-4;
        }
    };
    absorb(scene.left, left, 5);
    absorb(scene.right, right, 3);
    absorb(scene.bottom, bottom, 4);
    absorb(scene.top, top, 6);
    return scene;
}

/// What is wrong with the answers to problems with layers, or "".
template <class T> std::string layers_fault(const Rung<T>& rung) {
    for (const Kind kind : {Kind::plain, Kind::book, Kind::edge, Kind::lossy})
        for (const auto& [left, right, bottom, top] :
             std::vector<std::tuple<bool, bool, bool, bool>>{{true, true, true, true},
                                                             {true, false, false, false},
                                                             {false, true, false, true},
                                                             {false, false, true, false}})
            for (const auto& [nx, ny, steps] : std::vector<std::tuple<std::size_t, std::size_t, std::size_t>>{
                     {33, 31, 1}, {70, 40, 9}, {30, 61, 45}}) {
                const Example<T> e =
                    example_of<T>(fmt::format("kind {}, layers {} {} {} {}, {} x {} cells, {} steps",
                                              static_cast<int>(kind), left, right, bottom, top, nx, ny, steps),
                                  true, with_layers(scene_of(kind, Mode::te, nx, ny, steps), left, right, bottom, top));
                if (const std::string fault = fault_in(rung, e); !fault.empty()) return fault;
            }
    return "";
}

} // namespace

TEMPLATE_TEST_CASE("the sequential program gives the reference's field at each level of the compiler", "", float,
                   double) {
    using T = TestType;
    REQUIRE(levels<T>().size() == 4);
    for (const auto& level : levels<T>()) {
        INFO(level.name);
        Rung<T> rung{level.run, Backend::cpu, true};
        CHECK(fault_by_hand<T>(rung) == "");
        CHECK(every_kind_fault<T>(rung) == ""); // with a conductor; all but the book's are refused
        CHECK(layers_fault<T>(rung) == "");
        CHECK(whole_fault<T>(rung) == "");
        CHECK(nan_fault<T>(rung) == "");
    }
}

TEST_CASE("each level is compiled with its own option, the last of those that say a level") {
    const auto commands = nlohmann::json::parse(gpulab::testing::bytes_of(FDTD_COMMANDS));
    int found = 0;
    for (const std::string level : {"O0", "O1", "O2", "O3"})
        for (const auto& one : commands) {
            if (!one.at("file").get<std::string>().ends_with("/08_fdtd/levels/steps.cpp")) continue;
            const std::string command = one.at("command").get<std::string>() + " ";
            if (command.find("-DLEVEL=" + level + " ") == std::string::npos) continue;
            INFO(command);
            ++found;
            CHECK(command.substr(command.rfind(" -O"), 5) == " -" + level + " ");
        }
    CHECK(found == 4);
    CHECK(levels<double>()[0].name == "sequential_O0");
    CHECK(levels<double>()[3].name == "sequential_O3");
}
