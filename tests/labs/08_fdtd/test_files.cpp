// Pictures and field files: their structure, and that they are written to the end or not at all.
#include <algorithm>
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <limits>

#include "gpulab/error.hpp"
#include "gpulab_testing/png.hpp"
#include "gpulab_testing/program.hpp"
#include "scene/files.hpp"

using namespace fdtd;
using gpulab::testing::png_chunk;
using gpulab::testing::png_number;

namespace {

Scene small() {
    return {.nx = 4,
            .ny = 3,
            .dy = 0.02,
            .materials = {Material{}, {"glass", 2, 1, 0, 0}},
            .map = {0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1}};
}
Snapshot snapshot(float factor = 1) {
    Snapshot s{20, {}};
    for (int i = 0; i < 12; ++i) {
        s.values.push_back(factor * static_cast<float>(i - 6));
        s.x.push_back(static_cast<float>(100 + i));
        s.y.push_back(static_cast<float>(-i) / 4);
    }
    return s;
}

struct Chunk {
    std::string type, data;
};

/// A PNG file's chunks; one without a type at the end when it is whole.
std::vector<Chunk> chunks(const std::string& png) {
    std::vector<Chunk> all;
    std::size_t at = 8;
    while (at + 12 <= png.size()) {
        std::uint32_t length = 0;
        for (std::size_t k = 0; k < 4; ++k) length = length << 8 | static_cast<unsigned char>(png[at + k]);
        all.push_back({png.substr(at + 4, 4), png.substr(at + 8, length)});
        at += length + 12;
    }
    all.push_back({at == png.size() ? "" : "rest", ""});
    return all;
}

/// The pictures of an animated PNG: each as a PNG file of its own, read by libpng.
std::vector<gpulab::Image> pictures_of(const std::string& apng) {
    const std::vector<Chunk> all = chunks(apng);
    std::vector<gpulab::Image> pictures;
    for (const Chunk& c : all) {
        if (c.type != "IDAT" && c.type != "fdAT") continue;
        const gpulab::testing::ScratchFile file;
        file.write(apng.substr(0, 8) + png_chunk("IHDR", all.front().data) +
                   png_chunk("IDAT", c.data.substr(c.type == "fdAT" ? 4 : 0)) + png_chunk("IEND", ""));
        pictures.push_back(gpulab::read_png(file.path()));
    }
    return pictures;
}

using Rgb = std::array<int, 3>;

/// The colour of a cell of small() in a picture.
Rgb colour_in(const gpulab::Image& image, std::size_t i, std::size_t j) {
    const unsigned char* const c = &image.pixels[((2 - j) * 75 * image.width + i * 75) * 3];
    return {c[0], c[1], c[2]};
}

Rgb colour_of(double share) {
    unsigned char c[3];
    colour(share, c);
    return {c[0], c[1], c[2]};
}

/// The whole file of an animation.
std::string animated_png(const std::vector<gpulab::Image>& pictures) {
    Animation animation(pictures.size(), 100);
    std::string all;
    for (const gpulab::Image& image : pictures) all += animation.next(gpulab::encoded_png(image));
    return all;
}

void write_frames(const std::string& folder, const Scene& scene, const std::vector<Snapshot>& snapshots) {
    FrameFiles files(folder, scene, scene.frame_scale, snapshots.size());
    for (const Snapshot& s : snapshots) files.add(s);
}

} // namespace

TEST_CASE("colours go from blue over white to red, and NaN is black") {
    const auto at = colour_of;
    CHECK(at(0) == std::array{247, 247, 247});
    CHECK(at(1) == std::array{103, 0, 31});
    CHECK(at(-1) == std::array{5, 48, 97});
    CHECK(at(5) == at(1));
    CHECK(at(-std::numeric_limits<double>::infinity()) == at(-1));
    CHECK(at(std::nan("")) == std::array{0, 0, 0});
    CHECK((at(0.5)[0] > at(0.5)[2] && at(-0.5)[2] > at(-0.5)[0]));
}

