// A process's share on one CPU core: start one process per core.
#include "gpulab/device.hpp"
#include "rank_part.hpp"

namespace cg {

namespace {

template <class T> class CpuPart final : public RankPart<T> {
public:
    CpuPart(const Problem<T>& problem, const Part<T>& part)
        : problem_(problem), part_(part), rows_(part.rows()), x_(rows_), r_(rows_), q_(rows_), p_(part.p_size()) {}

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
        double sum = 0;
        for (std::size_t i = 0; i < rows_; ++i) sum += static_cast<double>(p_[i]) * q_[i];
        return sum;
    }
    ResidualSums update(T alpha, bool only_r) override {
        ResidualSums sums;
        for (std::size_t i = 0; i < rows_; ++i) {
            if (!only_r) x_[i] += alpha * p_[i];
            r_[i] -= alpha * q_[i];
            sums.rr += static_cast<double>(r_[i]) * r_[i];
            sums.rho += static_cast<double>(r_[i]) * z(i);
        }
        return sums;
    }
    void next_p(T beta) override {
        for (std::size_t i = 0; i < rows_; ++i) p_[i] = z(i) + beta * p_[i];
    }
    void solution(T* out) override { std::copy(x_.begin(), x_.end(), out); }
    std::string device() const override { return gpulab::devices(gpulab::Backend::cpu).front().name; }

private:
    void multiply(std::size_t begin, std::size_t end) {
        const gpulab::Csr<T>& a = part_.matrix;
        for (std::size_t i = begin; i < end; ++i) {
            T sum = 0;
            for (auto k = static_cast<std::size_t>(a.row_start[i]); k < static_cast<std::size_t>(a.row_start[i + 1]);
                 ++k)
                sum += a.value[k] * p_[static_cast<std::size_t>(a.column[k])];
            q_[i] = sum;
        }
    }
    T z(std::size_t i) const { return problem_.jacobi() ? problem_.inverse_diagonal[part_.first + i] * r_[i] : r_[i]; }

    const Problem<T>& problem_;
    const Part<T>& part_;
    std::size_t rows_;
    std::vector<T> x_, r_, q_, p_;
};

} // namespace

template <class T> std::unique_ptr<RankPart<T>> make_cpu_part(const Problem<T>& problem, const Part<T>& part) {
    return std::make_unique<CpuPart<T>>(problem, part);
}

template std::unique_ptr<RankPart<float>> make_cpu_part(const Problem<float>&, const Part<float>&);
template std::unique_ptr<RankPart<double>> make_cpu_part(const Problem<double>&, const Part<double>&);

} // namespace cg
