/// @file
/// A rank's part on CPU cores.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "gpulab/parallel.hpp"
#include "scalars.hpp"
#include "split.hpp"

namespace cg {

/// A part on CPU cores, for HostParts: one thread, or several (--threads). Every thread has a range of rows with about
/// equally many non-zeros.
template <class T> class CpuPart {
public:
    /// @param threads at least 1
    CpuPart(const Problem<T>& problem, const Part<T>& part, unsigned threads)
        : part_(part), rows_(part.rows()), b_(piece(problem.b, part)), start_(piece(problem.start, part)),
          inverse_(piece(problem.inverse_diagonal, part)), x_(rows_), r_(rows_), q_(rows_), p_(part.p_size()),
          ranges_(split_rows(part.matrix, std::vector<double>(threads, 1.0))) {}

    const Part<T>& part() const { return part_; }
    void reset() {
        x_ = start_;
        r_ = b_;
        alpha_ = 0;
        std::copy(start_.begin(), start_.end(), p_.begin());
    }
    void pack(T* out) const {
        for (std::size_t k = 0; k < part_.send.size(); ++k) out[k] = p_[static_cast<std::size_t>(part_.send[k])];
    }
    void receive(const T* halo) {
        std::copy(halo, halo + part_.halo.size(), p_.begin() + static_cast<std::ptrdiff_t>(rows_));
    }
    void multiply_inner() { multiply(part_.inner_begin, part_.inner_end); }
    void multiply_border() {
        multiply(0, part_.inner_begin);
        multiply(part_.inner_end, rows_);
    }
    void dot_pq() {
        const auto add = [&](std::size_t i, ResidualSums& share) { share.rr += static_cast<double>(p_[i]) * q_[i]; };
        pq_ = for_rows(0, rows_, add).rr;
    }
    double pq() const { return pq_; }
    void next_r(T alpha) { // and the sums, in one pass
        sums_ = for_rows(0, rows_, [&](std::size_t i, ResidualSums& share) {
            r_[i] -= alpha * q_[i];
            share.rr += static_cast<double>(r_[i]) * r_[i];
            share.rho += static_cast<double>(r_[i]) * z(i);
        });
    }
    void dot_r() const {}
    ResidualSums residual() const { return sums_; }
    void next_x(T alpha) { alpha_ = alpha; }
    void next_p(T beta) { // and x, because both read p
        for_rows(0, rows_, [&](std::size_t i, ResidualSums&) {
            x_[i] += alpha_ * p_[i];
            p_[i] = z(i) + beta * p_[i];
        });
    }
    void flush() const {}
    void solution(std::span<T> own) const { std::copy(x_.begin(), x_.end(), own.begin()); }

private:
    /// Calls body(i, share) for the rows first ... last - 1, each in the thread that has it, with that thread's share
    /// of the sums; and waits. @return the sums of the shares
    template <class Body> ResidualSums for_rows(std::size_t first, std::size_t last, const Body& body) {
        std::vector<ResidualSums> shares(ranges_.parts());
        gpulab::for_parts(static_cast<unsigned>(ranges_.parts()), [&](unsigned thread) {
            const std::size_t begin = ranges_.first[thread], end = ranges_.first[thread + 1];
            ResidualSums share; // local: neighbours in `shares` lie in one cache line (false sharing)
            for (std::size_t i = std::max(begin, first); i < std::min(end, last); ++i) body(i, share);
            shares[thread] = share;
        });
        ResidualSums all;
        for (const ResidualSums& share : shares) all = all + share;
        return all;
    }
    void multiply(std::size_t first, std::size_t last) {
        if (first == last) return;
        const gpulab::Csr<T>& a = part_.matrix;
        for_rows(first, last, [&](std::size_t i, ResidualSums&) {
            T sum = 0;
            for (const std::size_t k : a.row(i)) sum += a.value[k] * p_[static_cast<std::size_t>(a.column[k])];
            q_[i] = sum;
        });
    }
    T z(std::size_t i) const { return inverse_.empty() ? r_[i] : inverse_[i] * r_[i]; }

    const Part<T>& part_;
    std::size_t rows_;
    std::vector<T> b_, start_, inverse_, x_, r_, q_, p_;
    T alpha_ = 0;
    double pq_ = 0;
    ResidualSums sums_;
    Split ranges_; // the rows of every thread
};

} // namespace cg
