// One work-item per element. The global size is n rounded up to whole work-groups, hence the test of i.
kernel void saxpy(float k, global const float* a, global const float* b, global float* c, ulong n) {
    // ANSWER many-blocks repair-stride
    const size_t i = get_global_id(0);
    if (i < n) c[i] = k * a[i] + b[i];
    // END ANSWER
}
