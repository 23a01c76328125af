/// @file
/// What the CUDA rungs of this lab share: the kernel, a recorder of commands, and timed passes.
#pragma once

#include <cstring>
#include <deque>
#include <initializer_list>
#include <optional>
#include <string>

#include "gpulab/cuda/buffer.hpp"
#include "gpulab/cuda/check.hpp"
#include "gpulab/cuda/stream.hpp"
#include "gpulab/error.hpp"
#include "gpulab/guard.hpp"
#include "gpulab/math.hpp"
#include "rounds.cuh"
#include "streams.hpp"
#if __has_include(<nvtx3/nvToolsExt.h>) // Nsight Systems then names the commands: nsys profile --trace=cuda,nvtx
#include <nvtx3/nvToolsExt.h>
#else
inline int nvtxRangePushA(const char*) { return 0; }
inline int nvtxRangePop() { return 0; }
#endif

namespace streams {

inline constexpr unsigned block_threads = 256;
inline constexpr unsigned thread_bytes = 16;

/// transform_word() for each word of 16 bytes.
__device__ inline uint4 transform_16(uint4 v, unsigned colours, unsigned work) {
    return make_uint4(transform_word(v.x, colours, work), transform_word(v.y, colours, work),
                      transform_word(v.z, colours, work), transform_word(v.w, colours, work));
}

/// Transforms the 16 bytes of a strip that begin at `first`, or fewer at its end.
/// Uses 16-byte accesses where both addresses are aligned, and single bytes at a ragged end or at odd row lengths. A
/// strip begins with a pixel, and 16 is a multiple of the 2 or 4 bytes of a pixel with alpha, so a byte's place in its
/// word tells whether it is alpha.
__device__ inline void invert_16(const unsigned char* in, unsigned char* out, std::size_t first, std::size_t bytes,
                                 unsigned colours, unsigned work) {
    const bool aligned = (reinterpret_cast<std::size_t>(in) | reinterpret_cast<std::size_t>(out)) % 16 == 0;
    // EXERCISE invert
    //| // TODO: whole 16 bytes at aligned addresses: load a uint4, transform_16(), store it. Else, at a ragged end or
    //| // at odd addresses: transform_word(), byte by byte. Byte i of the strip is colour if bit i % 4 of `colours` is
    //| // set.
    //| (void)aligned, (void)out, (void)first, (void)bytes, (void)colours, (void)work;
    if (aligned && first + thread_bytes <= bytes) {
        const uint4 v = *reinterpret_cast<const uint4*>(in + first);
        *reinterpret_cast<uint4*>(out + first) = transform_16(v, colours, work);
    } else {
        const std::size_t end = first + thread_bytes < bytes ? first + thread_bytes : bytes;
        for (std::size_t i = first; i < end; ++i)
            out[i] = static_cast<unsigned char>(transform_word(in[i], colours >> i % 4 & 1, work));
    }
    // END EXERCISE
}

/// One thread per 16 bytes of a strip.
/// @param in,out the strip's first byte
/// @param colours as colour_bytes() gives them
static __global__ void invert_kernel(const unsigned char* in, unsigned char* out, std::size_t bytes, unsigned colours,
                                     unsigned work) {
    const std::size_t first = (blockIdx.x * std::size_t{blockDim.x} + threadIdx.x) * thread_bytes;
    if (first < bytes) invert_16(in, out, first, bytes, colours, work);
}

/// The same with any number of blocks: each thread takes 16 bytes, then the 16 bytes one grid further, and so on.
static __global__ void invert_stride_kernel(const unsigned char* in, unsigned char* out, std::size_t bytes,
                                            unsigned colours, unsigned work) {
    const std::size_t stride = gridDim.x * std::size_t{blockDim.x} * thread_bytes;
    for (std::size_t first = (blockIdx.x * std::size_t{blockDim.x} + threadIdx.x) * thread_bytes; first < bytes;
         first += stride)
        invert_16(in, out, first, bytes, colours, work);
}

/// Blocks for a kernel that loads or stores across the link. A few blocks fill the link, and more requests than it can
/// carry hinder each other. For every four rounds of work the same number of blocks is added, for the arithmetic.
inline unsigned link_blocks(const Problem& p) { return p.mapped_blocks * (1 + p.work / 4); }

/// Blocks for a strip.
inline unsigned strip_blocks(const Strip& strip) {
    return gpulab::grid_size(strip.bytes, block_threads * thread_bytes);
}

/// Names the sizes at which the work is cut: 16 bytes per thread, the bytes of a block, and the number of strips.
/// @param grid_blocks if not 0: the number of blocks of a grid that strides over the strip
inline void name_tiles(Stopwatch& watch, const Problem& p, std::size_t grid_blocks = 0) {
    watch.tile(thread_bytes, "bytes");
    watch.tile(block_threads * thread_bytes, "bytes");
    if (grid_blocks > 0) watch.tile(grid_blocks * block_threads * thread_bytes, "bytes");
    watch.tile(p.streams, "rows");
}

/// The most blocks of a kernel that polls: about one per multiprocessor of a large GPU, which is enough for waiting,
/// and the same number again for every four rounds of work.
inline std::size_t max_polling_blocks(const Problem& p) { return std::size_t{128} * (1 + p.work / 4); }

/// Blocks for a strip of this many bytes.
inline unsigned polling_blocks(const Problem& p, std::size_t bytes) {
    const std::size_t most = max_polling_blocks(p), all = strip_blocks({0, bytes});
    return static_cast<unsigned>(all < most ? all : most);
}

/// An array filled with the mark of cuda_polling. @pre bytes is a multiple of 4
inline std::vector<unsigned char> marked_bytes(std::size_t bytes) {
    std::vector<unsigned char> marks(bytes);
    for (std::size_t i = 0; i < bytes; i += sizeof nothing_yet)
        std::memcpy(&marks[i], &nothing_yet, sizeof nothing_yet);
    return marks;
}

/// Checks that the buffer holds the marks again.
/// @throws WrongResult when it does not, or when something wrote outside the buffer
inline void expect_marks(const gpulab::DeviceBuffer<unsigned char>& in, const std::vector<unsigned char>& marks) {
    std::vector<unsigned char> left(marks.size());
    in.copy_to(left);
    if (left != marks)
        throw gpulab::WrongResult(
            "a mark was not put back, so the next pass would take a word of this image for its own");
}

/// When it is on, records an event before and after each command. When it is off it does nothing, so the timed passes
/// contain no events.
class CudaRecorder {
public:
    explicit CudaRecorder(bool on) : on_(on) {
        if (on_) zero_.emplace_back().record(nullptr);
        if (on_) zero_.front().synchronize();
    }
    void begin_up(std::size_t strip, std::size_t lane, cudaStream_t s) { begin("copy up", '>', strip, lane, s); }
    void begin_kernel(std::size_t strip, std::size_t lane, cudaStream_t s) { begin("kernel", '#', strip, lane, s); }
    void begin_down(std::size_t strip, std::size_t lane, cudaStream_t s) { begin("copy down", '<', strip, lane, s); }
    void begin_polling(std::size_t strip, std::size_t lane, cudaStream_t s) {
        begin("polling kernel", '*', strip, lane, s);
    }
    /// Marks the end of the command begun last.
    void end(cudaStream_t stream) {
        nvtxRangePop();
        if (on_) commands_[used_ - 1].end.record(stream);
    }
    /// Forgets the pass but keeps its events, so that the next pass need not create them.
    void restart() {
        used_ = 0;
        if (on_) zero_.front().record(nullptr);
        if (on_) zero_.front().synchronize();
    }
    /// @pre all commands are complete
    gpulab::Timeline timeline() const {
        gpulab::Timeline t;
        for (std::size_t i = 0; i < used_; ++i) {
            const Command& m = commands_[i];
            t.add({"strip " + std::to_string(m.strip), m.kind, m.symbol, static_cast<int>(m.lane), us(m.begin),
                   us(m.end)});
        }
        // An event before a copy is reached when the stream gets there, even if the engine still serves another stream.
        // Kernels are drawn one after the other as well, although kernels of different streams may run together.
        t.serialise_kinds();
        return t;
    }

private:
    struct Command {
        const char* kind = "";
        char symbol = ' ';
        std::size_t strip = 0, lane = 0;
        gpulab::Event begin, end;
    };
    void begin(const char* kind, char symbol, std::size_t strip, std::size_t lane, cudaStream_t stream) {
        nvtxRangePushA(kind);
        if (!on_) return;
        if (used_ == commands_.size()) commands_.emplace_back();
        Command& command = commands_[used_++];
        command.kind = kind;
        command.symbol = symbol;
        command.strip = strip;
        command.lane = lane;
        command.begin.record(stream);
    }
    double us(const gpulab::Event& e) const { return 1000.0 * gpulab::Event::ms_between(zero_.front(), e); }

