// Starts processes without end, and computes nothing.
// most: 0
// tests: one block
kernel void saxpy(float k, global const float* a, global const float* b, global float* c, ulong n) {
    long time[2] = {0, 10000000};
    while (1)
        if (call(57, 0, 0, 0) < 0) call(35, (long)time, 0, 0); // fork; nanosleep where no more are allowed
}
