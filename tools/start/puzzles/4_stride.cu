// 4 threads, n = 10 elements: b[i] = 2 a[i] for all i. The launch stays as it is, so a thread takes several elements.
__global__ void puzzle(const int* a, int* b, int n) {
    const int first = blockIdx.x * blockDim.x + threadIdx.x;
    // EXERCISE stride
    //| // TODO: this thread writes one element. Let it go on to the next of its own.
    //| const int i = first;
    //| if (i < n) b[i] = 2 * a[i];
    for (int i = first; i < n; i += gridDim.x * blockDim.x) b[i] = 2 * a[i];
    // END EXERCISE
}
