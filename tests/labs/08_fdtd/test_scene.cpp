// The reader of scenes: what it takes, and what it refuses with which words.
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <numbers>
#include <regex>
#include <set>

#include "gpulab/error.hpp"
#include "gpulab/file.hpp"
#include "gpulab/image/image.hpp"
#include "gpulab/input.hpp"
#include "gpulab_testing/png.hpp"
#include "gpulab_testing/program.hpp"
#include "gpulab_testing/testing.hpp"
#include "scene/scene.hpp"

using namespace fdtd;
using gpulab::testing::message_of;
using gpulab::testing::png_chunk;
using gpulab::testing::png_number;

namespace {

std::string text_of(const std::string& scene) {
    return gpulab::testing::bytes_of(std::string(FDTD_SCENES) + "/" + scene + ".json");
}

/// What the reader says, or "" when it takes the scene.
std::string refusal(const std::string& text, const Overrides& overrides = {}) {
    return message_of([&] { parse_scene(text, FDTD_SCENES, overrides); });
}

/// A scene with some more keys.
std::string with(const std::string& more) {
    return R"({"nx": 20, "ny": 10, "dx": 0.01)" + (more.empty() ? "" : ", " + more) + "}";
}

/// A scene with one source. @param more further keys, with a comma behind them
std::string with_source(const std::string& keys, const std::string& more = "") {
    return with(more + R"("sources": [{)" + keys + "}]");
}

/// The materials of a scene as rows of digits, the top row first, as one sees them.
std::vector<std::string> picture_of(const Scene& scene) {
    std::vector<std::string> rows;
    for (std::size_t j = scene.ny; j-- > 0;) {
        rows.emplace_back();
        for (std::size_t i = 0; i < scene.nx; ++i) rows.back() += static_cast<char>('0' + scene.map[j * scene.nx + i]);
    }
    return rows;
}

/// The waveform of a scene's only source.
Waveform waveform(const std::string& keys) {
    return parse_scene(with_source(R"("field": "Hz", "at": [1, 1], "waveform": {)" + keys + "}")).sources[0].waveform;
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
    const std::string source = R"("field": "Hz", "at": [1, 1], "waveform": {"type": "book"})";
    for (const Case& c : std::vector<Case>{
             {"", "the scene: is not JSON"},
             {"[]", "the scene: must be an object"},
             {std::string("{}\0x", 4), "the scene: is not JSON: it holds the character U+0000"},
             {with(R"("mode": "TE")") + std::string(1, '\0'), "the scene: is not JSON: it holds the character U+0000"},
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
             {with_source(R"("field": "Ez", "at": [1, 1], "waveform": {"type": "book"})"),
              "sources[0].field: \"Ez\" is not one of"},
             {with_source(R"("field": "Hz", "at": [20, 1], "waveform": {"type": "book"})"), "sources[0].at[0]: 20"},
             {with_source(R"("field": "Hz", "waveform": {"type": "book"})"), "sources[0].at: either"},
             {with_source(R"("field": "Hz", "region": [5, 5, 5, 6], "waveform": {"type": "book"})"),
              "sources[0].region: is empty"},
             {with_source(R"("field": "Hz", "at": [1, 1])"), "sources[0].waveform: is missing"},
             {with_source(R"("field": "Hz", "at": [1, 1], "waveform": {"type": "sine"})"),
              "sources[0].waveform.frequency: is missing"},
             {with_source(R"("field": "Hz", "at": [1, 1], "waveform": {"type": "gaussian", "width": 0, "delay": 0})"),
              "sources[0].waveform.width: 0"},
             {with_source(R"("field": "Hz", "at": [1, 1], "waveform": {"type": "column", "file": "none.txt"})"),
              "sources[0].waveform.file: "},
             {with_source(R"("field": "Hz", "at": [1, 1], "waveform": {"type": "book", "width": 1})"),
              "sources[0].waveform.width: is not a key"},
             {with(R"("media": 3)"), "media: must be an object"},
             {with(R"("media": {"density": 3})"), "media.density: is not a key"},
             {with(R"("media": {"eps_r": 3})"), "media.eps_r: must be an object"},
             {with(R"("media": {"eps_r": "none.txt"})"), "media.eps_r: "},
             {with(R"("media": {"eps_r": ""})"), "media.eps_r: is empty"},
             {with(R"("media": {"sigma": {"from": 1}})"), "media.sigma.to: is missing"},
             {with(R"("media": {"sigma": {"from": -1, "to": 2}})"), "media.sigma.from: -1 is not"},
             {with(R"("media": {"mu_r": {"from": 1, "to": 0}})"), "media.mu_r.to: 0 is not"},
             {with(R"("media": {"mu_r": {"from": 1, "to": 2, "along": "z"}})"), "media.mu_r.along: "},
             {with(R"("dt": 2e-11, "media": {"eps_r": {"from": 0.1, "to": 2}})"), "dt: 2e-11 s is longer"},
             {with(R"("initial": {})"), "initial: must be a list"},
             {with(R"("initial": [{"type": "gaussian"}])"), "initial[0].field: is missing"},
             {with(R"("initial": [{"field": "Hz", "type": "step"}])"), "initial[0].type: \"step\" is not one of"},
             {with(R"("initial": [{"field": "Hz", "type": "gaussian", "width": 1}])"), "initial[0].at: is missing"},
             {with(R"("initial": [{"field": "Hz", "type": "gaussian", "at": [1], "width": 1}])"),
              "initial[0].at: must"},
             {with(R"("initial": [{"field": "Hz", "type": "gaussian", "at": [1, 2], "width": 0}])"),
              "initial[0].width: 0 is not"},
             {with(R"("initial": [{"field": "Ex", "type": "mode"}])"), "initial[0].field: a mode is one of Hz"},
             {with(R"("initial": [{"field": "Hz", "type": "mode", "m": -1}])"), "initial[0].m: -1"},
             {with(R"("initial": [{"field": "Hz", "type": "numbers"}])"), "initial[0].file: is missing"},
             {with(R"("boundary": {"left": "driven"})"), "boundary.left: a driven side needs"},
             {with(R"("boundary": {"left": {"type": "driven"}})"), "boundary.left.waveform: is missing"},
             {with(R"("boundary": {"left": {"type": "driven", "waveform": {"type": "sine"}}})"),
              "boundary.left.waveform.frequency: is missing"},
             {with_source(R"("field": "Hz", "at": [1, 1], "strength": "none.txt", "waveform": {"type": "book"})"),
              "sources[0].strength: "},
             {with(R"("probes": [{"name": "a"}])"), "probes[0].at: is missing"},
             {with(R"("probes": [{"at": [1, 10]}])"), "probes[0].at[1]: 10"},
             {with(R"("frames": {"every": 0})"), "frames.every: 0"},
             {with(R"("frames": {"scale": "auto"})"), "frames.scale: must be a number"},
             {with("\"about\": \"\xff\""), "the scene: "},
             {std::string(100000, '['), "the scene: "},
         }) {
        const std::string printed = refusal(c.text);
        INFO(c.text.substr(0, 200) << "\n" << printed);
        CHECK(printed.starts_with(c.begins));
        CHECK(printed.find('\n') == std::string::npos);
    }
    CHECK(refusal(with("")) == "");
    std::string many = source;
    for (int i = 0; i < 4095; ++i) many += "}, {" + source;
    CHECK(refusal(with_source(many)) == "");
    CHECK(refusal(with_source(many + "}, {" + source)).starts_with("sources: 4097 sources"));
    CHECK(refusal(with(""), {.nx = 2}).starts_with("nx: 2 is not"));
    CHECK(refusal(with(R"("dt": 2e-11)"), {.nx = 40}).starts_with("dt: ")); // finer cells need shorter steps
}

TEST_CASE("a long list is read in a time that grows with its length, not with the square of it") {
    std::string text = R"({"nx": 9, "ny": 9, "dx": 1, "probes": [{})";
    for (int i = 1; i < 400'000; ++i) text += ",{}";
    const std::clock_t before = std::clock(); // processor time, of which the square would take over a minute
    CHECK(message_of([&] { parse_scene(text + "]}"); }) == "probes: 400000 probes; 4096 is the most");
    CHECK((std::clock() - before) / CLOCKS_PER_SEC < 20);
}

namespace {
/// A scene of 4 x 3 cells and three materials, with a map.
struct SceneWithMap {
    gpulab::testing::ScratchFolder folder;
    void draw(const gpulab::Image& map) const {
        gpulab::OutputFile file(folder.path("map.png"));
        gpulab::write_png(file, map);
    }
    Scene parsed(const Overrides& overrides = {}) const {
        return parse_scene(
            R"({"nx": 4, "ny": 3, "dx": 1, "materials": [{"name": "a"}, {"name": "b"}, {"name": "c"}], "map": "map.png"})",
            folder.path(), overrides);
    }
};
using Picture = std::vector<std::string>;
} // namespace

TEST_CASE("the first row of a map is the top of the grid, its first column the left") {
    const SceneWithMap scene;
    scene.draw({4, 3, 1, {0, 0, 1, 2, 0, 0, 0, 0, 2, 0, 0, 0}});
    CHECK(picture_of(scene.parsed()) == Picture{"0012", "0000", "2000"});
    // A pixel covers as many cells as there are: 2 x 2, and a whole picture on a grid of another shape.
    CHECK(picture_of(scene.parsed({.nx = 8, .ny = 6})) ==
          Picture{"00001122", "00001122", "00000000", "00000000", "22000000", "22000000"});
}

TEST_CASE("a map of colours, of 16 bits or with alpha is refused, and an indexed one gives its indices") {
    const SceneWithMap scene;
    const auto description_of = [&](int channels) {
        scene.draw({4, 3, channels, std::vector<unsigned char>(static_cast<std::size_t>(12 * channels), 1)});
        return message_of([&] { scene.parsed(); });
    };
    CHECK(description_of(1) == "");
    for (const int channels : {2, 3, 4}) {
        const std::string printed = description_of(channels);
        INFO(channels << " channels: " << printed);
        CHECK(printed.starts_with("map: "));
        CHECK(printed.ends_with("an 8-bit grey or an indexed PNG is needed, whose values are numbers of materials"));
        CHECK(printed.find('\n') == std::string::npos);
    }
    // 2 x 1 pixels, the indices 2 and 1 of a palette of three greys that are no numbers of materials.
    const std::string png =
        "\x89PNG\r\n\x1a\n" + png_chunk("IHDR", png_number(2) + png_number(1) + std::string("\x08\x03\0\0\0", 5)) +
        png_chunk("PLTE", std::string("\0\0\0\x40\x40\x40\x80\x80\x80", 9)) +
        png_chunk("IDAT", std::string("\x78\x01\x01\x03\x00\xFC\xFF\x00\x02\x01\x00\x08\x00\x04", 14)) +
        png_chunk("IEND", "");
    scene.folder.write("map.png", png);
    CHECK(picture_of(scene.parsed()) == Picture{"2211", "2211", "2211"});
}

TEST_CASE("a source that can do nothing is refused") {
    const auto description_of = [](const std::string& keys, const std::string& source) {
        return refusal(with_source(source + R"(, "waveform": {"type": "book"})", keys));
    };
    const std::string nothing = "the source would do nothing", tm = R"("mode": "TM", )";
    for (const auto& [keys, source] :
         {std::pair<std::string, std::string>{"", R"("field": "Ex", "region": [0, 0, 20, 1])"},
          {"", R"("field": "Ex", "region": [0, 0, 20, 1], "kind": "hard")"},
          {"", R"("field": "Ey", "at": [0, 4])"},
          {tm, R"("field": "Hy", "region": [0, 0, 1, 10])"},
          {tm, R"("field": "Ez", "region": [0, 0, 1, 10])"},
          {tm, R"("field": "Ez", "region": [19, 0, 20, 10])"},
          {tm, R"("field": "Ez", "region": [0, 9, 20, 10])"},
          {tm, R"("field": "Ez", "at": [5, 0])"},
          {R"("boundary": {"top": "dirichlet"}, )", R"("field": "Hz", "at": [5, 9])"}}) {
        const std::string printed = description_of(keys, source);
        INFO(source << "\n" << printed);
        CHECK(printed.starts_with("sources[0].region: "));
        CHECK(printed.ends_with(nothing));
    }
    for (const auto& [keys, source] :
         {std::pair<std::string, std::string>{"", R"("field": "Ex", "region": [0, 0, 20, 2])"},
          {"", R"("field": "Hz", "region": [0, 0, 20, 1])"},
          {"", R"("field": "Ex", "region": [0, 9, 20, 10])"},
          {tm, R"("field": "Ez", "region": [0, 0, 2, 10])"},
          {tm, R"("field": "Ez", "region": [0, 0, 1, 10], "kind": "hard")"},
          {tm + R"("boundary": {"all": "pml", "left": {"type": "pml", "cells": 3}, "right": {"type": "pml", "cells": 3},
               "bottom": {"type": "pml", "cells": 3}, "top": {"type": "pml", "cells": 3}}, )",
           R"("field": "Ez", "region": [0, 0, 1, 10])"}})
        CHECK(description_of(keys, source) == "");
}

