// A block of 32 threads, a warp, has 32 numbers. After five steps, in which all take part, each thread writes the sum
// of all 32 into b. The threads read each other's registers: there is no shared memory.
__global__ void puzzle(const int* a, int* b) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = a[i];
    // EXERCISE shuffle
    //| // TODO: in each step each thread adds the sum of its partner to its own. Five steps reach all 32.
    for (int distance = 1; distance < 32; distance *= 2) sum += __shfl_xor_sync(0xffffffff, sum, distance);
    // END EXERCISE
    b[i] = sum;
}
