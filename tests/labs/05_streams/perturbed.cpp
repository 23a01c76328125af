#include "perturbed.hpp"

#include <mutex>

#include "checks.hpp"

namespace streams::testing {

namespace perturbed {

namespace {
std::mutex mutex; // several threads may issue commands
bool noting = false;
std::size_t late_one = 0, period = 0; // period 0: none is late
int late_word = -1;
std::vector<Kind> noted;
} // namespace

bool notes(Kind kind) {
    const std::lock_guard lock(mutex);
    if (!noting) return false;
    noted.push_back(kind);
    return period > 0 && (noted.size() - 1) % period == late_one;
}

int word() { return late_word; }

void start(std::size_t which, std::size_t each, int word) {
    const std::lock_guard lock(mutex);
    noted.clear();
    late_one = which;
    period = each;
    late_word = word;
    noting = true;
}

std::vector<Kind> stop() {
#if defined(GPULAB_WITH_OPENCL)
    join_opencl();
#endif
    const std::lock_guard lock(mutex);
    noting = false;
    return noted;
}

} // namespace perturbed

std::string late_fault(Run* run, gpulab::Backend backend) {
    const Problem p = problem_of({61, 13, 3, 4, 0, 1});
    const auto commands = [&](int passes) {
        Output out{std::vector<unsigned char>(p.bytes()), {}};
        Stopwatch watch(0, passes);
        perturbed::start();
        gpulab::testing::in_turn([&] { run(p, out, watch); });
        return perturbed::stop();
    };
    const std::vector<perturbed::Kind> first = commands(1);
    const std::size_t each = commands(2).size() - first.size(); // both contain the passes that are not timed
    if (each == 0 || first.size() % each != 0)
        return fmt::format("{} commands in all, {} in a pass", first.size(), each);
    for (std::size_t which = 0; which < each; ++which) {
        const bool in_words = backend == gpulab::Backend::cuda && first[which] == perturbed::Kind::copy_up;
        for (int word = -1; word < (in_words ? 4 : 0); ++word) {
            perturbed::start(which, each, word);
            const std::string fault = fault_of(run, p);
            const bool all = perturbed::stop().size() % each == 0;
            if (!fault.empty())
                return fmt::format("with command {} of {} late{}: {}", which, each,
                                   word < 0 ? "" : fmt::format(" in word {} of four", word), fault);
            if (!all) return "the passes differ in their commands";
        }
    }
    return "";
}

} // namespace streams::testing
