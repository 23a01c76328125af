/// @file
/// One process's share of the whole solution, with whatever links it to the others.
#pragma once

#include <functional>
#include <string>

#include "cg.hpp"

namespace cg {

/// A rank's own rows from the start to the solution. All ranks call the same functions in the same order.
template <class T> class RankSolver {
public:
    virtual ~RankSolver() = default;
    /// Puts the start into place; poisons what solve() computes.
    virtual void reset() = 0;
    /// Solves. @param progress called with 0, 1, ... when this process comes to that iteration
    virtual void solve(const std::function<void(std::size_t)>& progress) = 0;
    /// The history and the end, which are the same on all ranks, and this rank's elements of x.
    virtual void result(Output<T>& out) = 0;
    /// The device in words.
    virtual std::string device() const = 0;
    /// The link in words.
    virtual std::string link() const = 0;
};

} // namespace cg
