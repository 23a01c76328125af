// A host thread for each OpenCL device. The rungs use it with GPUs only; here it runs on any device. In PoCL 3.1 two
// threads that begin kernels at the same time can trip an assertion, but not where PoCL itself has one thread, as here.
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include "../../../labs/09_cg/devices/host_copies.hpp"
#include "gpulab_testing/program.hpp"
#include "systems.hpp"

using namespace cg;
using namespace cg::testing;

TEST_CASE("host threads do one round after the other, each thread for its device") {
    HostThreads threads(3);
    std::vector<int> rounds(3);
    std::vector<std::thread::id> who(3);
    for (int round = 1; round <= 2000; ++round) {
        threads.on_all([&](std::size_t i) { ++rounds[i], who[i] = std::this_thread::get_id(); });
        REQUIRE(rounds == std::vector<int>(3, round));
    }
    CHECK(who[0] == std::this_thread::get_id());
    CHECK(who[1] != who[0]);
    CHECK(who[1] != who[2]);
    std::this_thread::sleep_for(std::chrono::milliseconds(200)); // they are asleep
    threads.on_all([&](std::size_t i) { ++rounds[i]; });
    CHECK(rounds == std::vector<int>(3, 2001));
}

TEST_CASE("an exception in a host thread reaches the caller, once") {
    HostThreads threads(4);
    for (const std::size_t bad : {0u, 1u, 3u}) {
        CHECK_THROWS_AS(threads.on_all([&](std::size_t i) {
            if (i == bad || i == 2) throw std::runtime_error("no");
        }),
                        std::runtime_error);
        CHECK_NOTHROW(threads.on_all([](std::size_t) {}));
    }
    CHECK_NOTHROW(HostThreads(1).on_all([](std::size_t) {}));
}

TEST_CASE("a host thread for each OpenCL device changes no result", "[opencl]") {
    using T = float;
    for (const gpulab::Device& device : gpulab::testing::devices_or_skip(gpulab::Backend::opencl)) {
        INFO(device.name);
        const auto contexts = gpulab::opencl_parts(device, 3);
        for (const char* const matrix : {"laplace2d:40x30", "springs:9x9"}) {
            const auto c = generated<T>(matrix, settings(1e-4, 500, true), true);
            const auto parts = make_parts(c.problem.matrix, split_rows(c.problem.matrix, {1, 1, 1}));
            const auto solve = [&](bool threads) {
                HostCopies<T> devices(c.problem, contexts, parts);
                if (threads) devices.one_thread_per_device();
                devices.reset();
                cg::solve(devices, [](std::size_t) {});
                Output<T> out = devices.history_and_end();
                out.x.resize(c.problem.n());
                for (const auto& part : devices.devices())
                    part->solution(std::span<T>(out.x).subspan(part->part().first, part->rows()));
                return out;
            };
            gpulab::testing::in_turn([&] {
                const Output<T> one = solve(false);
                REQUIRE(compare(c.problem, make_reference(c.problem), one).passed);
                for (int run = 0; run < 5; ++run) {
                    const Output<T> several = solve(true);
                    CHECK(same_bits(several.history, one.history));
                    CHECK(several.x == one.x);
                }
            });
        }
    }
}
