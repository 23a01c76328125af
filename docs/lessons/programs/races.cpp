// Three broken kernels in OpenCL, and each of them mended: the lesson "Races, barriers and the order of memory".
//
//     g++ races.cpp -lOpenCL -o races
//     ./races lost                            # or lost_mended, neighbour, neighbour_mended, message, message_mended
//     oclgrind --data-races ./races lost      # the same in a simulator, which reports races
//
// The program runs on the first device that it finds. Exit codes: 0 the result is right, 1 it is wrong, 2 a call
// failed.
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

const char* const source = R"(
// 1. All items add to one number. Right: the number of items.
kernel void lost(global uint* total) {
    total[0] += 1; // load, add, store: another item may store in between
}
kernel void lost_mended(global uint* total) {
    atomic_inc(total); // one step
}

// 2. Each item takes the number that its neighbour has put into local memory. Right: 1, 2, ..., 63, 0 in each group.
kernel void neighbour(global uint* out) {
    local uint x[64];
    const uint me = get_local_id(0);
    x[me] = me;
    out[get_global_id(0)] = x[(me + 1) % 64]; // has the neighbour stored it?
}
kernel void neighbour_mended(global uint* out) {
    local uint x[64];
    const uint me = get_local_id(0);
    x[me] = me;
    barrier(CLK_LOCAL_MEM_FENCE); // all items have stored
    out[get_global_id(0)] = x[(me + 1) % 64];
}

// 3. Each group stores a number and then announces it. The last to announce adds them all. Right: 16 groups, 16.
kernel void message(global uint* sums, global uint* announced, global uint* total) {
    if (get_local_id(0) != 0) return;
    sums[get_group_id(0)] = 1;
    const uint before = atomic_inc(announced); // atomic, but says nothing about the order of sums[...] before it
    if (before + 1 < get_num_groups(0)) return;
    uint sum = 0;
    for (uint g = 0; g < get_num_groups(0); ++g) sum += sums[g];
    total[0] = sum;
}
// Mended: two launches. The first has ended, with all its stores, before the second begins.
kernel void message_mended_1(global uint* sums) {
    if (get_local_id(0) == 0) sums[get_group_id(0)] = 1;
}
kernel void message_mended_2(global const uint* sums, global uint* total) {
    uint sum = 0;
    for (uint g = 0; g < 16; ++g) sum += sums[g];
    if (get_global_id(0) == 0) total[0] = sum;
}
)";

void check(cl_int code, const char* step) {
    if (code == CL_SUCCESS) return;
    std::fprintf(stderr, "races: %s: OpenCL error %d\n", step, code);
    std::exit(2);
}

int main(int argc, char** argv) {
    const std::string name = argc == 2 ? argv[1] : "";
    if (name != "lost" && name != "lost_mended" && name != "neighbour" && name != "neighbour_mended" &&
        name != "message" && name != "message_mended") {
        std::fputs("usage: races lost|lost_mended|neighbour|neighbour_mended|message|message_mended\n", stderr);
        return 2;
    }
    cl_platform_id platform = nullptr;
    cl_device_id device = nullptr;
    cl_int code = clGetPlatformIDs(1, &platform, nullptr);
    check(code, "looking for a platform");
    check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, nullptr), "looking for a device");
    const cl_context context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &code);
    check(code, "creating a context");
    const cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
    check(code, "creating a queue");
    const char* text = source;
    const cl_program program = clCreateProgramWithSource(context, 1, &text, nullptr, &code);
    check(code, "creating the program");
    check(clBuildProgram(program, 1, &device, "-cl-std=CL1.2", nullptr, nullptr), "compiling the kernels");

    // 16 groups of 64 items. All buffers have an element for each item, and begin with zeros.
    const std::size_t items = 1024, group = 64;
    std::vector<cl_uint> out(items, 0);
    const auto buffer = [&] {
        const cl_mem made = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, items * sizeof(cl_uint),
                                           out.data(), &code);
        check(code, "creating a buffer");
        return made;
    };
    const auto launch = [&](const char* kernel_name, const std::vector<cl_mem>& arguments) {
        const cl_kernel kernel = clCreateKernel(program, kernel_name, &code);
        check(code, "finding the kernel");
        for (std::size_t i = 0; i < arguments.size(); ++i)
            check(clSetKernelArg(kernel, static_cast<cl_uint>(i), sizeof(cl_mem), &arguments[i]), "setting arguments");
        check(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &items, &group, 0, nullptr, nullptr), "launching");
        check(clReleaseKernel(kernel), "releasing the kernel");
    };
    const cl_mem result = buffer(), sums = buffer(), announced = buffer();
    if (name == "message") {
        launch("message", {sums, announced, result});
    } else if (name == "message_mended") {
        launch("message_mended_1", {sums});
        launch("message_mended_2", {sums, result});
    } else {
        launch(name.c_str(), {result});
    }
    check(clEnqueueReadBuffer(queue, result, CL_TRUE, 0, items * sizeof(cl_uint), out.data(), 0, nullptr, nullptr),
          "reading the result");

    std::size_t wrong = 0;
    if (name.rfind("neighbour", 0) == 0) {
        for (std::size_t i = 0; i < items; ++i) wrong += out[i] != (i + 1) % group;
        std::printf("%s: %zu of %zu elements are wrong\n", name.c_str(), wrong, items);
    } else {
        const cl_uint right = name.rfind("lost", 0) == 0 ? 1024 : 16;
        wrong = out[0] != right;
        std::printf("%s: %u, and right is %u\n", name.c_str(), out[0], right);
    }
    return wrong > 0;
}
