// Counts the kernels of a CUDA program from the inside, for the judge: a library that is preloaded into a worker.
//
// It asks CUPTI for a record of each kernel that ran on a device, whatever launched it: the runtime, the driver, a
// graph or a library. The judge holds the other end of a socket. For each 16 bytes that it sends, a thread sends these
// bytes back, and then the number of kernels since the last time. Only who has read the question can answer it.
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cupti.h>
#include <fcntl.h>
#include <thread>
#include <unistd.h>

namespace {

struct Answer {
    std::array<char, 16> question; // as it was sent
    std::uint64_t trouble;         // a CUptiResult; 0 when kernels are recorded
    std::uint64_t kernels;         // since the last answer
};

std::atomic<std::uint64_t> kernels{0};

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* max_records) {
    constexpr std::size_t size = std::size_t{1} << 20;
    *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, size)); // CUPTI demands eight bytes
    *bytes = *buffer ? size : 0;
    *max_records = 0; // as many as fit
}

void CUPTIAPI take_buffer(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t filled) {
    for (CUpti_Activity* record = nullptr; cuptiActivityGetNextRecord(buffer, filled, &record) == CUPTI_SUCCESS;)
        if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || record->kind == CUPTI_ACTIVITY_KIND_KERNEL)
            ++kernels;
    std::free(buffer);
}

bool whole(ssize_t (*move)(int, void*, std::size_t), int file, void* bytes, std::size_t count) {
    auto* at = static_cast<char*>(bytes);
    while (count > 0) {
        const ssize_t moved = move(file, at, count);
        if (moved <= 0) return false;
        at += moved;
        count -= static_cast<std::size_t>(moved);
    }
    return true;
}

ssize_t put(int file, void* bytes, std::size_t count) { return ::write(file, bytes, count); }

void serve(int judge, CUptiResult trouble) {
    Answer answer{};
    answer.trouble = trouble;
    while (whole(::read, judge, answer.question.data(), answer.question.size())) {
        // The worker has answered its case, so its kernels have ended, and their records are complete.
        if (trouble == CUPTI_SUCCESS) cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
        answer.kernels = kernels.exchange(0);
        if (!whole(put, judge, &answer, sizeof answer)) return;
    }
}

// Runs before the constructors of the program, and so before any line of a student's.
__attribute__((constructor)) void begin() {
    const char* const number = std::getenv("GPULAB_LAUNCHES");
    if (!number) return;
    const int judge = std::atoi(number);
    ::unsetenv("GPULAB_LAUNCHES");
    if (::fcntl(judge, F_SETFD, FD_CLOEXEC) != 0) return; // it is not open
    CUptiResult trouble = cuptiActivityRegisterCallbacks(give_buffer, take_buffer);
    if (trouble == CUPTI_SUCCESS) trouble = cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    std::thread(serve, judge, trouble).detach();
}

} // namespace
