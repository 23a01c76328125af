/// @file
/// Pictures of a field, one by one and animated.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "gpulab/image/image.hpp"
#include "scene.hpp"

namespace fdtd {

/// The field after a step: nx * ny numbers of each component, row y = 0 first.
///
/// Number j * nx + i belongs to cell (i, j): the component along z is at its centre, that along x in the middle of its
/// lower edge, that along y in the middle of its left edge. These two are those of half a step later. The edges at the
/// right and the upper border of the grid are left out: what is there is always 0.
struct Snapshot {
    std::size_t step = 0;
    std::vector<float> values;         ///< along z
    std::vector<float> x = {}, y = {}; ///< along x and y; empty where nobody needs them
};

/// The largest absolute value along z that is finite; 0 where there is none.
double largest(const Snapshot& snapshot);

/// A colour for value / scale in [-1, 1]: blue for -1, white for 0, red for 1. Beyond, the colour of the end; black for
/// NaN. @param rgb three bytes
void colour(double share, unsigned char* rgb);

/// Pixels along each side of a cell, such that a picture has about 300 pixels or more along its longer side.
inline std::size_t pixels_of_cell(std::size_t nx, std::size_t ny) {
    return std::max<std::size_t>(1, 300 / std::max(nx, ny));
}

/// Draws a snapshot: one pixel or more per cell (so that small grids are not tiny), y upwards, with the outlines of the
/// materials in grey and the inner edges of the absorbing layers dotted.
/// @param scale the value of the strongest colour, above 0
gpulab::Image draw(const Scene& scene, const Snapshot& snapshot, double scale);

/// An animated PNG (APNG), repeated for ever, in parts: one for each picture, as it comes.
class Animation {
public:
    /// @param pictures how many there will be @param delay_ms how long each is shown, at most 65535
    Animation(std::size_t pictures, unsigned delay_ms);
    /// The next part of the file; with the last picture also its end.
    /// @param png the bytes of a PNG file, of the same size and channels each time
    /// @throws gpulab::Error for another size, or more pictures than announced
    std::string next(const std::string& png);

private:
    std::size_t pictures_, done_ = 0;
    unsigned delay_ms_;
    unsigned sequence_ = 0;
    std::string header_; ///< IHDR of the first picture
};

} // namespace fdtd
