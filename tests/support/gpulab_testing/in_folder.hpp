/// @file
/// A lab's program in a folder with the files that a test gives it.
#pragma once

#include "gpulab_testing/program.hpp"

namespace gpulab::testing {

/// The program in a folder of its own, so that arguments and messages name files without a path.
class InFolder : public ScratchFolder, public Program {
public:
    /// @param files what there is in the folder
    explicit InFolder(const Program& program, const Files& files = {}) : Program(program.in(*this)) {
        for (const auto& [name, text] : files) write(name, text);
    }
};

} // namespace gpulab::testing
