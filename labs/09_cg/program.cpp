#include "program.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "gpulab/error.hpp"
#include "gpulab/input.hpp"
#include "gpulab/sparse/generate.hpp"
#include "gpulab/sparse/matrix_market.hpp"
#include "runs.hpp"

namespace cg {

void add_options(gpulab::Options& options, Choice& c, const std::string& more) {
    options.input("--matrix", c.matrix, "A: this Matrix Market file" + more);
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
    options.choice("--type", c.type, {"float", "double"}, "type of the numbers");
}

void settle(Choice& c) {
    if (!c.matrix.empty() && !c.generate.empty())
        throw gpulab::UsageError("--matrix and --generate: give only one of them");
    if (c.generate.empty()) c.generate = "laplace2d:100";
    c.settings.method = c.method == "steepest" ? Method::steepest_descent : Method::conjugate_gradients;
    c.settings.jacobi = c.preconditioner == "jacobi";
    c.settings.absolute = c.criterion == "absolute";
    c.settings.balance = c.balance == "speed" ? Balance::speed : Balance::nonzeros;
}

namespace {
/// The vector of a file. @throws gpulab::UsageError before it is allocated, when its header announces another length
template <class T>
std::vector<T> vector_of(const std::string& path, std::size_t rows, const char* what, const std::string& name) {
    const gpulab::MatrixSize size = gpulab::matrix_market_size(path);
    if (const std::size_t n = std::max(size.rows, size.columns); std::min(size.rows, size.columns) == 1 && n != rows)
        throw gpulab::UsageError(fmt::format("{} has {} numbers, {} has {} rows", what, n, name, rows));
    return read_vector<T>(path);
}
} // namespace

template <class T> Problem<T> problem_of(const gpulab::Options& options, const Choice& c, int processes) {
    const bool from_file = !c.matrix.empty();
    const MemoryNeed need =
        memory_need<T>(from_file ? gpulab::matrix_market_size(c.matrix) : gpulab::generated_size(c.generate));
    gpulab::check_memory(options, need.device, processes * need.host,
                         processes == 1 ? c.name() : fmt::format("{} in {} ranks", c.name(), processes));
    gpulab::Csr<T> matrix =
        from_file ? gpulab::read_matrix_market<T>(c.matrix) : gpulab::generate_matrix<T>(c.generate, options.seed());
    std::vector<T> b = c.rhs.empty() ? gpulab::random_vector<T>(matrix.rows, options.seed())
                                     : vector_of<T>(c.rhs, matrix.rows, "the right-hand side", c.name());
    std::vector<T> start =
        c.start.empty() ? std::vector<T>() : vector_of<T>(c.start, matrix.rows, "the start", c.name());
    return make_problem(std::move(matrix), std::move(b), std::move(start), c.settings, c.name());
}

namespace {
gpulab::OutputFile opened(const std::string& path) {
    return path.empty() ? gpulab::OutputFile() : gpulab::OutputFile(path);
}
} // namespace

Files::Files(const std::string& program, const Choice& c)
    : path(c.solution), solution(opened(c.solution)), history(opened(c.history)), write(program) {}

void Files::write_histories(const std::vector<NamedHistory>& histories) {
    if (history) write([&] { history.write(history_csv(histories)); });
}

template <class T> bool Files::write_solution(const std::vector<T>& x) {
    if (!solution || solution_written) return false;
    solution_written = true;
    return write([&] { solution.write(to_matrix_market(x)); });
}

template <class T>
std::string conclude(const Problem<T>& p, const Output<T>& out, Files& files, const std::string& who,
                     const std::string& more) {
    const bool failed = out.end == End::not_positive || out.end == End::not_finite;
    const bool unsolved = p.stop_at > 0 && out.end != End::converged;
    std::string line = describe_end(p, out);
    if (!failed) line += "; " + describe_solution(p, out.x, out.end);
    if ((failed || unsolved) && files.solution) {
        const Best<T> best = best_so_far(p, out);
        if (files.write_solution(best.x))
            line += fmt::format("; {} has x after iteration {}", files.path, best.iteration);
    } else (void)files.write_solution(out.x);
    if (failed) throw gpulab::Error(who + ": " + line + more);
    if (unsolved || (p.stop_at > 0 && is_no_solution(p, out.x))) throw gpulab::WrongResult(who + ": " + line + more);
    return line;
}

#define INSTANTIATE(T)                                                             \
    template Problem<T> problem_of<T>(const gpulab::Options&, const Choice&, int); \
    template bool Files::write_solution(const std::vector<T>&);                    \
    template std::string conclude(const Problem<T>&, const Output<T>&, Files&, const std::string&, const std::string&);
INSTANTIATE(float)
INSTANTIATE(double)

} // namespace cg