TEST_CASE("a picture has the first row of cells at the bottom, and outlines between materials") {
    const gpulab::Image image = draw(small(), snapshot(), 6);
    CHECK((image.width == 4 * 75 && image.height == 3 * 75 && image.channels == 3));
    const auto pixel = [&](std::size_t i, std::size_t j) { return colour_in(image, i, j)[0]; };
    CHECK(pixel(0, 0) == 5);          // -6: the strongest blue
    CHECK(pixel(2, 1) == 247);        // 0
    CHECK(pixel(1, 2) < pixel(2, 2)); // beside another material: darker

    // A cell is darker where the one to its right, or the one above it, is of another material.
    Scene scene = small();
    scene.map = {0, 0, 0, 0, // the lowest row
                 0, 1, 0, 0, //
                 0, 0, 0, 0};
    const std::array<std::string, 3> outlines = {".#..", "##..", "...."};
    for (std::size_t j = 0; j < 3; ++j)
        for (std::size_t i = 0; i < 4; ++i) {
            INFO("cell " << i << ", " << j);
            Snapshot nothing = snapshot(0);
            const int level = colour_in(draw(scene, nothing, 6), i, j)[0];
            CHECK(level == (outlines[j][i] == '#' ? 247 / 2 : 247));
        }
}

TEST_CASE("an animation has one control chunk for each picture, and checksums that a reader accepts") {
    const std::string png =
        animated_png({draw(small(), snapshot(), 6), draw(small(), snapshot(-1), 6), draw(small(), snapshot(0.5f), 6)});
    const std::vector<Chunk> all = chunks(png);
    const std::vector<std::string> types = {"IHDR", "acTL", "fcTL", "IDAT", "fcTL", "fdAT", "fcTL", "fdAT", "IEND", ""};
    REQUIRE(std::ranges::equal(all, types, {}, &Chunk::type));
    CHECK(all[1].data == png_number(3) + png_number(0)); // three pictures, for ever
    // Control chunks and further pictures are numbered together. Each picture has the full size, at (0, 0), and
    // stays for 100 / 1000 s.
    const std::string rest =
        png_number(300) + png_number(225) + png_number(0) + png_number(0) + std::string("\0\x64\x03\xE8\0\0", 6);
    std::uint32_t number = 0;
    for (const Chunk& c : all) {
        if (c.type == "fcTL") CHECK(c.data == png_number(number++) + rest);
        if (c.type == "fdAT") CHECK(c.data.substr(0, 4) == png_number(number++));
    }
    const gpulab::testing::ScratchFile file;
    gpulab::OutputFile(file.path()).write(png);
    CHECK(gpulab::read_png(file.path()).pixels ==
          draw(small(), snapshot(), 6).pixels); // the first picture; all checksums hold
    CHECK_THROWS_AS(Animation(0, 100).next(gpulab::encoded_png(draw(small(), snapshot(), 6))), gpulab::Error);
    Animation of_one_size(2, 100);
    of_one_size.next(gpulab::encoded_png({4, 3, 3, std::vector<unsigned char>(36)}));
    CHECK_THROWS_AS(of_one_size.next(gpulab::encoded_png({3, 4, 3, std::vector<unsigned char>(36)})), gpulab::Error);
}

TEST_CASE("the largest value has no sign, and what is not finite does not count") {
    CHECK(largest(snapshot()) == 6);
    CHECK(largest(snapshot(-2)) == 12);
    Snapshot broken = snapshot();
    broken.values[3] = std::numeric_limits<float>::infinity();
    broken.values[4] = std::nanf("");
    CHECK(largest(broken) == 6);
    CHECK(largest(snapshot(0)) == 0);
}

TEST_CASE("all frames have one scale, and the animation shows them") {
    // -6 to 5, then 3 to -2.5, then -1.5 to 1.25.
    std::vector<Snapshot> snapshots = {snapshot(), snapshot(-0.5f), snapshot(0.25f)};
    for (std::size_t k = 0; k < 3; ++k) snapshots[k].step = 20 * (k + 1);
    for (const double scale : {6.0, 12.0, 3.0}) {
        Scene scene = small();
        scene.frame_scale = scale;
        INFO("scale " << scale);
        const gpulab::testing::ScratchFolder folder;
        write_frames(folder.path(), scene, snapshots);
        const std::vector<gpulab::Image> animated =
            pictures_of(gpulab::testing::bytes_of(folder.path("animation.png")));
        REQUIRE(animated.size() == 3);
        for (std::size_t k = 0; k < 3; ++k) {
            const gpulab::Image frame =
                gpulab::read_png(folder.path(fmt::format("frame-{:06}.png", snapshots[k].step)));
            CHECK((animated[k].pixels == frame.pixels)); // in brackets: else a failure prints all bytes
            for (std::size_t j = 0; j < 3; ++j)
                for (const std::size_t i : {0, 2, 3}) // those of column 1 are darker: an outline
                    CHECK(colour_in(frame, i, j) ==
                          colour_of(static_cast<double>(snapshots[k].values[j * 4 + i]) / scale));
        }
        CHECK((animated[0].pixels != animated[1].pixels));
        CHECK((animated[1].pixels != animated[2].pixels));
        // The value 2 is in the cell (0, 2) of the first picture and in (2, 0) of the second.
        REQUIRE((snapshots[0].values[8] == 2 && snapshots[1].values[2] == 2));
        CHECK(colour_in(animated[0], 0, 2) == colour_in(animated[1], 2, 0));
    }
}

