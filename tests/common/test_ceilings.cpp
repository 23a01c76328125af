// Ceilings: what is counted, which round counts, and what is kept, with times that the test makes up.
#include <atomic>
#include <catch2/catch_template_test_macros.hpp>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cmath>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "backends.hpp"
#include "gpulab/ceilings.hpp"
#include "gpulab/device.hpp"
#include "gpulab_testing/environment.hpp"

using gpulab::Arithmetic;
using gpulab::Backend;
using gpulab::Ceilings;
using gpulab::Device;

namespace {

/// Stands in for ms_on_threads(): runs the threads' work one after the other and gives the times of a list.
class MadeUpRounds {
public:
    explicit MadeUpRounds(std::vector<double> times) : times_(std::move(times)) {}
    double operator()(int n, const std::function<void(int)>& work) {
        for (int t = 0; t < n; ++t) work(t);
        threads = n;
        return times_.at(rounds++);
    }
    std::size_t rounds = 0;
    int threads = 0;

private:
    std::vector<double> times_;
};

Device device_of(Backend backend, int index, bool fp64 = true) {
    Device d;
    d.backend = backend;
    d.index = index;
    d.fp64 = fp64;
    return d;
}

} // namespace

TEST_CASE("the CPU's copy ceiling is twice the bytes over the best of five rounds", "[cpu]") {
    MadeUpRounds rounds({4, 3, 2, 5, 6});
    CHECK(gpulab::detail::cpu_copy_gb_per_s(std::ref(rounds), 3'000'001, 3) == 2 * 3'000'001.0 / 2e6);
    CHECK(rounds.rounds == 5);
    CHECK(rounds.threads == 3);
    MadeUpRounds first({1, 3, 2, 5, 6}), last({3, 3, 2, 5, 1});
    CHECK(gpulab::detail::cpu_copy_gb_per_s(std::ref(first), 1000, 1) == 0.002);
    CHECK(gpulab::detail::cpu_copy_gb_per_s(std::ref(last), 1000, 1) == 0.002);
}

TEST_CASE("the CPU's ceilings are those of all its threads, with arrays beyond its caches and long chains", "[cpu]") {
    using gpulab::detail::cpu_copy_bytes;
    CHECK(cpu_copy_bytes(0) == std::size_t{16} << 20); // the system does not say
    CHECK(cpu_copy_bytes(std::uint64_t{2} << 30) == std::size_t{64} << 20);
    CHECK(cpu_copy_bytes(std::uint64_t{1} << 40) == std::size_t{256} << 20);

    const gpulab::testing::Environment set("GPULAB_CPU_THREADS", "3");
    int threads = 0;
    const auto a_millisecond = [&](int n, const std::function<void(int)>&) { // without doing the work
        threads = n;
        return 1.0;
    };
    const double gb_per_s = gpulab::detail::cpu_copy_gb_per_s(a_millisecond);
    CHECK(threads == 3);
    CHECK(gb_per_s == 2e-6 * static_cast<double>(cpu_copy_bytes(gpulab::host_memory_bytes())));
    for (const Arithmetic kind : {Arithmetic::fp32, Arithmetic::fp64}) {
        threads = 0;
        const double operations = 1e6 * gpulab::detail::cpu_gflop_per_s(kind, a_millisecond);
        CHECK(threads == 3);
        CHECK(operations / 3 > 5e7); // of each thread: some milliseconds, against which its start does not count
        CHECK(operations / 3 < 1e9);
    }
}

TEST_CASE("the shares of the threads together copy every byte once", "[cpu]") {
    for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{6}, std::size_t{7}, std::size_t{1003}})
        for (const int threads : {1, 2, 3, 7, 8}) {
            std::vector<char> from(n), to(n, 'x');
            for (std::size_t i = 0; i < n; ++i) from[i] = static_cast<char>(i % 101);
            std::size_t copied = 0;
            for (int t = 0; t < threads; ++t) {
                std::vector<char> share(n, 'x');
                gpulab::detail::copy_share(from, share, t, threads);
                for (std::size_t i = 0; i < n; ++i)
                    if (share[i] != 'x') {
                        to[i] = share[i];
                        ++copied;
                    }
            }
            INFO(n << " bytes, " << threads << " threads");
            CHECK(to == from);
            CHECK(copied == n); // 'x' is 120, which is not among them
        }
}

