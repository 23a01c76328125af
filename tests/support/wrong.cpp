#include "gpulab_testing/wrong.hpp"

#include <catch2/catch_test_macros.hpp>

namespace gpulab::testing::detail {

void judge_on_devices(Backend backend, const WrongCase& wanted, const std::function<std::string()>& fault) {
    std::string unable;
    int judged = 0;
    for (const Device& device : devices_or_skip(backend)) {
        if (const std::string unmet = unmet_need(wanted.needs, device); !unmet.empty()) {
            unable = unmet;
            continue;
        }
        use(device);
        ++judged;
        std::string found;
        INFO((wanted.mistake.empty() ? "a right one" : wanted.mistake) << ", on " << device.name);
        REQUIRE_NOTHROW(found = fault()); // an exception other than the checks' own is no rejection
        INFO("the checks found: " << found);
        if (!wanted.must_fail) {
            CHECK(found.empty());
        } else if (!device.is_cpu || wanted.forgiven != Forgiven::by_cpus) {
            CHECK_FALSE(found.empty());
            if (!wanted.found_by.empty()) CHECK(found.starts_with(wanted.found_by));
        }
    }
    if (judged == 0) skip_or_fail(unable);
}

} // namespace gpulab::testing::detail
