// A file of its own, because the reader of files needs nothing else of lu.cpp.
#include <cmath>

#include "gpulab/raise.hpp"
#include "lu.hpp"

namespace lu {

double norm(const std::vector<double>& matrix, std::size_t n) {
    double largest = 0;
    for (std::size_t i = 0; i < n; ++i) {
        double sum = 0;
        for (std::size_t j = 0; j < n; ++j) sum += std::abs(matrix[i * n + j]);
        gpulab::raise(largest, sum);
    }
    return largest;
}

} // namespace lu
