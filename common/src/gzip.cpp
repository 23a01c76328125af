#include "gzip.hpp"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>

namespace gpulab {

std::string gzip(std::string_view content) {
    constexpr int window_bits = 15 + 16; // the largest window; 16: the format of gzip, not of zlib
    z_stream stream{};
    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window_bits, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        throw std::bad_alloc();
    struct End {
        z_stream* stream;
        ~End() { deflateEnd(stream); }
    } const end{&stream};

    std::string packed;
    int state = Z_OK;
    while (state != Z_STREAM_END) {
        const std::size_t had = packed.size(), room = std::clamp<std::size_t>(had, 1 << 16, 1 << 30);
        packed.resize(had + room);
        if (stream.avail_in == 0) { // zlib counts in 32 bits
            const std::size_t part = std::min<std::size_t>(content.size(), std::numeric_limits<uInt>::max());
            stream.next_in = reinterpret_cast<z_const Bytef*>(const_cast<char*>(content.data()));
            stream.avail_in = static_cast<uInt>(part);
            content.remove_prefix(part);
        }
        stream.next_out = reinterpret_cast<Bytef*>(packed.data() + had);
        stream.avail_out = static_cast<uInt>(room);
        state = deflate(&stream, content.empty() ? Z_FINISH : Z_NO_FLUSH);
        packed.resize(had + room - stream.avail_out);
    }
    return packed;
}

} // namespace gpulab
