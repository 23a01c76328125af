// The limits of a container or of a job in a cluster, which Linux keeps in files of its control group.
#include <filesystem>
#include <fstream>

#include "backends.hpp"

namespace gpulab::detail {

namespace {

namespace fs = std::filesystem;

/// The number that a file begins with; 0 without one ("max"). @param divisor the next number
double number_in(const fs::path& file, double* divisor = nullptr) {
    std::ifstream numbers(file);
    double first = 0;
    if (numbers >> first && divisor) numbers >> *divisor;
    return first;
}

template <class T> void lower(T& limit, double to) {
    if (to > 0 && (limit == 0 || to < static_cast<double>(limit))) limit = static_cast<T>(to);
}

} // namespace

Share share_of_machine(const std::string& root) {
    Share share;
    std::ifstream groups(root + "/proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) { // "4:cpu,cpuacct:/job" or, version 2, "0::/job"
        const std::size_t first = line.find(':'), second = line.find(':', first + 1);
        if (second == std::string::npos) continue;
        const std::string kinds = "," + line.substr(first + 1, second - first - 1) + ",";
        const fs::path all = root + "/sys/fs/cgroup";
        for (fs::path group = fs::path(line.substr(second + 1)).relative_path();; group = group.parent_path()) {
            double period = 0;
            if (kinds == ",,") {
                if (const double quota = number_in(all / group / "cpu.max", &period); period > 0)
                    lower(share.cores, quota / period);
                lower(share.memory_bytes, number_in(all / group / "memory.max"));
            } else if (kinds.find(",cpu,") != std::string::npos) {
                const fs::path cpu = all / "cpu" / group;
                if ((period = number_in(cpu / "cpu.cfs_period_us")) > 0)
                    lower(share.cores, number_in(cpu / "cpu.cfs_quota_us") / period);
            } else if (kinds.find(",memory,") != std::string::npos) {
                lower(share.memory_bytes, number_in(all / "memory" / group / "memory.limit_in_bytes"));
            }
            if (group.empty()) break; // those around it limit it, too
        }
    }
    return share;
}

} // namespace gpulab::detail
