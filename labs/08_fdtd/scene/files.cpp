#include "files.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>

#if !defined(_WIN32)
#include <unistd.h>
#endif

#include "gpulab/error.hpp"

namespace fdtd {

namespace {

void make_folder(const std::string& folder, const char* option) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error || !std::filesystem::is_directory(folder))
        throw gpulab::UsageError(fmt::format("{}: {} is not a folder, and cannot be made", option, folder));
}

std::string in(const std::string& folder, const std::string& file) {
    return (std::filesystem::path(folder) / file).string();
}

std::string vti_name(std::size_t step) { return fmt::format("field-{:06}.vti", step); }

} // namespace

void check_folder(const std::string& folder, const std::string& option, const Scene& scene) {
    const std::vector<std::string> names = option == "--vtk" ? std::vector<std::string>{"field-", "series.pvd"}
                                                             : std::vector<std::string>{"frame-", "animation.png"};
    const auto refuse = [&](const std::string& why) { throw gpulab::UsageError(option + ": " + why); };
    std::error_code failed;
    const auto status = std::filesystem::status(folder, failed);
    if (status.type() == std::filesystem::file_type::none) // a cycle of links, too long a name
        refuse(folder + ": " + failed.message());
    if (!std::filesystem::exists(status) && std::filesystem::is_symlink(folder, failed))
        refuse(folder + " is a link to what is not there");
    std::filesystem::path there = std::filesystem::absolute(folder, failed);
    while (there.has_relative_path() && !std::filesystem::exists(there, failed)) there = there.parent_path();
    if (!std::filesystem::is_directory(there, failed)) refuse(there.string() + " is not a folder");
#if !defined(_WIN32)
    if (::access(there.c_str(), W_OK | X_OK) != 0)
        refuse(fmt::format("cannot write to {}: {}", there.string(), std::strerror(errno)));
#endif
    for (const std::string& file : scene.files) {
        const std::string name = std::filesystem::path(file).filename().string();
        for (const std::string& begin : names)
            if (name.starts_with(begin) && gpulab::same_file(in(folder, name), file))
                refuse(in(folder, name) + " is a file that the scene reads, and its name is that of an output");
    }
}

std::string field_csv(const Scene& scene, const Snapshot& snapshot) {
    std::string text = fmt::format("x,y,{},{},{}\n", name_of(scene.mode, Component::z),
                                   name_of(scene.mode, Component::x), name_of(scene.mode, Component::y));
    for (std::size_t j = 0; j < scene.ny; ++j)
        for (std::size_t i = 0; i < scene.nx; ++i) {
            const std::size_t at = j * scene.nx + i;
            fmt::format_to(std::back_inserter(text), "{:.9g},{:.9g},{:.9g},{:.9g},{:.9g}\n",
                           (static_cast<double>(i) + 0.5) * scene.dx, (static_cast<double>(j) + 0.5) * scene.dy,
                           snapshot.values[at], snapshot.x[at], snapshot.y[at]);
        }
    return text;
}

std::string field_vti(const Scene& scene, const Snapshot& snapshot) {
    std::string text = fmt::format(
        "<?xml version=\"1.0\"?>\n<VTKFile type=\"ImageData\" version=\"0.1\" byte_order=\"LittleEndian\">\n"
        "<ImageData WholeExtent=\"0 {0} 0 {1} 0 0\" Origin=\"0 0 0\" Spacing=\"{2:.9g} {3:.9g} 1\">\n"
        "<Piece Extent=\"0 {0} 0 {1} 0 0\">\n<CellData Scalars=\"{4}\">\n",
        scene.nx, scene.ny, scene.dx, scene.dy, name_of(scene.mode, Component::z));
    const auto add = [&](const char* type, const char* name, const auto& value_of_cell) {
        text += fmt::format("<DataArray type=\"{}\" Name=\"{}\" format=\"ascii\">\n", type, name);
        for (std::size_t k = 0; k < scene.nx * scene.ny; ++k)
            fmt::format_to(std::back_inserter(text), "{:.9g}{}", value_of_cell(k),
                           (k + 1) % scene.nx == 0 ? '\n' : ' ');
        text += "</DataArray>\n";
    };
    for (const auto& [component, values] :
         {std::pair{Component::z, &snapshot.values}, {Component::x, &snapshot.x}, {Component::y, &snapshot.y}})
        add("Float32", name_of(scene.mode, component), [&](std::size_t k) { return (*values)[k]; });
    add("UInt8", "material",
        [&](std::size_t k) { return scene.map.empty() ? 0.0f : static_cast<float>(scene.map[k]); });
    return text + "</CellData>\n</Piece>\n</ImageData>\n</VTKFile>\n";
}

std::string series_pvd(const Scene& scene, const std::vector<std::size_t>& steps) {
    std::string text = "<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"0.1\" "
                       "byte_order=\"LittleEndian\">\n<Collection>\n";
    const double dt = scene.time_step();
    for (const std::size_t step : steps)
        text += fmt::format("<DataSet timestep=\"{:.9g}\" part=\"0\" file=\"{}\"/>\n", static_cast<double>(step) * dt,
                            vti_name(step));
    return text + "</Collection>\n</VTKFile>\n";
}

std::string probes_csv(const Scene& scene, const std::vector<double>& recorded) {
    std::string text = "step,time";
    for (const Probe& probe : scene.probes) {
        std::string name;
        for (const char c : probe.name) name += c == '"' ? std::string("\"\"") : std::string(1, c);
        text += ",\"" + name + "\"";
    }
    text += '\n';
    const std::size_t n = scene.probes.size();
    const double dt = scene.time_step();
    for (std::size_t k = 0; n > 0 && k < recorded.size() / n; ++k) {
        text += fmt::format("{},{:.9g}", k + 1, static_cast<double>(k + 1) * dt);
        for (std::size_t i = 0; i < n; ++i) text += fmt::format(",{:.17g}", recorded[k * n + i]);
        text += '\n';
    }
    return text;
}

FrameFiles::FrameFiles(const std::string& folder, const Scene& scene, double scale, std::size_t pictures)
    : scene_(scene), folder_(folder), scale_(scale), left_(pictures), animation_(pictures, 100) {
    make_folder(folder, "--frames");
    file_ = gpulab::OutputFile(in(folder, "animation.png"));
}

void FrameFiles::add(const Snapshot& snapshot) {
    const std::string png = gpulab::encoded_png(draw(scene_, snapshot, scale_));
    gpulab::OutputFile(in(folder_, fmt::format("frame-{:06}.png", snapshot.step))).write(png);
    file_.append(animation_.next(png));
    if (--left_ == 0) file_.commit();
}

VtkFiles::VtkFiles(const std::string& folder, const Scene& scene, std::size_t snapshots)
    : scene_(scene), folder_(folder), count_(snapshots) {
    make_folder(folder, "--vtk");
}

void VtkFiles::add(const Snapshot& snapshot) {
    steps_.push_back(snapshot.step);
    gpulab::OutputFile(in(folder_, vti_name(snapshot.step))).write(field_vti(scene_, snapshot));
    if (steps_.size() == count_) gpulab::OutputFile(in(folder_, "series.pvd")).write(series_pvd(scene_, steps_));
}

} // namespace fdtd
