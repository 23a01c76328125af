#include "machine/block.hpp"
#include "machine/helpers.hpp"
#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <thread>

namespace cuda_emulator {

std::uint64_t Launch::default_instruction_limit() {
    const char* const given = std::getenv("CUDA_EMULATOR_INSTRUCTIONS");
    const std::uint64_t limit = given ? std::strtoull(given, nullptr, 10) : 0;
    return limit ? limit : std::uint64_t{1} << 26;
}

Fault::Fault(Kind kind, const std::string& text, const std::string& kernel, const Instruction& instruction)
    : std::runtime_error(text), kind(kind), kernel(kernel), instruction(&instruction), text(text) {}

const char* Fault::what() const noexcept {
    if (whole_.empty()) {
        const auto at = [](const Dim3& d) {
            return "(" + std::to_string(d.x) + ", " + std::to_string(d.y) + ", " + std::to_string(d.z) + ")";
        };
        const Location& place = instruction->detail->location.outermost();
        whole_ = (place.file ? *place.file + ":" + std::to_string(place.line) + ": " : "") + text + " (kernel " +
                 kernel + ", block " + at(block) + ", thread " + at(thread) + ", " + instruction->detail->text + ")";
    }
    return whole_.c_str();
}

namespace {

/// The order in which blocks begin: as they are numbered, or drawn.
class BlockOrder {
public:
    BlockOrder(std::uint64_t count, std::uint64_t seed) : count_(count) {
        if (!seed || count < 2) return;
        std::minstd_rand random(static_cast<unsigned>(seed % 2147483646 + 1));
        shift_ = random() % count;
        do step_ = (std::uint64_t{random()} << 16 ^ random()) % count;
        while (std::gcd(step_, count) != 1);
    }
    std::uint64_t operator()(std::uint64_t i) const {
        return static_cast<std::uint64_t>((static_cast<unsigned __int128>(i) * step_ + shift_) % count_);
    }

private:
    std::uint64_t count_, step_ = 1, shift_ = 0;
};

/// One host thread: some blocks under way, which take turns; others that have not begun.
class Worker {
public:
    Worker(Grid& grid, const BlockOrder& order, std::atomic<std::uint64_t>& next, std::uint64_t units, unsigned number,
           unsigned workers)
        : grid_(grid), order_(order), next_(next), units_(units), stuck_at_(grid.stuck_at[number]),
          random_(static_cast<unsigned>((grid.launch.seed + 1) * 7919 + number)) {
        stuck_at_ = 0;
        const std::uint64_t size = grid.launch.cluster.count();
        limit_ = std::max<std::uint64_t>(1, grid.launch.resident_blocks / size / workers);
        if (grid.launch.cooperative) { // all at once, and each has its worker
            limit_ = units;
            for (std::uint64_t unit = number; unit < units; unit += workers) begin(order(unit));
        } else if (grid.launch.seed) // more at once, so that blocks mix
            for (int i = 0; i < 4 && begin_next();) ++i;
    }

    ~Worker() { stuck_at_ = ~std::uint64_t{0}; }

    void work() {
        std::uint64_t seen = 0;
        unsigned in_vain = 0, idle = 0; // rounds without any progress anywhere; rounds without any here
        while (!grid_.failed.load(std::memory_order_relaxed)) {
            if (resident_.empty() && !begin_next()) return;
            bool ran = false;
            if (grid_.launch.seed) std::shuffle(resident_.begin(), resident_.end(), random_);
            for (auto& cluster : resident_) ran |= take_turn(*cluster);
            std::erase_if(resident_, [&](auto& cluster) {
                if (left_of(*cluster)) return false;
                spare_.push_back(std::move(cluster));
                return true;
            });
            // Otherwise all wait: for a block that has not begun, for another host thread's blocks, or for the host.
            if (ran || (resident_.size() < limit_ && begin_next())) {
                in_vain = idle = 0;
                stuck_at_ = 0;
                continue;
            }
            const std::uint64_t now = grid_.progress;
            in_vain = now == seen && !grid_.waits_for_host ? in_vain + 1 : 0;
            seen = now;
            if (in_vain > patience) {
                stuck_at_ = now + 1;
                if (all_stuck(now)) resident_.front()->blocks.front()->deadlock();
            }
            if (++idle > 4) std::this_thread::yield();
            if (in_vain > 100) std::this_thread::sleep_for(std::chrono::microseconds(500));
            else if (idle > 2000) std::this_thread::sleep_for(std::chrono::microseconds(50));
        }
    }

private:
    // Rounds, most of them with a sleep: a second for the host to launch what the blocks wait for.
    static constexpr unsigned patience = 2100;

    // Every host thread has polled in vain since the last progress.
    bool all_stuck(std::uint64_t progress) const {
        return std::ranges::all_of(grid_.stuck_at,
                                   [&](const auto& at) { return at == ~std::uint64_t{0} || at == progress + 1; });
    }

    static bool left_of(const Cluster& cluster) {
        return std::ranges::any_of(cluster.blocks, [](const auto& block) { return block->exited < block->threads; });
    }

    // True if anything but polling happened.
    bool take_turn(Cluster& cluster) {
        bool ran = false, waits = true;
        for (auto& block : cluster.blocks) {
            if (block->exited == block->threads) continue;
            const Block::Slice slice = block->run(grid_.launch.seed ? &random_ : nullptr);
            ran |= slice == Block::Slice::ended || slice == Block::Slice::ran;
            waits &= slice == Block::Slice::waits;
        }
        return ran;
    }

