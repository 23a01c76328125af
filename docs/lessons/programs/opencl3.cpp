// What came with OpenCL 2 and is optional in OpenCL 3: the lesson "OpenCL 2 and 3".
//
//     g++ opencl3.cpp -lOpenCL -o opencl3
//     ./opencl3 ask          # what each device offers
//     ./opencl3 svm          # adds up a linked list in memory that host and device share
//     ./opencl3 saxpy.cl     # SAXPY, compiled by the driver
//     ./opencl3 saxpy.spv    # the same kernel in SPIR-V
//
// The others run on the first device that the program finds. Exit codes: 0 the result is right, or the device lacks
// what it takes ("skipped: ..."); 1 it is wrong, 2 a call failed.
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

void check(cl_int code, const char* step) {
    if (code == CL_SUCCESS) return;
    std::fprintf(stderr, "opencl3: %s: OpenCL error %d\n", step, code);
    std::exit(2);
}

cl_device_id device = nullptr;
cl_context context = nullptr;
cl_command_queue queue = nullptr;

/// An answer of the device, whose size it knows. Empty where it does not know the question.
template <class T> std::vector<T> ask(cl_device_info question) {
    std::size_t bytes = 0;
    if (clGetDeviceInfo(device, question, 0, nullptr, &bytes) != CL_SUCCESS) return {};
    std::vector<T> answer(bytes / sizeof(T));
    check(clGetDeviceInfo(device, question, bytes, answer.data(), nullptr), "asking the device");
    return answer;
}

/// A text ends with a 0.
std::string text(cl_device_info question) {
    const std::vector<char> answer = ask<char>(question);
    return answer.empty() ? "" : answer.data();
}

/// The version of the device: 30 for "OpenCL 3.0 ...".
int version() {
    const std::string words = text(CL_DEVICE_VERSION); // as the standard writes it
    return 10 * (words.at(7) - '0') + (words.at(9) - '0');
}

/// What the device offers of shared virtual memory; 0 for none, and where it is too old for the question.
cl_device_svm_capabilities shared_memory() {
    const auto answer = ask<cl_device_svm_capabilities>(CL_DEVICE_SVM_CAPABILITIES);
    return version() < 20 || answer.empty() ? 0 : answer[0];
}

/// The intermediate languages that it takes, such as "SPIR-V_1.2"; "" for none.
std::string languages() { return version() < 21 ? "" : text(CL_DEVICE_IL_VERSION); }

void tell() {
    std::printf("device: %s\nversion: %s\n", text(CL_DEVICE_NAME).c_str(), text(CL_DEVICE_VERSION).c_str());
    if (version() < 30) {
        std::puts("older than 3.0: its version says what it offers");
        return;
    }
    const auto features = ask<cl_name_version>(CL_DEVICE_OPENCL_C_FEATURES);
    for (const char* name : {"subgroups", "work_group_collective_functions", "generic_address_space",
                             "atomic_order_acq_rel", "pipes", "device_enqueue"}) {
        bool has = false;
        for (const cl_name_version& feature : features) has |= feature.name == "__opencl_c_" + std::string(name);
        std::printf("__opencl_c_%s: %s\n", name, has ? "yes" : "no");
    }
    const cl_device_svm_capabilities svm = shared_memory();
    std::printf("shared virtual memory:%s%s%s%s\n", svm == 0 ? " none" : "",
                svm & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER ? " coarse-grained buffers" : "",
                svm & CL_DEVICE_SVM_FINE_GRAIN_BUFFER ? ", fine-grained buffers" : "",
                svm & CL_DEVICE_SVM_FINE_GRAIN_SYSTEM ? ", all memory" : "");
    std::printf("intermediate language: %s\n", languages().empty() ? "none" : languages().c_str());
}

/// Makes a context and a queue for the device.
void begin() {
    cl_int code = CL_SUCCESS;
    context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code);
    check(code, "creating a context");
    queue = clCreateCommandQueueWithProperties(context, device, nullptr, &code);
    check(code, "creating a queue");
}

/// Compiles a program and finds its kernel.
cl_kernel kernel_of(cl_program program, const char* options, const char* name) {
    cl_int code = clBuildProgram(program, 1, &device, options, nullptr, nullptr);
    check(code, "compiling the kernel");
    const cl_kernel kernel = clCreateKernel(program, name, &code);
    check(code, "finding the kernel");
    return kernel;
}

void launch(cl_kernel kernel, std::size_t items) {
    check(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, nullptr, 0, nullptr, nullptr), "launching");
}

// The list's nodes hold addresses, which are the same on the host and on the device. No buffer could hold them.
struct Node {
    cl_long value;
    Node* next;
};
const char* const list_source = R"(
typedef struct Node {
    long value;
    global struct Node* next;
} Node;
kernel void add_up(global const Node* first, global long* sum) {
    *sum = 0;
    for (global const Node* node = first; node; node = node->next) *sum += node->value;
}
)";

