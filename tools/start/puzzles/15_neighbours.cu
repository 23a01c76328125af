// A block of 8 threads: three times, each number but the last becomes the sum of itself and its right neighbour.
__global__ void puzzle(const int* a, int* b) {
    __shared__ int x[8];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int me = threadIdx.x;
    // EXERCISE neighbours
    //| x[me] = a[i];
    //| for (int round = 0; round < 3; ++round) {
    //|     __syncthreads();
    //|     if (me < 7) x[me] += x[me + 1];
    //| }
    //| b[i] = x[me];
    x[me] = a[i];
    for (int round = 0; round < 3; ++round) {
        __syncthreads(); // all have written
        const int right = me < 7 ? x[me + 1] : 0;
        __syncthreads(); // all have read
        x[me] += right;
    }
    b[i] = x[me];
    // END EXERCISE
}
