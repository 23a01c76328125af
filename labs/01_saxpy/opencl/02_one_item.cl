// One work-item per element. The global size is n rounded up to whole work-groups, hence the test of i.
kernel void saxpy(float k, global const float* a, global const float* b, global float* c, ulong n) {
    // EXERCISE many-blocks
    //| // TODO: find the index of this item's element. Compute c there; items beyond the end do nothing.
    const size_t i = get_global_id(0);
    if (i < n) c[i] = k * a[i] + b[i];
    // END EXERCISE
}