    bool begin_next() {
        const std::uint64_t unit = grid_.launch.cooperative ? units_ : next_.fetch_add(1);
        if (unit >= units_) return false;
        begin(order_(unit));
        return true;
    }

    void begin(std::uint64_t unit) {
        const Dim3 &size = grid_.launch.cluster, &all = grid_.launch.grid;
        std::unique_ptr<Cluster> cluster;
        if (spare_.empty()) {
            cluster = std::make_unique<Cluster>();
            for (std::uint64_t i = 0; i < size.count(); ++i) cluster->blocks.push_back(std::make_unique<Block>(grid_));
        } else {
            cluster = std::move(spare_.back());
            spare_.pop_back();
        }
        cluster->copies.clear();
        const std::uint64_t wide = all.x / size.x, high = all.y / size.y;
        const std::uint64_t x0 = unit % wide * size.x, y0 = unit / wide % high * size.y,
                            z0 = unit / wide / high * size.z;
        for (std::uint64_t i = 0; i < size.count(); ++i) {
            const std::uint64_t x = x0 + i % size.x, y = y0 + i / size.x % size.y, z = z0 + i / size.x / size.y;
            cluster->blocks[i]->cluster_rank = static_cast<unsigned>(i);
            cluster->blocks[i]->begin((z * all.y + y) * all.x + x, cluster.get());
        }
        for (auto& block : cluster->blocks) block->started();
        resident_.push_back(std::move(cluster));
    }

    Grid& grid_;
    const BlockOrder& order_;
    std::atomic<std::uint64_t>& next_;
    std::uint64_t units_, limit_;
    std::atomic<std::uint64_t>& stuck_at_;
    std::minstd_rand random_;
    std::vector<std::unique_ptr<Cluster>> resident_, spare_;
};

void check(const Launch& launch) {
    const Kernel& kernel = *launch.kernel;
    const auto wrong = [&](const std::string& text) {
        throw Fault(Fault::Kind::launch_bounds, text, kernel.name, kernel.instructions[kernel.entry]);
    };
    if (!launch.grid.count() || !launch.block.count()) wrong("an empty grid or block");
    if (launch.block.count() > 1024) wrong("a block of " + std::to_string(launch.block.count()) + " threads");
    if (launch.arguments.size() < kernel.argument_bytes) wrong("too few arguments");
    if (launch.grid.x % launch.cluster.x || launch.grid.y % launch.cluster.y || launch.grid.z % launch.cluster.z)
        wrong("a grid that is no multiple of its clusters");
    const std::uint64_t most = std::uint64_t{kernel.maxntid[0]} * kernel.maxntid[1] * kernel.maxntid[2];
    if (most && launch.block.count() > most) wrong("a block larger than the kernel's __launch_bounds__");
}

} // namespace

LaunchResult run(const Launch& launch, Memory& memory, Observer* observer) {
    check(launch);
    Grid grid{launch, memory, observer};
    // Arguments, and the two words that cooperative groups take for a grid's workspace: its size and its barrier.
    struct Place {
        Memory& memory;
        std::byte* at;
        Place(Memory& arena, std::size_t bytes, MemoryKind kind, const char* name)
            : memory(arena), at(static_cast<std::byte*>(arena.allocate(bytes, kind, name))) {
            if (!at) throw std::bad_alloc();
            memory.mark_written(reinterpret_cast<std::uintptr_t>(at), bytes);
        }
        ~Place() { memory.free(at); }
    };
    const Place arguments(memory, launch.arguments.size(), MemoryKind::constant, "arguments"),
        workspace(memory, 8, MemoryKind::device, "workspace");
    std::memcpy(arguments.at, launch.arguments.data(), launch.arguments.size());
    grid.arguments = arguments.at;
    const std::uint32_t words[2] = {8, 0};
    std::memcpy(workspace.at, words, 8);
    if (launch.cooperative) grid.workspace = reinterpret_cast<std::uintptr_t>(workspace.at);

    if (observer) observer->launch_begins(launch, memory);
    const std::uint64_t units = launch.grid.count() / launch.cluster.count();
    const BlockOrder order(units, launch.seed);
    std::atomic<std::uint64_t> next{0};
    const unsigned host = launch.host_threads ? launch.host_threads : std::max(1u, std::thread::hardware_concurrency());
    const auto workers = static_cast<unsigned>(std::min<std::uint64_t>(host, units));
    // In a cooperative launch each host thread has blocks, also one that has not begun.
    grid.stuck_at = std::vector<std::atomic<std::uint64_t>>(workers);
    for (auto& at : grid.stuck_at) at = launch.cooperative ? 0 : ~std::uint64_t{0};
    std::exception_ptr failure;
    std::mutex mutex;
    const auto work = [&](unsigned number) {
        try {
            Worker(grid, order, next, units, number, workers).work();
        } catch (...) {
            const std::lock_guard lock(mutex);
            if (!failure) failure = std::current_exception();
            grid.failed = true;
        }
    };
    if (launch.cooperative) { // every worker has blocks of its own, so none may come late
        std::vector<std::thread> threads;
        try {
            for (unsigned i = 1; i < workers; ++i) threads.emplace_back(work, i);
            work(0);
        } catch (const std::system_error&) { // no more threads: those that have begun give up
            const std::lock_guard lock(mutex);
            failure = std::current_exception();
            grid.failed = true;
        }
        for (std::thread& thread : threads) thread.join();
    } else run_with_helpers(workers, work);
    if (observer) observer->launch_ends();
    if (failure) std::rethrow_exception(failure);
    return {grid.instructions};
}

} // namespace cuda_emulator
