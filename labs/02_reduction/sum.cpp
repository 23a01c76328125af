#include <array>

#include "compensated.hpp"
#include "gpulab/compare.hpp"
#include "gpulab/input.hpp"
#include "reduction.hpp"
#include "rungs.hpp"

namespace reduction {

template <class T> SumProblem<T> make_sum_problem(std::size_t n, std::uint64_t seed) {
    return {gpulab::random_vector<T>(n, seed, T{0}, T{1})};
}

template <class T> Expected<T> expected_sum(const SumProblem<T>& p) {
    CompensatedSum sum, magnitude;
    for (const T x : p.a) {
        sum.add(x);
        magnitude.add(std::abs(x));
    }
    return {{static_cast<T>(sum.value())}, magnitude.value()};
}

template <class T> gpulab::Comparison compare(const Expected<T>& expected, const Scalar<T>& actual, double tolerance) {
    return gpulab::compare(expected.value, actual, tolerance, [&](std::size_t) { return expected.magnitude; });
}

template <class T> std::span<const gpulab::Variant<SumRun<T>>> sum_variants() {
    using enum gpulab::Backend;
    using V = gpulab::Variant<SumRun<T>>;
    constexpr gpulab::Needs any{};
    constexpr gpulab::Needs real{.fp64 = std::is_same_v<T, double>};
    static constexpr std::array table = {
        V{"cpu_sequential", "one loop on one core", cpu, cpu_sequential<T>},
        V{"cpu_kahan", "one loop with compensated summation: the reference", cpu, cpu_kahan<T>},
        V{"cpu_threads_mutex", "a local sum per thread, joined under mutual exclusion", cpu, cpu_threads_mutex<T>},
        V{"cpu_threads_atomic", "a local sum per thread, joined by an atomic addition", cpu, cpu_threads_atomic<T>},
        V{"opencl_tree_interleaved", "a tree per group: half of the items drop out at each step", opencl,
          GPULAB_IF_OPENCL(opencl_tree_interleaved<T>), real},
        V{"opencl_tree_sequential", "the same tree with the working items side by side", opencl,
          GPULAB_IF_OPENCL(opencl_tree_sequential<T>), real},
        V{"opencl_grid_stride", "each item first adds up many elements of its own", opencl,
          GPULAB_IF_OPENCL(opencl_grid_stride<T>), real},
        V{"opencl_multi_stage", "one launch; the host adds up the groups' sums", opencl,
          GPULAB_IF_OPENCL(opencl_multi_stage<T>), real},
        V{"opencl_vectorised", "16-byte loads, four independent accumulators", opencl,
          GPULAB_IF_OPENCL(opencl_vectorised<T>), real},
        V{"cuda_one_block", "one block, prefix sums by doubling stride: n up to 1024", cuda,
          GPULAB_IF_CUDA(cuda_one_block<T>)},
        V{"cuda_two_level", "a sum per block, then the sums of the sums: any n", cuda,
          GPULAB_IF_CUDA(cuda_two_level<T>)},
        V{"cuda_tree_interleaved", "a tree: half of the threads drop out at each step", cuda,
          GPULAB_IF_CUDA(cuda_tree_interleaved<T>)},
        V{"cuda_tree_sequential", "the same tree with the working threads side by side", cuda,
          GPULAB_IF_CUDA(cuda_tree_sequential<T>)},
        V{"cuda_grid_stride", "each thread first adds up many elements of its own", cuda,
          GPULAB_IF_CUDA(cuda_grid_stride<T>)},
        V{"cuda_shuffle", "the tree inside a warp in registers, by shuffles", cuda, GPULAB_IF_CUDA(cuda_shuffle<T>)},
        V{"cuda_vectorised", "16-byte loads, several in flight, independent accumulators", cuda,
          GPULAB_IF_CUDA(cuda_vectorised<T>)},
        V{"cuda_single_pass", "one launch: the last block to finish adds up the blocks' sums", cuda,
          GPULAB_IF_CUDA(cuda_single_pass<T>)},
        V{"cuda_atomics", "one launch: every block adds its sum to one number", cuda, GPULAB_IF_CUDA(cuda_atomics<T>)},
        V{"cuda_cub", "the vendor's library, cub::DeviceReduce, and a copy of the result", cuda,
          GPULAB_IF_CUDA(cuda_cub<T>), any, true},
        V{"cuda_cub_mapped", "cub::DeviceReduce writing its result straight into host memory", cuda,
          GPULAB_IF_CUDA(cuda_cub_mapped<T>), any, true},
    };
    return table;
}

template SumProblem<float> make_sum_problem(std::size_t, std::uint64_t);
template SumProblem<double> make_sum_problem(std::size_t, std::uint64_t);
template Expected<float> expected_sum(const SumProblem<float>&);
template Expected<double> expected_sum(const SumProblem<double>&);
template gpulab::Comparison compare(const Expected<float>&, const Scalar<float>&, double);
template gpulab::Comparison compare(const Expected<double>&, const Scalar<double>&, double);
template std::span<const gpulab::Variant<SumRun<float>>> sum_variants<float>();
template std::span<const gpulab::Variant<SumRun<double>>> sum_variants<double>();

} // namespace reduction
