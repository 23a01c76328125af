// Threads that wait for each other, and what happens where the system starts no more of them.
#include <atomic>
#include <barrier>
#include <catch2/catch_test_macros.hpp>
#include <vector>

#include "gpulab/error.hpp"
#include "gpulab/parallel.hpp"
#include "gpulab/threads.hpp"
#include "gpulab_testing/capture.hpp"

#include <sys/resource.h>
#include <unistd.h>

TEST_CASE("all threads of a team work at the same time, each with its own number") {
    for (const int threads : {1, 2, 5}) {
        std::vector<int> called(static_cast<std::size_t>(threads));
        std::atomic<int> seen = 0;
        std::barrier all(threads);
        gpulab::in_team(threads, [&](int thread) {
            ++called[static_cast<std::size_t>(thread)];
            all.arrive_and_wait(); // would never end if one began after another's end
            seen += called.back();
        });
        CHECK(called == std::vector<int>(static_cast<std::size_t>(threads), 1));
        CHECK(seen == threads);
    }
}

TEST_CASE("a thread of a team that throws keeps no other one waiting, and the caller gets what it threw") {
    for (const int bad : {0, 1, 2}) {
        std::barrier all(3);
        int rounds[3] = {};
        CHECK_THROWS_AS(gpulab::in_team(3, all,
                                        [&](int thread) {
                                            for (; rounds[thread] < 5; ++rounds[thread]) {
                                                if (thread == bad && rounds[thread] == 2) throw gpulab::Error("no");
                                                all.arrive_and_wait();
                                            }
                                        }),
                        gpulab::Error);
        for (const int thread : {0, 1, 2}) CHECK(rounds[thread] == (thread == bad ? 2 : 5));
    }
}

TEST_CASE("where no thread can be started, parts are done one after the other, and a team is an error and no wait") {
    const auto code = [] {
        ::alarm(600); // ends what would wait for ever
        const rlimit none{0, 0};
        if (::setrlimit(RLIMIT_NPROC, &none) != 0) return 3;
        int called = 0;
        gpulab::for_parts(4, [&](unsigned part) { called += 1 << part; });
        if (called != 15) return 2;
        std::barrier all(4);
        try {
            gpulab::in_team(4, [&](int) {
                ++called;
                all.arrive_and_wait();
            });
        } catch (const gpulab::Unsupported&) {
            return called == 15 ? 0 : 4;
        }
        return 1;
    };
    CHECK(gpulab::testing::in_child(code, true) == 0);
}
