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
#include "several_devices.hpp"

namespace cg {

namespace {

/// All of p goes down to the host and up again. No part needs a halo then: all rows are inner rows.
template <class T> class WholeP : public ClParts<T> {
public:
    WholeP(const Problem<T>& problem, const Contexts& contexts, const std::vector<Part<T>>& parts)
        : ClParts<T>(problem, contexts, parts, true), whole_(problem.n()) {}
    void send_halo() {
        this->on_all([&](ClPart<T>& d, std::size_t) { d.read_p(whole_); });
        this->on_all([&](ClPart<T>& d, std::size_t) { d.write_p(whole_); });
    }
    void receive_halo() {}

private:
    std::vector<T> whole_;
};

} // namespace

template <class T> void opencl_devices_whole(const Problem<T>& problem, Output<T>& out, Stopwatch& watch) {
    const auto contexts = part_contexts(problem);
    const std::vector<double> alike(contexts.size(), 1.0); // as in the thesis
    const Split split = split_rows(problem.matrix, alike);
    std::vector<Part<T>> parts;
    for (std::size_t i = 0; i < split.parts(); ++i) parts.push_back(rows_of(problem.matrix, split, i));
    WholeP<T> devices(problem, contexts, parts);
    solve_on_devices(devices, problem, out, watch);
}

INSTANTIATE_RUNG(opencl_devices_whole);

} // namespace cg
