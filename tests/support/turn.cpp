#include "turn.hpp"

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <string_view>
#include <sys/file.h>
#include <thread>
#include <unistd.h>
#if defined(GPULAB_WITH_CUDA)
#include <cuda_runtime_api.h>
#endif

#include "gpulab_testing/testing.hpp"

namespace gpulab::testing {

namespace {

/// A file that the process that has the GPU locks. The lock ends with the process.
class Turns {
public:
    Turns() {
        const char* const wish = std::getenv("GPULAB_TEST_TURNS");
        if (wish && std::string_view(wish) == "0") return;
        std::error_code none;
        const auto file =
            std::filesystem::temp_directory_path(none) / ("gpulab-test-turns-" + std::to_string(getuid()));
        if (!none) file_ = open(file.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
    }

    void begin() {
        if (depth_++ > 0 || !on_gpu || file_ < 0) return;
        using std::chrono::steady_clock;
        const auto end = steady_clock::now() + std::chrono::seconds(20);
        while (flock(file_, LOCK_EX | LOCK_NB) != 0) {
            if ((errno != EWOULDBLOCK && errno != EINTR) || steady_clock::now() > end) {
                close(file_);
                file_ = -1;
                return;
            }
            std::this_thread::sleep_for(std::chrono::microseconds(50));
        }
    }
    void end() {
        if (--depth_ == 0 && on_gpu && file_ >= 0) flock(file_, LOCK_UN);
    }

    bool on_gpu = false;

private:
    int file_ = -1;
    int depth_ = 0;
};

Turns& turns() {
    static Turns one;
    return one;
}

} // namespace

void in_turn(const std::function<void()>& action) {
    struct Turn {
        Turn() { turns().begin(); }
        ~Turn() { turns().end(); }
    };
    const Turn turn;
    action();
}

void detail::prepare_turns(const Device& device) {
    turns().on_gpu = device.backend != Backend::cpu && !device.is_cpu;
#if defined(GPULAB_WITH_CUDA)
    static bool kept = false;
    if (device.backend == Backend::cuda && !kept) {
        kept = true; // until the process ends
        void *on_device = nullptr, *on_host = nullptr;
        if (cudaMalloc(&on_device, 512) != cudaSuccess || cudaHostAlloc(&on_host, 512, 0) != cudaSuccess)
            cudaGetLastError(); // it only costs time
    }
#endif
}

} // namespace gpulab::testing
