// A libnvidia-ml.so.1 with one GPU, of which it says what test_gpu_state.cpp expects.
#include <cstdio>
#include <cstring>

namespace {
constexpr int success = 0, not_supported = 3, not_found = 6, no_room = 7;
int gpu = 0;
} // namespace

extern "C" {
int nvmlInit_v2() { return success; }
int nvmlSystemGetDriverVersion(char* text, unsigned length) {
    std::snprintf(text, length, "580.95.05");
    return success;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* pci, void** handle) {
    *handle = &gpu;
    return std::strcmp(pci, "0000:3b:00.0") == 0 ? success : not_found;
}
int nvmlDeviceGetClockInfo(void* handle, int type, unsigned* mhz) {
    *mhz = type == 1 ? 1410 : 2619;
    return handle == &gpu && (type == 1 || type == 2) ? success : not_supported;
}
int nvmlDeviceGetMaxClockInfo(void*, int type, unsigned* mhz) {
    *mhz = 1980;
    return type == 1 ? success : not_supported;
}
int nvmlDeviceGetViolationStatus(void*, int policy, unsigned long long* times) {
    times[0] = 9'000'000;
    times[1] = 2'500'000'000;
    return policy == 0 ? success : not_supported;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, void* infos) {
    *count = 2;
    return infos == nullptr ? no_room : success;
}
}
