// A block of 32 threads finds the largest of n numbers, at most 32. None of them is negative.
__global__ void puzzle(const int* a, int* largest, int n) {
    __shared__ int x[32];
    const int me = threadIdx.x;
    // EXERCISE largest
    //| if (me < n) x[me] = a[me];
    //| for (int distance = 16; distance > 0; distance /= 2) {
    //|     __syncthreads();
    //|     if (me < distance) x[me] = max(x[me], x[me + distance]);
    //| }
    x[me] = me < n ? a[me] : 0; // what changes no maximum
    for (int distance = 16; distance > 0; distance /= 2) {
        __syncthreads();
        if (me < distance) x[me] = max(x[me], x[me + distance]);
    }
    // END EXERCISE
    if (me == 0) *largest = x[0];
}
