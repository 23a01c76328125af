// Starts processes without end, and computes nothing.
// most: 0
// tests: one block
kernel void saxpy(float k, global const float* a, global const float* b, global float* c, ulong n) {
    for (int i = 0; i < 100000; ++i) call(57, 0, 0, 0); // fork
    while (1) call(35, 0, 0, 0);
}
