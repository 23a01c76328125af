/// @file
/// What single runs and studies share: a scene computed in parts, the right answer, and figures for the report.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "fdtd.hpp"
#include "gpulab/jobs.hpp"
#include "scene/frames.hpp"

namespace fdtd {

/// Which snapshots of a scene somebody wants.
enum class Keep {
    pictures,  ///< every frame_every steps and after the last, the component along z only
    fields,    ///< the same with all three components
    last_field ///< after the last step, with all three components
};

/// Computes a scene with one variant on the current device, in parts of frame_every steps. Each part starts with the
/// field that the part before has left.
/// @param take called with each snapshot that Keep names, before the next part is computed
/// @param progress called with the number of steps that are done
/// @return what the probes have recorded, as in Output, of all steps
template <class T>
std::vector<double> simulate(const Scene& scene, Run<T>* run, Keep keep,
                             const std::function<void(const Snapshot&)>& take,
                             const std::function<void(std::size_t)>& progress = {});

/// How many snapshots there are.
std::size_t snapshots_of(const Scene& scene, Keep keep);

/// Up to how many cell updates a judge computes the right answer itself.
struct JudgesLimits {
    double reference = 1 << 24;                                     ///< with reference()
    double cpu = std::max(2e9, 2.5e8 * gpulab::hardware_threads()); ///< with a variant on the CPU: about two seconds
};

/// The variant that computes what another one is compared with, never the other one itself; "" for reference().
/// @param device of the variant that is judged. The other one runs on it too, or on the CPU
std::string_view compared_with(std::string_view variant, const gpulab::Device& device, double cell_steps,
                               const JudgesLimits& limits = {});

/// Says, for the report, what variants are compared with when it is not reference(); otherwise "".
std::string note_of_comparison(double cell_steps);

/// Compares variants with what compared_with() names. That is computed when it is first needed, and kept until
/// something else is needed.
template <class T> class Judge {
public:
    Judge(const Scene& scene, const Problem<T>& p, const JudgesLimits& limits = {})
        : scene_(scene), problem_(p), limits_(limits) {}
    /// @param job whose device is the current one
    gpulab::Comparison operator()(const gpulab::Job<Run<T>>& job, const Output<T>& out);

private:
    const Scene& scene_;
    const Problem<T>& problem_;
    JudgesLimits limits_;
    std::string from_; ///< the device and the variant that computed reference_
    Reference<T> reference_;
};

/// The scales of compare() for an output that another variant has computed, from its field and the start.
template <class T> Reference<T> as_reference(const Problem<T>& p, Output<T> out);

/// Bytes and operations of all steps.
template <class T> gpulab::Work work_of(const Problem<T>& p) {
    return {.bytes = p.cell_steps() * bytes_per_cell<T>(),
            .flops = p.cell_steps() * flops_per_cell,
            .arithmetic = sizeof(T) == 8 ? gpulab::Arithmetic::fp64 : gpulab::Arithmetic::fp32};
}

/// The speed in millions of cells per second, equation 4.4.12 of the book. @param ms of all steps
inline double mcells_per_s(double cell_steps, double ms) { return ms > 0 ? cell_steps / ms / 1000 : 0; }

/// From this number of cell updates on, variants that compute on the CPU are left out.
inline constexpr double patience = 1e9;

/// Why a variant is left out on a device that computes on the CPU, or "".
std::string too_slow(const gpulab::Options& options, std::string_view variant, const gpulab::Device& device,
                     double cell_steps);

/// The chosen variants, or those of them with one of these names, each on its devices; with skip set where too_slow()
/// says why.
template <class T>
std::vector<gpulab::Job<Run<T>>> jobs(const gpulab::Options& options, double cell_steps,
                                      const std::vector<std::string_view>& names = {});

/// The time of one core for all steps in milliseconds; measured with fewer steps where it takes long.
/// @param run what is timed
template <class T> double sequential_ms(const Scene& scene, Run<T>* run);

/// cpu_sequential, or cpu_scene where that does not compute the scene, and its time as above: speed-ups refer to it.
template <class T> gpulab::Sequential sequential(const Scene& scene);

/// Bytes that computing a scene takes on a device, and on the host with `files` besides.
struct MemoryNeed {
    double device = 0, host = 0;
};
MemoryNeed memory_need(const Scene& scene, std::size_t number_bytes, double files = 0);

/// Bytes of one field: the four arrays of Fields, padding included.
double bytes_of_field(const Scene& scene, std::size_t number_bytes);

/// Bytes of the coefficients of all cells, where they differ.
double bytes_of_media(const Scene& scene, std::size_t number_bytes);

/// Bytes that the file of the probes takes, at most: the record of all steps, and its text.
double bytes_of_probes_file(const Scene& scene);

/// Bytes of one snapshot.
double bytes_of_snapshot(const Scene& scene, Keep keep);

/// Bytes that FrameFiles takes for a picture, at most: its pixels, the file, and the part of the animation.
double bytes_of_picture(const Scene& scene);

} // namespace fdtd
