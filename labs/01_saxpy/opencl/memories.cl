// The kernels of study memories. cuda/memories.cu explains them. The host defines SIZE and READS when it builds the
// program.

// What one item computes: x = 5 x + table[...], READS times. A pointer names the memory that it points into, so a
// function would be needed for each memory; a macro serves all.
#define LOOK_UP(table)                                                          \
    const size_t i = get_global_id(0);                                          \
    if (i < n) {                                                                \
        const uint first = (uint)i * apart;                                     \
        uint x = 0;                                                             \
        for (uint r = 0; r < READS; ++r) x = 5 * x + table[(first + r) % SIZE]; \
        out[i] = x;                                                             \
    }

kernel void global_table(global const uint* restrict table, uint apart, global uint* restrict out,
                         ulong n){LOOK_UP(table)}

kernel void constant_table(constant uint* table, uint apart, global uint* restrict out, ulong n){LOOK_UP(table)}

kernel void local_table(global const uint* restrict table, uint apart, global uint* restrict out, ulong n) {
    local uint copy[SIZE];
    for (uint j = get_local_id(0); j < SIZE; j += get_local_size(0)) copy[j] = table[j];
    barrier(CLK_LOCAL_MEM_FENCE); // the copy is complete
    LOOK_UP(copy)
}
