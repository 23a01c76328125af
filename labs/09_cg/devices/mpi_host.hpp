/// @file
/// Ranks linked by MPI (mpi.hpp), on devices whose alpha and beta the host computes.
#pragma once

#include <memory>

#include "host_parts.hpp"
#include "mpi.hpp"

namespace cg {

/// A rank with one part. @tparam Device CpuPart or ClPart
template <class T, class Device> class Mpi : public HostParts<T, Device> {
public:
    Mpi(const Problem<T>& problem, std::unique_ptr<Device> device)
        : HostParts<T, Device>(problem), me_(device->part().number), slots_(2 * device->part().parts),
          send_(device->part().send.size()), halo_(device->part().halo.size()) {
        this->add(std::move(device));
    }

    void send_halo() {
        device().pack(send_.data());
        begin_halo(device().part(), send_.data(), halo_.data(), requests_);
    }
    void receive_halo() {
        wait_for(requests_);
        device().receive(halo_.data());
    }
    bool share_pq() { return this->scalars().accepts(sum_over_ranks({this->pq(), 0}).rr); }
    void share_residual() { this->take(sum_over_ranks(this->residual())); }

    void multiply() {
        this->multiply_inner();
        device().receive(halo_.data());
        this->multiply_border();
        (void)this->pq(); // waits
    }
    template <class Progress> void solve(const Progress& progress) { cg::solve(*this, progress); }
    void result(Output<T>& out) {
        out = this->history_and_end();
        out.x.resize(device().part().rows());
        device().solution(out.x);
    }

private:
    /// Adds up two numbers of every rank; p . q comes with a zero.
    ResidualSums sum_over_ranks(const ResidualSums& mine) {
        slots_[2 * me_] = mine.rr;
        slots_[2 * me_ + 1] = mine.rho;
        gather_shares(slots_.data(), 2);
        ResidualSums all;
        for (std::size_t rank = 0; 2 * rank < slots_.size(); ++rank) {
            all.rr += slots_[2 * rank];
            all.rho += slots_[2 * rank + 1];
        }
        return all;
    }
    Device& device() { return *this->devices().front(); }

    std::size_t me_;
    std::vector<double> slots_; // shares of all ranks
    std::vector<T> send_, halo_;
    std::vector<MPI_Request> requests_; // of the halo
};

} // namespace cg
