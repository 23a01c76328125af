// What on_host.hpp declares: accesses are noted, one at a time, and the threads of a block run and meet at barriers.
#include "on_host.hpp"

#include <condition_variable>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

Dim gridDim, blockDim, blockIdx;
thread_local Dim threadIdx;

namespace noted {
namespace {

constexpr long most = 20000; // accesses, of which a right kernel needs some hundred: a loop does not end
std::recursive_mutex one_at_a_time;
thread_local int thread = 0, barriers = 0;

int block() { return static_cast<int>(blockIdx.y * gridDim.x + blockIdx.x); }

// Notes an access. Where the element is, or null outside of its array.
int* noted_element(const Element& one, const char* kind) {
    static long count = 0;
    std::printf("%s %s %td %d %d %d\n", one.memory->name, kind, one.index, block(), thread, barriers);
    if (++count > most) {
        std::printf("- endless 0 %d %d %d\n", block(), thread, barriers);
        std::fflush(stdout);
        std::_Exit(3);
    }
    return one.index >= 0 && one.index < one.memory->size ? one.memory->values + one.index : nullptr;
}

struct SharedArray {
    std::vector<int> values;
    Memory memory;
};
std::map<std::string, SharedArray> shared_memory; // of the block, by name

std::condition_variable_any met;
int running = 0, waiting = 0, meetings = 0;
void go_on() {
    waiting = 0;
    ++meetings;
    met.notify_all();
}

} // namespace

Element::operator int() const {
    const std::lock_guard lock(one_at_a_time);
    const int* at = noted_element(*this, "load");
    return at ? *at : 0;
}

int Element::operator=(int value) const {
    const std::lock_guard lock(one_at_a_time);
    if (int* at = noted_element(*this, "store")) *at = value;
    return value;
}

int Element::atomic_add(int value) const {
    const std::lock_guard lock(one_at_a_time);
    int* at = noted_element(*this, "atomic");
    if (!at) return 0;
    *at += value;
    return *at - value;
}

Array shared(const char* name, std::size_t size) {
    const std::lock_guard lock(one_at_a_time);
    const auto [at, is_new] = shared_memory.try_emplace(name);
    SharedArray& array = at->second;
    if (is_new) {
        array.values.resize(size);
        array.memory = {at->first.c_str(), array.values.data(), static_cast<std::ptrdiff_t>(size)};
    }
    return {&array.memory};
}

void sync() {
    std::unique_lock lock(one_at_a_time);
    const int now = meetings;
    ++barriers;
    if (++waiting == running) go_on();
    met.wait(lock, [&] { return meetings != now; });
}

void launch(Dim grid, Dim threads, void (*kernel)(const void* arguments), const void* arguments) {
    gridDim = grid;
    blockDim = threads;
    for (unsigned b = 0; b < grid.x * grid.y; ++b) {
        blockIdx = {b % grid.x, b / grid.x, 0};
        shared_memory.clear();
        running = static_cast<int>(threads.x * threads.y);
        waiting = 0;
        std::vector<std::thread> all;
        for (unsigned t = 0; t < threads.x * threads.y; ++t)
            all.emplace_back([&, t] {
                threadIdx = {t % threads.x, t / threads.x, 0};
                thread = static_cast<int>(t);
                kernel(arguments);
                const std::lock_guard lock(one_at_a_time);
                std::printf("- end 0 %d %d %d\n", block(), thread, barriers);
                if (--running > 0 && waiting == running) go_on();
            });
        for (std::thread& one : all) one.join();
    }
}

} // namespace noted
