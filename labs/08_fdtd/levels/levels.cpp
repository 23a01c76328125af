#include "levels.hpp"

#include "gpulab/stopwatch.hpp"
#include "steps.hpp"

namespace fdtd {

namespace {

/// Sizes, coefficients and source, also of a problem with layers.
template <class T> Book<T> book_without_layers(const Problem<T>& p) {
    Problem<T> same;
    same.mode = p.mode;
    same.rules = p.rules;
    same.patches = p.patches;
    same.rules.layers = 0;
    return book_of(same).g;
}

template <class T> using Steps = void(const Book<T>&, const Arrays<T>&, int);

template <class T, Steps<T>* conductor, Steps<T>* absorbing_layers>
void sequential(const Problem<T>& p, Output<T>& out, Stopwatch& watch) {
    const Book<T> g = book_without_layers(p);
    Fields<T>& field = out.field;
    const bool layers = p.rules.layers != 0;
    const auto run = [&] {
        Arrays<T> f{};
        f.hz = field.u.data();
        f.ex = field.p.data();
        f.ey = field.q.data();
        f.source = p.values.data();
        if (!layers) return conductor(g, f, p.rules.steps);
        const T* const columns = p.layers.data();
        const T* const rows = columns + 4 * (p.nx() + 1);
        f.hz_x = field.v.data();
        f.keep_h_x = columns;
        f.gain_h_x = columns + (p.nx() + 1);
        f.keep_ey = columns + 2 * (p.nx() + 1);
        f.gain_ey = columns + 3 * (p.nx() + 1);
        f.keep_h_y = rows;
        f.gain_h_y = rows + (p.ny() + 1);
        f.keep_ex = rows + 2 * (p.ny() + 1);
        f.gain_ex = rows + 3 * (p.ny() + 1);
        absorbing_layers(g, f, p.rules.steps);
    };
    watch.time(run, [&] {
        field = p.start;
        for (std::size_t at = 0; at < field.v.size(); ++at) field.u[at] -= field.v[at]; // the other part
    });
    for (std::size_t at = 0; at < field.v.size(); ++at) field.u[at] += field.v[at];
}

} // namespace

template <class T> std::span<const gpulab::Variant<Run<T>>> levels() {
    static constexpr gpulab::Variant<Run<T>> all[] = {
        {"sequential_O0", "", gpulab::Backend::cpu, sequential<T, O0::conductor<T>, O0::absorbing_layers<T>>},
        {"sequential_O1", "", gpulab::Backend::cpu, sequential<T, O1::conductor<T>, O1::absorbing_layers<T>>},
        {"sequential_O2", "", gpulab::Backend::cpu, sequential<T, O2::conductor<T>, O2::absorbing_layers<T>>},
        {"sequential_O3", "", gpulab::Backend::cpu, sequential<T, O3::conductor<T>, O3::absorbing_layers<T>>},
    };
    return all;
}

std::string_view name_of_compiler() {
#if defined(__clang__)
    return __VERSION__; // begins with "Clang"
#elif defined(__GNUC__)
    return "GCC " __VERSION__;
#else
    return "another compiler";
#endif
}

template std::span<const gpulab::Variant<Run<float>>> levels();
template std::span<const gpulab::Variant<Run<double>>> levels();

} // namespace fdtd
