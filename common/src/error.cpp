#include "gpulab/error.hpp"

#include <cstdio>
#include <exception>
#include <new>

#include "backends.hpp"
#if defined(GPULAB_WITH_OPENCL)
#include "gpulab/opencl/context.hpp"
#endif

namespace gpulab {

namespace {

void print_line(std::string_view program, std::string message, bool with_log = false) noexcept {
    constexpr std::size_t longest = 5000;      // a path may have 4096 bytes
    if (!with_log && message.size() > longest) // the reason stands at the end
        message.replace(longest / 2, message.size() - longest, " ... ");
    if (!with_log) // one line, whatever a file name or an argument holds
        for (char& c : message)
            if (static_cast<unsigned char>(c) < 0x20) c = ' ';
    std::fflush(stdout); // the table so far comes first
    std::fprintf(stderr, "%.*s: %s\n", static_cast<int>(program.size()), program.data(), message.c_str());
}

} // namespace

std::string message_of(const std::exception& e) {
#if defined(GPULAB_WITH_OPENCL)
    if (const auto* of_opencl = dynamic_cast<const cl::Error*>(&e)) {
        std::string message = std::string(e.what()) + " failed: " + opencl_error_name(of_opencl->err());
        if (of_opencl->err() == CL_INVALID_KERNEL_ARGS) message += " (a parameter of the kernel is given no argument)";
        return message;
    }
#endif
    return e.what();
}

int fail(std::string_view program) noexcept {
    detail::opencl_rests();
    try {
        throw;
    } catch (const WrongResult& e) {
        print_line(program, e.what());
        return exit_wrong_result;
    } catch (const BuildError& e) {
        print_line(program, e.what(), true);
    } catch (const std::length_error&) { // a vector larger than any can be
        print_line(program, "not enough main memory for this problem");
    } catch (const std::bad_alloc&) {
        print_line(program, "not enough main memory for this problem");
    } catch (const std::exception& e) {
        print_line(program, message_of(e));
    } catch (...) {
        print_line(program, "stopped by an exception of unknown type");
    }
    return exit_failure;
}

} // namespace gpulab
