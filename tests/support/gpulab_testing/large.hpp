/// @file
/// Arrays that 32 bits cannot count: their sizes, who has room for them, and loops over them on all CPU threads.
///
/// An `int` that counts or points goes wrong beyond 2^31 elements, an `unsigned` only beyond 2^32, so the second size
/// finds both; the first is for GPUs that have no room for the second. Test cases with such arrays are tagged [large]:
/// ctest runs one of them at a time.
#pragma once

#include <algorithm>
#include <any>
#include <cstddef>
#include <string>
#include <vector>

#include "gpulab/device.hpp"
#include "gpulab/math.hpp"
#include "gpulab/threads.hpp"

namespace gpulab::testing {

/// More elements than an int counts, and than an unsigned counts; no multiples of anything that a kernel rounds to.
inline constexpr std::size_t beyond_int = (std::size_t{1} << 31) + 325;
inline constexpr std::size_t beyond_unsigned = (std::size_t{1} << 32) + 325; ///< see beyond_int

/// A GPU, and the number of elements that it is tested with.
struct LargeDevice {
    Device device;
    std::size_t n = 0;
};

/// The GPUs of a back end that have room, each with the larger of the two sizes that it has room for. Skips the test
/// case, before anything large is allocated, when there is none.
/// @param on_device,on_host how many arrays of that many floats there are at a time
std::vector<LargeDevice> large_devices_or_skip(Backend backend, std::size_t on_device, std::size_t on_host);

/// Keeps one large object, so that the next test case of the same program need not make its tens of GB again.
class LastMade {
public:
    /// What `make()` returned for this name. Calls it only if the previous call had another name; it first destroys the
    /// object of that name, because memory may hold only one. The reference is valid until then. A name goes with one
    /// type.
    template <class T, class Make> T& get(const std::string& name, const Make& make) {
        if (!made_.has_value() || name != name_) {
            made_.reset();
            made_.emplace<T>(make()); // make() may throw
            name_ = name;
        }
        return std::any_cast<T&>(made_);
    }

private:
    std::string name_;
    std::any made_;
};

/// Calls `body(begin, end)` for the parts of 0 ... n - 1, on all CPU threads.
template <class Body> void in_parts(std::size_t n, const Body& body) {
    const std::size_t part = ceil_div(n, static_cast<std::size_t>(hardware_threads()));
    Threads workers;
    for (std::size_t begin = 0; begin < n; begin += part)
        workers.start([&body, begin, end = std::min(n, begin + part)] { body(begin, end); });
}

} // namespace gpulab::testing
