/// @file
/// MPI: ranks send halo and sums through host memory. mpi_host.hpp is for devices whose alpha and beta the host
/// computes, mpi_gpu.cuh for GPUs that compute them.
///
///     rank 0   | halo down | MPI_Isend ...  inner rows ... MPI_Waitall | halo up | border rows | MPI_Allgather | ...
#pragma once

#include <mpi.h>
#include <vector>

#include "split.hpp"

namespace cg {

template <class T> constexpr MPI_Datatype mpi_type() { return sizeof(T) == 8 ? MPI_DOUBLE : MPI_FLOAT; }

/// Begins to send and to receive a halo. The arrays must stay as they are until wait_for() returns.
/// @param part of this rank @param send as many numbers as part.send @param halo as many as part.halo
template <class T> void begin_halo(const Part<T>& part, const T* send, T* halo, std::vector<MPI_Request>& requests) {
    for (const auto& from : part.receives)
        MPI_Irecv(halo + from.begin, static_cast<int>(from.count), mpi_type<T>(), static_cast<int>(from.part), 0,
                  MPI_COMM_WORLD, &requests.emplace_back());
    for (const auto& to : part.sends)
        MPI_Isend(send + to.begin, static_cast<int>(to.count), mpi_type<T>(), static_cast<int>(to.part), 0,
                  MPI_COMM_WORLD, &requests.emplace_back());
}
inline void wait_for(std::vector<MPI_Request>& requests) {
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    requests.clear();
}

/// Brings every rank's share of a sum into its slot on all. @param slots `numbers` for each rank; this rank's own are
/// in theirs before
inline void gather_shares(double* slots, int numbers) {
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, slots, numbers, MPI_DOUBLE, MPI_COMM_WORLD);
}

} // namespace cg
