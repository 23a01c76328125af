// How cuda_steps shares out the grid, without a GPU.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "cuda/areas.hpp"

using namespace fdtd;

namespace {

constexpr int steps = 4, width = 32 - 2 * steps;

Rules<double> rules(int nx, int ny, Box inner) {
    Rules<double> r{};
    r.nx = nx;
    r.ny = ny;
    r.inner = inner;
    r.layers = inner.x0 > 0 || inner.y0 > 0 || inner.x1 < nx || inner.y1 < ny;
    return r;
}

/// Calls body(area, x0, y0, y1) for what each warp computes, found as the kernel finds it.
template <class Body> void each_warp(const Areas& areas, const Body& body) {
    for (int w = 0; w < areas.warps(); ++w) {
        int k = 0;
        while (w >= areas.end[k]) ++k;
        const Area& a = areas.area[k];
        const int warp = w - (k == 0 ? 0 : areas.end[k - 1]);
        const int y0 = a.y0 + warp / a.strips * a.rows;
        body(a, a.x0 + warp % a.strips * width, y0, std::min(y0 + a.rows, a.y1));
    }
}

} // namespace

TEST_CASE("cuda_steps: the areas hold every cell once, and what needs a layer is in the frame") {
    for (const int nx : {3, 23, 24, 47, 75, 76, 77, 100, 131, 300})
        for (const int ny : {3, 30, 64, 121})
            for (const Box inner :
                 {Box{0, 0, nx, ny}, Box{1, 1, nx - 1, ny - 1}, Box{10, 0, nx, ny}, Box{0, 0, nx - 20, ny},
                  Box{0, 12, nx, ny}, Box{0, 0, nx, ny - 25}, Box{25, 25, nx - 25, ny - 25}})
                for (const int resident : {1, 40, 2640}) {
                    if (inner.x0 >= inner.x1 || inner.y0 >= inner.y1) continue;
                    const Rules<double> r = rules(nx, ny, inner);
                    const Areas areas = areas_for(r, steps, resident);
                    std::vector<int> times(std::size_t(nx + width) * (ny + 1));
                    bool empty = false, beyond = false, layer_read = false;
                    each_warp(areas, [&](const Area& a, int x0, int y0, int y1) {
                        empty |= y0 >= y1;
                        for (int y = y0; y < y1; ++y)
                            for (int x = x0; x < x0 + width; ++x) {
                                if (y > ny || x >= nx + width) beyond = true;
                                else ++times[std::size_t(y) * (nx + width) + x];
                            }
                        if (a.layers) return;
                        for (int y = std::max(y0 - steps, 0); y < std::min(y1 + steps, ny); ++y)
                            for (int x = std::max(x0 - steps, 0); x < std::min(x0 + width + steps, nx); ++x)
                                layer_read |= x < inner.x0 || x >= inner.x1 || y < inner.y0 || y >= inner.y1;
                    });
                    int wrong = 0;
                    for (int y = 0; y <= ny; ++y)
                        for (int x = 0; x <= nx; ++x) wrong += times[std::size_t(y) * (nx + width) + x] != 1;
                    CAPTURE(nx, ny, inner.x0, inner.y0, inner.x1, inner.y1, resident);
                    CHECK(wrong == 0);
                    CHECK_FALSE((empty || beyond));
                    CHECK_FALSE(layer_read);
                }
}

TEST_CASE("cuda_steps: all warps run at the same time where the grid allows it") {
    const Rules<double> with = rules(1500, 1500, {25, 25, 1475, 1475}), without = rules(1500, 1500, {0, 0, 1500, 1500});
    for (const auto& r : {with, without}) {
        const Areas areas = areas_for(r, steps, 2640);
        CHECK(areas.warps() <= 2640);
        CHECK(areas.warps() > 2500); // and none of them has many more rows than it must
        CHECK(areas_for(r, steps, 10).area[areas.count - 1].rows == max_rows);
    }
    const Areas areas = areas_for(with, steps, 2640);
    CHECK(areas.count == 5);
    CHECK(areas.area[0].rows + 2 * steps < (areas.area[4].rows + 2 * steps) * 2 / 3); // slow rows: fewer of them
}
