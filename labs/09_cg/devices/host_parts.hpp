/// @file
/// The operations of iterate.hpp on devices whose scalars the host computes: OpenCL devices, and CPU cores of a rank.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "iterate.hpp"
#include "scalars.hpp"

namespace cg {

/// The parts of this process. Each operation gives the commands of all devices to them before it waits for any.
/// @tparam Device ClPart or CpuPart
template <class T, class Device> class HostParts {
public:
    explicit HostParts(const Problem<T>& problem) : scalars_(problem, out_) {}
    virtual ~HostParts() = default;
    HostParts(const HostParts&) = delete;
    HostParts& operator=(const HostParts&) = delete;

    void reset() {
        for (auto& device : devices_) device->reset();
    }
    void clear() { out_.history.clear(); }
    void first_r() {
        on_all([](Device& d, std::size_t) {
            d.next_r(T{1});
            d.dot_r();
        });
    }
    void first_p() {
        on_all([](Device& d, std::size_t) { d.next_p(T{0}); });
    }
    void multiply_inner() {
        on_all([](Device& d, std::size_t) { d.multiply_inner(); });
    }
    void multiply_border() {
        on_all([](Device& d, std::size_t) {
            d.multiply_border();
            d.dot_pq();
        });
    }
    void next_r() {
        on_all([alpha = static_cast<T>(scalars_.alpha())](Device& d, std::size_t) {
            d.next_r(alpha);
            d.dot_r();
            d.next_x(alpha); // while the sums travel
        });
    }
    void next_p() {
        on_all([beta = static_cast<T>(scalars_.beta())](Device& d, std::size_t) { d.next_p(beta); });
    }

    Scalars<T>& scalars() { return scalars_; }
    const Output<T>& history_and_end() const { return out_; }
    const std::vector<std::unique_ptr<Device>>& devices() const { return devices_; }

protected:
    void add(std::unique_ptr<Device> device) { devices_.push_back(std::move(device)); }
    /// Calls give(device i, i) for all i, which puts commands into queues, and hands these to the devices.
    virtual void on_all(const std::function<void(Device&, std::size_t)>& give) {
        for (std::size_t i = 0; i < devices_.size(); ++i) {
            give(*devices_[i], i);
            devices_[i]->flush();
        }
    }
    /// Waits. @return p . q of the rows of this process
    double pq() {
        double all = 0;
        for (auto& device : devices_) all += device->pq();
        return all;
    }
    /// Waits for the sums, and not for next_x(). @return those of the rows of this process
    ResidualSums residual() {
        ResidualSums all;
        for (auto& device : devices_) all = all + device->residual();
        return all;
    }
    /// Takes the sums of all parts.
    void take(const ResidualSums& sums) {
        if (out_.history.empty()) scalars_.begin(sums.rr, sums.rho);
        else scalars_.next(sums.rr, sums.rho);
    }

private:
    Output<T> out_; // history and end
    Scalars<T> scalars_;
    std::vector<std::unique_ptr<Device>> devices_;
};

/// The whole solution. @param progress called with 0, 1, ... when it comes to that iteration
template <class Parts, class Progress> void solve(Parts& parts, const Progress& progress) {
    begin(parts);
    while (parts.scalars().wants_more()) {
        progress(parts.history_and_end().iterations());
        if (!iterate(parts)) break;
    }
}

} // namespace cg
