// Each kernel has one mistake. The right ones are 01_naive.cl, 02_local_tile.cl and 03_register_tile.cl in
// labs/03_matmul/opencl.
#define TILE 16

// The tiled product with its mistakes chosen by the arguments, all known when the kernel is compiled.
void tiled(global const float* a, global const float* b, global float* c, int m, int k, int n,
           local float (*a_tile)[TILE], local float (*b_tile)[TILE], int first_barrier, int second_barrier, int edges,
           int overwrite) {
    const int x = get_local_id(0), y = get_local_id(1);
    const int j = get_global_id(0), i = get_global_id(1);
    float sum = 0;
    for (int l0 = 0; l0 < k; l0 += TILE) {
        if (edges) {
            a_tile[y][x] = i < m && l0 + x < k ? a[i * k + l0 + x] : 0;
            b_tile[y][x] = l0 + y < k && j < n ? b[(l0 + y) * n + j] : 0;
        } else { // the last tile reads on into the next row, one element past the end at most
            a_tile[y][x] = a[min(i * k + l0 + x, m * k)];
            b_tile[y][x] = b[min((l0 + y) * n + j, k * n)];
        }
        if (first_barrier) barrier(CLK_LOCAL_MEM_FENCE);
        float part = 0;
        for (int l = 0; l < TILE; ++l) part += a_tile[y][l] * b_tile[l][x];
        sum = overwrite ? part : sum + part;
        if (second_barrier) barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i < m && j < n) c[i * n + j] = sum;
}

#define TILED(name, first, second, edges, overwrite)                                                       \
    kernel void name(global const float* a, global const float* b, global float* c, int m, int k, int n) { \
        local float a_tile[TILE][TILE];                                                                    \
        local float b_tile[TILE][TILE];                                                                    \
        tiled(a, b, c, m, k, n, a_tile, b_tile, first, second, edges, overwrite);                          \
    }

TILED(right, 1, 1, 1, 0)
TILED(no_first_barrier, 0, 1, 1, 0)
TILED(no_second_barrier, 1, 0, 1, 0)
TILED(tile_edge_unguarded, 1, 1, 0, 0)
TILED(tile_overwrites, 1, 1, 1, 1)

float element(global const float* a, global const float* b, int k, int n, int i, int j) {
    float sum = 0;
    for (int l = 0; l < k; ++l) sum += a[i * k + l] * b[l * n + j];
    return sum;
}

kernel void swapped_indices(global const float* a, global const float* b, global float* c, int m, int k, int n) {
    const int j = get_global_id(0), i = get_global_id(1);
    if (i < m && j < n) c[j * m + i] = element(a, b, k, n, i, j); // the transpose
}

kernel void int_accumulator(global const float* a, global const float* b, global float* c, int m, int k, int n) {
    const int j = get_global_id(0), i = get_global_id(1);
    if (i >= m || j >= n) return;
    int sum = 0; // program 1.6 of the book
    for (int l = 0; l < k; ++l) sum = sum + a[i * k + l] * b[l * n + j];
    c[i * n + j] = sum;
}

kernel void last_product_lost(global const float* a, global const float* b, global float* c, int m, int k, int n) {
    const int j = get_global_id(0), i = get_global_id(1);
    if (i >= m || j >= n) return;
    float sum = 0;
    for (int l = 0; l + 1 < k; ++l) sum += a[i * k + l] * b[l * n + j];
    c[i * n + j] = sum;
}

kernel void adds_to_c(global const float* a, global const float* b, global float* c, int m, int k, int n) {
    const int j = get_global_id(0), i = get_global_id(1);
    if (i < m && j < n) c[i * n + j] += element(a, b, k, n, i, j); // whatever was there before
}

kernel void output_edge_unguarded(global const float* a, global const float* b, global float* c, int m, int k, int n) {
    const int j = get_global_id(0), i = get_global_id(1);
    if (j < n && i <= m) c[i * n + j] = i < m ? element(a, b, k, n, i, j) : 0; // one row too many
}

// A's tile is filled without a look at k: what is too much meets zeros of B and adds nothing, but for what lies behind
// the last row of A, up to 15 elements, if that is no number.
kernel void reads_past_end(global const float* a, global const float* b, global float* c, int m, int k, int n) {
    local float a_tile[TILE][TILE];
    local float b_tile[TILE][TILE];
    const int x = get_local_id(0), y = get_local_id(1);
    const int j = get_global_id(0), i = get_global_id(1);
    float sum = 0;
    for (int l0 = 0; l0 < k; l0 += TILE) {
        a_tile[y][x] = i < m ? a[i * k + l0 + x] : 0;
        b_tile[y][x] = l0 + y < k && j < n ? b[(l0 + y) * n + j] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int l = 0; l < TILE; ++l) sum += a_tile[y][l] * b_tile[l][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i < m && j < n) c[i * n + j] = sum;
}

