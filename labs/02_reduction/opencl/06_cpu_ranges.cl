#ifdef REAL_IS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double8 REAL8;
typedef double4 REAL4;
#else
typedef float8 REAL8;
typedef float4 REAL4;
#endif

// Item t adds up the elements t * each ... (t + 1) * each - 1 of a, from front to back. Each `block` of them has a sum
// of its own, which is added to the item's: so an element takes part in fewer additions.
kernel void ranges(global const REAL* a, ulong n, ulong each, ulong block, global REAL* sums) {
    const size_t t = get_global_id(0);
    const size_t end = min(n, (t + 1) * each);
    REAL sum = 0;
    for (size_t first = t * each; first < end; first += block) {
        const size_t block_end = min(first + block, end);
        REAL8 s0 = 0, s1 = 0, s2 = 0, s3 = 0; // an addition takes about four cycles: four are under way at once
        size_t i = first;
        for (; i + 32 <= block_end; i += 32) {
            s0 += vload8(0, a + i);
            s1 += vload8(1, a + i);
            s2 += vload8(2, a + i);
            s3 += vload8(3, a + i);
        }
        REAL left = 0;
        for (; i < block_end; ++i) left += a[i];
        const REAL8 s = (s0 + s1) + (s2 + s3);
        const REAL4 h = s.lo + s.hi;
        sum += ((h.x + h.y) + (h.z + h.w)) + left;
    }
    sums[t] = sum;
}
