/// @file
/// Lab 03, matrix multiply: C = A B with every variant on every device, checked against a product summed in double.
#include <algorithm>

#include "gpulab/gpus_first.hpp"
#include "gpulab/jobs.hpp"
#include "matmul.hpp"
#include "needs.hpp"
#include "studies.hpp"

/// Every chosen variant with elements of type T.
template <class T> int multiply(const gpulab::Options& options, std::size_t m, std::size_t k, std::size_t n) {
    auto jobs = gpulab::gpus_first(gpulab::jobs(matmul::variants<T>(), options), options); // which variant runs where
    const auto elements = static_cast<double>(m) * static_cast<double>(k) +
                          static_cast<double>(k) * static_cast<double>(n) +
                          static_cast<double>(m) * static_cast<double>(n);
    matmul::check_memory<T>(options, elements);
    gpulab::Report report(options, {{"m", m}, {"k", k}, {"n", n}, {"type", sizeof(T) == 4 ? "float" : "double"}});

    matmul::Problem<T> problem{m, k, n, {}, {}};
    for (auto& job : jobs)
        if (job.skip.empty()) job.skip = matmul::too_slow(options, job.variant.name, job.device(), problem);

    // The data, the right answer, and the time of cpu_ijk, to which speed-ups refer; not needed when nothing runs.
    matmul::Output<T> reference, c;
    if (std::any_of(jobs.begin(), jobs.end(), [](const auto& job) { return job.skip.empty(); })) {
        problem = matmul::make_problem<T>(m, k, n, options.seed());
        reference = matmul::reference_product(problem);
        report.sequential(matmul::sequential(problem));
        c.resize(problem.size());
    }

    for (const auto& job : jobs) { // each poisons c, runs its variant and judges what that leaves in c
        report.doing(job.variant.name);
        const auto input_error = matmul::input_error(job.variant.name);
        report.add(
            gpulab::run(job, problem, c, options, [&] { return matmul::compare(problem, reference, c, input_error); }),
            matmul::work(problem));
    }
    return report.finish();
}

int main(int argc, char** argv) try {
    std::size_t m = 512, k = 512, n = 512;
    std::string type = "float";
    gpulab::Options options("matmul", "C = A B: from one thread per element to the speed of the vendor's library");
    options.size("--m", m, 1, "rows of A and of C", matmul::max_rows);
    options.size("--k", k, 1, "columns of A, rows of B", matmul::max_rows);
    options.size("--n", n, 1,
                 "columns of B and of C; the side of the matrices in the studies 'tile' and 'registers', "
                 "the largest in 'growth'",
                 matmul::max_rows);
    options.choice("--type", type, {"float", "double"},
                   "type of the elements; CUDA rungs with register tiles are for float only");
    options.small("--m", m, 96);
    options.small("--k", k, 96);
    options.small("--n", n, 96);
    options.variants(matmul::variants<float>());
    options.studies(matmul::study_list());
    if (!options.parse(argc, argv)) return gpulab::exit_success; // --help and --list are answered

    const bool study = !options.study().empty();
    if (type == "float") return study ? matmul::run_study<float>(options, n) : multiply<float>(options, m, k, n);
    return study ? matmul::run_study<double>(options, n) : multiply<double>(options, m, k, n);
} catch (...) {
    return gpulab::fail("matmul");
}
