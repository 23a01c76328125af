// A fixed number of work-items. With G of them, the global size, each takes every G-th element.
kernel void saxpy(float k, global const float* a, global const float* b, global float* c, ulong n) {
    // EXERCISE repair-stride
    //| // TODO: this loop has a mistake. Find it and repair it.
    for (size_t i = get_global_id(0); i < n; i += get_global_size(0)) c[i] = k * a[i] + b[i];
    // END EXERCISE
}
