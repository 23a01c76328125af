#pragma once
#include <cstddef>
#include <string>

namespace llvm {

class StringRef {
public:
    std::string str() const { return {data_, size_}; }

private:
    const char* data_ = nullptr;
    std::size_t size_ = 0;
};

} // namespace llvm
