#include "gpulab_testing/capture.hpp"

#include <cstdio>
#include <stdexcept>

#include "gpulab_testing/program.hpp"

#include <sys/wait.h>
#include <unistd.h>

namespace gpulab::testing {

namespace {

/// While it lives, what goes to a stream goes to a file.
class Diverted {
public:
    Diverted(std::FILE* stream, const ScratchFile& file) : stream_(stream) {
        std::fflush(stream);
        before_ = dup(fileno(stream));
        std::FILE* const target = std::fopen(file.path().c_str(), "ab");
        if (before_ < 0 || !target || dup2(fileno(target), fileno(stream)) < 0)
            throw std::runtime_error("cannot divert a stream to " + file.path());
        std::fclose(target);
    }
    ~Diverted() {
        std::fflush(stream_);
        dup2(before_, fileno(stream_));
        close(before_);
    }
    Diverted(const Diverted&) = delete;
    Diverted& operator=(const Diverted&) = delete;

private:
    std::FILE* stream_;
    int before_ = -1;
};

} // namespace

Printed printed_by(const std::function<void()>& function) {
    const ScratchFile out, err;
    {
        const Diverted stdout_diverted(stdout, out), stderr_diverted(stderr, err);
        function();
    }
    return {out.text(), err.text()};
}

std::string printed_together_by(const std::function<void()>& function) {
    const ScratchFile both;
    {
        const Diverted stdout_diverted(stdout, both), stderr_diverted(stderr, both);
        function();
    }
    return both.text();
}

int in_child(const std::function<int()>& body, bool user) {
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child == 0) {
        int code = 99;
        try {
            if (!user || ::geteuid() != 0 || ::setuid(65534) == 0) code = body();
        } catch (...) {
        }
        std::fflush(nullptr);
        ::_exit(code);
    }
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child) throw std::runtime_error("cannot start a process");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

} // namespace gpulab::testing
