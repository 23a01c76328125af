/// @file
/// What the CUDA rungs of this lab share: the kernel, a recorder of commands, and timed passes.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <initializer_list>
#include <string>

#include "gpulab/cuda/buffer.hpp"
#include "gpulab/cuda/check.hpp"
#include "gpulab/cuda/stream.hpp"
#include "gpulab/error.hpp"
#include "gpulab/math.hpp"
#include "streams.hpp"

namespace streams {

inline constexpr unsigned block_threads = 256;
inline constexpr unsigned thread_bytes = 16;

/// The colour bytes of four neighbouring ones go through the work and are inverted; the others stay.
/// @param colours bit i: byte i is colour
__device__ inline unsigned transform_word(unsigned word, unsigned colours, unsigned work) {
    unsigned result = word;
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
        if (!(colours >> i & 1)) continue;
        unsigned v = word >> 8 * i & 255;
        for (unsigned round = 0; round < work; ++round) {
            v = (v * 181 + 97) & 255;
            v ^= v >> 3;
        }
        result = (result & ~(255u << 8 * i)) | (255 - v) << 8 * i;
    }
    return result;
}

/// The same for 16 bytes.
__device__ inline uint4 transform_16(uint4 v, unsigned colours, unsigned work) {
    return make_uint4(transform_word(v.x, colours, work), transform_word(v.y, colours, work),
                      transform_word(v.z, colours, work), transform_word(v.w, colours, work));
}

/// Transforms the 16 bytes of a strip from `first` on, or what is left of it there.
/// Wide accesses where both addresses allow them; byte by byte at a ragged end or an odd row length. A strip begins
/// with a pixel, and 16 is a multiple of the 2 or 4 bytes of a pixel with alpha, so a byte's place in its word tells
/// whether it is alpha.
__device__ inline void invert_16(const unsigned char* in, unsigned char* out, std::size_t first, std::size_t bytes,
                                 unsigned colours, unsigned work) {
    const bool aligned = (reinterpret_cast<std::size_t>(in) | reinterpret_cast<std::size_t>(out)) % 16 == 0;
    if (aligned && first + thread_bytes <= bytes) {
        const uint4 v = *reinterpret_cast<const uint4*>(in + first);
        *reinterpret_cast<uint4*>(out + first) = transform_16(v, colours, work);
    } else {
        const std::size_t end = first + thread_bytes < bytes ? first + thread_bytes : bytes;
        for (std::size_t i = first; i < end; ++i)
            out[i] = static_cast<unsigned char>(transform_word(in[i], colours >> i % 4 & 1, work));
    }
}

/// One thread per 16 bytes of a strip.
/// @param in,out the strip's first byte
/// @param colours as colour_bytes() gives them
static __global__ void invert_kernel(const unsigned char* in, unsigned char* out, std::size_t bytes, unsigned colours,
                                     unsigned work) {
    const std::size_t first = (blockIdx.x * std::size_t{blockDim.x} + threadIdx.x) * thread_bytes;
    if (first < bytes) invert_16(in, out, first, bytes, colours, work);
}

/// The same with any number of blocks: each thread takes 16 bytes, then the 16 that are a whole grid further, ...
static __global__ void invert_stride_kernel(const unsigned char* in, unsigned char* out, std::size_t bytes,
                                            unsigned colours, unsigned work) {
    const std::size_t stride = gridDim.x * std::size_t{blockDim.x} * thread_bytes;
    for (std::size_t first = (blockIdx.x * std::size_t{blockDim.x} + threadIdx.x) * thread_bytes; first < bytes;
         first += stride)
        invert_16(in, out, first, bytes, colours, work);
}

/// Blocks for a kernel that loads or stores across the link: few, because a link is full long before the
/// multiprocessors are, and requests beyond that only stand in each other's way; as many again for every four rounds of
/// work, which has to be done as well.
inline unsigned link_blocks(const Problem& p) { return p.mapped_blocks * (1 + p.work / 4); }

/// Blocks for a strip.
inline unsigned strip_blocks(const Strip& strip) {
    return gpulab::grid_size(strip.bytes, block_threads * thread_bytes);
}

/// Where the work is cut: 16 bytes to a thread, the bytes of a block, and the image into strips of rows.
/// @param grid_blocks not 0: the blocks of a grid that strides over what is more
inline void name_tiles(Stopwatch& watch, const Problem& p, std::size_t grid_blocks = 0) {
    watch.tile(thread_bytes, "bytes");
    watch.tile(block_threads * thread_bytes, "bytes");
    if (grid_blocks > 0) watch.tile(grid_blocks * block_threads * thread_bytes, "bytes");
    watch.tile(p.streams, "rows");
}

/// Blocks for a kernel that polls, at most: about one for each multiprocessor of a large GPU, because waiting takes no
/// more, and as many again for every four rounds of work.
inline std::size_t most_polling_blocks(const Problem& p) { return std::size_t{128} * (1 + p.work / 4); }

