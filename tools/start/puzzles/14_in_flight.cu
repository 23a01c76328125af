// 32 threads, 128 elements: each thread takes 4 of them. b[i] = 2 a[i] for all i. The number of threads stays as it is.
__global__ void puzzle(const int* a, int* b) {
    const int me = threadIdx.x;
    // EXERCISE in-flight
    //| // TODO: right, but a thread has one number under way, and waits for it before it asks for the next.
    //| for (int k = 0; k < 4; ++k) b[32 * k + me] = 2 * a[32 * k + me];
    const int4 four = reinterpret_cast<const int4*>(a)[me]; // 16 bytes with one request
    reinterpret_cast<int4*>(b)[me] = make_int4(2 * four.x, 2 * four.y, 2 * four.z, 2 * four.w);
    // END EXERCISE
}
