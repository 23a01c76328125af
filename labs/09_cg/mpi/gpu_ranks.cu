// What of cg_mpi is compiled for GPUs: ranks whose part is on one.
#include <bit>

#include "../devices/mpi_gpu.cuh"
#include "rank.hpp"
#if defined(GPULAB_WITH_NCCL)
#include "../devices/nccl.cuh"
#endif

namespace cg {

std::string pci_address(int gpu) {
    char text[32] = "";
    CUDA_CHECK(cudaDeviceGetPCIBusId(text, sizeof text, gpu));
    return text;
}

template <class T> Rank<T> make_cuda_rank(const Problem<T>& problem, const Part<T>& part, int gpu) {
    return make_rank<MpiOnGpu<T>>(problem, part, gpu);
}
template Rank<float> make_cuda_rank(const Problem<float>&, const Part<float>&, int);
template Rank<double> make_cuda_rank(const Problem<double>&, const Part<double>&, int);

#if defined(GPULAB_WITH_NCCL)
std::array<char, 128> make_nccl_id() {
    ncclUniqueId id;
    NCCL_CHECK(ncclGetUniqueId(&id));
    return std::bit_cast<std::array<char, 128>>(id);
}

std::string nccl_version() {
    int version = 0; // 2.28.3 is 22803
    NCCL_CHECK(ncclGetVersion(&version));
    return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
           std::to_string(version % 100);
}

template <class T>
Rank<T> make_nccl_rank(const Problem<T>& problem, const Part<T>& part, int gpu, const std::array<char, 128>& id) {
    return make_rank<Nccl<T>>(problem, part, gpu, std::bit_cast<ncclUniqueId>(id));
}
template Rank<float> make_nccl_rank(const Problem<float>&, const Part<float>&, int, const std::array<char, 128>&);
template Rank<double> make_nccl_rank(const Problem<double>&, const Part<double>&, int, const std::array<char, 128>&);
#endif

} // namespace cg
