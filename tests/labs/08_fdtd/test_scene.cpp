// The reader of scenes: what it takes, and what it refuses with which words.
#include <catch2/catch_test_macros.hpp>
#include <filesystem>

#include "gpulab/error.hpp"
#include "gpulab/input.hpp"
#include "gpulab_testing/program.hpp"
#include "scene.hpp"

using namespace fdtd;

namespace {

std::string text_of(const std::string& scene) {
    return gpulab::testing::bytes_of(std::string(FDTD_SCENES) + "/" + scene + ".json");
}

/// What the reader says, or "" when it takes the scene.
std::string refusal(const std::string& text, const Overrides& overrides = {}) {
    try {
        parse_scene(text, FDTD_SCENES, overrides);
        return "";
    } catch (const gpulab::UsageError& e) {
        return e.what();
    }
}

/// A scene with some more keys.
std::string with(const std::string& more) {
    return R"({"nx": 20, "ny": 10, "dx": 0.01)" + (more.empty() ? "" : ", " + more) + "}";
}

} // namespace

TEST_CASE("each scene that comes along is read, also with another size") {
    for (const std::string& name : scene_names()) {
        INFO(name);
        Scene scene;
        REQUIRE_NOTHROW(scene = read_scene(name));
        CHECK(!scene.sources.empty());
        Scene half;
        REQUIRE_NOTHROW(half = read_scene(name, {.nx = scene.nx / 2, .ny = scene.ny / 2, .steps = 7}));
        CHECK((half.nx == scene.nx / 2 && half.steps == 7));
        CHECK(std::abs(half.dx - 2 * scene.dx) < 1e-12);
        CHECK(half.sources[0].x0 == scene.sources[0].x0 / 2);
    }
}

TEST_CASE("the scene 'book' is the book's example") {
    const Scene s = read_scene("book");
    CHECK((s.nx == 150 && s.ny == 150 && s.dx == 0.01 && s.dy == 0.01));
    CHECK(std::abs(s.time_step() - 0.01 / 2 * std::sqrt(eps_0 * mu_0)) < 1e-18); // dt = dx / (2 v)
    CHECK((s.sources.size() == 1 && s.sources[0].hard && s.sources[0].x0 == 75 && s.sources[0].y0 == 75));
    CHECK(std::abs(s.sources[0].waveform.at(40, 1) - 0) < 1e-12);
    CHECK(std::abs(s.sources[0].waveform.at(20, 1) - 1) < 1e-12);
    CHECK(s.sources[0].waveform.at(41, 1) == 0);
}

