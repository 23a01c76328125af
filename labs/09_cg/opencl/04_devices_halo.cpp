// OpenCL rung 4: only the halo travels.
//
// Changed: a device needs only those elements of the others' p that its non-zeros refer to, its *halo*: for a grid that
// is cut into strips, one grid line on each side instead of the whole vector. What to send is worked out once, before
// the first iteration (split.hpp). In every iteration a kernel collects these elements, they go to the host and on to
// the devices that need them. Meanwhile the rows that need no halo, the *inner* rows, are multiplied: copies have a
// queue of their own beside that of the kernels, and an *event*, the end of a command, lets a kernel in one queue wait
// for a copy in the other. The rows at the border follow when the halo is there. The devices share out the rows by
// their non-zeros, or with --balance speed in proportion to the measured speed of each device. (The thesis tried
// compute units times clock rate as the measure, --balance units, and gave up.) Several GPUs have a host thread each,
// because to put a command into a queue takes the host about as long as a small kernel runs (host_threads.hpp).
//
// Limit: the host, which takes part in every exchange and in both dot products.
#include "../devices/host_copies.hpp"

namespace cg {

template <class T> void opencl_devices_halo(const Problem<T>& problem, Output<T>& out, Stopwatch& watch) {
    const auto contexts = part_contexts(problem);
    std::string note;
    const std::vector<Part<T>> parts = split_over(
        problem, contexts.size(), note,
        [&](std::size_t i, const Part<T>& part) { return multiply_ms(*contexts[i], problem, part); },
        [&](std::size_t i) { return units_times_clock(*contexts[i]); });
    HostCopies<T> devices(problem, contexts, parts);
    solve_on_devices(devices, problem, out, watch);
    if (!note.empty()) out.notes.push_back(note);
}

INSTANTIATE_RUNG(opencl_devices_halo);

} // namespace cg
