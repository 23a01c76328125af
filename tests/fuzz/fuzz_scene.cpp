// libFuzzer target: whatever text a scene is, parse_scene() returns a scene that check_scene() accepts, or throws an
// error of one line. The first byte chooses: the rest is a scene; or it is the file that a scene names as its column of
// numbers, as its map, or as numbers for its cells.
#include <cmath>
#include <cstdint>
#include <string>

#include "fuzzed_file.hpp"
#include "labs/08_fdtd/scene/scene.hpp"

namespace {

void check(const std::string& text, const fdtd::Overrides& overrides) {
    fdtd::Scene scene;
    if (!fuzz::accepts([&] { scene = fdtd::parse_scene(text, "/dev/shm", overrides); })) return;
    fdtd::check_scene(scene);
    const double dt = scene.time_step();
    fuzz::require(dt > 0 && std::isfinite(dt), "no time step");
    for (const fdtd::Source& s : scene.sources) {
        fuzz::require(s.x0 < s.x1 && s.x1 <= scene.nx && s.y0 < s.y1 && s.y1 <= scene.ny, "a source outside the grid");
        for (const double n : {0.0, 0.5, 1.0, 1.5, 41.0, 1e8})
            fuzz::require(std::isfinite(s.waveform.at(n, dt)), "a waveform that is not finite");
    }
    for (const fdtd::Initial& part : scene.initial)
        fuzz::require(std::isfinite(part.at(scene, scene.nx - 1, scene.ny - 1)), "an initial field that is not finite");
    fuzz::require(scene.material_at(scene.nx - 1, 0).eps_r > 0, "a medium without permittivity");
    for (const fdtd::Probe& p : scene.probes) fuzz::require(p.x < scene.nx && p.y < scene.ny, "a probe outside");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string rest(reinterpret_cast<const char*>(data + 1), size - 1);
    const std::string name = fuzz::file_name().substr(fuzz::file_name().rfind('/') + 1);
    const std::string head = R"({"nx": 9, "ny": 8, "dx": 0.01, "steps": 5, )";
    if (data[0] % 8 == 1) {
        fuzz::write_file(rest);
        check(head + R"("sources": [{"field": "Hz", "at": [1, 1], "waveform": {"type": "column", "file": ")" + name +
                  R"("}}]})",
              {});
    } else if (data[0] % 8 == 2) {
        fuzz::write_file(rest);
        check(head + R"("materials": [{"name": "a"}, {"name": "b", "eps_r": 2}], "map": ")" + name + R"("})", {});
    } else if (data[0] % 8 == 3) {
        fuzz::write_file(rest);
        const std::string quoted = '"' + name + '"';
        check(R"({"nx": 3, "ny": 3, "dx": 0.01, "media": {"eps_r": )" + quoted + R"(, "sigma": )" + quoted +
                  R"(}, "initial": [{"field": "Ex", "type": "numbers", "file": )" + quoted + "}]}",
              {.nx = 5, .ny = 4});
    } else {
        // On a small grid, because that of the file may take a gigabyte.
        check(rest, {.nx = 24, .ny = 17, .steps = 6});
        const auto absent = [&](const char* key) { return rest.find(key) == std::string::npos; };
        if (absent("shapes") && absent("map") && absent("media")) check(rest, {});
    }
    return 0;
}
