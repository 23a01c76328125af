#include "gpulab_testing/hand_out.hpp"

#include <regex>

#include "gpulab_testing/program.hpp"

namespace gpulab::testing {

std::set<std::string> variants_in_ladder(const std::string& readme_path) {
    const std::string text = bytes_of(readme_path);
    static const std::regex row(R"((^|\n)\| *`((cpu|opencl|cuda)_[a-z0-9_]+)` *\|)");
    std::set<std::string> names;
    for (auto match = std::sregex_iterator(text.begin(), text.end(), row); match != std::sregex_iterator(); ++match)
        names.insert((*match)[2]);
    return names;
}

std::set<std::string> absent_from(const std::string& readme_path, const std::set<std::string>& names) {
    const std::string text = bytes_of(readme_path);
    std::set<std::string> absent;
    for (const std::string& name : names)
        if (text.find("`" + name + "`") == std::string::npos) absent.insert(name);
    return absent;
}

} // namespace gpulab::testing