int add_up_list() {
    if ((shared_memory() & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) == 0) {
        std::puts("skipped: the device has no shared virtual memory");
        return 0;
    }
    begin();
    cl_int code = CL_SUCCESS;
    const char* source = list_source;
    const cl_program program = clCreateProgramWithSource(context, 1, &source, nullptr, &code);
    check(code, "creating the program");
    const cl_kernel kernel = kernel_of(program, version() < 30 ? "-cl-std=CL2.0" : "-cl-std=CL3.0", "add_up");

    constexpr std::size_t n = 1000;
    auto* const nodes = static_cast<Node*>(clSVMAlloc(context, CL_MEM_READ_WRITE, n * sizeof(Node), 0));
    auto* const sum = static_cast<cl_long*>(clSVMAlloc(context, CL_MEM_READ_WRITE, sizeof(cl_long), 0));
    check(nodes && sum ? CL_SUCCESS : CL_OUT_OF_HOST_MEMORY, "allocating shared memory");

    // Coarse-grained: the host may touch the memory between map and unmap, the device outside. Nothing is copied by
    // name.
    check(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_WRITE, nodes, n * sizeof(Node), 0, nullptr, nullptr), "mapping");
    for (std::size_t i = 0; i < n; ++i) {
        const std::size_t at = i * 7 % n; // the nodes follow each other in another order than in memory
        nodes[at].value = static_cast<cl_long>(i + 1);
        nodes[at].next = i + 1 < n ? &nodes[(i + 1) * 7 % n] : nullptr;
    }
    check(clEnqueueSVMUnmap(queue, nodes, 0, nullptr, nullptr), "unmapping");

    check(clSetKernelArgSVMPointer(kernel, 0, nodes), "setting the list"); // an address, not a cl_mem
    check(clSetKernelArgSVMPointer(kernel, 1, sum), "setting the sum");
    launch(kernel, 1);
    check(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, sum, sizeof(cl_long), 0, nullptr, nullptr), "mapping the sum");
    const long long found = *sum;
    check(clEnqueueSVMUnmap(queue, sum, 0, nullptr, nullptr), "unmapping the sum");
    check(clFinish(queue), "waiting");
    clSVMFree(context, nodes);
    clSVMFree(context, sum);
    std::printf("1 + 2 + ... + %zu = %lld\n", n, found);
    return found == static_cast<long long>(n * (n + 1) / 2) ? 0 : 1;
}

/// @param file the kernel as text or, if its name ends with .spv, in SPIR-V
int saxpy(const std::string& file) {
    const bool compiled = file.size() > 4 && file.substr(file.size() - 4) == ".spv";
    if (compiled && languages().find("SPIR-V") == std::string::npos) {
        std::puts("skipped: the device takes no SPIR-V");
        return 0;
    }
    std::ifstream in(file, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    if (bytes.empty()) {
        std::fprintf(stderr, "opencl3: cannot read %s\n", file.c_str());
        return 2;
    }
    begin();
    cl_int code = CL_SUCCESS;
    const char* source = bytes.c_str();
    const cl_program program = compiled ? clCreateProgramWithIL(context, bytes.data(), bytes.size(), &code)
                                        : clCreateProgramWithSource(context, 1, &source, nullptr, &code);
    check(code, "creating the program");
    const cl_kernel kernel = kernel_of(program, compiled ? "" : "-cl-std=CL1.2", "saxpy");

    constexpr std::size_t n = 1'000'000;
    std::vector<float> a(n), b(n), c(n, -1);
    for (std::size_t i = 0; i < n; ++i) {
        a[i] = static_cast<float>(i % 1000);
        b[i] = 1;
    }
    const auto buffer = [&](std::vector<float>& from) {
        const cl_mem made =
            clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, n * sizeof(float), from.data(), &code);
        check(code, "creating a buffer");
        return made;
    };
    const float k = 3;
    const cl_mem buffers[] = {buffer(a), buffer(b), buffer(c)};
    check(clSetKernelArg(kernel, 0, sizeof k, &k), "setting k");
    for (cl_uint i = 0; i < 3; ++i) check(clSetKernelArg(kernel, i + 1, sizeof(cl_mem), &buffers[i]), "setting arrays");
    launch(kernel, n);
    check(clEnqueueReadBuffer(queue, buffers[2], CL_TRUE, 0, n * sizeof(float), c.data(), 0, nullptr, nullptr),
          "reading the result");
    std::size_t right = 0;
    for (std::size_t i = 0; i < n; ++i) right += c[i] == k * a[i] + b[i]; // whole numbers: nothing rounds
    std::printf("%zu of %zu elements are right\n", right, n);
    return right == n ? 0 : 1;
}

int main(int argc, char** argv) {
    const std::string word = argc == 2 ? argv[1] : "";
    if (word.empty()) {
        std::fputs("usage: opencl3 ask|svm|FILE.cl|FILE.spv\n", stderr);
        return 2;
    }
    cl_platform_id platforms[16];
    cl_device_id devices[16];
    cl_uint platform_count = 0, device_count = 0;
    check(clGetPlatformIDs(16, platforms, &platform_count), "looking for a platform");
    for (cl_uint p = 0; p < platform_count && p < 16; ++p) {
        check(clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, 16, devices, &device_count), "looking for a device");
        for (cl_uint d = 0; d < device_count && d < 16; ++d) {
            device = devices[d];
            if (word == "ask") tell();
            else return word == "svm" ? add_up_list() : saxpy(word);
        }
    }
    return 0;
}
