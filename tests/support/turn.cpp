#include "turn.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <sys/file.h>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#if defined(GPULAB_WITH_CUDA)
#include <cuda_runtime_api.h>
#endif
#if defined(GPULAB_WITH_OPENCL)
#include "gpulab/opencl/context.hpp"
#endif

#include "gpulab_testing/testing.hpp"

namespace gpulab::testing {

namespace {

using std::chrono::steady_clock;
using namespace std::chrono_literals;

/// A file that the process whose turn it is has locked. The lock ends with the process.
///
/// A turn does not end with its action: passing the GPU on takes longer than a small kernel. A second thread ends it
/// when no further action has begun for a while. A shared turn is one of several at the same time, and does not end
/// between actions, but after two minutes, so that the others are not kept waiting; then the process takes another.
class Turns {
public:
    Turns() {
        const char* const requested = std::getenv("GPULAB_TEST_TURNS");
        if (requested && std::string_view(requested) == "0") return;
        if (requested && std::string_view(requested) == "shared") {
            lock_ = LOCK_SH;
            longest_turn_ = steady_clock::duration::max();
            longest_pause_ = longest_action_ = 120s;
        }
        std::error_code none;
        const auto file =
            std::filesystem::temp_directory_path(none) / ("gpulab-test-turns-" + std::to_string(getuid()));
        if (!none) file_ = open(file.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (file_ >= 0) std::thread([this] { watch(); }).detach();
    }

    void begin() {
        std::unique_lock lock(mutex_);
        if (depth_++ > 0 || !on_gpu_ || file_ < 0) return;
        if (mine_ && steady_clock::now() - begun_ > longest_turn_) {
            pass_on();
            std::this_thread::sleep_for(50us); // so that another has it
        }
        take();
    }

    void end() {
        const std::lock_guard lock(mutex_);
        --depth_;
        ended_ = steady_clock::now();
    }

    /// Does something that does not need the GPU, in the middle of an action.
    void elsewhere(const std::function<void()>& work) {
        if (std::unique_lock lock(mutex_); mine_) pass_on();
        struct Back {
            Turns& turns;
            ~Back() {
                const std::lock_guard lock(turns.mutex_);
                if (turns.depth_ > 0 && turns.on_gpu_ && turns.file_ >= 0) turns.take();
            }
        } const back{*this};
        work();
    }

    bool on_gpu() {
        const std::lock_guard lock(mutex_);
        return on_gpu_;
    }

    /// Whether the actions that follow need turns. If not, a turn ends at once: they could follow each other without a
    /// pause in which it would end.
    void on_gpu(bool value) {
        const std::lock_guard lock(mutex_);
        on_gpu_ = value;
        if (!value && mine_) pass_on();
    }

private:
    void take() {
        if (mine_) return;
        while (flock(file_, lock_) != 0) {
            if (errno == EINTR) continue;
            file_ = -1; // a file system without locks: no turns
            return;
        }
        mine_ = true;
        begun_ = steady_clock::now();
        waiting_.notify_one();
    }

    void pass_on() {
        mine_ = false;
        flock(file_, LOCK_UN);
    }

    /// Passes the GPU on when the process does something else, or hangs.
    void watch() {
        std::unique_lock lock(mutex_);
        for (;;) {
            waiting_.wait(lock, [this] { return mine_; });
            const auto now = steady_clock::now();
            if (now >= (depth_ == 0 ? ended_ + longest_pause_ : begun_ + longest_action_)) {
                pass_on();
                continue;
            }
            const auto next = depth_ == 0 ? ended_ + longest_pause_ // an action may end sooner than it must
                                          : std::min(now + longest_pause_, begun_ + longest_action_);
            lock.unlock();
            std::this_thread::sleep_until(next);
            lock.lock();
        }
    }

    steady_clock::duration longest_turn_ = 50ms;   // while actions follow at once; one action may take longer
    steady_clock::duration longest_pause_ = 100us; // between two actions of one turn
    steady_clock::duration longest_action_ = 60s;  // then it hangs, and the others go on
    int lock_ = LOCK_EX;
    int file_ = -1;
    int depth_ = 0;
    bool on_gpu_ = false;
    bool mine_ = false;
    steady_clock::time_point begun_, ended_;
    std::mutex mutex_;
    std::condition_variable waiting_;
};

Turns& turns() {
    static Turns& one = *new Turns; // its thread runs until the process ends
    return one;
}

Backend prepared = Backend::cpu;

/// Allocates a little memory of each kind that a back end has, for as long as the process runs.
void keep_memory(Backend backend) {
    static bool kept[3] = {};
    if (std::exchange(kept[static_cast<int>(backend)], true)) return;
#if defined(GPULAB_WITH_CUDA)
    if (backend == Backend::cuda) {
        void *on_device = nullptr, *on_host = nullptr;
        if (cudaMalloc(&on_device, 512) != cudaSuccess || cudaHostAlloc(&on_host, 512, 0) != cudaSuccess)
            cudaGetLastError(); // it only costs time
    }
#endif
#if defined(GPULAB_WITH_OPENCL)
    if (backend == Backend::opencl) {
        const cl::CommandQueue& queue = opencl().queue();
        static const cl::Buffer& buffer = *new cl::Buffer(opencl().context(), CL_MEM_READ_WRITE, 512);
        queue.enqueueFillBuffer(buffer, '\0', 0, 512);
        queue.finish();
    }
#endif
}

} // namespace

void in_turn(const std::function<void()>& action) {
    if (turns().on_gpu()) keep_memory(prepared); // before the turn, because the driver makes a context first
    struct Turn {
        Turn() { turns().begin(); }
        ~Turn() { turns().end(); }
    } const turn;
    action();
}

void leave_turns() { turns().on_gpu(false); }

void detail::prepare_turns(const Device& device, bool played) {
    prepared = played ? Backend::cpu : device.backend;
    turns().on_gpu(device.backend != Backend::cpu && !device.is_cpu);
    // Where the tests are for a GPU, those of the CPU leave the cores to programs that have the GPU or wait for it.
    const char* const requested = std::getenv("GPULAB_TEST_DEVICES");
    constexpr int low = 10; // a program may have a lower one already
    if (device.backend == Backend::cpu && requested && std::string_view(requested) == "gpu" &&
        getpriority(PRIO_PROCESS, 0) < low)
        setpriority(PRIO_PROCESS, 0, low);
#if defined(GPULAB_WITH_OPENCL)
    // A compiler works on the CPU: 0.1 to 0.5 s for each new kernel, and thousands of small kernels run in that time.
    gpulab::detail::run_compiler = [](const std::function<void()>& compile) { turns().elsewhere(compile); };
#endif
}

} // namespace gpulab::testing
