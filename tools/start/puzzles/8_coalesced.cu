// A block of 32 threads, 128 elements: each thread takes 4 of them. b[i] = 2 a[i] for all i.
__global__ void puzzle(const int* a, int* b) {
    const int me = threadIdx.x;
    for (int k = 0; k < 4; ++k) {
        // EXERCISE coalesced
        //| const int i = 4 * me + k; // TODO: right, but which elements do the 32 threads read at the same time?
        const int i = 32 * k + me;
        // END EXERCISE
        b[i] = 2 * a[i];
    }
}
