// SAXPY by an algorithm of the C++ library: c[i] = k a[i] + b[i]. The policy allows any order, on threads and in
// vectors.
//
//     g++ -std=c++17 -O2 saxpy_std.cpp -ltbb -o saxpy_std     # the threads of this machine
//     nvc++ -stdpar=gpu saxpy_std.cpp -o saxpy_std            # a GPU; the system moves the memory
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <execution>
#include <vector>

int main() {
    const std::size_t n = 1000000;
    const float k = 3;
    std::vector<float> a(n), b(n, 1), c(n);
    for (std::size_t i = 0; i < n; ++i) a[i] = static_cast<float>(i);

    std::transform(std::execution::par_unseq, a.begin(), a.end(), b.begin(), c.begin(),
                   [k](float x, float y) { return k * x + y; });

    std::size_t right = 0;
    for (std::size_t i = 0; i < n; ++i) right += c[i] == k * static_cast<float>(i) + 1;
    std::printf("%zu of %zu elements are right\n", right, n);
    return right == n ? 0 : 1;
}
