#include "gpulab_testing/hand_out.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <regex>
#include <stdexcept>

#if !defined(_WIN32)
#include <sys/wait.h>
#endif

namespace gpulab::testing {

namespace fs = std::filesystem;

namespace {
std::string content(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read " + path.string());
    return {std::istreambuf_iterator<char>(file), {}};
}
} // namespace

std::set<std::string> variants_in_ladder(const std::string& readme_path) {
    const std::string text = content(readme_path);
    static const std::regex row(R"((^|\n)\| *`((cpu|opencl|cuda)_[a-z0-9_]+)` *\|)");
    std::set<std::string> names;
    for (auto match = std::sregex_iterator(text.begin(), text.end(), row); match != std::sregex_iterator(); ++match)
        names.insert((*match)[2]);
    return names;
}

int Outcome::error_lines() const { return static_cast<int>(std::count(err.begin(), err.end(), '\n')); }

Outcome run_program(const std::string& program, const std::string& arguments) {
    const fs::path base = fs::temp_directory_path() / ("gpulab_run_" + std::to_string(std::random_device{}()));
    const std::string out = base.string() + ".out", err = base.string() + ".err";
    const std::string command = "\"" + program + "\" " + arguments + " > \"" + out + "\" 2> \"" + err + "\"";
    Outcome outcome;
    const int status = std::system(command.c_str());
#if defined(_WIN32)
    outcome.exit_code = status;
#else
    outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
#endif
    outcome.out = content(out);
    outcome.err = content(err);
    fs::remove(out);
    fs::remove(err);
    return outcome;
}

} // namespace gpulab::testing