/// The blocks for a strip of that many bytes.
inline unsigned polling_blocks(const Problem& p, std::size_t bytes) {
    return static_cast<unsigned>(std::min<std::size_t>(most_polling_blocks(p), strip_blocks({0, bytes})));
}

/// That many bytes of cuda_polling's mark. @pre bytes is a multiple of 4
inline std::vector<unsigned char> marked_bytes(std::size_t bytes) {
    std::vector<unsigned char> marks(bytes);
    for (std::size_t i = 0; i < bytes; i += sizeof nothing_yet)
        std::memcpy(&marks[i], &nothing_yet, sizeof nothing_yet);
    return marks;
}

/// @throws WrongResult unless the buffer holds the marks again, or when something wrote outside it
inline void expect_marks(const gpulab::DeviceBuffer<unsigned char>& in, const std::vector<unsigned char>& marks) {
    std::vector<unsigned char> left(marks.size());
    in.copy_to(left);
    if (left != marks)
        throw gpulab::WrongResult("a mark was not put back: the next pass would take this image for its own");
}

/// Notes start and end of each command by events around it, when it is on. Off, it does nothing at all, so that the
/// timed passes carry no events.
class CudaRecorder {
public:
    explicit CudaRecorder(bool on) : on_(on) {
        if (on_) zero_.emplace_back().record(nullptr);
        if (on_) zero_.front().synchronize();
    }
    void begin_up(std::size_t strip, std::size_t lane, cudaStream_t s) { begin("copy up", '>', strip, lane, s); }
    void begin_kernel(std::size_t strip, std::size_t lane, cudaStream_t s) { begin("kernel", '#', strip, lane, s); }
    void begin_down(std::size_t strip, std::size_t lane, cudaStream_t s) { begin("copy down", '<', strip, lane, s); }
    void begin_mapped(std::size_t lane, cudaStream_t s) { begin("mapped kernel", '*', 0, lane, s); }
    void begin_polling(std::size_t strip, std::size_t lane, cudaStream_t s) {
        begin("polling kernel", '*', strip, lane, s);
    }
    /// Ends the command begun last.
    void end(cudaStream_t stream) {
        if (on_) commands_[used_ - 1].end.record(stream);
    }
    /// Forgets the pass but keeps its events, so that the next one need not wait for new ones to be made.
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
        t.serialise_kinds(); // an event before a copy fires when the stream gets there, though the engine may be busy
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
    std::size_t used_ = 0; // of commands_, in this pass
};

/// Times `pass(recorder)` by the steady clock, then runs it with the recorder on for the timeline.
/// Before each pass, outside the time, all its memory but the image on the host is poisoned, so that nothing of an
/// earlier pass can stand in for an answer: neither a result nor a strip that is already up. (cuda_polling keeps its
/// copy of the image out of this. It has marks there instead, and looks at the end whether they are back. Its flag
/// stays as well: what the pass before left in it is the worst that a pass can find there.)
/// @param pass enqueues everything and returns when the last byte is in host_out
/// @param on_device the pass's memory on the device: the image's copy and the result, as far as it has them
/// @param host_out where the pass leaves its result; copied to out.pixels unless it is that
/// @throws WrongResult when the recorded pass gives something else than the timed one
template <class Pass>
void watch_passes(Stopwatch& watch, Output& out, std::initializer_list<gpulab::DeviceBuffer<unsigned char>*> on_device,
                  std::span<unsigned char> host_out, const Pass& pass) {
    // The host's side is overwritten by a copy down, so that its lines are where a pass itself leaves them, and not
    // changed in the caches of the core that runs this.
    const gpulab::DeviceBuffer<unsigned char> blank(host_out.size());
    const auto reset = [&] {
        CUDA_CHECK(cudaDeviceSynchronize()); // whatever the pass before did not wait for ends here, not in the next
        if (gpulab::poisons())               // otherwise there is nothing in `blank`
            CUDA_CHECK(cudaMemcpy(host_out.data(), blank.data(), host_out.size(), cudaMemcpyDeviceToHost));
        else std::memset(host_out.data(), gpulab::poison_byte_for<unsigned char>(), host_out.size());
        for (auto* buffer : on_device) buffer->poison_async(nullptr);
        CUDA_CHECK(cudaDeviceSynchronize());
    };
    CudaRecorder off(false);
    watch.time([&] { pass(off); }, reset);
    const std::vector<unsigned char> timed(host_out.begin(), host_out.end());

    reset();
    CudaRecorder on(true);
    pass(on); // makes the events
    reset();
    on.restart();
    const auto begin = std::chrono::steady_clock::now();
    pass(on);
    out.traced_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    const bool same = std::equal(timed.begin(), timed.end(), host_out.begin()); // before anything else is waited for
    CUDA_CHECK(cudaDeviceSynchronize());
    out.timeline = on.timeline();
    if (!same) throw gpulab::WrongResult("two passes over the same image gave different results");
    out.pixels = timed;
}

} // namespace streams
