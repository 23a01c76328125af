/// @file
/// A variable of the environment, set for the length of a test.
#pragma once

#include <string>

namespace gpulab::testing {

/// Sets a variable of the environment while it lives, and then gives it back what it had. Nothing else may read or
/// write the environment in another thread meanwhile.
class Environment {
public:
    Environment(const std::string& name, const std::string& value);
    ~Environment();
    Environment(const Environment&) = delete;
    Environment& operator=(const Environment&) = delete;

private:
    std::string name_, before_;
    bool was_set_ = false;
};

} // namespace gpulab::testing
