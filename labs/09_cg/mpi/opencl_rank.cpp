// A rank on an OpenCL device.
#include "../devices/mpi.hpp"
#include "../opencl/solve.hpp"
#include "devices_of_ranks.hpp"

namespace cg {

template <class T>
std::unique_ptr<Rank<T>> make_opencl_rank(const Problem<T>& problem, const Part<T>& part, const Ranks& ranks) {
    const auto devices = opencl_devices_for_ranks();
    const auto number = static_cast<std::size_t>(ranks.local);
    const auto contexts = gpulab::opencl_parts(devices[number % devices.size()], number / devices.size() + 1);
    auto device = std::make_unique<ClPart<T>>(*contexts.back(), problem, part, false);
    tune(*device, problem);
    return std::make_unique<RankOf<T, Mpi<T, ClPart<T>>>>(problem, std::move(device), ranks);
}

template std::unique_ptr<Rank<float>> make_opencl_rank(const Problem<float>&, const Part<float>&, const Ranks&);
template std::unique_ptr<Rank<double>> make_opencl_rank(const Problem<double>&, const Part<double>&, const Ranks&);

} // namespace cg
