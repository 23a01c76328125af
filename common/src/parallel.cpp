#include "gpulab/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>
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
        unsigned started = 1;
        try {
            for (; started < parts; ++started) workers.emplace_back(guarded, started);
        } catch (const std::system_error&) { // no more threads: this one does the rest
        }
        if (parts > 0) guarded(0);
        for (; started < parts; ++started) guarded(started);
    }
    for (const std::exception_ptr& error : errors)
        if (error) std::rethrow_exception(error);
}

void in_team(int threads, const std::function<void(int thread)>& body) {
    enum Gate { closed, open, cancelled };
    std::atomic<Gate> gate = closed;
    const auto pass = [&](Gate now) {
        gate = now;
        gate.notify_all();
    };
    std::vector<std::jthread> workers;
    try {
        for (int thread = 1; thread < threads; ++thread)
            workers.emplace_back([&, thread] {
                gate.wait(closed);
                if (gate == open) body(thread);
            });
    } catch (...) {
        pass(cancelled);
        throw;
    }
    pass(open);
    body(0);
}

} // namespace gpulab
