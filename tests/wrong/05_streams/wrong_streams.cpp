#include <array>
#include <cstring>

#include "gpulab/math.hpp"
#include "gpulab/opencl/buffer.hpp"
#include "gpulab/opencl/context.hpp"
#include "wrong_streams.cl.hpp"
#include "wrong_streams.hpp"

namespace streams::wrong {

namespace {

/// Strip up, kernel, strip down for each strip, in two queues: one for the copies up, one for the rest.
void pass(const char* name, Strips* cut, Missing missing, const Problem& p, Output& out, Stopwatch& watch) {
    gpulab::ClBuffer<unsigned char> in(p.bytes()), result(p.bytes());
    const cl::Context& context = gpulab::opencl().context();
    const cl::CommandQueue up(context, gpulab::opencl().device()), work(context, gpulab::opencl().device());
    const auto strips = cut(p);
    std::vector<unsigned char> seen(p.bytes(), gpulab::poison_byte);
    const auto reset = [&] {
        gpulab::poison(out.pixels);
        for (const auto* buffer : {&in, &result})
            work.enqueueFillBuffer(buffer->data(), cl_uchar{gpulab::poison_byte}, 0, buffer->bytes());
        work.finish();
    };
    watch.time(
        [&] {
            cl::UserEvent late(context); // what waits for it has not begun when the host gets further
            for (const Strip& s : strips) {
                const std::size_t inside = std::min(s.bytes, p.bytes() - s.first);
                const std::vector<cl::Event> gate = {late};
                cl::Event uploaded;
                up.enqueueWriteBuffer(in.data(), CL_FALSE, s.first, inside, p.image.pixels.data() + s.first,
                                      missing == Missing::nothing ? nullptr : &gate, &uploaded);
                const std::vector<cl::Event> wait = {uploaded};
                cl::Kernel kernel = gpulab::opencl_kernel(wrong_streams_cl, name);
                gpulab::set_args(kernel, in.data(), result.data(), cl_ulong{s.first}, cl_ulong{s.bytes},
                                 cl_uint{colour_bytes(p.image.channels)}, static_cast<cl_uint>(p.image.channels),
                                 cl_uint{p.work});
                work.enqueueNDRangeKernel(kernel, cl::NullRange, cl::NDRange(gpulab::round_up(s.bytes, 64)),
                                          cl::NDRange(64),
                                          missing == Missing::kernel_waits_for_copy_up ? nullptr : &wait);
                work.enqueueReadBuffer(result.data(), CL_FALSE, s.first, inside, out.pixels.data() + s.first);
            }
            up.flush();
            work.flush();
            if (missing == Missing::host_waits_for_copy_down) seen = out.pixels;
            if (missing == Missing::kernel_waits_for_copy_up) work.finish();
            late.setStatus(CL_COMPLETE); // and now everything may end, so that nothing is left running
            up.finish();
            work.finish();
        },
        reset);
    if (missing == Missing::host_waits_for_copy_down) out.pixels = seen;
    std::vector<unsigned char> again(p.bytes());
    result.copy_to(again); // checks the guard bands
}

template <Strips* cut = right_strips, Missing missing = Missing::nothing> Run* with() {
    return [](const Problem& p, Output& out, Stopwatch& w) { pass("no_mistake", cut, missing, p, out, w); };
}

#define KERNEL(name) \
    [](const Problem& p, Output& o, Stopwatch& w) { pass(name, right_strips, Missing::nothing, p, o, w); }

} // namespace

std::span<const WrongVariant> opencl_variants() {
    static const std::array table = {
        WrongVariant{"no_mistake", "none: shows that the launcher is right", KERNEL("no_mistake")},
        WrongVariant{"inverts_alpha", "every byte is taken for colour", KERNEL("inverts_alpha")},
        WrongVariant{"rgb_as_rgba", "every image is taken for RGBA", KERNEL("rgb_as_rgba")},
        WrongVariant{"rgba_as_rgb", "RGBA is taken for RGB, so a quarter is left out", KERNEL("rgba_as_rgb")},
        WrongVariant{"no_bounds_check", "the ragged group writes past the strip", KERNEL("no_bounds_check")},
        WrongVariant{"one_round_short", "work - 1 rounds", KERNEL("one_round_short")},
        WrongVariant{"first_strip_only", "the offset is forgotten", KERNEL("first_strip_only")},
        WrongVariant{"minus_from_256", "256 - v for 255 - v", KERNEL("minus_from_256")},
        WrongVariant{"remainder_lost", "height / N rows each (Aula 17)", with<remainder_lost>()},
        WrongVariant{"offset_in_pixels", "pixels for bytes", with<offset_in_pixels>()},
        WrongVariant{"one_row_late", "strips begin a row too late", with<one_row_late>()},
        WrongVariant{"last_overruns", "the last strip is as large as the others", with<last_overruns>()},
        WrongVariant{"kernel_does_not_wait", "the kernel does not wait for the copy up",
                     with<right_strips, Missing::kernel_waits_for_copy_up>()},
        WrongVariant{"host_does_not_wait", "the host reads before the copy down is done",
                     with<right_strips, Missing::host_waits_for_copy_down>()},
    };
    return table;
}

} // namespace streams::wrong
