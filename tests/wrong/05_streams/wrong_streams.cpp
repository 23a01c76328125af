#include <algorithm>
#include <array>

#include "gpulab/math.hpp"
#include "opencl/pass.hpp"
#include "wrong_streams.cl.hpp"
#include "wrong_streams.hpp"

namespace streams::wrong {

namespace {

constexpr std::size_t group = 64;

/// Three queues, joined by events, through the same passes as the right variants.
void pass(const char* name, Strips* cut, Missing missing, const Problem& p, Output& out, Stopwatch& watch) {
    std::vector<gpulab::ClBuffer<unsigned char>> in, result; // one of each: the strips have their offsets in it
    in.emplace_back(p.bytes());
    result.emplace_back(p.bytes());
    const cl::Buffer &in_buffer = in.front().data(), &result_buffer = result.front().data();
    const cl::Context& context = gpulab::opencl().context();
    const cl::CommandQueue up = new_queue(), work = new_queue(), down = new_queue();
    const auto strips = cut(p);
    std::vector<unsigned char> landing(p.bytes());
    int passes = 0;
    watch.tile(group, "bytes");
    watch_passes(watch, out, in, result, out.pixels, [&](ClRecorder&) {
        cl::UserEvent late(context); // the command that should have been waited for waits for this
        std::fill(landing.begin(), landing.end(), gpulab::poison_byte_for<unsigned char>());
        for (const Strip& s : strips) {
            const std::size_t inside = std::min(s.bytes, p.bytes() - s.first);
            std::vector<cl::Event> before_up, before_kernel, before_down;
            if (missing == Missing::kernel_waits_for_copy_up) before_up.push_back(late);
            if (missing == Missing::copy_down_waits_for_kernel) before_kernel.push_back(late);
            if (missing == Missing::host_waits_for_copy_down) before_down.push_back(late);
            cl::Event uploaded, inverted;
            if (missing != Missing::later_copies_up || passes == 0)
                up.enqueueWriteBuffer(in_buffer, CL_FALSE, s.first, inside, p.image.pixels.data() + s.first, &before_up,
                                      &uploaded);
            else up.enqueueMarkerWithWaitList(&before_up, &uploaded);
            if (missing != Missing::kernel_waits_for_copy_up) before_kernel.push_back(uploaded);
            cl::Kernel kernel = gpulab::opencl_kernel(wrong_streams_cl, name);
            gpulab::set_args(kernel, in_buffer, result_buffer, cl_ulong{s.first}, cl_ulong{s.bytes},
                             cl_uint{colour_bytes(p.image.channels)}, static_cast<cl_uint>(p.image.channels),
                             cl_uint{p.work});
            if (missing != Missing::later_kernels || passes == 0)
                work.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(gpulab::round_up(s.bytes, group)),
                                          cl::NDRange(group), &before_kernel, &inverted);
            else work.enqueueMarkerWithWaitList(&before_kernel, &inverted);
            if (missing != Missing::copy_down_waits_for_kernel) before_down.push_back(inverted);
            down.enqueueReadBuffer(result_buffer, CL_FALSE, s.first, inside, landing.data() + s.first, &before_down);
        }
        for (const cl::CommandQueue* queue : {&up, &work, &down}) queue->flush();
        // What does not wait for `late` ends before it.
        if (missing == Missing::kernel_waits_for_copy_up || missing == Missing::copy_down_waits_for_kernel)
            down.finish();
        if (missing == Missing::host_waits_for_copy_down) std::copy(landing.begin(), landing.end(), out.pixels.begin());
        late.setStatus(CL_COMPLETE); // and now everything may end, so that nothing is left running
        for (const cl::CommandQueue* queue : {&up, &work, &down}) queue->finish();
        ++passes;
        if (missing != Missing::host_waits_for_copy_down) std::copy(landing.begin(), landing.end(), out.pixels.begin());
    });
}

/// A queue for each strip, of which the last is not waited for. Its copy has a landing place of its own, so that
/// nothing is overwritten after the pass.
void last_strip_not_waited_for(const Problem& p, Output& out, Stopwatch& watch) {
    const auto strips = right_strips(p);
    std::vector<gpulab::ClBuffer<unsigned char>> in, result;
    std::vector<cl::CommandQueue> queues;
    std::vector<cl::Kernel> kernels;
    for (const Strip& s : strips) {
        in.emplace_back(s.bytes);
        result.emplace_back(s.bytes);
        queues.push_back(new_queue());
        kernels.push_back(gpulab::opencl_kernel(wrong_streams_cl, "no_mistake"));
        gpulab::set_args(kernels.back(), in.back().data(), result.back().data(), cl_ulong{0}, cl_ulong{s.bytes},
                         cl_uint{colour_bytes(p.image.channels)}, static_cast<cl_uint>(p.image.channels),
                         cl_uint{p.work});
    }
    std::vector<unsigned char> landing(p.bytes());
    watch.tile(group, "bytes");
    watch_passes(watch, out, in, result, out.pixels, [&](ClRecorder&) {
        std::fill(landing.begin(), landing.end(), gpulab::poison_byte_for<unsigned char>());
        for (std::size_t i = 0; i < strips.size(); ++i) {
            const Strip s = strips[i];
            queues[i].enqueueWriteBuffer(in[i].data(), CL_FALSE, 0, s.bytes, p.image.pixels.data() + s.first);
            queues[i].enqueueNDRangeKernel(kernels[i], cl::NullRange, cl::NDRange(gpulab::round_up(s.bytes, group)),
                                           cl::NDRange(group));
            queues[i].enqueueReadBuffer(result[i].data(), CL_FALSE, 0, s.bytes, landing.data() + s.first);
            queues[i].flush();
        }
        for (std::size_t i = 0; i + 1 < queues.size(); ++i) queues[i].finish();
        std::copy(landing.begin(), landing.end(), out.pixels.begin());
        queues.back().finish(); // so that nothing is left running
    });
}

template <Strips* cut = right_strips, Missing missing = Missing::nothing> Run* with() {
    return [](const Problem& p, Output& out, Stopwatch& w) { pass("no_mistake", cut, missing, p, out, w); };
}

#define KERNEL(name) \
    [](const Problem& p, Output& o, Stopwatch& w) { pass(name, right_strips, Missing::nothing, p, o, w); }

} // namespace