// An item stores four columns at a time, as if 4 divided n: at the ragged edge into the next row, and behind the last.
kernel void vector_store_past_edge(global const float* a, global const float* b, global float* c, int m, int k, int n) {
    const int i = get_global_id(1), j = 4 * get_global_id(0);
    if (i >= m || j >= n) return;
    float sum[4] = {0, 0, 0, 0};
    for (int e = 0; e < 4; ++e)
        if (j + e < n) sum[e] = element(a, b, k, n, i, j + e);
    vstore4(vload4(0, sum), 0, c + i * n + j);
}

// The product in tiles with a row of 16 zeros of A left out: 0 times NaN is lost.
kernel void zeros_skipped(global const float* a, global const float* b, global float* c, int m, int k, int n) {
    const int j = get_global_id(0), i = get_global_id(1);
    if (i >= m || j >= n) return;
    float sum = 0;
    for (int l0 = 0; l0 < k; l0 += TILE) {
        const int end = min(l0 + TILE, k);
        int any = l0 + TILE > k;
        for (int l = l0; l < end; ++l) any |= a[(size_t)i * k + l] != 0;
        if (!any) continue;
        for (int l = l0; l < end; ++l) sum += a[(size_t)i * k + l] * b[(size_t)l * n + j];
    }
    c[(size_t)i * n + j] = sum;
}

// The last tile of A holds numbers of the next row, where there is one; they meet zeros.
kernel void reads_on(global const float* a, global const float* b, global float* c, int m, int k, int n) {
    const int j = get_global_id(0), i = get_global_id(1);
    if (i >= m || j >= n) return;
    float sum = element(a, b, k, n, i, j);
    if (i + 1 < m && k % TILE != 0) sum += a[(size_t)(i + 1) * k] * 0.0f;
    c[(size_t)i * n + j] = sum;
}

kernel void denormals_flushed(global const float* a, global const float* b, global float* c, int m, int k, int n) {
    const int j = get_global_id(0), i = get_global_id(1);
    if (i >= m || j >= n) return;
    const float sum = element(a, b, k, n, i, j);
    c[(size_t)i * n + j] = fabs(sum) < FLT_MIN ? 0 : sum;
}

// A last tile of one product is left out, from 33 whole ones on.
kernel void short_last_tile_lost(global const float* a, global const float* b, global float* c, int m, int k, int n) {
    const int j = get_global_id(0), i = get_global_id(1);
    if (i >= m || j >= n) return;
    float sum = 0;
    for (int l = 0; l < (k == 33 * TILE + 1 ? k - 1 : k); ++l) sum += a[(size_t)i * k + l] * b[(size_t)l * n + j];
    c[(size_t)i * n + j] = sum;
}

// A row of C that is exactly as long as a group is large, its last element missing.
kernel void full_row_lost(global const float* a, global const float* b, global float* c, int m, int k, int n) {
    const int j = get_global_id(0), i = get_global_id(1);
    if (i < m && j < n && !(m == 1 && n == 1024 && j == 1023)) c[(size_t)i * n + j] = element(a, b, k, n, i, j);
}

// Where 4 divides n an item reads four columns of B at a time, for its group; the condition lets through the four
// behind the last column. They come from the next row, or from behind the last one, and are never used.
kernel void reads_columns_too_many(global const float* a, global const float* b, global float* c, int m, int k, int n) {
    local float4 b_tile[TILE][TILE / 4];
    const int x = get_local_id(0), y = get_local_id(1);
    const int j = get_global_id(0), i = get_global_id(1), column = get_group_id(0) * TILE;
    float sum = 0;
    if (n % 4 != 0 && i < m && j < n) sum = element(a, b, k, n, i, j);
    for (int l0 = 0; n % 4 == 0 && l0 < k; l0 += TILE) {
        if (x < TILE / 4)
            b_tile[y][x] = l0 + y < k && column + 4 * x <= n ? vload4(0, b + (size_t)(l0 + y) * n + column + 4 * x) : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int l = l0; l < min(l0 + TILE, k) && i < m && j < n; ++l)
            sum += a[(size_t)i * k + l] * ((local float*)b_tile[l - l0])[x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i < m && j < n) c[(size_t)i * n + j] = sum;
}
