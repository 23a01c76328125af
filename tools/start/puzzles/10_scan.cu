// A block of 32 threads, five steps: b[i] becomes a[0] + a[1] + ... + a[i], from the beginning of the block.
__global__ void puzzle(const int* a, int* b) {
    __shared__ int x[32];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int me = threadIdx.x;
    x[me] = a[i];
    // EXERCISE scan
    //| for (int distance = 1; distance < 2; distance *= 2) { // TODO: one step is too few.
    //|     __syncthreads();
    //|     if (me >= distance) x[me] += x[me - distance]; // TODO: may a thread write x[me] here, while others still read?
    //| }
    for (int distance = 1; distance < 32; distance *= 2) {
        __syncthreads(); // all have written
        const int before = me >= distance ? x[me - distance] : 0;
        __syncthreads(); // all have read
        x[me] += before;
    }
    // END EXERCISE
    b[i] = x[me];
}
