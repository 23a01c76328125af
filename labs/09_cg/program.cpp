#include "program.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>

#include "gpulab/input.hpp"
#include "gpulab/jobs.hpp"
#include "gpulab/sparse/generate.hpp"
#include "gpulab/sparse/matrix_market.hpp"
#include "judge.hpp"

namespace cg {

void add_options(gpulab::Options& options, Choice& c, const std::string& where, const std::string& balance,
                 const std::vector<std::string>& balances) {
    options.input("--matrix", c.matrix, "A: this Matrix Market file" + where);
    options.text("--generate", c.generate, std::string("A: generated [laplace2d:100]: ") + gpulab::generator_help);
    options.input("--rhs", c.rhs, "b: this Matrix Market file [random numbers]");
    options.input("--start", c.start, "the first x: this Matrix Market file [zero]");
    options.output("--solution", c.solution, "write x to this Matrix Market file");
    options.output("--history", c.history, "write the norm of the residual of every iteration to this file (CSV)");
    options.number("--tolerance", c.settings.tolerance, 0, 1e300,
                   "wanted norm of the residual; 0: all --limit iterations");
    options.choice("--criterion", c.criterion, {"relative", "absolute"},
                   "the tolerance counts relative to the norm of b, or not");
    options.size("--limit", c.settings.limit, 1, "iterations at most", 100'000'000);
    options.choice("--method", c.method, {"cg", "steepest"}, "conjugate gradients, or steepest descent for comparison");
    options.choice("--preconditioner", c.preconditioner, {"none", "jacobi"}, "jacobi divides by the diagonal");
    options.choice("--balance", c.balance, balances, balance);
    options.choice("--type", c.type, {"float", "double"}, "type of the numbers");
}

void set_defaults(Choice& c) {
    if (!c.matrix.empty() && !c.generate.empty())
        throw gpulab::UsageError("--matrix and --generate: give only one of them");
    if (c.generate.empty()) c.generate = "laplace2d:100";
    c.settings.steepest = c.method == "steepest";
    c.settings.jacobi = c.preconditioner == "jacobi";
    c.settings.absolute = c.criterion == "absolute";
    c.settings.balance =
        static_cast<Balance>(std::ranges::find(balance_names, c.balance) - balance_names.begin()); // one of them
}

MemoryNeed memory_need(const gpulab::MatrixSize& size, std::size_t number_bytes) {
    const auto rows = static_cast<double>(size.rows), number = static_cast<double>(number_bytes);
    const double matrix = size.nonzeros * (number + 4) + 8 * rows;
    return {.device = 1.25 * matrix + 7 * rows * number, .host = 3 * matrix + rows * (8 * number + 4 * 8)};
}

void check_memory(const gpulab::Options& options, const gpulab::MatrixSize& size, std::size_t number_bytes,
                  const std::string& name, int processes) {
    const MemoryNeed need = memory_need(size, number_bytes);
    gpulab::check_memory(options, need.device, processes * need.host,
                         processes == 1 ? name : fmt::format("{} in {} ranks", name, processes));
}

template <class T> Problem<T> problem_of(const gpulab::Options& options, const Choice& c, int processes) {
    const bool from_file = !c.matrix.empty();
    const auto size = from_file ? gpulab::matrix_market_size(c.matrix) : gpulab::generated_size(c.generate);
    check_memory(options, size, sizeof(T), c.name(), processes);
    gpulab::Csr<T> matrix =
        from_file ? gpulab::read_matrix_market<T>(c.matrix) : gpulab::generate_matrix<T>(c.generate, options.seed());
    std::vector<T> b = c.rhs.empty() ? gpulab::random_vector<T>(matrix.rows, options.seed())
                                     : gpulab::read_vector<T>(c.rhs, matrix.rows);
    std::vector<T> start = c.start.empty() ? std::vector<T>() : gpulab::read_vector<T>(c.start, matrix.rows);
    return make_problem(std::move(matrix), std::move(b), std::move(start), c.settings, c.name());
}

Files::Files(std::string program, const Choice& c)
    : program_(std::move(program)), solution_(gpulab::output_file(c.solution)),
      history_(gpulab::output_file(c.history)), trace_(gpulab::output_file(c.trace)) {}

bool Files::write(const std::function<void()>& body) try {
    body();
    return true;
} catch (const gpulab::UsageError&) {
    throw;
} catch (const gpulab::Error&) {
    gpulab::fail(program_);
    return all_written_ = false;
}

void Files::write_histories(const std::vector<NamedHistory>& histories) {
    if (!history_) return;
    std::string text = "variant,iteration,residual\n";
    for (const auto& [variant, norms] : histories)
        for (std::size_t k = 0; k < norms.size(); ++k)
            fmt::format_to(std::back_inserter(text), "{},{},{}\n", variant, k, norms[k]);
    write([&] { history_.write(text); });
}

bool Files::write_trace(const std::vector<std::pair<std::string, gpulab::Timeline>>& timelines) {
    if (trace_ && !timelines.empty()) write([&] { trace_.write(gpulab::chrome_trace(timelines)); });
    return !trace_ || !timelines.empty();
}

template <class T> bool Files::write_solution(const std::vector<T>& x) {
    if (!solution_ || std::exchange(solution_tried_, true)) return false;
    return write([&] { solution_.write(gpulab::array_text(x)); });
}

namespace {

/// The x with the smallest residual, and after which iteration it was there. All its elements are finite. For
/// iterations that did not converge: the last residual may be larger, or NaN. Where this x is not the last one, it is
/// computed again on one core.
template <class T> std::pair<std::vector<T>, std::size_t> best_so_far(const Problem<T>& p, const Output<T>& out) {
    const auto is_finite = [](const std::vector<T>& x) {
        return std::ranges::all_of(x, [](T value) { return std::isfinite(value); });
    };
    std::size_t best = 0; // without a finite residual the start
    for (std::size_t k = 1; k < out.history.size(); ++k)
        if (std::isfinite(out.history[k]) && !(out.history[k] > out.history[best])) best = k;
    if (best == out.iterations() && is_finite(out.x)) return {out.x, best};
    if (best == 0) return {p.start, 0};
    Problem<T> shorter = p; // in memory that has been counted for the parts of several devices
    shorter.limit = best;
    Output<T> again;
    Stopwatch once(0, 1);
    gpulab::run_of(variants<T>(), "cpu_sequential")(shorter, again, once);
    return is_finite(again.x) ? std::pair{again.x, best} : std::pair{p.start, std::size_t{0}};
}

} // namespace

template <class T>
std::string report_solution(const Problem<T>& p, const Output<T>& out, Files& files, const std::string& who,
                            const std::string& more) {
    const bool failed = out.end == End::not_positive || out.end == End::not_finite;
    const bool unsolved = p.stop_at > 0 && out.end != End::converged;
    bool useless = false; // x is no better than zero: a start that is many orders of magnitude larger has eaten it
    std::string line = describe_end(p, out);
    if (!failed) {
        const double residual = true_residual(p, out.x); // what the iteration computes may be smaller by far: it rounds
        const bool above = p.stop_at > 0 && residual > p.stop_at;
        useless = above && residual >= true_residual(p, std::vector<T>(p.n()));
        line += fmt::format("; b - A x has a norm of {:.3g}", residual);
        if (above && out.end != End::limit) line += ", which rounding keeps above what is wanted";
    }
    if ((failed || unsolved) && !files.solution().empty()) {
        const auto [x, iteration] = best_so_far(p, out);
        if (files.write_solution(x)) line += fmt::format("; {} has x after iteration {}", files.solution(), iteration);
    } else (void)files.write_solution(out.x);
    if (failed) throw gpulab::Error(who + ": " + line + more);
    if (unsolved || useless) throw gpulab::WrongResult(who + ": " + line + more);
    return line;
}

#define INSTANTIATE(T)                                                                                    \
    template Problem<T> problem_of<T>(const gpulab::Options&, const Choice&, int);                        \
    template bool Files::write_solution(const std::vector<T>&);                                           \
    template std::string report_solution(const Problem<T>&, const Output<T>&, Files&, const std::string&, \
                                         const std::string&);
INSTANTIATE(float)
INSTANTIATE(double)

} // namespace cg
