// The calls of the runtime that this library does not have: each says so once, and fails. They are weak, so that the
// functions of the other files take their places; and without their arguments, which none of them looks at.
#include <atomic>
#include <cstdio>

namespace {
int missing(const char* name, std::atomic<bool>& said) {
    if (!said.exchange(true)) std::fprintf(stderr, "CUDA emulator: %s is not supported\n", name);
    return 801; // cudaErrorNotSupported
}
} // namespace

#define CUDA_EMULATOR_MISSING(name)               \
    extern "C" __attribute__((weak)) int name() { \
        static std::atomic<bool> said = false;    \
        return missing(#name, said);              \
    }
#include "missing_calls.inc"
