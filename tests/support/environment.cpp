#include "gpulab_testing/environment.hpp"

#include <cstdlib>

namespace gpulab::testing {

namespace {

void set(const std::string& name, const std::string& value) {
#if defined(_WIN32)
    _putenv_s(name.c_str(), value.c_str());
#else
    setenv(name.c_str(), value.c_str(), 1);
#endif
}

void unset(const std::string& name) {
#if defined(_WIN32)
    _putenv_s(name.c_str(), "");
#else
    unsetenv(name.c_str());
#endif
}

} // namespace

Environment::Environment(const std::string& name, const std::string& value) : name_(name) {
    if (const char* const before = std::getenv(name.c_str())) {
        before_ = before;
        was_set_ = true;
    }
    set(name, value);
}

Environment::~Environment() {
    if (was_set_) set(name_, before_);
    else unset(name_);
}

} // namespace gpulab::testing
