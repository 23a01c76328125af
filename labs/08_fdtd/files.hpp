/// @file
/// A field as text: CSV, and VTK's image data, which ParaView opens.
#pragma once

#include <string>
#include <vector>

#include "frames.hpp"
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

/// ParaView's list (.pvd) of .vti files and their times in seconds.
std::string series_pvd(const Scene& scene, const std::vector<Snapshot>& snapshots,
                       const std::vector<std::string>& files);

/// A line per step: its number, its time in seconds and the value at each probe.
/// @param recorded as in Output, of all steps
std::string probes_csv(const Scene& scene, const std::vector<double>& recorded);

/// Writes pictures as PNG files of a folder, frame-000000.png and so on by step, and one animated picture,
/// animation.png. The folder is made if it is not there. Each file is written completely or not at all.
/// @throws gpulab::UsageError when the folder or a file cannot be written
void write_frames(const std::string& folder, const Scene& scene, const std::vector<Snapshot>& snapshots);

/// Writes snapshots as .vti files of a folder, and series.pvd. The folder is made if it is not there.
void write_vtk(const std::string& folder, const Scene& scene, const std::vector<Snapshot>& snapshots);

} // namespace fdtd
