// OpenCL rung 3: several devices, each with a piece of every vector and a whole copy of p.
//
// Changed: the rows are shared out over all devices (thesis, section 4.4). A device's rows of the product need elements
// of p from anywhere, so in every iteration the host reads each device's new piece of p, joins the pieces, and writes
// the whole vector to every device. Each device computes its share of a dot product; the host adds the shares up. Every
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
    ClParts<T> devices;
    for (std::size_t i = 0; i < split.parts(); ++i) {
        pieces[i] = rows_of(problem.matrix, split, i);
        devices.push_back(std::make_unique<ClPart<T>>(*contexts[i], problem, pieces[i], true, static_cast<int>(i)));
        tune(*devices[i], problem);
    }
    std::vector<T> whole(problem.n());
    const auto multiply = [&] {
        on_all(devices, [&](ClPart<T>& d) { d.read_p(whole); });
        on_all(devices, [&](ClPart<T>& d) { d.write_p(whole); });
        on_all(devices, [&](ClPart<T>& d) { d.multiply(0, d.rows()); });
    };
    solve_on_parts(devices, problem, out, watch, multiply);
}

template void opencl_devices_whole(const Problem<float>&, Output<float>&, Stopwatch&);
template void opencl_devices_whole(const Problem<double>&, Output<double>&, Stopwatch&);

} // namespace cg
