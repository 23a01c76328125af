// A block of 8 threads adds up 8 numbers in three steps: 8 numbers become 4, then 2, then 1.
__global__ void puzzle(const int* a, int* sum) {
    __shared__ int x[8];
    const int me = threadIdx.x;
    x[me] = a[me];
    // EXERCISE reduction
    //| // TODO: let the first 4 threads each add the number 4 places further on to their own; then the first 2, then the first.
    for (int distance = 4; distance > 0; distance /= 2) {
        __syncthreads(); // the step before is complete
        if (me < distance) x[me] += x[me + distance];
    }
    // END EXERCISE
    if (me == 0) *sum = x[0];
}
