// CUDA without a GPU: the program starts once more, with the emulator's libcudart in the place of NVIDIA's. The loader
// chooses the library before main() begins, so this is done before main() too, in every program that can use CUDA.
#if defined(GPULAB_EMULATOR_FOLDER)
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <unistd.h>

namespace {

namespace fs = std::filesystem;

bool has_gpu() {
    std::error_code none;
    return fs::exists("/dev/nvidiactl", none) || fs::exists("/dev/dxg", none); // the latter in Windows' Linux
}

/// Whether the command line asks for `--device cuda:emulated`.
bool asked_for(int argc, char** argv) {
    return std::any_of(argv, argv + argc,
                       [](std::string_view word) { return word.find("cuda:emulated") != std::string_view::npos; });
}

/// GPULAB_EMULATOR: "always" also where a GPU is, "never" nowhere.
[[gnu::constructor]] void choose_runtime(int argc, char** argv, char**) {
    const char* const setting = std::getenv("GPULAB_EMULATOR");
    const std::string_view wish = setting ? setting : "";
    if (wish == "never" || (wish != "always" && has_gpu() && !asked_for(argc, argv))) return;
    const std::string folder = GPULAB_EMULATOR_FOLDER;
    std::error_code error;
    if (!fs::exists(folder + "/run", error)) return;
    const char* const given = std::getenv("LD_LIBRARY_PATH");
    const std::string before = given ? given : "";
    if (before == folder || before.starts_with(folder + ":")) return; // this is the second start
    setenv("LD_LIBRARY_PATH", (before.empty() ? folder : folder + ":" + before).c_str(), 1);
    execv("/proc/self/exe", argv); // where that fails, the program goes on without CUDA
}

} // namespace
#endif

namespace gpulab::detail {
/// Called where CUDA devices are looked for, so that the linker takes this file.
void choose_cuda_runtime() {}
} // namespace gpulab::detail