    bool on_;
    std::deque<gpulab::Event> zero_;
    std::deque<Command> commands_;
    std::size_t used_ = 0; // the number of commands_ in this pass
};

/// Times `pass(recorder)` by the host's steady clock, then runs it twice with the recorder on, for the timeline.
/// Before each pass all its memory except the image on the host is poisoned, so that no pass can use a result or an
/// uploaded strip of an earlier one. (cuda_polling does not hand over its copy of the image: it holds marks instead,
/// and the variant checks at the end that they are back. Nor is its flag reset: the value that the pass before left is
/// the most dangerous one for the next.)
/// Poisoning, the recorded passes and the comparison count neither as part of a pass nor in the total time.
/// @param pass issues all commands and returns when the last byte is in host_out
/// @param on_device the device memory of the pass: the copy of the image and the result, if it has them
/// @param host_out where the pass leaves its result; copied to out.pixels unless it is out.pixels
/// @throws WrongResult when the recorded pass gives a result different from the timed one
template <class Pass>
void watch_passes(Stopwatch& watch, Output& out, std::initializer_list<gpulab::DeviceBuffer<unsigned char>*> on_device,
                  std::span<unsigned char> host_out, const Pass& pass) {
    // The result on the host is poisoned by a copy down. A memset would leave its cache lines modified in this core's
    // caches, where no real pass leaves them.
    std::optional<gpulab::DeviceBuffer<unsigned char>> blank;
    watch.leave_out([&] { blank.emplace(host_out.size()); });
    const auto reset = [&] {
        CUDA_CHECK(cudaDeviceSynchronize()); // what the pass before did not wait for ends here, not in the next pass
        if (gpulab::poisons())               // otherwise `blank` holds nothing
            CUDA_CHECK(cudaMemcpy(host_out.data(), blank->data(), host_out.size(), cudaMemcpyDeviceToHost));
        else std::memset(host_out.data(), gpulab::poison_byte_for<unsigned char>(), host_out.size());
        for (auto* buffer : on_device) buffer->poison_async(nullptr);
        CUDA_CHECK(cudaDeviceSynchronize());
    };
    CudaRecorder off(false);
    watch.time([&] { pass(off); }, [&] { watch.leave_out(reset); });
    if (host_out.data() != out.pixels.data()) out.pixels.assign(host_out.begin(), host_out.end());

    watch.leave_out([&] {
        const std::vector<unsigned char> timed = out.pixels;
        reset();
        CudaRecorder on(true);
        pass(on); // creates the events
        reset();
        on.restart();
        const double begin = gpulab::clock_ms();
        pass(on);
        out.traced_ms = gpulab::clock_ms() - begin;
        const bool same = std::memcmp(timed.data(), host_out.data(), timed.size()) == 0; // before any further wait
        CUDA_CHECK(cudaDeviceSynchronize());
        out.timeline = on.timeline();
        if (!same) throw gpulab::WrongResult("two passes over the same image gave different results");
        out.pixels = timed;
        blank.reset();
    });
}

} // namespace streams
