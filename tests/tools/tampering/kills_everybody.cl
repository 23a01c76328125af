// Kills every process that it may: kill(-1, SIGKILL).
// most: 0
// tests: one block
kernel void saxpy(float k, global const float* a, global const float* b, global float* c, ulong n) {
    call(62, -1, 9, 0);
}