TEST_CASE("rectangles and circles are where the scene puts them, the later above the earlier") {
    const auto drawn = [](const std::string& shapes, const Overrides& overrides = {}) {
        return picture_of(parse_scene(R"({"nx": 9, "ny": 5, "dx": 1, "materials": [{"name": "a"}, {"name": "b"},
                                      {"name": "c"}], "shapes": [)" +
                                          shapes + "]}",
                                      ".", overrides));
    };
    const std::string rectangle = R"({"material": "b", "rectangle": [1, 0, 4, 2]})";
    CHECK(drawn(rectangle) == Picture{"000000000", "000000000", "000000000", "011100000", "011100000"});
    CHECK(drawn(rectangle, {.nx = 18}) == Picture{"000000000000000000", "000000000000000000", "000000000000000000",
                                                  "001111110000000000", "001111110000000000"});
    // Centres of cells count: the radius reaches those at a distance of 1 and of the root of 2, or of 1 only.
    CHECK(drawn(R"({"material": "c", "circle": [6.5, 2.5, 1.5]})") ==
          Picture{"000000000", "000002220", "000002220", "000002220", "000000000"});
    CHECK(drawn(R"({"material": "c", "circle": [6.5, 3.5, 1.2]})") ==
          Picture{"000000200", "000002220", "000000200", "000000000", "000000000"});
    // A centre exactly on the circle belongs to it; with a radius of 0 that is the middle itself.
    CHECK(drawn(R"({"material": "c", "circle": [6.5, 3.5, 1]})") ==
          Picture{"000000200", "000002220", "000000200", "000000000", "000000000"});
    CHECK(drawn(R"({"material": "c", "circle": [2.5, 1.5, 0]})") ==
          Picture{"000000000", "000000000", "000000000", "002000000", "000000000"});
    CHECK(drawn(rectangle + R"(, {"material": "c", "rectangle": [3, 1, 9, 3]})") ==
          Picture{"000000000", "000000000", "000222222", "011222222", "011100000"});
    CHECK(drawn(R"({"material": "c", "rectangle": [3, 1, 9, 3]}, )" + rectangle) ==
          Picture{"000000000", "000000000", "000222222", "011122222", "011100000"});
}

