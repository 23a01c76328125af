#include "gpulab/parallel.hpp"

#include <algorithm>
#include <exception>
#include <thread>
#include <vector>

#include "gpulab/device.hpp"

namespace gpulab {

unsigned parts_for(std::size_t work, std::size_t worth_a_thread) {
    const auto most = static_cast<std::size_t>(hardware_threads());
    return static_cast<unsigned>(std::clamp<std::size_t>(work / worth_a_thread, 1, most));
}

void detail::call_for_parts(unsigned parts, void (*call)(const void* body, unsigned part), const void* body) {
    std::vector<std::exception_ptr> errors(parts);
    const auto guarded = [&](unsigned part) {
        try {
            call(body, part);
        } catch (...) {
            errors[part] = std::current_exception();
        }
    };
    {
        std::vector<std::jthread> workers;
        for (unsigned part = 1; part < parts; ++part) workers.emplace_back(guarded, part);
        if (parts > 0) guarded(0);
    }
    for (const std::exception_ptr& error : errors)
        if (error) std::rethrow_exception(error);
}

} // namespace gpulab
