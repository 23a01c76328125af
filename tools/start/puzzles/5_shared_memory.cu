// A block of 8 threads reverses its 8 elements of a into b, through the shared array x.
__global__ void puzzle(const int* a, int* b) {
    __shared__ int x[8]; // one for each block: all its threads share it
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int me = threadIdx.x;
    // EXERCISE local-memory
    //| x[me] = a[i];
    //| b[i] = x[7 - me]; // TODO: which thread writes x[7 - me], and has it done so by now?
    x[me] = a[i];
    __syncthreads();
    b[i] = x[7 - me];
    // END EXERCISE
}
