/// @file
/// MPI: ranks send halo and sums through host memory. This file is for devices whose alpha and beta the
/// host computes; for GPUs that compute them see mpi_gpu.cu.
///
///     rank 0   | halo down | MPI_Isend ...  inner rows ... MPI_Waitall | halo up | border rows | MPI_Allgather | ...
#pragma once

#include <memory>
#include <mpi.h>
#include <vector>

#include "../mpi/rank.hpp"
#include "host_parts.hpp"

namespace cg {

template <class T> constexpr MPI_Datatype mpi_type() { return sizeof(T) == 8 ? MPI_DOUBLE : MPI_FLOAT; }

/// A halo on its way between ranks. The arrays on the host must stay where they are until wait() returns.
template <class T> class HaloInTransit {
public:
    /// @param part of this rank @param send as many numbers as part.send @param halo as many as part.halo
    void begin(const Part<T>& part, const T* send, T* halo) {
        for (const auto& from : part.receives)
            MPI_Irecv(halo + from.begin, static_cast<int>(from.count), mpi_type<T>(), static_cast<int>(from.part), 0,
                      MPI_COMM_WORLD, &requests_.emplace_back());
        for (const auto& to : part.sends)
            MPI_Isend(send + to.begin, static_cast<int>(to.count), mpi_type<T>(), static_cast<int>(to.part), 0,
                      MPI_COMM_WORLD, &requests_.emplace_back());
    }
    void wait() {
        MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
        requests_.clear();
    }

private:
    std::vector<MPI_Request> requests_;
};

/// Brings every rank's share of a sum into its slot on all. @param slots `numbers` for each rank; this rank's own are
/// in theirs before
inline void gather_shares(double* slots, int numbers) {
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, slots, numbers, MPI_DOUBLE, MPI_COMM_WORLD);
}

/// A rank with one part. @tparam Device CpuPart or ClPart
template <class T, class Device> class Mpi : public HostParts<T, Device> {
public:
    Mpi(const Problem<T>& problem, std::unique_ptr<Device> device, const Ranks& ranks)
        : HostParts<T, Device>(problem), me_(static_cast<std::size_t>(ranks.me)),
          slots_(2 * static_cast<std::size_t>(ranks.count)), send_(device->part().send.size()),
          halo_(device->part().halo.size()) {
        this->add(std::move(device));
    }

    void send_halo() {
        device().pack(send_.data());
        transit_.begin(device().part(), send_.data(), halo_.data());
    }
    void receive_halo() {
        transit_.wait();
        device().receive(halo_.data());
    }
    bool share_pq() {
        slots_[me_] = this->pq();
        gather_shares(slots_.data(), 1);
        double pq = 0;
        for (std::size_t rank = 0; 2 * rank < slots_.size(); ++rank) pq += slots_[rank];
        return this->scalars().accepts(pq);
    }
    void share_residual() {
        const ResidualSums mine = this->residual();
        slots_[2 * me_] = mine.rr, slots_[2 * me_ + 1] = mine.rho;
        gather_shares(slots_.data(), 2);
        ResidualSums all;
        for (std::size_t rank = 0; 2 * rank < slots_.size(); ++rank)
            all.rr += slots_[2 * rank], all.rho += slots_[2 * rank + 1];
        this->take(all);
    }

    void multiply() {
        this->multiply_inner();
        device().receive(halo_.data());
        this->multiply_border();
        (void)this->pq(); // waits
    }
    void solve(const Progress& progress) { cg::solve(*this, progress); }
    void result(Output<T>& out) {
        out = this->history_and_end();
        out.x.resize(device().part().rows());
        device().solution(out.x);
    }

private:
    Device& device() { return *this->devices().front(); }

    std::size_t me_;
    std::vector<double> slots_; // shares of all ranks
    std::vector<T> send_, halo_;
    HaloInTransit<T> transit_;
};

} // namespace cg