TEST_CASE("a wrong scene is refused with one line that begins with the key at fault") {
    struct Case {
        std::string text, begins;
    };
    const std::string source = R"("sources": [{"field": "Hz", "at": [1, 1], "waveform": {"type": "book"}}])";
    for (
        const Case& c : std::vector<Case>{
            {"", "the scene: is not JSON"},
            {"[]", "the scene: must be an object"},
            {"\x89PNG", "the scene: is not JSON: parse error at line 1, column 1"},
            {R"({"nx": 12, "ny": 10, "nx": 13, "dx": 1})", "nx: is there twice"},
            {with(R"("probes": [{"at": [1, 1], "at": [2, 2]}])"), "at: is there twice"},
            {R"({"ny": 10, "dx": 1})", "nx: is missing"},
            {with(R"("speed": 3)"), "speed: is not a key"},
            {with(R"("mode": "TEM")"), "mode: "},
            {R"({"nx": 2, "ny": 10, "dx": 1})", "nx: 2 is not from 3"},
            {R"({"nx": 20.5, "ny": 10, "dx": 1})", "nx: must be a whole number"},
            {R"({"nx": -5, "ny": 10, "dx": 1})", "nx: -5"},
            {R"({"nx": 1e3, "ny": 10, "dx": 1})", "nx: must be a whole number"},
            {R"({"nx": 18446744073709551615, "ny": 10, "dx": 1})", "nx: "},
            {R"({"nx": 20, "ny": "ten", "dx": 1})", "ny: must be a whole number"},
            {R"({"nx": 20, "ny": 10, "dx": 0})", "dx: 0 is not"},
            {with(R"("dy": -1)"), "dy: -1 is not"},
            {with(R"("dt": 1e-9)"), "dt: 1e-09 s is longer"},
            {with(R"("courant": 1.01)"), "courant: 1.01 is not"},
            {with(R"("dt": 1e-12, "courant": 0.5)"), "dt: either dt or courant"},
            {with(R"("steps": 0)"), "steps: 0 is not"},
            {with(R"("materials": [])"), "materials: 0 materials"},
            {with(R"("materials": [{"eps_r": 2}])"), "materials[0].name: is missing"},
            {with(R"("materials": [{"name": "a", "eps_r": 0}])"), "materials[0].eps_r: 0 is not"},
            {with(R"("materials": [{"name": "a"}, {"name": "a"}])"), "materials[1].name: is the name of another"},
            {with(R"("materials": [{"name": "a", "density": 1}])"), "materials[0].density: is not a key"},
            {with(R"("shapes": [{"material": "gold", "circle": [1, 1, 1]}])"),
             "shapes[0].material: \"gold\" is not one of"},
            {with(R"("shapes": [{"material": "vacuum", "rectangle": [0, 0, 21, 5]}])"), "shapes[0].rectangle[2]: 21"},
            {with(R"("shapes": [{"material": "vacuum"}])"), "shapes[0].rectangle: either"},
            {with(R"("map": "nowhere.png")"), "map: "},
            {with(R"("map": "heterogeneous.png")"), "map: pixel"},
            {with(R"("map": "")"), "map: is empty"},
            {with(R"("map": "heterogeneous.png\u0000.txt")"), "map: no file has a name with"},
            {with(R"("boundary": {"all": "wall"})"), "boundary.all: \"wall\" is not one of"},
            {with(R"("boundary": {"left": {"type": "pml", "cells": 0}})"), "boundary.left.cells: 0 is not"},
            {with(R"("boundary": {"left": {"type": "pml", "cells": 20}})"), "boundary.left.cells: layers of 20"},
            {with(R"("boundary": {"left": {"type": "pml", "cells": 12}, "right": {"type": "pml", "cells": 9}})"),
             "boundary.right.cells"},
            {with(R"("boundary": {"top": {"type": "dirichlet", "cells": 3}})"), "boundary.top.cells: is not a key"},
            {with(R"("boundary": {"up": "pml"})"), "boundary.up: is not a key"},
            {with(R"("sources": [{"field": "Ez", "at": [1, 1], "waveform": {"type": "book"}}])"),
             "sources[0].field: \"Ez\" is not one of"},
            {with(R"("sources": [{"field": "Hz", "at": [20, 1], "waveform": {"type": "book"}}])"),
             "sources[0].at[0]: 20"},
            {with(R"("sources": [{"field": "Hz", "waveform": {"type": "book"}}])"), "sources[0].at: either"},
            {with(R"("sources": [{"field": "Hz", "region": [5, 5, 5, 6], "waveform": {"type": "book"}}])"),
             "sources[0].region: is empty"},
            {with(R"("sources": [{"field": "Hz", "at": [1, 1]}])"), "sources[0].waveform: is missing"},
            {with(R"("sources": [{"field": "Hz", "at": [1, 1], "waveform": {"type": "sine"}}])"),
             "sources[0].waveform.frequency: is missing"},
            {with(
                 R"("sources": [{"field": "Hz", "at": [1, 1], "waveform": {"type": "gaussian", "width": 0, "delay": 0}}])"),
             "sources[0].waveform.width: 0"},
            {with(R"("sources": [{"field": "Hz", "at": [1, 1], "waveform": {"type": "column", "file": "none.txt"}}])"),
             "sources[0].waveform.file: "},
            {with(R"("sources": [{"field": "Hz", "at": [1, 1], "waveform": {"type": "book", "width": 1}}])"),
             "sources[0].waveform.width: is not a key"},
            {with(R"("probes": [{"name": "a"}])"), "probes[0].at: is missing"},
            {with(R"("probes": [{"at": [1, 10]}])"), "probes[0].at[1]: 10"},
            {with(R"("frames": {"every": 0})"), "frames.every: 0"},
            {with(R"("frames": {"scale": "auto"})"), "frames.scale: must be a number"},
            {with("\"about\": \"\xff\""), "the scene: "},
            {std::string(100000, '['), "the scene: "},
        }) {
        const std::string said = refusal(c.text);
        INFO(c.text.substr(0, 200) << "\n" << said);
        CHECK(said.starts_with(c.begins));
        CHECK(said.find('\n') == std::string::npos);
    }
    CHECK(refusal(with(source)) == "");
    CHECK(refusal(with("")) == "");
    std::string many = source.substr(0, source.size() - 1);
    for (int i = 0; i < 16; ++i) many += R"(, {"field": "Hz", "at": [1, 1], "waveform": {"type": "book"}})";
    CHECK(refusal(with(many + "]")).starts_with("sources: 17 sources"));
    CHECK(refusal(with(""), {.nx = 2}).starts_with("nx: 2 is not"));
    CHECK(refusal(with(R"("dt": 2e-11)"), {.nx = 40}).starts_with("dt: ")); // finer cells need shorter steps
}

