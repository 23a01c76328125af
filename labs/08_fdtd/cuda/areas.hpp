/// @file
/// How cuda_steps shares out the grid among warps: a frame whose cells need the code for layers, and the rest.
///
///     +-------------------------+       one area, here with two strips and three bands:
///     |          area 1         |            strip 0   strip 1
///     +----+---------------+----+           +---------+---------+
///     |    |               |    |    band 2 |  warp 4 |  warp 5 |
///     | 2  |     area 4    | 3  |           +---------+---------+
///     |    |               |    |    band 1 |  warp 2 |  warp 3 |
///     +----+---------------+----+           +---------+---------+
///     |          area 0         |    band 0 |  warp 0 |  warp 1 |
///     +-------------------------+           +---------+---------+
///
/// Areas 0 to 3 are the frame; where a side has no layer, its area is missing. Without any layer there is area 4 only.
#pragma once

#include <algorithm>

#include "rules.hpp"

namespace fdtd {

/// Strips side by side, cut into bands. A warp computes one band of one strip.
struct Area {
    int x0 = 0, y0 = 0, y1 = 0; ///< columns from x0, rows [y0, y1)
    int strips = 0;
    int rows = 1; ///< of a band; the last one may have fewer
    bool layers = false;

    int bands() const { return (y1 - y0 + rows - 1) / rows; }
};

/// Areas that together cover each of the (nx + 1) x (ny + 1) cells once. The slow ones come first.
struct Areas {
    Area area[5];
    int end[5] = {}; ///< number of the first warp after those of the area
    int count = 0;

    void add(const Area& a) {
        if (a.strips <= 0 || a.y0 >= a.y1) return;
        end[count] = warps() + a.strips * a.bands();
        area[count++] = a;
    }
    int warps() const { return count == 0 ? 0 : end[count - 1]; }
};

/// The most rows of a band. Longer bands would save little; a large grid has enough warps anyway.
inline constexpr int max_rows = 64;

/// Areas for bands of at most `rows` rows. In the frame a band has fewer, so that its warps take as long as the others.
/// @param steps per pass: a warp reads this many cells beyond its band on each side
template <class T> Areas areas_with(const Rules<T>& r, int steps, int rows) {
    const int width = 32 - 2 * steps, strips = (r.nx + width) / width; // to column nx
    // A row in a layer takes about 2.2 times as long as another (MEASURED.md).
    const int frame_rows = std::max((rows + 2 * steps) * 5 / 11 - 2 * steps, 4);
    // Strips and rows whose warps read no cell of a layer. Without a layer there, they begin at the border.
    const int x0 = r.inner.x0 == 0 ? 0 : (r.inner.x0 + steps + width - 1) / width;
    const int x1 = r.inner.x1 == r.nx ? strips : (r.inner.x1 - steps) / width;
    const int y0 = r.inner.y0 == 0 ? 0 : r.inner.y0 + steps, y1 = r.inner.y1 == r.ny ? r.ny + 1 : r.inner.y1 - steps;
    Areas all;
    if (x0 >= x1 || y0 >= y1) {
        all.add({0, 0, r.ny + 1, strips, rows, r.layers != 0});
        return all;
    }
    all.add({0, 0, y0, strips, frame_rows, true});
    all.add({0, y1, r.ny + 1, strips, frame_rows, true});
    all.add({0, y0, y1, x0, frame_rows, true});
    all.add({x1 * width, y0, y1, strips - x1, frame_rows, true});
    all.add({x0 * width, y0, y1, x1 - x0, rows, false});
    return all;
}

/// Areas for a device: bands with the fewest rows, 4 to 64, with which all warps run at the same time. Fewer rows mean
/// more warps; a grid that is too large for that has bands of 64.
/// @param resident warps that run at the same time
template <class T> Areas areas_for(const Rules<T>& r, int steps, int resident) {
    for (int rows = 4; rows < max_rows; ++rows)
        if (const Areas areas = areas_with(r, steps, rows); areas.warps() <= resident) return areas;
    return areas_with(r, steps, max_rows);
}

} // namespace fdtd
