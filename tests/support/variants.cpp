#include "gpulab_testing/variants.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/internal/catch_test_registry.hpp>
#include <exception>
#include <fmt/format.h>
#include <iostream>
#include <set>

#include "planted.hpp"

namespace gpulab::testing {

namespace {
/// Ends the checks of a variant; no std::exception, so that nothing takes it for a fault.
struct EnoughChecks {};
} // namespace

void Faults::check(std::string_view what, const std::function<std::string()>& check) {
    if (detail::enough_checks()) throw EnoughChecks{};
    detail::note_check();
    ++checks_;
    std::string fault;
    try {
        fault = check();
    } catch (const WrongResult& e) { // guard bands, or the variant itself
        fault = e.what();
    } catch (const std::exception& e) { // Catch2's own exceptions are of no std type and pass
        fault = std::string("it threw: ") + e.what();
    }
    if (fault.empty()) return;
    // A message of several lines stays in one piece: those below the first are indented.
    for (std::size_t at = fault.find('\n'); at != std::string::npos; at = fault.find('\n', at + 1))
        fault.insert(at + 1, "    ");
    text_ += fmt::format("  {}: {}\n", what, fault == last_ ? "the same" : fault);
    last_ = fault;
    if (detail::ends_with_first_fault()) throw EnoughChecks{};
}

namespace detail {

namespace {
/// A test case that is a function object, not the body of a macro.
class Invoker : public Catch::ITestInvoker {
public:
    explicit Invoker(std::function<void()> body) : body_(std::move(body)) {}
    void invoke() const override { body_(); }

private:
    std::function<void()> body_;
};
} // namespace

void add_test_case(const std::string& name, const std::string& tags, std::function<void()> body,
                   std::source_location where) {
    const Catch::AutoReg registered(Catch::Detail::unique_ptr<Catch::ITestInvoker>(new Invoker(std::move(body))),
                                    Catch::SourceLineInfo(where.file_name(), where.line()), "",
                                    Catch::NameAndTags{name, tags});
}

void check_on_devices(std::string_view variant, Backend backend, bool built, const Needs& needs,
                      const std::function<void(Faults&)>& check) {
    std::string unable, wrong;
    int checked = 0;
    bool enough = false;
    for (const Device& device : devices_or_skip(backend)) {
        if (!built) FAIL("this build has no function for " << variant);
        if (const std::string unmet = unmet_need(needs, device); !unmet.empty()) {
            unable = unmet;
            continue;
        }
        use(device);
        Faults faults;
        try {
            check(faults);
        } catch (const EnoughChecks&) {
            enough = true;
        }
        checked += faults.checks();
        if (!faults.empty())
            wrong += fmt::format("{} on {} ({}) is wrong\n{}", variant, device.id(), device.name, faults.text());
    }
    if (checked == 0 && !enough) skip_or_fail(unable.empty() ? "nothing was checked" : unable);
    if (!wrong.empty()) {
        std::cout << wrong << std::flush; // whole lines: Catch2 would break them, and numbers in them, at 80 columns
        FAIL(variant << " is wrong");
    }
    SUCCEED(checked << " checks");
}

std::string special_message(std::size_t wrong, std::size_t n, const std::string& where, const std::string& looks_like,
                            std::size_t first, const std::string& expected, const std::string& actual) {
    return fmt::format("{} of {} elements wrong: {}{}. First: element {}, expected {}, got {}.", wrong, n, where,
                       looks_like.empty() ? "" : "; looks like: " + looks_like, first, expected, actual);
}

} // namespace detail

void in_turn_noting_tiles(Stopwatch& watch, std::string_view of, const std::function<void()>& run) {
    std::vector<std::size_t> cuts;
    struct Listening {
        explicit Listening(std::vector<std::size_t>& to) { noted_cuts = &to; }
        ~Listening() { noted_cuts = nullptr; }
    };
    in_turn([&] {
        const Listening here(cuts);
        run();
    });
    for (const std::size_t size : cuts) watch.tile(size, of);
}

std::string contract_violation(Backend backend, bool baseline, const Stopwatch& watch,
                               const std::vector<std::string_view>& units) {
    if (!watch.had_reset()) return "it does not poison its output before every run: give the stopwatch poisoning(out)";
    if (backend == Backend::cpu) return "";
    if (!baseline && watch.tiles().empty())
        return "it names no tile: cut the work with grid_size(), or call watch.tile() with the size of a part";
    for (const Tile& tile : watch.tiles())
        if (std::ranges::find(units, tile.of) == units.end())
            return fmt::format("it names a tile of {} \"{}\"; the checks know only: {}", tile.size, tile.of,
                               fmt::join(units, ", "));
    return "";
}

std::vector<std::size_t> sizes_next_to(const std::vector<Tile>& tiles, std::size_t largest, std::string_view of) {
    std::set<std::size_t> sizes;
    for (const Tile& tile : tiles) {
        if (tile.of != of) continue;
        for (const std::size_t m : {1, 2, 3, 33})
            if (m == 1 || m * tile.size < largest)
                for (const std::size_t size : {m * tile.size - 1, m * tile.size, m * tile.size + 1}) sizes.insert(size);
    }
    return {sizes.begin(), sizes.end()};
}

std::size_t largest_near_tile(Backend backend) {
    const std::vector<Device>& found = devices(backend);
    const bool gpu = backend != Backend::cpu && !found.empty() && !found.front().is_cpu;
    return std::size_t{1} << (gpu ? 25 : 21);
}

} // namespace gpulab::testing
