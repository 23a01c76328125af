#include "gpulab_testing/pairs.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace gpulab::testing {

namespace {
/// Option i with its value v, and option j > i with its value w.
using Pair = std::array<std::size_t, 4>;

Pair pair_of(std::size_t i, std::size_t v, std::size_t j, std::size_t w) {
    return i < j ? Pair{i, v, j, w} : Pair{j, w, i, v};
}
} // namespace

std::vector<std::vector<std::size_t>> all_pairs(const std::vector<std::size_t>& values) {
    std::set<Pair> missing;
    for (std::size_t i = 0; i < values.size(); ++i)
        for (std::size_t j = i + 1; j < values.size(); ++j)
            for (std::size_t v = 0; v < values[i]; ++v)
                for (std::size_t w = 0; w < values[j]; ++w) missing.insert({i, v, j, w});

    std::vector<std::vector<std::size_t>> rows;
    while (!missing.empty()) {
        // A row begins with a missing pair. Each further option takes the value that adds the most missing pairs.
        const Pair first = *missing.begin();
        std::vector<std::size_t> chosen = {first[0], first[2]}, row(values.size());
        row[first[0]] = first[1];
        row[first[2]] = first[3];
        for (std::size_t k = 0; k < values.size(); ++k) {
            if (k == first[0] || k == first[2]) continue;
            std::ptrdiff_t most = -1;
            for (std::size_t n = 0; n < values[k]; ++n) {
                const std::size_t v = (n + rows.size()) % values[k]; // among equals another one in each row
                const auto added = std::ranges::count_if(
                    chosen, [&](std::size_t other) { return missing.contains(pair_of(k, v, other, row[other])); });
                if (added > most) {
                    most = added;
                    row[k] = v;
                }
            }
            chosen.push_back(k);
        }
        for (std::size_t i = 0; i < values.size(); ++i)
            for (std::size_t j = i + 1; j < values.size(); ++j) missing.erase({i, row[i], j, row[j]});
        rows.push_back(row);
    }
    return rows;
}

} // namespace gpulab::testing