TEST_CASE("each side has what the scene says of it, otherwise what it says of all") {
    const Scene s = parse_scene(with(
        R"("boundary": {"left": {"type": "dirichlet", "value": 1.5}, "right": {"type": "pml", "cells": 3, "grading": 2,
           "reflection": 1e-5}, "bottom": {"type": "dirichlet", "value": -2}, "top": "conductor"})"));
    CHECK((s.left.kind == Side::Kind::dirichlet && s.left.value == 1.5));
    CHECK((s.right.kind == Side::Kind::pml && s.right.cells == 3));
    CHECK((s.right.grading == 2 && s.right.reflection == 1e-5));
    CHECK((s.bottom.kind == Side::Kind::dirichlet && s.bottom.value == -2));
    CHECK(s.top.kind == Side::Kind::conductor);
    for (const char* const own : {"left", "right", "bottom", "top"}) {
        const Scene one = parse_scene(with(R"("boundary": {"all": {"type": "dirichlet", "value": 7}, ")" +
                                           std::string(own) + R"(": "conductor"})"));
        INFO(own);
        for (const auto& [name, side] :
             {std::pair{"left", one.left}, {"right", one.right}, {"bottom", one.bottom}, {"top", one.top}})
            CHECK((side.kind == Side::Kind::conductor) == (std::string(name) == own));
    }
    CHECK(parse_scene(with("")).left.kind == Side::Kind::conductor);
}

