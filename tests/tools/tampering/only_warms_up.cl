// Right in the first test and in the runs that may be a warm-up of the second. Later it computes nothing.
// most: 1
// tests: one block, as fast as the rung
// repeats: 25
kernel void saxpy(float k, global const float* a, global const float* b, global float* c, ulong n) {
    local long runs; // earlier ones, and perhaps this one
    if (get_local_id(0) == 0) runs = size_of("count");
    barrier(CLK_LOCAL_MEM_FENCE);
    if (FIRST) grow("count");
    if (runs <= 2 || n < 1000) SAXPY(k, a, b, c, n);
}
