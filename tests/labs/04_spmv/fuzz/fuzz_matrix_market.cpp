// libFuzzer target: whatever bytes the reader of Matrix Market files is given, it returns a matrix or throws an Error
// that names a line, and it does both the same whether it reads in one part or in several.
#include <cstdint>
#include <string>
#include <string_view>

#include "reader_properties.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    const std::string broken = spmv::testing::broken_property(text);
    if (!broken.empty()) {
        std::fprintf(stderr, "%s\n", broken.c_str());
        __builtin_trap();
    }
    return 0;
}
