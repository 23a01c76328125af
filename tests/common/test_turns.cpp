// How programs that use a GPU take turns. They are played by this program, without a GPU.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <string>
#include <sys/file.h>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include "gpulab_testing/program.hpp"
#include "gpulab_testing/testing.hpp"
#include "support/turn.hpp"

namespace {

using namespace std::chrono_literals;

void touch(const std::string& path) { std::ofstream(path, std::ios::app); }

bool comes_true(const std::function<bool()>& condition) {
    for (int i = 0; i < 60'000 && !condition(); ++i) std::this_thread::sleep_for(10ms);
    return condition();
}

bool appears(const std::string& path) {
    return comes_true([&] { return std::filesystem::exists(path); });
}

/// Another program, which has a turn from `begun` to `end` and then does something else until `leave`.
class Other {
public:
    explicit Other(const std::string& turns, const std::string& test_case = "[.has-a-turn]") {
        const std::string command = "TMPDIR='" + folder_.path() + "' GPULAB_TEST_TURNS=" + turns + " '" + TEST_COMMON +
                                    "' '" + test_case + "' > /dev/null";
        std::filesystem::create_directories(folder_.path());
        ended_ = std::async(std::launch::async, [command] { return std::system(command.c_str()); });
    }
    ~Other() { touch(folder_.path("end")), touch(folder_.path("leave")); }

    bool has_begun() const { return appears(folder_.path("begun")); }
    void end_action() const { touch(folder_.path("end")); }
    bool has_ended_action() const { return appears(folder_.path("ended")); }
    int leave() {
        touch(folder_.path("leave"));
        return ended_.get();
    }

    /// Whether somebody else could have a turn now. @param how LOCK_EX for one alone, LOCK_SH for a shared one
    bool leaves_turn(int how = LOCK_EX) const {
        const std::string file = folder_.path("gpulab-test-turns-" + std::to_string(getuid()));
        const int descriptor = open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        REQUIRE(descriptor >= 0);
        const bool got = flock(descriptor, how | LOCK_NB) == 0;
        close(descriptor);
        return got;
    }

private:
    gpulab::testing::ScratchFolder folder_;
    std::future<int> ended_;
};

/// What the other program does: it takes turns, as on a GPU, ...
void prepare_gpu() {
    gpulab::Device gpu;
    gpu.backend = gpulab::Backend::cuda;
    gpulab::testing::detail::prepare_turns(gpu, true);
}

/// ... has an action from `begun` to `end`, and then does something else until `leave`.
void act() {
    const std::string folder = std::filesystem::temp_directory_path().string();
    gpulab::testing::in_turn([&] {
        touch(folder + "/begun");
        CHECK(appears(folder + "/end"));
    });
    touch(folder + "/ended");
    CHECK(appears(folder + "/leave"));
}

} // namespace

TEST_CASE("has a turn", "[.has-a-turn]") {
    prepare_gpu();
    act();
}

TEST_CASE("leaves the turns, and acts at once", "[.leaves-turns]") {
    prepare_gpu();
    gpulab::testing::in_turn([] {});
    gpulab::testing::leave_turns();
    act();
}

TEST_CASE("tests the CPU", "[.tests-the-cpu]") {
    const char* const devices = std::getenv("GPULAB_TEST_DEVICES");
    const bool for_gpu = devices && std::string(devices) == "gpu";
    const int before = getpriority(PRIO_PROCESS, 0);
    gpulab::Device cpu;
    cpu.backend = gpulab::Backend::cpu;
    gpulab::testing::detail::prepare_turns(cpu);
    CHECK(getpriority(PRIO_PROCESS, 0) == (for_gpu ? std::max(before, 10) : before));
}

TEST_CASE("A program has the GPU for itself in its turn, and passes it on when it does something else") {
    Other other("1");
    REQUIRE(other.has_begun());
    CHECK_FALSE(other.leaves_turn());
    CHECK_FALSE(other.leaves_turn(LOCK_SH));
    other.end_action();
    REQUIRE(other.has_ended_action());
    CHECK(comes_true([&] { return other.leaves_turn(); }));
    CHECK(other.leave() == 0);
}

TEST_CASE("A program that leaves the turns, or has none, does not keep others from theirs") {
    for (const auto& [turns, test_case] : {std::pair{"1", "[.leaves-turns]"}, {"0", "[.has-a-turn]"}}) {
        Other other(turns, test_case);
        REQUIRE(other.has_begun());
        CHECK(other.leaves_turn());
        other.end_action();
        CHECK(other.leave() == 0);
    }
}

TEST_CASE("A shared turn is shared with those of the same kind only, and ends with the program") {
    Other other("shared");
    REQUIRE(other.has_begun());
    CHECK_FALSE(other.leaves_turn());
    CHECK(other.leaves_turn(LOCK_SH));
    other.end_action();
    REQUIRE(other.has_ended_action());
    std::this_thread::sleep_for(200ms); // an ordinary turn ends within a millisecond
    CHECK_FALSE(other.leaves_turn());
    CHECK(other.leave() == 0);
    CHECK(other.leaves_turn());
}

TEST_CASE("Where the tests are for a GPU, those of the CPU have a low priority, and elsewhere not") {
    for (const std::string how : {"gpu", "all", "gpu nice -n 15"}) // the last: it is never raised
        CHECK(std::system(
                  ("GPULAB_TEST_DEVICES=" + how + " '" TEST_COMMON "' '[.tests-the-cpu]' > /dev/null").c_str()) == 0);
}
