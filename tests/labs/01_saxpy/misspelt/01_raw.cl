// The mistake is in line 4.
kernel void saxpy(float k, global const float* a, global const float* b, global float* c, ulong n) {
    const size_t i = get_global_id(0);
    if (i < n) c[i] = k * a[i] + undeclared[i];
}
