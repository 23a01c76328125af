/// @file
/// A field as text: CSV, and VTK's image data, which ParaView opens.
#pragma once

#include <string>
#include <vector>

#include "frames.hpp"
#include "gpulab/file.hpp"
#include "scene.hpp"

namespace fdtd {

/// Finds out, before anything is computed, whether files can be written to a folder, or to a new one of this name.
/// @param option --frames or --vtk
/// @throws gpulab::UsageError when they cannot, or when one of them would overwrite a file that the scene was read from
void check_folder(const std::string& folder, const std::string& option, const Scene& scene);

/// A line "x,y,Hz,Ex,Ey" (TM: "x,y,Ez,Hx,Hy") for each cell: the coordinates of its centre in metres, the component
/// along z there, that along x on the cell's lower edge, that along y on its left edge.
/// @param snapshot with all three components
std::string field_csv(const Scene& scene, const Snapshot& snapshot);

/// VTK image data (.vti). Per cell: the component along z at its centre, that along x on its lower edge, that along y
/// on its left edge, and the index of its material.
/// @param snapshot with all three components
std::string field_vti(const Scene& scene, const Snapshot& snapshot);

/// ParaView's list (.pvd) of the .vti files of these steps, and of their times in seconds.
std::string series_pvd(const Scene& scene, const std::vector<std::size_t>& steps);

/// A line per step: its number, its time in seconds and the value at each probe.
/// @param recorded as in Output, of all steps
std::string probes_csv(const Scene& scene, const std::vector<double>& recorded);

/// Writes pictures as they come: PNG files of a folder, frame-000000.png and so on by step, and one animated picture,
/// animation.png, which is there after the last one. The folder is made if it is not there. Each file is written
/// completely or not at all.
class FrameFiles {
public:
    /// @param scale the value of the strongest colour @param pictures how many there will be
    /// @throws gpulab::UsageError when the folder or a file cannot be written
    FrameFiles(const std::string& folder, const Scene& scene, double scale, std::size_t pictures);
    void add(const Snapshot& snapshot);

private:
    const Scene& scene_;
    std::string folder_;
    double scale_;
    std::size_t left_;
    Animation animation_;
    gpulab::OutputFile file_; ///< animation.png
};

/// Writes snapshots as they come: .vti files of a folder, and after the last one series.pvd, which lists them. The
/// folder is made if it is not there.
class VtkFiles {
public:
    /// @param snapshots how many there will be
    VtkFiles(const std::string& folder, const Scene& scene, std::size_t snapshots);
    /// @param snapshot with all three components
    void add(const Snapshot& snapshot);

private:
    const Scene& scene_;
    std::string folder_;
    std::size_t count_;
    std::vector<std::size_t> steps_;
};

} // namespace fdtd