TEMPLATE_TEST_CASE("every chain of multiply-adds takes every step", "[cpu]", float, double) {
    CHECK(gpulab::detail::cpu_chains<float> == 64);
    CHECK(gpulab::detail::cpu_chains<double> == 32);
    for (const int thread : {0, 3})
        for (const int steps : {0, 1, 2, 1000}) {
            double expected = 0;
            for (int j = 0; j < gpulab::detail::cpu_chains<TestType>; ++j) {
                double x = j + thread;
                for (int i = 0; i < steps; ++i) x = 0.999 * x + 0.001;
                expected += x;
            }
            const double sum = gpulab::detail::cpu_multiply_adds<TestType>(thread, steps);
            CHECK(std::abs(sum - expected) < (sizeof(TestType) == 4 ? 1e-4 : 1e-12) * expected);
        }
}

TEST_CASE("the CPU's arithmetic ceiling is two operations a step of a chain, over the best of three rounds", "[cpu]") {
    MadeUpRounds single({4, 2, 3}), twice({2, 4, 3});
    CHECK(gpulab::detail::cpu_gflop_per_s(Arithmetic::fp32, std::ref(single), 1000, 3) == 2.0 * 64 * 1000 * 3 / 2e6);
    CHECK(gpulab::detail::cpu_gflop_per_s(Arithmetic::fp64, std::ref(twice), 1000, 3) == 2.0 * 32 * 1000 * 3 / 2e6);
    CHECK((single.rounds == 3 && twice.rounds == 3));
    CHECK((single.threads == 3 && twice.threads == 3));
}

TEST_CASE("a round runs every thread's work at once, and its time holds the longest of them", "[cpu]") {
    std::mutex mutex;
    std::multiset<int> seen;
    std::atomic<int> arrived = 0;
    const auto begin = std::chrono::steady_clock::now();
    const double ms = gpulab::detail::ms_on_threads(4, [&](int thread) {
        ++arrived;
        while (arrived < 4) std::this_thread::yield(); // would never end if one waited for another
        if (thread == 2) std::this_thread::sleep_for(std::chrono::milliseconds(20));
        const std::lock_guard lock(mutex);
        seen.insert(thread);
    });
    const double around = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
    CHECK(seen == std::multiset<int>{0, 1, 2, 3});
    CHECK(ms >= 20); // a sleep never ends early
    CHECK(ms <= around);
}

TEST_CASE("a ceiling is measured when first asked for, on its own device, and kept under its own name") {
    std::vector<std::string> log;
    gpulab::detail::KeptCeilings kept([&](const Device& d, Arithmetic kind) {
        log.push_back((kind == Arithmetic::none ? "copy " : kind == Arithmetic::fp32 ? "fp32 " : "fp64 ") + d.id());
        return (kind == Arithmetic::none ? 100.0 : kind == Arithmetic::fp32 ? 2000.0 : 1000.0) + d.index;
    });
    const Ceilings& none = kept.of(device_of(Backend::opencl, 1), Arithmetic::none);
    CHECK((none.copy_gb_s == 101 && none.fp32_gflop_s == 0 && none.fp64_gflop_s == 0));
    CHECK(log == std::vector<std::string>{"copy opencl:1"});
    const Ceilings& single = kept.of(device_of(Backend::opencl, 1), Arithmetic::fp32);
    CHECK(&single == &none); // the same device
    CHECK((single.copy_gb_s == 101 && single.fp32_gflop_s == 2001 && single.fp64_gflop_s == 0));
    const Ceilings twice = kept.of(device_of(Backend::opencl, 1), Arithmetic::fp64);
    CHECK((twice.copy_gb_s == 101 && twice.fp32_gflop_s == 2001 && twice.fp64_gflop_s == 1001));
    for (const Arithmetic kind : {Arithmetic::none, Arithmetic::fp32, Arithmetic::fp64})
        kept.of(device_of(Backend::opencl, 1), kind);
    CHECK(log == std::vector<std::string>{"copy opencl:1", "fp32 opencl:1", "fp64 opencl:1"});

    log.clear();
    const Ceilings other = kept.of(device_of(Backend::cuda, 1, false), Arithmetic::fp64);
    CHECK((other.copy_gb_s == 101 && other.fp32_gflop_s == 0 && other.fp64_gflop_s == 0)); // it has no double precision
    const Ceilings neighbour = kept.of(device_of(Backend::cuda, 0), Arithmetic::fp64);
    CHECK((neighbour.copy_gb_s == 100 && neighbour.fp32_gflop_s == 0 && neighbour.fp64_gflop_s == 1000));
    CHECK(log == std::vector<std::string>{"copy cuda:1", "copy cuda:0", "fp64 cuda:0"});
}

TEST_CASE("the devices of a back end are measured by the functions of that back end") {
    using namespace gpulab::detail;
    CHECK(&measure_of(Backend::cpu) == measure_cpu);
    CHECK(&measure_of(Backend::opencl) == measure_opencl);
    CHECK(&measure_of(Backend::cuda) == measure_cuda);
}