TEST_CASE("a column of numbers drives a source") {
    const gpulab::testing::ScratchFile column;
    column.write("# a comment\n0.5\n\n -1e-3 \n7\n");
    const std::filesystem::path path = std::filesystem::absolute(column.path());
    const auto scene_with = [&] {
        return parse_scene(
            with(R"("sources": [{"field": "Hz", "at": [1, 1], "waveform": {"type": "column", "file": ")" +
                 path.string() + "\"}}]"),
            ".");
    };
    const Waveform w = scene_with().sources[0].waveform;
    CHECK((w.at(1, 1) == 0.5 && w.at(2, 1) == -1e-3 && w.at(3, 1) == 7 && w.at(4, 1) == 0 && w.at(0.5, 1) == 0.5));
    const auto complaint = [&](const std::string& text) {
        column.write(text);
        try {
            scene_with();
        } catch (const gpulab::UsageError& e) {
            return std::string(e.what());
        }
        return std::string();
    };
    const std::string begin = "sources[0].waveform.file: " + path.string() + ":";
    CHECK(complaint("1\n# a comment\ntwo\n") == begin + "3: 'two' is not a finite number");
    CHECK(complaint("nan\n") == begin + "1: 'nan' is not a finite number");
    CHECK(complaint("1,5\n") == begin + "1: '1,5' is not a finite number");
    CHECK(complaint("1 2\n") == begin + "1: '1 2' is not a finite number");
    CHECK(complaint("\x1b[31m\xff\n") == begin + "1: '?[31m?' is not a finite number");
    column.write("");
    CHECK_THROWS_AS(scene_with(), gpulab::UsageError);
}

TEST_CASE("no damaged scene does harm: it is read, or refused with one line") {
    int read = 0, refused = 0;
    const std::string pieces[] = {
        "{", "}", "[", "]", ",", ":", "\"", "-", "9", "1e999", "null", "true", "0.5", "\\u0000", "99999999999999999999",
        "nx"};
    for (const std::string& name : scene_names()) {
        const std::string original = text_of(name);
        REQUIRE(original.size() > 100);
        for (std::uint64_t k = 0; k < 400; ++k) {
            std::string text = original;
            const std::uint64_t changes = 1 + gpulab::random_bits(k, 0) % 3;
            for (std::uint64_t c = 1; c <= changes; ++c) {
                const std::uint64_t bits = gpulab::random_bits(k, c);
                const std::size_t at = bits % text.size(), length = (bits >> 20) % 12;
                const std::string& piece = pieces[(bits >> 40) % std::size(pieces)];
                switch ((bits >> 50) % 3) {
                case 0: text.replace(at, 1, piece); break;
                case 1: text.erase(at, length); break;
                default: text[at] = static_cast<char>(bits >> 56); break;
                }
            }
            const std::string said = refusal(text, {.nx = 40, .ny = 40, .steps = 2}); // small, so that it takes no time
            INFO(text);
            REQUIRE(said.find('\n') == std::string::npos);
            said.empty() ? ++read : ++refused;
        }
    }
    CHECK(read > 20);
    CHECK(refused > 200);
}
