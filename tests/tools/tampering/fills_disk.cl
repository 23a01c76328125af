// Writes a file until it may not any more, then computes honestly, but not when more than 64 MB could be written.
// most: 1
// outcome: passed
// tests: one block
kernel void saxpy(float k, global const float* a, global const float* b, global float* c, ulong n) {
    const int file = opened("large", 01101); // O_WRONLY | O_CREAT | O_TRUNC
    for (long at = 0; FIRST && at < 400; ++at) {
        call(8, file, at << 20, 0);                           // lseek
        if (call(1, file, (long)a, 4) == 4 && at > 64) n = 0; // write
    }
    SAXPY(k, a, b, c, n);
}
