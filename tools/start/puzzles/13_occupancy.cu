// A block of 64 threads reverses each of its pieces of 64 numbers, one piece after the other.
__global__ void puzzle(const int* a, int* b, int pieces) {
    const int me = threadIdx.x;
    const int first = blockIdx.x * pieces * 64; // of the numbers of this block
    // EXERCISE occupancy
    //| __shared__ int x[128 * 64]; // TODO: right, but a place for each of up to 128 pieces leaves no room for other blocks.
    //| for (int p = 0; p < pieces; ++p) {
    //|     x[64 * p + me] = a[first + 64 * p + me];
    //|     __syncthreads();
    //|     b[first + 64 * p + me] = x[64 * p + 63 - me];
    //| }
    __shared__ int x[2][64]; // while some threads still read one, others already write the other
    for (int p = 0; p < pieces; ++p) {
        x[p % 2][me] = a[first + 64 * p + me];
        __syncthreads();
        b[first + 64 * p + me] = x[p % 2][63 - me];
    }
    // END EXERCISE
}
