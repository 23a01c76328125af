#include "instructions/device_calls.hpp"
#include "instructions/define.hpp"
#include <cstdio>
#include <mutex>

// CUDA C++ Programming Guide: formatted output, assertions, dynamic allocation.

namespace cuda_emulator {
namespace {

std::mutex printf_mutex;
std::function<void(const std::string&)> printf_sink;

template <class T> T argument(Warp& warp, const Instruction& instruction, unsigned lane, unsigned which) {
    T value;
    std::memcpy(&value, warp.local(lane) + warp.at<u64>(instruction.operands[which])[0], sizeof value);
    return value;
}

template <class T> void result(Warp& warp, const Instruction& instruction, unsigned lane, unsigned which, T value) {
    std::memcpy(warp.local(lane) + warp.at<u64>(instruction.operands[which])[0], &value, sizeof value);
}

std::string text_at(Warp& warp, const Instruction& instruction, unsigned lane, u64 address) {
    std::string text;
    while (const char c = static_cast<char>(*warp.host_pointer(instruction, lane, address + text.size()))) text += c;
    return text;
}

// The arguments lie one behind the other, aligned to their size: integers 4 or 8 bytes, everything else 8.
std::string formatted(Warp& warp, const Instruction& instruction, unsigned lane, const std::string& format, u64 list,
                      int& count) {
    std::string text;
    u64 at = 0;
    const auto take = [&]<class T>(T) {
        at = (at + sizeof(T) - 1) / sizeof(T) * sizeof(T);
        T value;
        for (unsigned i = 0; i < sizeof(T); ++i)
            reinterpret_cast<std::byte*>(&value)[i] = *warp.host_pointer(instruction, lane, list + at + i);
        at += sizeof(T);
        ++count;
        return value;
    };
    for (std::size_t i = 0; i < format.size(); ++i) {
        if (format[i] != '%') {
            text += format[i];
            continue;
        }
        std::string one = "%";
        bool wide = false;
        while (++i < format.size() &&
               std::string_view("-+ #0123456789.hlLzjt*").find(format[i]) != std::string_view::npos) {
            wide |= std::string_view("lLzjt").find(format[i]) != std::string_view::npos;
            if (format[i] == '*') one += std::to_string(take(s32{}));
            else if (std::string_view("hlLzjt").find(format[i]) == std::string_view::npos) one += format[i];
        }
        const char kind = i < format.size() ? format[i] : '%';
        char buffer[512];
        const auto print = [&](const std::string& with, auto value) {
            std::snprintf(buffer, sizeof buffer, with.c_str(), value);
            text += buffer;
        };
        switch (kind) {
        case '%': text += '%'; break;
        case 'd':
        case 'i': wide ? print(one + "lld", static_cast<long long>(take(s64{}))) : print(one + "d", take(s32{})); break;
        case 'u':
        case 'x':
        case 'X':
        case 'o':
            wide ? print(one + "ll" + kind, static_cast<unsigned long long>(take(u64{})))
                 : print(one + kind, take(u32{}));
            break;
        case 'c': print(one + "c", take(s32{})); break;
        case 'p': print(one + "p", reinterpret_cast<void*>(take(u64{}))); break;
        case 's': {
            const u64 string = take(u64{});
            print(one + "s", text_at(warp, instruction, lane, string).c_str());
            break;
        }
        default: print(one + kind, take(double{}));
        }
    }
    return text;
}

void vprintf(Warp& warp, const Instruction& instruction, Mask mask) {
    for (Mask left = mask; left; left &= left - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(left));
        int count = 0;
        const std::string format = text_at(warp, instruction, lane, argument<u64>(warp, instruction, lane, 0));
        const std::string text =
            formatted(warp, instruction, lane, format, argument<u64>(warp, instruction, lane, 1), count);
        {
            const std::lock_guard lock(printf_mutex);
            if (printf_sink) printf_sink(text);
            else std::fputs(text.c_str(), stdout), std::fflush(stdout);
        }
        result<s32>(warp, instruction, lane, 2, count);
    }
}

// (message, file, line, function, size of a character)
void assertfail(Warp& warp, const Instruction& instruction, Mask mask) {
    const auto lane = static_cast<unsigned>(std::countr_zero(mask));
    const auto text = [&](unsigned which) {
        return text_at(warp, instruction, lane, argument<u64>(warp, instruction, lane, which));
    };
    warp.fault(Fault::Kind::assertion,
               "assertion failed: " + text(0) + " (" + text(1) + ":" +
                   std::to_string(argument<u32>(warp, instruction, lane, 2)) + ")",
               instruction, lane);
}

void device_malloc(Warp& warp, const Instruction& instruction, Mask mask) {
    for (Mask left = mask; left; left &= left - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(left));
        result<u64>(warp, instruction, lane, 1,
                    reinterpret_cast<u64>(warp.memory().allocate(argument<u64>(warp, instruction, lane, 0),
                                                                 MemoryKind::device, "malloc")));
    }
}

void device_free(Warp& warp, const Instruction& instruction, Mask mask) {
    for (Mask left = mask; left; left &= left - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(left));
        const u64 address = argument<u64>(warp, instruction, lane, 0);
        if (address && !warp.memory().free(reinterpret_cast<void*>(address)))
            warp.fault(Fault::Kind::illegal_address, "frees what malloc did not give", instruction, lane);
    }
}

} // namespace

void set_printf_sink(std::function<void(const std::string&)> sink) {
    const std::lock_guard lock(printf_mutex);
    printf_sink = std::move(sink);
}

Handler device_call(const std::string& name) {
    if (name == "vprintf") return &vprintf;
    if (name == "__assertfail") return &assertfail;
    if (name == "malloc") return &device_malloc;
    if (name == "free") return &device_free;
    return nullptr;
}

} // namespace cuda_emulator
