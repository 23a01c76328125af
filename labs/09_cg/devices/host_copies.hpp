/// @file
/// Copies through the host: the halo comes down from one OpenCL device and goes up to another. For devices of one
/// process. An *event* is the end of a command; kernels and copies have a queue each, and an event lets a kernel wait
/// for a copy in the other queue. The sums are in ClParts (opencl/several_devices.hpp).
///
///     kernels of part 0   | pack | inner rows                            |wait| border rows | dot | ...
///     copies of part 0           | halo down |                  | halo up |
///     host                                   |wait| join pieces |              wait for all sums
#pragma once

#include <algorithm>
#include <vector>

#include "../opencl/several_devices.hpp"

namespace cg {

/// All parts, on the OpenCL devices of one process.
template <class T> class HostCopies : public ClParts<T> {
public:
    HostCopies(const Problem<T>& problem, const Contexts& contexts, const std::vector<Part<T>>& parts)
        : ClParts<T>(problem, contexts, parts, /*whole_p=*/false) {
        for (const Part<T>& part : parts) {
            sent_.emplace_back(part.send.size());
            halo_.emplace_back(part.halo.size());
        }
        copied_.resize(parts.size());
    }

    void send_halo() {
        this->on_all([&](ClPart<T>& d, std::size_t i) { copied_[i] = d.send(sent_[i].data()); });
    }
    void receive_halo() {
        for (const cl::Event& event : copied_)
            if (event()) event.wait(); // null: this device sends nothing
        const auto& devices = this->devices();
        for (std::size_t i = 0; i < devices.size(); ++i) // join what comes from several devices
            for (const auto& link : devices[i]->part().sends)
                std::copy_n(sent_[i].data() + link.begin, link.count, halo_[link.part].data() + link.place);
        this->on_all([&](ClPart<T>& d, std::size_t i) { d.receive(halo_[i].data()); });
    }

private:
    std::vector<std::vector<T>> sent_, halo_; // on the host: what device i sends, and what it receives
    std::vector<cl::Event> copied_;           // of the copies to the host
};

} // namespace cg