TEST_CASE("CSV and VTK files hold every number") {
    const std::string csv = field_csv(small(), snapshot());
    CHECK(csv.starts_with("x,y,Hz,Ex,Ey\n0.005,0.01,-6,100,0\n0.015,0.01,-5,101,-0.25\n"));
    CHECK(csv.find("\n0.025,0.03,0,106,-1.5\n") != std::string::npos);
    CHECK(std::count(csv.begin(), csv.end(), '\n') == 13);
    const std::string vti = field_vti(small(), snapshot());
    CHECK(vti.find("WholeExtent=\"0 4 0 3 0 0\" Origin=\"0 0 0\" Spacing=\"0.01 0.02 1\"") != std::string::npos);
    const auto has = [&](const std::string& type, const std::string& name, const std::string& numbers) {
        return vti.find("<DataArray type=\"" + type + "\" Name=\"" + name + "\" format=\"ascii\">\n" + numbers +
                        "</DataArray>\n") != std::string::npos;
    };
    CHECK(has("Float32", "Hz", "-6 -5 -4 -3\n-2 -1 0 1\n2 3 4 5\n"));
    CHECK(has("Float32", "Ex", "100 101 102 103\n104 105 106 107\n108 109 110 111\n"));
    CHECK(has("Float32", "Ey", "0 -0.25 -0.5 -0.75\n-1 -1.25 -1.5 -1.75\n-2 -2.25 -2.5 -2.75\n"));
    CHECK(has("UInt8", "material", "0 0 1 1\n0 0 1 1\n0 0 1 1\n"));
    Scene magnetic = small();
    magnetic.mode = Mode::tm;
    CHECK(field_csv(magnetic, snapshot()).starts_with("x,y,Ez,Hx,Hy\n"));
    CHECK(field_vti(magnetic, snapshot()).find("Name=\"Hy\" format=\"ascii\">\n0 -0.25 ") != std::string::npos);
    const std::string pvd = series_pvd(small(), {20});
    CHECK(pvd.find(fmt::format("timestep=\"{:.9g}\" part=\"0\" file=\"field-000020.vti\"", 20 * small().time_step())) !=
          std::string::npos);
}

TEST_CASE("the file of the probes has a line for each step, and names in quotes") {
    Scene scene = small();
    scene.probes = {{"left", 0, 0}, {"the \"right\", far", 3, 2}};
    const std::string csv = probes_csv(scene, {1, 2, 3, 0.25});
    const double dt = scene.time_step();
    CHECK(csv ==
          fmt::format("step,time,\"left\",\"the \"\"right\"\", far\"\n1,{:.9g},1,2\n2,{:.9g},3,0.25\n", dt, 2 * dt));
}

TEST_CASE("a folder that cannot be made is refused, and nothing is left behind") {
    const gpulab::testing::ScratchFile file;
    file.write("not a folder");
    CHECK_THROWS_AS(write_frames(file.path() + "/inside", small(), {snapshot()}), gpulab::UsageError);
    CHECK_THROWS_AS(VtkFiles(file.path(), small(), 1), gpulab::UsageError);
    CHECK(file.text() == "not a folder");
}

TEST_CASE("each picture and each field is there before the next comes, and the files of all after the last") {
    const gpulab::testing::ScratchFolder folder;
    const Scene scene = small();
    FrameFiles frames(folder.path("frames"), scene, 6, 3);
    VtkFiles vtk(folder.path("vtk"), scene, 3);
    for (const std::size_t step : {20, 40, 60}) {
        Snapshot s = snapshot();
        s.step = step;
        frames.add(s);
        vtk.add(s);
        CHECK(std::filesystem::exists(folder.path(fmt::format("frames/frame-{:06}.png", step))));
        CHECK(std::filesystem::exists(folder.path(fmt::format("vtk/field-{:06}.vti", step))));
        CHECK(std::filesystem::exists(folder.path("frames/animation.png")) == (step == 60));
        CHECK(std::filesystem::exists(folder.path("vtk/series.pvd")) == (step == 60));
    }
    {
        FrameFiles given_up(folder.path("given up"), scene, 6, 3);
        given_up.add(snapshot());
    }
    std::vector<std::string> left;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path("given up")))
        left.push_back(entry.path().filename().string());
    CHECK(left == std::vector<std::string>{"frame-000020.png"});
}
