/// @file
/// A variable of the environment, set for the length of a test.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace gpulab::testing {

/// Sets a variable of the environment while it lives, and then gives it back what it had. Nothing else may read or
/// write the environment in another thread meanwhile.
class Environment {
public:
    Environment(const std::string& name, const std::string& value) : name_(name) {
        if (const char* const before = std::getenv(name.c_str())) before_ = before;
        setenv(name.c_str(), value.c_str(), 1);
    }
    ~Environment() {
        if (before_) setenv(name_.c_str(), before_->c_str(), 1);
        else unsetenv(name_.c_str());
    }
    Environment(const Environment&) = delete;
    Environment& operator=(const Environment&) = delete;

private:
    std::string name_;
    std::optional<std::string> before_;
};

} // namespace gpulab::testing
