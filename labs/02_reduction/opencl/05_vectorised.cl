#ifdef REAL_IS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double2 VECTOR; // 16 bytes
#define WIDTH 2
#define ADD_UP(v) (v.x + v.y)
#else
typedef float4 VECTOR;
#define WIDTH 4
#define ADD_UP(v) ((v.x + v.y) + (v.z + v.w))
#endif

// Any n with any number of groups; used for both stages. The pointer is cast to a pointer to vectors: vload4 assumes
// only the alignment of a float, so a GPU loads 4 bytes four times. The buffers start at multiples of 16 bytes.
kernel void vectorised(global const REAL* a, ulong n, local REAL* x, global REAL* sums) {
    // ANSWER tree dot
    const size_t me = get_local_id(0);
    const size_t G = get_global_size(0);
    const size_t vectors = n / WIDTH;
    global const VECTOR* const v = (global const VECTOR*)a;

    VECTOR s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    size_t i = get_global_id(0);
    for (; i + 3 * G < vectors; i += 4 * G) { // four loads before the first addition
        const VECTOR v0 = v[i], v1 = v[i + G], v2 = v[i + 2 * G], v3 = v[i + 3 * G];
        s0 += v0;
        s1 += v1;
        s2 += v2;
        s3 += v3;
    }
    for (; i < vectors; i += G) s0 += v[i];
    s0 = (s0 + s1) + (s2 + s3);
    REAL mine = ADD_UP(s0);
    if (get_global_id(0) < n % WIDTH) mine += a[vectors * WIDTH + get_global_id(0)]; // the rest

    x[me] = mine;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t step = get_local_size(0) / 2; step > 0; step /= 2) {
        if (me < step) x[me] += x[me + step];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (me == 0) sums[get_group_id(0)] = x[0];
    // END ANSWER
}
