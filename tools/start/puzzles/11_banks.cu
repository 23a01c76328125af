// A block of 32 threads and a matrix a of 32 rows with 32 numbers: thread me adds up row me. The matrix goes through
// shared memory, so that the reads of a are coalesced.
__global__ void puzzle(const int* a, int* sums) {
    // EXERCISE banks
    //| __shared__ int x[32 * 32];
    //| const int row = 32; // TODO: right, but in which banks are the numbers that the 32 threads read at the same time?
    __shared__ int x[32 * 33];
    const int row = 33; // from one row to the next
    // END EXERCISE
    const int me = threadIdx.x;
    for (int k = 0; k < 32; ++k) x[row * k + me] = a[32 * k + me];
    __syncthreads();
    int sum = 0;
    for (int k = 0; k < 32; ++k) sum += x[row * me + k];
    sums[me] = sum;
}
