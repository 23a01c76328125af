/// @file
/// Ranks linked through host memory: the host computes alpha and beta, and MPI brings the halo and shares of the sums.
#pragma once

#include <memory>
#include <mpi.h>
#include <vector>

#include "../scalars.hpp"
#include "rank_part.hpp"
#include "rank_solver.hpp"

namespace cg {

template <class T> constexpr MPI_Datatype mpi_type() { return sizeof(T) == 8 ? MPI_DOUBLE : MPI_FLOAT; }

/// The sum of the same numbers of all ranks. Every rank adds in the same order, so all have the same sum to the last
/// bit.
/// @tparam Sums a struct of doubles
template <class Sums> Sums over_ranks(int ranks, const Sums& mine) {
    constexpr int numbers = sizeof(Sums) / sizeof(double);
    std::vector<Sums> all(static_cast<std::size_t>(ranks));
    MPI_Allgather(&mine, numbers, MPI_DOUBLE, all.data(), numbers, MPI_DOUBLE, MPI_COMM_WORLD);
    Sums sum{};
    for (const Sums& share : all)
        for (int k = 0; k < numbers; ++k)
            reinterpret_cast<double*>(&sum)[k] += reinterpret_cast<const double*>(&share)[k];
    return sum;
}
struct OneSum {
    double value = 0;
};

/// On any kind of device.
template <class T> class HostSolver final : public RankSolver<T> {
public:
    HostSolver(const Problem<T>& problem, const Part<T>& part, std::unique_ptr<RankPart<T>> device, int ranks)
        : problem_(problem), part_(part), device_(std::move(device)), ranks_(ranks), to_send_(part.send.size()),
          halo_(part.halo.size()) {}

    void reset() override { device_->reset(); }

    void solve(const std::function<void(std::size_t)>& progress) override {
        Scalars<T> scalars(problem_, out_);
        multiply(); // p holds x_0 here
        ResidualSums sums = over_ranks(ranks_, device_->update(T{1}, true));
        scalars.begin(sums.rr, sums.rho);
        device_->next_p(T{0});
        while (scalars.wants_more()) {
            progress(out_.iterations());
            if (!scalars.accepts(multiply())) break;
            sums = over_ranks(ranks_, device_->update(static_cast<T>(scalars.alpha()), false));
            scalars.next(sums.rr, sums.rho);
            device_->next_p(static_cast<T>(scalars.beta()));
        }
    }

    void result(Output<T>& out) override {
        out.history = out_.history, out.end = out_.end, out.curvature = out_.curvature;
        out.x.resize(part_.rows());
        device_->solution(out.x.data());
    }
    std::string device() const override { return device_->device(); }
    std::string link() const override { return "by host memory"; }

private:
    /// q = A p. @return p . q of all ranks
    double multiply() {
        std::vector<MPI_Request> requests;
        for (const auto& link : part_.receives)
            MPI_Irecv(halo_.data() + link.begin, static_cast<int>(link.count), mpi_type<T>(),
                      static_cast<int>(link.part), 0, MPI_COMM_WORLD, &requests.emplace_back());
        device_->pack(to_send_.data());
        for (const auto& link : part_.sends)
            MPI_Isend(to_send_.data() + link.begin, static_cast<int>(link.count), mpi_type<T>(),
                      static_cast<int>(link.part), 0, MPI_COMM_WORLD, &requests.emplace_back());
        device_->multiply_inner(); // while the halo travels
        MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
        return over_ranks(ranks_, OneSum{device_->multiply_border(halo_.data())}).value;
    }

    const Problem<T>& problem_;
    const Part<T>& part_;
    std::unique_ptr<RankPart<T>> device_;
    int ranks_;
    Output<T> out_; // history and end
    std::vector<T> to_send_, halo_;
};

} // namespace cg
