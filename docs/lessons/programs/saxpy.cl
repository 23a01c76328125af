// SAXPY, for opencl3.cpp: given to the driver as this text, or as the SPIR-V that clang makes of it.
kernel void saxpy(float k, global const float* a, global const float* b, global float* c) {
    const size_t i = get_global_id(0);
    c[i] = k * a[i] + b[i];
}
