// A process's share on CPU cores: one thread per process, or several (--threads). Every thread has a range of rows with
// about equally many non-zeros.
#include <algorithm>
#include <fmt/format.h>

#include "gpulab/device.hpp"
#include "gpulab/parallel.hpp"
#include "rank_part.hpp"

namespace cg {

namespace {

template <class T> class CpuPart final : public RankPart<T> {
public:
    CpuPart(const Problem<T>& problem, const Part<T>& part, unsigned threads)
        : problem_(problem), part_(part), rows_(part.rows()), x_(rows_), r_(rows_), q_(rows_), p_(part.p_size()),
          ranges_(split_rows(part.matrix, std::vector<double>(threads, 1.0))) {}

    void reset() override {
        for (std::size_t i = 0; i < rows_; ++i) {
            x_[i] = p_[i] = problem_.start[part_.first + i];
            r_[i] = problem_.b[part_.first + i];
        }
    }
    void pack(T* out) override {
        for (std::size_t k = 0; k < part_.send.size(); ++k) out[k] = p_[static_cast<std::size_t>(part_.send[k])];
    }
    void multiply_inner() override { multiply(part_.inner_begin, part_.inner_end); }
    double multiply_border(const T* halo) override {
        std::copy(halo, halo + part_.halo.size(), p_.begin() + static_cast<std::ptrdiff_t>(rows_));
        multiply(0, part_.inner_begin);
        multiply(part_.inner_end, rows_);
        std::vector<double> shares(ranges_.parts());
        in_ranges([&](std::size_t thread, std::size_t begin, std::size_t end) {
            double sum = 0;
            for (std::size_t i = begin; i < end; ++i) sum += static_cast<double>(p_[i]) * q_[i];
            shares[thread] = sum;
        });
        double all = 0;
        for (const double share : shares) all += share;
        return all;
    }
    ResidualSums update(T alpha, bool only_r) override {
        std::vector<ResidualSums> shares(ranges_.parts());
        in_ranges([&](std::size_t thread, std::size_t begin, std::size_t end) {
            ResidualSums sums;
            for (std::size_t i = begin; i < end; ++i) {
                if (!only_r) x_[i] += alpha * p_[i];
                r_[i] -= alpha * q_[i];
                sums.rr += static_cast<double>(r_[i]) * r_[i];
                sums.rho += static_cast<double>(r_[i]) * z(i);
            }
            shares[thread] = sums;
        });
        ResidualSums all;
        for (const ResidualSums& share : shares) all.rr += share.rr, all.rho += share.rho;
        return all;
    }
    void next_p(T beta) override {
        in_ranges([&](std::size_t, std::size_t begin, std::size_t end) {
            for (std::size_t i = begin; i < end; ++i) p_[i] = z(i) + beta * p_[i];
        });
    }
    void solution(T* out) override { std::copy(x_.begin(), x_.end(), out); }
    std::string device() const override {
        const std::string name = gpulab::devices(gpulab::Backend::cpu).front().name;
        return ranges_.parts() > 1 ? fmt::format("{} threads on {}", ranges_.parts(), name) : name;
    }

private:
    /// Calls body(thread, begin, end) for the rows of every thread, and waits.
    template <class Body> void in_ranges(const Body& body) {
        gpulab::for_parts(static_cast<unsigned>(ranges_.parts()),
                          [&](unsigned thread) { body(thread, ranges_.first[thread], ranges_.first[thread + 1]); });
    }
    void multiply(std::size_t first, std::size_t last) {
        if (first == last) return;
        const gpulab::Csr<T>& a = part_.matrix;
        in_ranges([&](std::size_t, std::size_t begin, std::size_t end) {
            for (std::size_t i = std::max(begin, first); i < std::min(end, last); ++i) {
                T sum = 0;
                for (auto k = static_cast<std::size_t>(a.row_start[i]);
                     k < static_cast<std::size_t>(a.row_start[i + 1]); ++k)
                    sum += a.value[k] * p_[static_cast<std::size_t>(a.column[k])];
                q_[i] = sum;
            }
        });
    }
    T z(std::size_t i) const { return problem_.jacobi() ? problem_.inverse_diagonal[part_.first + i] * r_[i] : r_[i]; }

    const Problem<T>& problem_;
    const Part<T>& part_;
    std::size_t rows_;
    std::vector<T> x_, r_, q_, p_;
    Split ranges_; // the rows of every thread
};

} // namespace

template <class T>
std::unique_ptr<RankPart<T>> make_cpu_part(const Problem<T>& problem, const Part<T>& part, unsigned threads) {
    return std::make_unique<CpuPart<T>>(problem, part, threads);
}

template std::unique_ptr<RankPart<float>> make_cpu_part(const Problem<float>&, const Part<float>&, unsigned);
template std::unique_ptr<RankPart<double>> make_cpu_part(const Problem<double>&, const Part<double>&, unsigned);

} // namespace cg
