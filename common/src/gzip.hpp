/// @file
/// Compression of files whose names end with .gz.
#pragma once

#include <string>
#include <string_view>

namespace gpulab {

/// Whether a file of this name is meant to be compressed: "a.mtx.gz".
inline bool is_gzip_name(std::string_view path) { return path.size() > 3 && path.ends_with(".gz"); }

/// The content of a gzip file (RFC 1952) that holds these bytes. It depends on them alone: no name, no time.
/// @throws std::bad_alloc
std::string gzip(std::string_view content);

} // namespace gpulab
