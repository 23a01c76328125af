/// @file
/// The judge of this lab's exercises. Fields of a case: type, mode ("te" or "tm"), nx, ny, steps, media (how many
/// materials the cells have), lossy (one medium with losses), sources (of every component and kind in turn), point (one
/// hard source of the component along z, in one cell), probes, and layers (cells of the absorbing layer on each side).
#include "gpulab/grading/judge.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <tuple>

#include "exercises/tasks.hpp"
#include "gpulab/input.hpp"
#include "scene/scene.hpp"

namespace fdtd {

namespace {

using gpulab::grading::Case;
using gpulab::grading::field;

Scene scene_of(const Case& c, std::uint64_t seed) {
    Scene scene;
    scene.mode = field<std::string>(c, "mode", "te") == "tm" ? Mode::tm : Mode::te;
    scene.nx = field<std::size_t>(c, "nx", 8);
    scene.ny = field<std::size_t>(c, "ny", 8);
    scene.steps = field<std::size_t>(c, "steps", 1);
    const auto random = [&](std::uint64_t i, std::size_t below) { return gpulab::random_bits(seed, i) % below; };
    const auto media = field<std::size_t>(c, "media", 1);
    for (std::size_t m = 1; m < media; ++m)
        scene.materials.push_back({"medium", 1 + gpulab::random_unit<double>(seed, 900 + m), 1, 0.01, 0});
    if (media > 1) {
        scene.map.resize(scene.nx * scene.ny);
        for (std::size_t i = 0; i < scene.map.size(); ++i)
            scene.map[i] = static_cast<std::uint8_t>(random(1000 + i, media));
    }
    if (field<bool>(c, "lossy", false))
        scene.materials = {{"lossy", 1 + gpulab::random_unit<double>(seed, 901), 1, 0.05, 900}};
    const auto add_source = [&](Source source, std::uint64_t number) {
        source.waveform.amplitude = 1 + gpulab::random_unit<double>(seed, number);
        scene.sources.push_back(source);
    };
    if (field<bool>(c, "point", false)) {
        const std::size_t x = random(4, scene.nx), y = random(5, scene.ny);
        add_source({Component::z, x, y, x + 1, y + 1}, 801);
    }
    for (std::size_t s = 0; s < field<std::size_t>(c, "sources", 0); ++s) {
        const std::size_t x = random(4 * s, scene.nx - 2) + 1, y = random(4 * s + 1, scene.ny - 2) + 1;
        add_source(
            {static_cast<Component>(s % 3), x, y, std::min(x + 2, scene.nx), std::min(y + 1, scene.ny), s % 2 == 0},
            800 + s);
    }
    for (std::size_t i = 0; i < field<std::size_t>(c, "probes", 0); ++i)
        scene.probes.push_back({"probe", random(600 + 2 * i, scene.nx), random(601 + 2 * i, scene.ny)});
    if (const auto layers = field<std::size_t>(c, "layers", 0); layers > 0)
        for (Side* side : {&scene.left, &scene.right, &scene.bottom, &scene.top}) {
            side->kind = Side::Kind::pml;
            side->cells = layers;
        }
    check_scene(scene);
    return scene;
}

template <class T> struct StepsTask : Steps<T> {
    static Problem<T> make(const Case& c, std::uint64_t seed) {
        Problem<T> p = make_problem<T>(scene_of(c, seed));
        randomise(p, seed + 1);
        return p;
    }
    static gpulab::Comparison check(const Case& c, const Problem<T>& p, const Output<T>& out) {
        const auto same = [](const auto& a, const auto& b) { return a.size() == b.size(); };
        const Output<T> room = make_output(p);
        if (!same(room.field.u, out.field.u) || !same(room.field.p, out.field.p) || !same(room.field.q, out.field.q) ||
            !same(room.field.v, out.field.v) || !same(room.recorded, out.recorded)) {
            gpulab::Comparison wrong;
            wrong.message = "the output has another size";
            return wrong;
        }
        gpulab::Comparison result =
            compare(p, reference(scene_of(c, std::stoull(field<std::string>(c, "seed", "1"))), p), out);
        if (result.wrong > 0) result.message += " " + place_of(p, result.first);
        return result;
    }

private:
    /// Which number an element of the output is: "Element 864 is Hz in row 4, column 64."
    static std::string place_of(const Problem<T>& p, std::size_t element) {
        std::size_t i = element;
        for (const auto& [component, columns, rows] : {std::tuple{Component::z, p.nx(), p.ny()},
                                                       {Component::x, p.nx(), p.ny() + 1},
                                                       {Component::y, p.nx() + 1, p.ny()}}) {
            if (i < columns * rows)
                return fmt::format("Element {} is {} in row {}, column {}.", element, name_of(p.mode, component),
                                   i / columns, i % columns);
            i -= columns * rows;
        }
        return fmt::format("Element {} is behind the field: a split part, or what a probe recorded.", element);
    }
};

} // namespace

} // namespace fdtd

void gpulab::grading::add_tasks(Judge& judge) {
    using namespace fdtd;
    judge.add<StepsTask, float, double>("steps");
}
