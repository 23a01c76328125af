// A table of functions, which the emulator does not have: it says so, and with CUDA_EMULATOR_CHECK=fail the program
// fails, though it looks at no error code.
#include <cstdio>

struct Shape {
    __device__ virtual float area() const = 0;
};

struct Square : Shape {
    float side;
    __device__ explicit Square(float side) : side(side) {}
    __device__ float area() const override { return side * side; }
};

__global__ void area_of(float* out, float side) {
    const Square square(side);
    const Shape* volatile shape = &square;
    *out = shape->area();
}

int main() {
    float* out = nullptr;
    cudaMallocManaged(&out, sizeof(float));
    area_of<<<1, 1>>>(out, 3);
    cudaDeviceSynchronize();
    std::puts("the end");
}