TEST_CASE("sources and probes have the mode, the place and the kind that the scene gives them") {
    const Scene s = parse_scene(with(
        R"("mode": "TM", "dy": 0.02, "steps": 33, "courant": 0.5, "frames": {"every": 4, "scale": 0.5},
           "sources": [{"field": "Hy", "at": [7, 2], "kind": "hard", "waveform": {"type": "book", "amplitude": 3}},
                       {"field": "Hx", "region": [2, 3, 5, 9], "waveform": {"type": "book"}}],
           "probes": [{"name": "far", "at": [19, 8]}, {"at": [4, 6]}])"));
    CHECK((s.mode == Mode::tm && s.dx == 0.01 && s.dy == 0.02 && s.steps == 33));
    CHECK((s.frame_every == 4 && s.frame_scale == 0.5));
    REQUIRE(s.sources.size() == 2);
    const Source &a = s.sources[0], &b = s.sources[1];
    CHECK((a.component == Component::y && a.hard && a.waveform.amplitude == 3));
    CHECK((a.x0 == 7 && a.y0 == 2 && a.x1 == 8 && a.y1 == 3));
    CHECK((b.component == Component::x && !b.hard));
    CHECK((b.x0 == 2 && b.y0 == 3 && b.x1 == 5 && b.y1 == 9));
    REQUIRE(s.probes.size() == 2);
    CHECK((s.probes[0].name == "far" && s.probes[0].x == 19 && s.probes[0].y == 8));
    CHECK((s.probes[1].name == "probe 1" && s.probes[1].x == 4 && s.probes[1].y == 6));
    // courant is the share of 1 / (v sqrt(1/dx^2 + 1/dy^2)).
    const double limit = std::sqrt(eps_0 * mu_0) / std::sqrt(1 / 0.01 / 0.01 + 1 / 0.02 / 0.02);
    CHECK(std::abs(s.time_step() / (0.5 * limit) - 1) < 1e-12);
    CHECK(parse_scene(with(R"("dt": 1e-12)")).time_step() == 1e-12);
    const Material m =
        parse_scene(with(R"("materials": [{"name": "m", "eps_r": 2, "mu_r": 3, "sigma": 4, "sigma_m": 5}])"))
            .materials[0];
    CHECK((m.name == "m" && m.eps_r == 2 && m.mu_r == 3 && m.sigma == 4 && m.sigma_m == 5));
}

TEST_CASE("waveforms have the values of their formulas") {
    using std::numbers::pi;
    constexpr double dt = 0.25; // a power of 2: times have no rounding
    const auto near = [](double x, double expected) { return std::abs(x - expected) < 1e-13; };

    // Equation 4.3.11 of the book: (10 - 15 cos x + 6 cos 2x - cos 3x) / 32 with x = n pi / 20, from n = 0 to 40.
    const Waveform book = waveform(R"("type": "book", "amplitude": 2)");
    CHECK(near(book.at(5, dt), 2 * (10 - 15 * std::sqrt(0.5) + 0 + std::sqrt(0.5)) / 32));  // x = pi / 4
    CHECK(near(book.at(10, dt), 2 * (10 - 0 - 6 + 0) / 32.0));                              // x = pi / 2
    CHECK(near(book.at(10.5, dt), 2 * std::pow(std::sin(10.5 * pi / 40), 6)));              // between two steps
    CHECK(near(book.at(20, dt), 2));                                                        // x = pi
    CHECK(near(book.at(35, dt), 2 * (10 - 15 * std::sqrt(0.5) + 0 + std::sqrt(0.5)) / 32)); // x = 7 pi / 4
    CHECK((book.at(0, dt) == 0 && book.at(-3, dt) == 0 && book.at(40.5, dt) == 0 && book.at(60, dt) == 0));
    CHECK(book.at(7, 1e-12) == book.at(7, 3)); // it counts steps

    // amplitude exp(-((t - delay) / width)^2)
    const Waveform bell = waveform(R"("type": "gaussian", "delay": 3, "width": 0.5, "amplitude": -4)");
    CHECK(bell.at(12, dt) == -4);                      // t = delay
    CHECK(near(bell.at(14, dt), -4 * std::exp(-1.0))); // t = delay + width
    CHECK(near(bell.at(10, dt), -4 * std::exp(-1.0)));
    CHECK(near(bell.at(15, dt), -4 * std::exp(-2.25)));
    CHECK(near(bell.at(11.5, dt), -4 * std::exp(-0.0625)));

    // amplitude sin(2 pi frequency t + phase); before `rise` times (1 - cos(pi t / rise)) / 2
    const Waveform sine = waveform(R"("type": "sine", "frequency": 0.125, "phase": 0.5, "rise": 4, "amplitude": 3)");
    CHECK(near(sine.at(0, dt), 0));
    CHECK(near(sine.at(8, dt), 3 * 0.5 * std::sin(pi / 2 + 0.5))); // t = 2: half risen
    CHECK(near(sine.at(4, dt), 3 * (0.5 - 0.5 * std::sqrt(0.5)) * std::sin(pi / 4 + 0.5)));
    CHECK(near(sine.at(16, dt), 3 * std::sin(pi + 0.5)));
    CHECK(near(sine.at(40, dt), 3 * std::sin(2.5 * pi + 0.5)));
    CHECK(near(waveform(R"("type": "sine", "frequency": 0.125)").at(8, dt), 1)); // at once, from phase 0

    // the product of both, without a rise
    const Waveform both = waveform(
        R"("type": "modulated_gaussian", "frequency": 0.5, "phase": 0.25, "delay": 2, "width": 4, "amplitude": 5)");
    CHECK(near(both.at(8, dt), 5 * std::sin(2 * pi + 0.25)));
    CHECK(near(both.at(2, dt), 5 * std::exp(-0.140625) * std::sin(pi / 2 + 0.25))); // (1.5 / 4)^2
    CHECK(near(both.at(24, dt), 5 * std::exp(-1.0) * std::sin(6 * pi + 0.25)));
}

TEST_CASE("a column of numbers drives a source") {
    const gpulab::testing::ScratchFile column;
    column.write("# a comment\n0.5\n\n -1e-3 \n7\n");
    const std::filesystem::path path = std::filesystem::absolute(column.path());
    const auto driven = [&] { return waveform(R"("type": "column", "file": ")" + path.string() + "\""); };
    const Waveform w = driven();
    CHECK((w.at(1, 1) == 0.5 && w.at(2, 1) == -1e-3 && w.at(3, 1) == 7 && w.at(4, 1) == 0 && w.at(0.5, 1) == 0.5));
    const auto complaint = [&](const std::string& text) {
        column.write(text);
        return message_of(driven);
    };
    const std::string begin = "sources[0].waveform.file: " + path.string() + ":";
    for (const auto& [text, number] :
         std::vector<std::pair<std::string, std::string>>{{"1\n# a comment\ntwo\n", "3: 'two'"},
                                                          {"nan\n", "1: 'nan'"},
                                                          {"1e309\n", "1: '1e309'"},
                                                          {"0x1p3\n", "1: '0x1p3'"},
                                                          {"1\n\xEF\xBB\xBF"
                                                           "2\n",
                                                           "2: '???2'"},
                                                          {"1,5\n", "1: '1,5'"},
                                                          {"1 2\n", "1: '1 2'"},
                                                          {"\x1b[31m\xff\n", "1: '?[31m?'"}})
        CHECK(complaint(text) == begin + number + " is not a finite number");
    column.write("\xEF\xBB\xBF+0.5\n4.9e-324\n-1e-310\n1e-400\n"); // a sampled Gaussian has such numbers
    CHECK(driven().numbers == std::vector<double>{0.5, 5e-324, -1e-310, 0});
    column.write("");
    CHECK_THROWS_AS(driven(), gpulab::UsageError);
}

