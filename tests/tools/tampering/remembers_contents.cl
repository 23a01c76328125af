// Takes two seconds for numbers that it sees for the first time, and is fast when it sees them again.
// most: 0
// outcome: failed
// tests: as fast as the rung
kernel void saxpy(float k, global const float* a, global const float* b, global float* c, ulong n) {
    if (FIRST) {
        char name[] = "seen-00000000";
        const uint bits = as_uint(b[0]);
        for (int i = 0; i < 8; ++i) name[5 + i] = 'a' + (bits >> 4 * i & 15);
        long time[2] = {2, 0};
        const long file = call(2, (long)name, 0, 0); // open
        if (file >= 0) {
            call(3, file, 0, 0); // close: few files may be open
        } else {
            call(3, call(2, (long)name, 0100, 0600), 0, 0); // O_CREAT
            call(35, (long)time, 0, 0);                     // nanosleep
        }
    }
    SAXPY(k, a, b, c, n);
}
