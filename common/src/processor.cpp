// A program that was compiled for another processor says so before it meets an instruction that this one lacks, which
// would end it without a word, or means something else here. Before main() and before all that other files prepare.
// This file is compiled with the options of all others, whose meaning its macros tell, but not optimised, so that it
// needs no such instruction itself.
#include "backends.hpp"

#if defined(__x86_64__) && defined(__GNUC__)
#include <cstdio>
#include <unistd.h>

namespace {

#define GPULAB_REQUIRE(feature) \
    if (!__builtin_cpu_supports(feature)) return feature

const char* missing_feature() {
    __builtin_cpu_init();
#if defined(__SSE4_2__)
    GPULAB_REQUIRE("sse4.2");
#endif
#if defined(__POPCNT__)
    GPULAB_REQUIRE("popcnt");
#endif
#if defined(__AVX2__)
    GPULAB_REQUIRE("avx2");
#endif
#if defined(__FMA__)
    GPULAB_REQUIRE("fma");
#endif
#if defined(__BMI2__)
    GPULAB_REQUIRE("bmi2");
#endif
#if defined(__FMA4__)
    GPULAB_REQUIRE("fma4");
#endif
#if defined(__AVX512F__)
    GPULAB_REQUIRE("avx512f");
#endif
#if defined(__AVX512VL__)
    GPULAB_REQUIRE("avx512vl");
#endif
#if defined(__AVX512VBMI__)
    GPULAB_REQUIRE("avx512vbmi");
#endif
    return nullptr;
}

[[gnu::constructor(101)]] void refuse_other_processors() {
    const char* const feature = missing_feature();
    if (!feature) return;
    std::fprintf(stderr,
                 "this program was compiled for another processor: this one has no %s. ./lab builds it again; "
                 "-DGPULAB_MARCH=x86-64-v2 builds it for most\n",
                 feature);
    _exit(2);
}

} // namespace
#endif

namespace gpulab::detail {
/// Called where devices are looked for, so that the linker takes this file.
void check_processor() {}
} // namespace gpulab::detail
