#include "checked_run.hpp"

#include <cstdio>

#include "runtime.hpp"

namespace cuda_emulator {

void say(const std::string& line) { std::fprintf(stderr, "CUDA emulator: %s\n", line.c_str()); }

void run_checked(const Launch& launch, Memory& arena) { run(launch, arena, nullptr); }

void say_fault(const Fault& fault) { say(fault.what()); }

} // namespace cuda_emulator
