#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "gpulab/cuda/buffer.hpp"
#include "gpulab/cuda/check.hpp"
#include "gpulab/cuda/error.hpp"
#include "gpulab/guard.hpp"
#include "gpulab/input_copies.hpp"

namespace gpulab {

CudaError::CudaError(cudaError_t code, const char* call, const char* file, int line)
    : Error(std::string(call) + ": " + cudaGetErrorName(code) + ", " + cudaGetErrorString(code) + " (" + file + ":" +
            std::to_string(line) + ")"),
      code_(code) {}

namespace detail {

void cuda_check(cudaError_t code, const char* call, const char* file, int line) {
    if (code == cudaSuccess) return;
    (void)cudaGetLastError(); // else CUDA_CHECK_LAUNCH() would report this error again, for the next kernel
    throw CudaError(code, call, file, line);
}

CudaMemory::CudaMemory(std::size_t bytes, std::size_t element_bytes, unsigned char guard_value)
    : bytes_(bytes), element_bytes_(element_bytes), guard_(guard_bytes()), guard_value_(guard_value) {}

void CudaMemory::allocate() { CUDA_CHECK(cudaMalloc(reinterpret_cast<void**>(&base_), bytes_ + 2 * guard_)); }

void CudaMemory::fill_bands() {
    CUDA_CHECK(cudaMemset(base_, guard_value_, guard_));
    CUDA_CHECK(cudaMemset(base_ + guard_ + bytes_, guard_value_, guard_));
    CUDA_CHECK(cudaDeviceSynchronize()); // a non-blocking stream would not wait for these fills
    watched_ = true;
}

CudaMemory CudaMemory::output(std::size_t bytes, std::size_t element_bytes, unsigned char poison) {
    CudaMemory memory(bytes, element_bytes, band_bytes.output);
    memory.allocate();
    if (poisons()) CUDA_CHECK(cudaMemset(memory.data(), poison, bytes));
    memory.fill_bands();
    return memory;
}

CudaMemory CudaMemory::input(const void* host, std::size_t bytes, std::size_t element_bytes) {
    CudaMemory memory(bytes, element_bytes, band_bytes.input);
    memory.allocate();
    CUDA_CHECK(cudaMemcpy(memory.data(), host, bytes, cudaMemcpyHostToDevice));
    memory.fill_bands();
    if (input_copies) {
        input_copies->forget_l2 = [] { CUDA_CHECK(cudaCtxResetPersistingL2Cache()); };
        input_copies->add(host, [to = static_cast<unsigned char*>(memory.data())](auto offset, auto* from, auto size) {
            CUDA_CHECK(cudaMemcpy(to + offset, from, size, cudaMemcpyHostToDevice));
            CUDA_CHECK(cudaDeviceSynchronize()); // as in copy_from()
        });
    }
    return memory;
}

CudaMemory CudaMemory::pinned(std::size_t bytes, std::size_t element_bytes, unsigned char poison, unsigned flags) {
    CudaMemory memory(bytes, element_bytes, band_bytes.output);
    CUDA_CHECK(cudaHostAlloc(reinterpret_cast<void**>(&memory.base_), bytes + 2 * memory.guard_, flags));
    memory.pinned_ = true;
    std::memset(memory.base_, memory.guard_value_, bytes + 2 * memory.guard_);
    std::memset(memory.data(), poison, bytes);
    memory.watched_ = true;
    return memory;
}

CudaMemory::~CudaMemory() {
    if (base_ && watched_) {
        try {
            check_guard_bands();
        } catch (const WrongResult& fault) {
            note_stray_write(fault.what());
        } catch (...) { // a CUDA error: an earlier call reported it
        }
    }
    if (pinned_) cudaFreeHost(base_);
    else cudaFree(base_);
}

CudaMemory::CudaMemory(CudaMemory&& other) noexcept { *this = std::move(other); }

CudaMemory& CudaMemory::operator=(CudaMemory&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(bytes_, other.bytes_);
    std::swap(element_bytes_, other.element_bytes_);
    std::swap(guard_, other.guard_);
    std::swap(guard_value_, other.guard_value_);
    std::swap(pinned_, other.pinned_);
    std::swap(watched_, other.watched_);
    return *this;
}

void* CudaMemory::on_device() const {
    int device = 0, can = 0;
    CUDA_CHECK(cudaGetDevice(&device));
    CUDA_CHECK(cudaDeviceGetAttribute(&can, cudaDevAttrCanMapHostMemory, device));
    if (!can) throw Unsupported("this device cannot map host memory");
    void* address = nullptr;
    CUDA_CHECK(cudaHostGetDevicePointer(&address, base_, 0));
    return static_cast<unsigned char*>(address) + guard_;
}

namespace {
void check_length(std::size_t host_bytes, std::size_t bytes) {
    if (host_bytes != bytes) throw Error("copy between a host array and a device buffer of different lengths");
}
} // namespace

void CudaMemory::copy_from(const void* host, std::size_t bytes) {
    check_length(bytes, bytes_);
    CUDA_CHECK(cudaMemcpy(data(), host, bytes, cudaMemcpyHostToDevice));
    CUDA_CHECK(cudaDeviceSynchronize()); // a small copy may return early, and kernels run in other streams
}

void CudaMemory::copy_to(void* host, std::size_t bytes) const {
    check_length(bytes, bytes_);
    CUDA_CHECK(cudaMemcpy(host, data(), bytes, cudaMemcpyDeviceToHost));
    check_guard_bands();
}

void CudaMemory::poison(unsigned char poison, cudaStream_t stream) {
    if (!poisons()) return;
    if (pinned_) {
        CUDA_CHECK(cudaMemsetAsync(on_device(), poison, bytes_, stream));
    } else if (bytes_ <= poison_whole_bytes) {
        CUDA_CHECK(cudaMemsetAsync(data(), poison, bytes_, stream));
    } else {
        const std::size_t end = poison_end_bytes / element_bytes_ * element_bytes_; // whole elements
        CUDA_CHECK(cudaMemsetAsync(base_ + guard_, poison, end, stream));
        CUDA_CHECK(cudaMemsetAsync(base_ + guard_ + bytes_ - end, poison, end, stream));
    }
}

void CudaMemory::check_guard_bands() const {
    if (guard_ == 0) return;
    std::vector<unsigned char> copies;
    const unsigned char *before = base_, *after = base_ + guard_ + bytes_;
    if (!pinned_) {
        copies.resize(2 * guard_);
        CUDA_CHECK(cudaMemcpy(copies.data(), before, guard_, cudaMemcpyDeviceToHost));
        CUDA_CHECK(cudaMemcpy(copies.data() + guard_, after, guard_, cudaMemcpyDeviceToHost));
        before = copies.data();
        after = before + guard_;
    }
    try {
        check_guards(before, after, guard_, element_bytes_, guard_value_);
    } catch (const WrongResult&) {
        watched_ = false;
        throw;
    }
}

} // namespace detail

} // namespace gpulab
