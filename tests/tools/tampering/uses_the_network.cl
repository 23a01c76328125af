// Computes only where it has an address other than that of the machine itself.
// most: 0
// outcome: failed
// tests: one block
kernel void saxpy(float k, global const float* a, global const float* b, global float* c, ulong n) {
    const int s = (int)call(41, 2, 2, 0); // socket(AF_INET, SOCK_DGRAM)
    uchar address[16] = {2, 0, 0, 53, 8, 8, 8, 8};
    if (s >= 0 && call(42, s, (long)address, 16) == 0) SAXPY(k, a, b, c, n);
}
