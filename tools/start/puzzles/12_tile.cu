// The product of two matrices, c = a b, each with width rows of width numbers, in blocks of 4 x 4 threads. Each thread
// computes one number of c.
__global__ void puzzle(const int* a, const int* b, int* c, int width) {
    __shared__ int s[4][4], t[4][4]; // a tile of a, and one of b
    const int x = blockIdx.x * blockDim.x + threadIdx.x, me_x = threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y, me_y = threadIdx.y;
    int sum = 0;
    for (int k = 0; k < width; k += 4) { // the tiles in row y of a, and those in column x of b
        // EXERCISE tile
        //| // TODO: right, but four threads of the block read the same number. Let each be read once, into s or t.
        //| for (int j = 0; j < 4; ++j) sum += a[y * width + k + j] * b[(k + j) * width + x];
        s[me_y][me_x] = a[y * width + k + me_x];
        t[me_y][me_x] = b[(k + me_y) * width + x];
        __syncthreads(); // both tiles are complete
        for (int j = 0; j < 4; ++j) sum += s[me_y][j] * t[j][me_x];
        __syncthreads(); // and nobody needs them any more
        // END EXERCISE
    }
    c[y * width + x] = sum;
}