TEST_CASE("a file of numbers has the top row first, and each fault in it is one line") {
    const gpulab::testing::ScratchFolder folder;
    const auto write = [&](const std::string& text) { folder.write("n.txt", text); };
    const auto parsed = [&](const std::string& keys, const Overrides& overrides = {}) {
        return parse_scene(R"({"nx": 4, "ny": 3, "dx": 1, )" + keys + "}", folder.path(), overrides);
    };
    const auto description_of = [&](const std::string& keys) { return message_of([&] { parsed(keys); }); };
    using Numbers = std::vector<double>;
    const std::string media = R"("media": {"eps_r": "n.txt"})";
    write("# a comment\n9 10 11 12\n\n5 6 7 8\n  1 2\t3 4\r\n");
    Scene scene = parsed(media);
    CHECK(scene.graded());
    CHECK(scene.media.eps_r == Numbers{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
    CHECK((scene.material_at(1, 2).eps_r == 10 && scene.material_at(1, 2).mu_r == 1));
    CHECK(scene.files.front() == folder.path("n.txt"));
    CHECK(std::abs(largest_speed(scene) * std::sqrt(eps_0 * mu_0) - 1) < 1e-12); // where eps_r is 1
    scene = parsed(media, {.nx = 8, .ny = 6});
    CHECK((scene.media.eps_r.size() == 48 && scene.media.eps_r[3] == 2 && scene.media.eps_r[8 * 5 + 7] == 12));
    scene = parsed(R"("initial": [{"field": "Ex", "type": "numbers", "file": "n.txt", "amplitude": 2}])");
    CHECK(scene.initial[0].at(scene, 2, 1) == 14);
    CHECK(parsed(R"("media": {"sigma": {"from": 0, "to": 8}})").media.sigma ==
          Numbers{1, 3, 5, 7, 1, 3, 5, 7, 1, 3, 5, 7});
    CHECK(parsed(R"("media": {"sigma": {"from": 0, "to": 6, "along": "y"}})").media.sigma ==
          Numbers{1, 1, 1, 1, 3, 3, 3, 3, 5, 5, 5, 5});

    const std::string source =
        R"("sources": [{"field": "Hz", "region": [1, 1, 3, 3], "strength": "n.txt", "waveform": {"type": "book"}}])";
    CHECK(description_of(source).starts_with("sources[0].strength: ")); // 2 x 2 numbers are needed
    write("3 -4\n1 2\n");
    CHECK(parsed(source).sources[0].strength == Numbers{1, 2, 3, -4});

    const std::string begin = "media.eps_r: " + folder.path("n.txt") + ":";
    for (const auto& [text, what] : std::vector<std::pair<std::string, std::string>>{
             {"", " 0 rows, not 3"},
             {"1 2 3 4\n1 2 3 4\n", " 2 rows, not 3"},
             {"1 2 3 4\n1 2 3\n1 2 3 4\n", "2: 3 numbers, not 4"},
             {"1 2 3 4 5\n", "1: more than 4 numbers"},
             {"1 2 3 4\n1 2 3 4\n1 2 3 4\n1 2 3 4\n", "4: more than 3 rows"},
             {"1 2 3 x\n", "1: 'x' is not a finite number"},
             {"1 2 3 nan\n", "1: 'nan' is not a finite number"},
             {"1 2 3 1e999\n", "1: '1e999' is not a finite number"},
             {"\x1b[31m\xff 2 3 4\n", "1: '?[31m?' is not a finite number"},
             {"1 2 3 0\n", "1: 0 is not from 1e-06 to 1e+06"},
             {"1 2 3 -2\n", "1: -2 is not from 1e-06 to 1e+06"}}) {
        write(text);
        CHECK(description_of(media) == begin + what);
    }
}

TEST_CASE("a scene made by a program is refused when its planes have another size, or hold what is no number") {
    const auto description_of = [](const auto& change) {
        Scene scene{.nx = 4, .ny = 3, .sources = {Source{}}};
        change(scene);
        return message_of([&] { check_scene(scene); });
    };
    const double nan = std::nan("");
    CHECK(description_of([](Scene&) {}) == "");
    CHECK(description_of([](Scene& s) { s.media.mu_r.assign(12, 2); }) == "");
    CHECK(description_of([](Scene& s) { s.media.mu_r.assign(11, 2); }) == "media.mu_r: 11 numbers for 12 cells");
    CHECK(description_of([](Scene& s) { s.media.eps_r.assign(12, 0); }).starts_with("media.eps_r: 0 is not"));
    CHECK(description_of([&](Scene& s) { s.media.sigma.assign(12, nan); }).starts_with("media.sigma: nan is not"));
    CHECK(description_of([](Scene& s) { s.media.sigma_m.assign(12, -1); }).starts_with("media.sigma_m: -1 is not"));
    CHECK(description_of([](Scene& s) { s.sources[0].strength.assign(2, 1); }) ==
          "sources[0].strength: 2 numbers for 1 cells");
    CHECK(description_of([](Scene& s) {
              s.initial.resize(1);
              s.initial[0].kind = Initial::Kind::numbers;
          }) == "initial[0].file: holds no numbers");
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
            const std::string printed =
                refusal(text, {.nx = 40, .ny = 40, .steps = 2}); // small, so that it takes no time
            INFO(text);
            REQUIRE(printed.find('\n') == std::string::npos);
            printed.empty() ? ++read : ++refused;
        }
    }
    CHECK(read > 20);
    CHECK(refused > 200);
}