void opencl_right(const Problem& p, Output& out, Stopwatch& watch) {
    pass("no_mistake", right_strips, Missing::nothing, p, out, watch);
}

std::span<const WrongVariant> opencl_variants() {
    static const std::array table = {
        WrongVariant{"inverts_alpha", "treats every byte as colour", KERNEL("inverts_alpha")},
        WrongVariant{"rgb_as_rgba", "treats every image as RGBA", KERNEL("rgb_as_rgba")},
        WrongVariant{"rgba_as_rgb", "treats RGBA as RGB, so a quarter is left out", KERNEL("rgba_as_rgb")},
        WrongVariant{"no_bounds_check", "the ragged group writes past the strip", KERNEL("no_bounds_check")},
        WrongVariant{"one_round_short", "work - 1 rounds", KERNEL("one_round_short")},
        WrongVariant{"counts_in_a_byte", "work modulo 256", KERNEL("counts_in_a_byte")},
        WrongVariant{"first_strip_only", "the offset is forgotten", KERNEL("first_strip_only")},
        WrongVariant{"minus_from_256", "256 - v for 255 - v", KERNEL("minus_from_256")},
        WrongVariant{"remainder_lost", "height / N rows each (Aula 17)", with<remainder_lost>()},
        WrongVariant{"offset_in_pixels", "pixels for bytes", with<offset_in_pixels>()},
        WrongVariant{"one_row_late", "strips begin a row too late", with<one_row_late>()},
        WrongVariant{"last_overruns", "the last strip is as large as the others", with<last_overruns>()},
        WrongVariant{"kernel_does_not_wait", "the kernel does not wait for the copy up",
                     with<right_strips, Missing::kernel_waits_for_copy_up>()},
        WrongVariant{"copies_up_once", "only the first pass copies up, the others use what is there",
                     with<right_strips, Missing::later_copies_up>()},
        WrongVariant{"copy_down_does_not_wait", "the copy down does not wait for the kernel",
                     with<right_strips, Missing::copy_down_waits_for_kernel>()},
        WrongVariant{"first_run_only", "only the first pass launches kernels",
                     with<right_strips, Missing::later_kernels>()},
        WrongVariant{"last_strip_not_waited_for", "all queues are waited for but the last", last_strip_not_waited_for},
        WrongVariant{"counts_in_16_bits", "work modulo 65536", KERNEL("counts_in_16_bits")},
        WrongVariant{"at_most_4096_in_vectors", "whole vectors get at most 4096 rounds",
                     KERNEL("at_most_4096_in_vectors")},
        WrongVariant{"at_most_4096_in_the_end", "the bytes after the vectors get at most 4096 rounds",
                     KERNEL("at_most_4096_in_the_end")},
        WrongVariant{"host_does_not_wait", "the host reads before the copy down is done",
                     with<right_strips, Missing::host_waits_for_copy_down>()},
    };
    return table;
}

} // namespace streams::wrong
