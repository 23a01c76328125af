// A process's share on a GPU: fused kernels, the halo and the sums through host memory.
#include "../cuda/part.cuh"
#include "gpulab/device.hpp"
#include "rank_part.hpp"

namespace cg {

namespace {

/// q = A p for the rows begin ... end - 1, and then for those from `second` on: `rows` rows in all. A partial sum of p
/// . q for each block.
template <class T>
__global__ void __launch_bounds__(block_threads)
    multiply_kernel(SlicedRows<T> a, std::size_t begin, std::size_t end, std::size_t second, std::size_t rows,
                    const T* p, T* q, double* partial) {
    T dot = 0;
    for (std::size_t k = blockIdx.x * std::size_t{block_threads} + threadIdx.x; k < rows;
         k += gridDim.x * std::size_t{block_threads}) {
        const std::size_t i = begin + k < end ? begin + k : begin + k - end + second;
        const T product = a.product(i, p);
        q[i] = product;
        dot += p[i] * product;
    }
    const double all = block_sum(static_cast<double>(dot));
    if (threadIdx.x == 0) partial[blockIdx.x] = all;
}

/// r -= alpha q, and x += alpha p unless x is null; two partial sums for each block.
template <class T>
__global__ void __launch_bounds__(block_threads)
    update_kernel(T alpha, const T* p, const T* q, const T* inverse, T* x, T* r, std::size_t n, double* partial) {
    T rr = 0, rho = 0;
    for (std::size_t i = blockIdx.x * std::size_t{block_threads} + threadIdx.x; i < n;
         i += gridDim.x * std::size_t{block_threads}) {
        if (x) x[i] += alpha * p[i];
        const T residual = r[i] - alpha * q[i];
        r[i] = residual;
        rr += residual * residual;
        rho += residual * (inverse ? inverse[i] * residual : residual);
    }
    const double block_rr = block_sum(static_cast<double>(rr)), block_rho = block_sum(static_cast<double>(rho));
    if (threadIdx.x == 0) partial[2 * blockIdx.x] = block_rr, partial[2 * blockIdx.x + 1] = block_rho;
}

/// p = z + beta p
template <class T>
__global__ void __launch_bounds__(block_threads)
    direction_kernel(T beta, const T* r, const T* inverse, T* p, std::size_t n) {
    for (std::size_t i = blockIdx.x * std::size_t{block_threads} + threadIdx.x; i < n;
         i += gridDim.x * std::size_t{block_threads})
        p[i] = (inverse ? inverse[i] * r[i] : r[i]) + beta * p[i];
}

template <class T> class CudaPart final : public RankPart<T> {
public:
    CudaPart(const Problem<T>& problem, const Part<T>& part, std::string name)
        : part_(part), name_(std::move(name)), rows_(part.rows()), inner_(part.inner_end - part.inner_begin),
          jacobi_(problem.jacobi()), matrix_(part.matrix), b_(piece(problem.b, part)),
          start_(piece(problem.start, part)),
          inverse_(jacobi_ ? piece(problem.inverse_diagonal, part) : std::vector<T>()), which_(part.send), x_(rows_),
          r_(rows_), q_(rows_), p_(part.p_size()), send_(part.send.size()),
          inner_blocks_(blocks_for(multiply_kernel<T>, inner_)),
          border_blocks_(blocks_for(multiply_kernel<T>, rows_ - inner_)),
          update_blocks_(std::min(blocks_for(update_kernel<T>, rows_), blocks_for(direction_kernel<T>, rows_))),
          partial_(std::max(inner_blocks_ + border_blocks_, 2 * update_blocks_)), on_host_(partial_.size()),
          pinned_send_(part.send.size()), pinned_halo_(part.halo.size()) {}

    void reset() override {
        gpulab::poisoning(x_, r_, q_, p_, send_, partial_)(stream_);
        copy(x_, start_), copy(p_, start_), copy(r_, b_);
        stream_.synchronize();
    }
    void pack(T* out) override {
        if (part_.send.empty()) return;
        pack_kernel<<<std::min(gpulab::grid_size(which_.size(), block_threads), 1024u), block_threads, 0, stream_>>>(
            p_.data(), which_.data(), send_.data(), which_.size());
        CUDA_CHECK_LAUNCH();
        CUDA_CHECK(cudaMemcpyAsync(pinned_send_.data(), send_.data(), send_.bytes(), cudaMemcpyDeviceToHost, stream_));
        stream_.synchronize();
        std::copy(pinned_send_.data(), pinned_send_.data() + send_.size(), out);
    }
    void multiply_inner() override {
        multiply_kernel<<<inner_blocks_, block_threads, 0, stream_>>>(
            matrix_.view(), part_.inner_begin, part_.inner_end, rows_, inner_, p_.data(), q_.data(), partial_.data());
        CUDA_CHECK_LAUNCH();
    }
    double multiply_border(const T* halo) override {
        std::copy(halo, halo + part_.halo.size(), pinned_halo_.data());
        // Beside the kernel of the inner rows, which does not read the halo.
        CUDA_CHECK(cudaMemcpyAsync(p_.data() + rows_, pinned_halo_.data(), pinned_halo_.bytes(), cudaMemcpyHostToDevice,
                                   copies_));
        arrived_.record(copies_);
        CUDA_CHECK(cudaStreamWaitEvent(stream_, arrived_, 0));
        multiply_kernel<<<border_blocks_, block_threads, 0, stream_>>>(matrix_.view(), 0, part_.inner_begin,
                                                                       part_.inner_end, rows_ - inner_, p_.data(),
                                                                       q_.data(), partial_.data() + inner_blocks_);
        CUDA_CHECK_LAUNCH();
        fetch(inner_blocks_ + border_blocks_);
        double sum = 0;
        for (unsigned k = 0; k < inner_blocks_ + border_blocks_; ++k) sum += on_host_[k];
        return sum;
    }
    ResidualSums update(T alpha, bool only_r) override {
        update_kernel<<<update_blocks_, block_threads, 0, stream_>>>(
            alpha, p_.data(), q_.data(), weights(), only_r ? nullptr : x_.data(), r_.data(), rows_, partial_.data());
        CUDA_CHECK_LAUNCH();
        fetch(2 * update_blocks_);
        ResidualSums sums;
        for (unsigned k = 0; k < update_blocks_; ++k) sums.rr += on_host_[2 * k], sums.rho += on_host_[2 * k + 1];
        return sums;
    }
    void next_p(T beta) override {
        direction_kernel<<<update_blocks_, block_threads, 0, stream_>>>(beta, r_.data(), weights(), p_.data(), rows_);
        CUDA_CHECK_LAUNCH();
    }
    void solution(T* out) override {
        stream_.synchronize();
        x_.copy_to(std::span<T>(out, rows_));
        for (const gpulab::DeviceBuffer<T>* v : {&r_, &q_, &p_, &send_}) v->check_guard_bands();
        partial_.check_guard_bands();
    }
    std::string device() const override { return name_; }

private:
    void copy(gpulab::DeviceBuffer<T>& to, const gpulab::DeviceBuffer<T>& from) {
        CUDA_CHECK(cudaMemcpyAsync(to.data(), from.data(), from.bytes(), cudaMemcpyDeviceToDevice, stream_));
    }
    const T* weights() const { return jacobi_ ? inverse_.data() : nullptr; }
    /// Copies partial sums to the host and waits for them.
    void fetch(unsigned count) {
        CUDA_CHECK(
            cudaMemcpyAsync(on_host_.data(), partial_.data(), count * sizeof(double), cudaMemcpyDeviceToHost, stream_));
        stream_.synchronize();
    }

    const Part<T>& part_;
    std::string name_;
    std::size_t rows_, inner_;
    bool jacobi_;
    DeviceSliced<T> matrix_;
    gpulab::DeviceBuffer<T> b_, start_, inverse_;
    gpulab::DeviceBuffer<int> which_;
    gpulab::DeviceBuffer<T> x_, r_, q_, p_, send_;
    unsigned inner_blocks_, border_blocks_, update_blocks_;
    gpulab::DeviceBuffer<double> partial_;
    gpulab::PinnedBuffer<double> on_host_;
    gpulab::PinnedBuffer<T> pinned_send_, pinned_halo_;
    gpulab::Stream stream_, copies_;
    gpulab::Event arrived_{cudaEventDisableTiming};
};

} // namespace

std::string pci_address(const gpulab::Device& gpu) {
    char text[32] = "";
    CUDA_CHECK(cudaDeviceGetPCIBusId(text, sizeof text, gpu.index));
    return text;
}

template <class T>
std::unique_ptr<RankPart<T>> make_cuda_part(const Problem<T>& problem, const Part<T>& part, int local_rank) {
    const gpulab::Device& gpu = device_of_rank(gpulab::Backend::cuda, local_rank);
    gpulab::use(gpu);
    return std::make_unique<CudaPart<T>>(problem, part, gpu.name);
}

template std::unique_ptr<RankPart<float>> make_cuda_part(const Problem<float>&, const Part<float>&, int);
template std::unique_ptr<RankPart<double>> make_cuda_part(const Problem<double>&, const Part<double>&, int);

} // namespace cg
