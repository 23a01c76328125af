// A block of 8 threads, 8 elements: thread i writes b[i] = 2 a[i].
__global__ void puzzle(const int* a, int* b) {
    // EXERCISE one-item
    //| // TODO: find the index of this thread. Write one element of b.
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    b[i] = 2 * a[i];
    // END EXERCISE
}
