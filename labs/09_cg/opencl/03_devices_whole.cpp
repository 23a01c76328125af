// OpenCL rung 3: several devices, each with a piece of every vector and a whole copy of p.
//
// Changed: the rows are shared out over all devices (thesis, section 4.4). A device's rows of the product need elements
// of p from anywhere, so in every iteration the host reads each device's new piece of p, joins the pieces, and writes
// the whole vector to every device. Of a dot product each device computes its share; the host adds the shares up. Every
// device has a queue of its own: the host puts the commands of all devices into their queues before it waits for any of
// them. With one device in the machine there are still two parts. A CPU is cut into *sub-devices*, each with some of
// its cores.
//
// Limit: the link between host and devices. Per iteration n numbers come down and n go up to every device, over a link
// that is much slower than the devices' memory.
#include "solve.hpp"

namespace cg {

template <class T> void opencl_devices_whole(const Problem<T>& problem, Output<T>& out, Stopwatch& watch) {
    const auto contexts = part_contexts(problem);
    const Split split =
        split_rows(problem.matrix, std::vector<double>(contexts.size(), 1.0)); // all alike, as in the thesis
    std::vector<Part<T>> pieces(split.parts());
    std::vector<std::unique_ptr<ClPart<T>>> devices;
    for (std::size_t i = 0; i < split.parts(); ++i) {
        pieces[i] = rows_of(problem.matrix, split, i);
        devices.push_back(std::make_unique<ClPart<T>>(*contexts[i], problem, pieces[i], true, static_cast<int>(i)));
        tune(*devices[i], problem);
    }
    for (auto& device : devices) {
        watch.tile(device->local_size(), "rows");
        watch.tile(device->local_size() * device->units() * device->groups.spmv, "rows");
    }
    std::vector<T> whole(problem.n());
    gpulab::Timeline* timeline = nullptr;
    const auto each = [&](const auto& command) {
        for (auto& device : devices) command(*device);
        for (auto& device : devices) device->flush();
    };
    const auto sum = [&] {
        double all = 0;
        for (auto& device : devices) all += device->sum();
        return all;
    };
    const auto multiply = [&] {
        each([&](ClPart<T>& d) { d.read_p(whole); });
        each([&](ClPart<T>& d) { d.write_p(whole); });
        each([&](ClPart<T>& d) { d.multiply(0, d.rows()); });
    };
    const auto residual = [&](const auto& take) {
        each([](ClPart<T>& d) { d.dot_rr(); });
        const double rr = sum();
        if (problem.jacobi()) each([](ClPart<T>& d) { d.dot_rz(); });
        take(rr, problem.jacobi() ? sum() : rr);
    };
    const auto solve = [&] {
        Scalars<T> scalars(problem, out);
        multiply(); // p holds x_0 here
        each([](ClPart<T>& d) { d.next_r(T{1}); });
        residual([&](double rr, double rho) { scalars.begin(rr, rho); });
        each([](ClPart<T>& d) { d.next_p(T{0}); });
        while (scalars.wants_more()) {
            multiply();
            each([](ClPart<T>& d) { d.dot_pq(); });
            const bool positive = scalars.accepts(sum());
            each([&](ClPart<T>& d) { d.record().collect(out.iterations() == 2 ? timeline : nullptr); });
            if (!positive) break;
            const auto alpha = static_cast<T>(scalars.alpha());
            each([&](ClPart<T>& d) { d.next_x(alpha); });
            each([&](ClPart<T>& d) { d.next_r(alpha); });
            residual([&](double rr, double rho) { scalars.next(rr, rho); });
            each([&](ClPart<T>& d) { d.next_p(static_cast<T>(scalars.beta())); });
        }
        each([](ClPart<T>& d) { d.finish(), d.record().collect(nullptr); });
    };
    solve_on_parts(devices, problem, out, watch, timeline, solve);
}

template void opencl_devices_whole(const Problem<float>&, Output<float>&, Stopwatch&);
template void opencl_devices_whole(const Problem<double>&, Output<double>&, Stopwatch&);

} // namespace cg