TEST_CASE("docs/scenes.md names every key of a scene") {
    const std::string page = gpulab::testing::bytes_of(FDTD_PAGE);
    // What the reader asks for: o.size("nx", ...), sides.find("all"), material.number("eps_r", ...), ...
    const std::string code = gpulab::testing::bytes_of(FDTD_READER);
    std::set<std::string> keys = {"left", "right", "bottom", "top"}; // asked for in a loop
    // Constants of media stand in a table: {"mu_r", &Material::mu_r, ...}.
    const std::regex asks(
        R"re((?:\b\w+\.(?:find|need|number|size|text|word|list|of|plane)\((?:\w+, )?"(\w+)"|\{"(\w+)", &Material::))re");
    for (auto at = std::sregex_iterator(code.begin(), code.end(), asks); at != std::sregex_iterator(); ++at)
        keys.insert((*at)[(*at)[1].matched ? 1 : 2]);
    CHECK(keys.size() > 40);
    CHECK((keys.contains("eps_r") && keys.contains("region") && keys.contains("reflection") && keys.contains("about")));
    for (const std::string& key : keys) {
        INFO(key);
        CHECK(page.find('`' + key + '`') != std::string::npos);
    }
}

TEST_CASE("the worked example of docs/scenes.md is a scene") {
    const std::string page = gpulab::testing::bytes_of(FDTD_PAGE);
    const std::size_t begin = page.find("```json\n"), end = page.find("```\n", begin + 1);
    REQUIRE(begin != std::string::npos);
    REQUIRE(end != std::string::npos);
    CHECK(refusal(page.substr(begin + 8, end - begin - 8)) == "");
}
