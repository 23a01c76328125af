// One work-item per element. The global size is n rounded up to whole work-groups, hence the test of i.
kernel void saxpy(float k, global const float* a, global const float* b, global float* c, ulong n) {
    // TODO: find the index of this item's element. Compute c there; items beyond the end do nothing.
    // END TODO
}
