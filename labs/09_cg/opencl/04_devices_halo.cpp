// OpenCL rung 4: only the halo travels.
//
// Changed: a device needs only those elements of the others' p that its non-zeros refer to, its *halo*: for a grid that
// is cut into strips, one grid line on each side instead of the whole vector. What to send is worked out once, before
// the first iteration (split.hpp). In every iteration a kernel collects these elements, they go to the host and on to
// the devices that need them. Meanwhile the rows that need no halo, the *inner* rows, are multiplied: copies have a
// queue of their own beside that of the kernels, and an *event*, the end of a command, lets a kernel in one queue wait
// for a copy in the other. The rows at the border follow when the halo is there. The devices share out the rows by
// their non-zeros, or with --balance speed in proportion to the measured speed of each device. (The thesis tried
// compute units times clock rate as the measure, and gave up.)
//
// Limit: the host, which takes part in every exchange and in both dot products.
#include "solve.hpp"

namespace cg {

template <class T> void opencl_devices_halo(const Problem<T>& problem, Output<T>& out, Stopwatch& watch) {
    const auto contexts = part_contexts(problem);
    Output<T> measured; // for its notes
    const Split split = split_over(problem, contexts, measured);
    const std::vector<Part<T>> pieces = make_parts(problem.matrix, split);
    ClParts<T> devices;
    std::vector<std::vector<T>> sent, halo; // by each device, and for each, on the host
    for (std::size_t i = 0; i < split.parts(); ++i) {
        devices.push_back(std::make_unique<ClPart<T>>(*contexts[i], problem, pieces[i], false, static_cast<int>(i)));
        tune(*devices[i], problem);
        sent.emplace_back(pieces[i].send.size());
        halo.emplace_back(pieces[i].halo.size());
    }
    const auto multiply = [&] {
        std::vector<cl::Event> copied;
        for (std::size_t i = 0; i < devices.size(); ++i) copied.push_back(devices[i]->send(sent[i].data()));
        on_all(devices, [](ClPart<T>& d) { d.multiply(d.part().inner_begin, d.part().inner_end); });
        for (const cl::Event& event : copied)
            if (event()) event.wait();
        for (std::size_t i = 0; i < devices.size(); ++i) {
            for (const auto& receive : pieces[i].receives) { // join what comes from several devices
                const auto& links = pieces[receive.part].sends;
                const auto to_me = std::ranges::find(links, i, &Part<T>::Link::part);
                std::copy_n(sent[receive.part].begin() + static_cast<std::ptrdiff_t>(to_me->begin), receive.count,
                            halo[i].begin() + static_cast<std::ptrdiff_t>(receive.begin));
            }
            std::vector<cl::Event> arrived;
            if (!halo[i].empty()) arrived.push_back(devices[i]->receive(0, halo[i].data(), halo[i].size()));
            devices[i]->multiply_with_halo(0, pieces[i].inner_begin, arrived);
            devices[i]->multiply_with_halo(pieces[i].inner_end, pieces[i].rows(), arrived);
            devices[i]->flush();
        }
    };
    solve_on_parts(devices, problem, out, watch, multiply);
    out.notes.insert(out.notes.end(), measured.notes.begin(), measured.notes.end());
}

template void opencl_devices_halo(const Problem<float>&, Output<float>&, Stopwatch&);
template void opencl_devices_halo(const Problem<double>&, Output<double>&, Stopwatch&);

} // namespace cg
