// Prefix sums of any length on an OpenCL device: OpenCL's counterpart of cuda_scan_two_level.
// (Alfaro Vigo & Rossetto, exercise 2.3)
//
// Each group scans its tile of 1024 elements, four per item, and stores the tile's sum. The exclusive scan of
// these sums, computed in the same way, gives the number to add to each tile.
//
// Limit: the result is written, read again and written again. The single pass of cuda_scan_look_back cannot be written
// in OpenCL 1.2, which guarantees neither that groups make progress while others wait nor memory ordering between
// groups.
#include <vector>

#include "gpulab/opencl/timing.hpp"
#include "launch.hpp"
#include "scan.hpp"
#include "scan_two_level.cl.hpp"

namespace reduction {

template <class T> void opencl_scan_two_level(const ScanProblem<T>& p, Prefixes<T>& out, Stopwatch& watch) {
    const unsigned tile = local_size() * 4;
    const auto tiles_of = [tile](std::size_t n) { return std::size_t{gpulab::grid_size(n, tile)}; };
    const gpulab::ClBuffer<T> a(p.a);
    gpulab::ClBuffer<T> result(p.size());
    std::vector<gpulab::ClBuffer<T>> sums; // of the tiles, of the tiles of tiles, ... down to a single one
    for (std::size_t n = p.size(); sums.empty() || n > 1;) {
        n = tiles_of(n);
        sums.emplace_back(n);
    }

    struct Step {
        cl::Kernel kernel;
        std::size_t tiles;
    };
    std::vector<Step> steps;
    const auto level = [&](std::size_t k) -> gpulab::ClBuffer<T>& { return k == 0 ? result : sums[k - 1]; };
    for (std::size_t k = 0; k < sums.size(); ++k) { // up: scan level by level, all but the first in place
        cl::Kernel scan = kernel_for<T>(scan_two_level_cl, "scan_tiles");
        const cl_ulong n = level(k).size();
        const cl_int inclusive = k == 0 && p.kind == Scan::inclusive;
        gpulab::set_args(scan, k == 0 ? a.data() : level(k).data(), level(k).data(), n,
                         cl::Local(local_size() * sizeof(T)), sums[k].data(), inclusive);
        steps.push_back({scan, tiles_of(n)});
    }
    for (std::size_t k = sums.size() - 1; k-- > 0;) { // down: a level is complete once the one above is added
        cl::Kernel add = kernel_for<T>(scan_two_level_cl, "add");
        const cl_ulong n = level(k).size();
        gpulab::set_args(add, level(k).data(), n, sums[k].data());
        steps.push_back({add, tiles_of(n)});
    }

    const auto launch = [&](const cl::CommandQueue& queue, gpulab::ClEvents& events) {
        for (const Step& step : steps)
            gpulab::enqueue(queue, step.kernel, step.tiles * local_size(), local_size(), events.add());
    };
    watch.tile(tile * tile); // of tiles of tiles
    gpulab::watch_queue(watch, launch, gpulab::poisoning(result, sums));
    result.copy_to(out);
}

template ScanRun<float> opencl_scan_two_level<float>;
template ScanRun<double> opencl_scan_two_level<double>;
template ScanRun<int> opencl_scan_two_level<int>;

} // namespace reduction
