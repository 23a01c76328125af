#include "machine/helpers.hpp"
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

namespace cuda_emulator {
namespace {

struct Job {
    const std::function<void(unsigned)>* work;
    bool open = true;
    unsigned inside = 0;
};

/// One for the process, never destroyed: its threads may wait until the very end.
struct Pool {
    std::mutex mutex;
    std::condition_variable wanted, left;
    std::deque<std::pair<std::shared_ptr<Job>, unsigned>> tasks;
    unsigned threads = 0;

    void serve() {
        std::unique_lock lock(mutex);
        while (true) {
            wanted.wait(lock, [this] { return !tasks.empty(); });
            const auto [job, number] = tasks.front();
            tasks.pop_front();
            if (!job->open) continue;
            ++job->inside;
            lock.unlock();
            (*job->work)(number);
            lock.lock();
            --job->inside;
            left.notify_all();
        }
    }
};

} // namespace

void run_with_helpers(unsigned count, const std::function<void(unsigned)>& work) {
    if (count < 2) return work(0);
    static Pool& pool = *new Pool;
    const auto job = std::make_shared<Job>(Job{&work});
    {
        const std::lock_guard lock(pool.mutex);
        for (unsigned i = 1; i < count; ++i) pool.tasks.emplace_back(job, i);
        try {
            for (; pool.threads + 1 < count; ++pool.threads) std::thread([] { pool.serve(); }).detach();
        } catch (const std::system_error&) { // no more threads: those that there are do the work
        }
    }
    pool.wanted.notify_all();
    work(0);
    std::unique_lock lock(pool.mutex);
    job->open = false;
    std::erase_if(pool.tasks, [&](const auto& task) { return task.first == job; });
    pool.left.wait(lock, [&] { return job->inside == 0; });
}

} // namespace cuda_emulator
