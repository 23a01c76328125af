// 16 threads, n = 10 elements: b[i] = 2 a[i], and nothing past the end.
__global__ void puzzle(const int* a, int* b, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    // EXERCISE bounds
    //| b[i] = 2 * a[i]; // TODO: threads 10 to 15 have no element.
    if (i < n) b[i] = 2 * a[i];
    // END EXERCISE
}
