/// @file
/// The studies of lab 09.
#pragma once

#include <string>
#include <vector>

#include "cg.hpp"
#include "gpulab/options.hpp"
#include "gpulab/report.hpp"

namespace cg {

/// The --help of --rows.
inline constexpr const char* rows_help =
    "unknowns in studies; default: 10 million, without a GPU 250,000, in history 2,500";

/// The studies.
std::vector<gpulab::StudySummary> study_list();

/// A network between computers as the model of the study `scaling` assumes it; nothing of it is measured.
struct Network {
    double us_per_message = 5; ///< from the memory of a device to that of another computer's
    double gb_per_s = 50;      ///< each way, 400 Gbit/s
    /// What it adds to an iteration, in microseconds: the halo travels to all neighbours at once, and both sums need a
    /// message for each doubling of the number of computers. @param halo_bytes for one neighbour
    double us(int computers, double halo_bytes) const;
};

/// The model of the study `scaling`: t(P) = t(1) / P + c, with what several devices cost, c, from both measurements
/// with two. It assumes that c is the same for any number of devices of one computer; a network comes on top.
struct ScalingModel {
    double one = 0; ///< t(1)
    double c = 0;
    /// The speed-up of this number of devices over one. @param network what the network adds to an iteration
    double speed_up(int devices, double network = 0) const { return one / (one / devices + c + network); }
};
/// @param one,two the times of the same system on one device and on two @param wide of one with twice the rows on two
ScalingModel scaling_model(double one, double two, double wide);

/// Runs the study of --study. @param rows unknowns, about; 0: as rows_help says @return the exit code
template <class T> int run_study(const gpulab::Options& options, std::size_t rows, const Settings& settings);

/// Adds the rows of the study table-4-4 for the current OpenCL device: each of the five kernels in groups of each of
/// group_sizes(), with 1 to 16 groups per compute unit.
template <class T> void kernel_rows(const Problem<T>& problem, const std::string& matrix, gpulab::Report& report);

/// Work-items of a group on the current OpenCL device: what most rungs take, and the most that the kernels allow,
/// where that is more, which opencl_tuned takes (Thesis, section 4.3.1 and table 4.1).
template <class T> std::vector<std::size_t> group_sizes(const Problem<T>& problem);

/// Bytes and operations of one run of one of the five kernels, as kernel_rows() runs it: "dot" is p . q.
template <class T> gpulab::Work kernel_work(const Problem<T>& p, const std::string& kernel);

/// How often a kernel runs in a solution, and the bytes and operations of a run, on average.
struct KernelRuns {
    double count = 0;
    gpulab::Work mean;
};

/// The runs of one of the five kernels in a solution with this number of iterations. They are not all alike: "dot" is r
/// . r, which reads one vector; p . q, which reads two; and with Jacobi also r . z, which reads r and 1 / a_ii.
template <class T> KernelRuns kernel_runs(const Problem<T>& p, const std::string& kernel, std::size_t iterations);

} // namespace cg
