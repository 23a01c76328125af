/// @file
/// What the exercises of this lab hand to a rung and take back from it.
#pragma once

#include "streams.hpp"

namespace streams {

/// An image, inverted in strips.
struct Invert {
    using Problem = streams::Problem;
    using Output = streams::Output;
    template <class Archive> static void fields(Archive& archive, Problem& p) {
        archive(p.image.width, p.image.height, p.image.channels, p.image.pixels, p.work, p.streams);
    }
    template <class Archive> static void fields(Archive& archive, Output& out) { archive(out.pixels); }
    static Output room(const Problem& p) {
        Output out;
        out.pixels.resize(p.bytes());
        return out;
    }
};

} // namespace streams
