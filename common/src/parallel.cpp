#include "gpulab/parallel.hpp"
#include "gpulab/threads.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>
#include <utility>

#include "gpulab/device.hpp"
#include "gpulab/error.hpp"

namespace gpulab {

void Threads::start(std::function<void()> work) {
    try {
        threads_.emplace_back(std::move(work));
    } catch (const std::system_error&) {
        throw Unsupported("cannot start a thread: the system allows no more (see ulimit -u and -v)");
    }
}

void Threads::join() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
}

unsigned parts_for(std::size_t work, std::size_t worth_a_thread) {
    const auto most = static_cast<std::size_t>(hardware_threads());
    return static_cast<unsigned>(std::clamp<std::size_t>(work / worth_a_thread, 1, most));
}

namespace {
/// What each part of a body threw, if it did.
class Errors {
public:
    explicit Errors(std::size_t parts) : of_(parts) {}
    template <class Body> void keep(std::size_t part, const Body& body) {
        try {
            body();
        } catch (...) {
            of_[part] = std::current_exception();
        }
    }
    void rethrow_first() const {
        for (const std::exception_ptr& error : of_)
            if (error) std::rethrow_exception(error);
    }

private:
    std::vector<std::exception_ptr> of_;
};
} // namespace

void detail::call_for_parts(unsigned parts, void (*call)(const void* body, unsigned part), const void* body) {
    Errors errors(parts);
    const auto one = [&](unsigned part) { errors.keep(part, [&] { call(body, part); }); };
    {
        Threads workers;
        unsigned started = 1;
        try {
            for (; started < parts; ++started) workers.start([&one, started] { one(started); });
        } catch (const Unsupported&) { // no more threads: this one does the rest
        }
        if (parts > 0) one(0);
        for (; started < parts; ++started) one(started);
    }
    errors.rethrow_first();
}

void in_team(int threads, const std::function<void(int thread)>& body) {
    enum Gate { closed, open, cancelled };
    std::atomic<Gate> gate = closed;
    const auto pass = [&](Gate now) {
        gate = now;
        gate.notify_all();
    };
    Errors errors(static_cast<std::size_t>(threads));
    const auto one = [&](int thread) { errors.keep(static_cast<std::size_t>(thread), [&] { body(thread); }); };
    Threads workers;
    try {
        for (int thread = 1; thread < threads; ++thread)
            workers.start([&, thread] {
                gate.wait(closed);
                if (gate == open) one(thread);
            });
    } catch (...) {
        pass(cancelled);
        throw;
    }
    pass(open);
    one(0);
    workers.join();
    errors.rethrow_first();
}

} // namespace gpulab
