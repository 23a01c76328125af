// Threads in two dimensions: 6 along x, 4 along y. The matrix b has 4 rows of 6 elements, one row after the other in
// memory. The element in row y and column x becomes 10 y + x.
__global__ void puzzle(int* b, int width) {
    // EXERCISE two-dimensions
    //| // TODO: find x and y of this thread. Write the element in row y and column x.
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    b[y * width + x] = 10 * y + x;
    // END EXERCISE
}
