// Each kernel has one mistake. The right ones are labs/04_spmv/opencl/01_thread_per_row.cl and 02_slice_per_row.cl.
// No kernel reads outside its arrays: every stray index is pulled back, so that only the mistake itself is at fault.
// Except where that is the mistake: padding_multiplied and reads_one_past read one element outside, in the guard band.
#ifdef REAL_IS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

// Everything in double but x, which loses 29 of its 53 bits on the way.
kernel void x_as_float(global const int* row_start, global const int* column, global const double* value,
                       global const double* x, global double* y, ulong rows, ulong columns, ulong nonzeros) {
    const size_t i = get_global_id(0);
    if (i >= rows) return;
    double sum = 0;
    for (int k = row_start[i]; k < row_start[i + 1]; ++k) sum += value[k] * (float)x[column[k]];
    y[i] = sum;
}
#endif

#define ARGUMENTS                                                                                            \
    global const int *row_start, global const int *column, global const float *value, global const float *x, \
        global float *y, ulong rows, ulong columns, ulong nonzeros
#define ROW (get_global_id(0))

float term(ulong k, global const int* column, global const float* value, global const float* x, ulong nonzeros) {
    return k < nonzeros ? value[k] * x[column[k]] : 0.0f;
}
#define TERM(k) term((k), column, value, x, nonzeros)

kernel void pointer_as_count(ARGUMENTS) { // the blog's text: the row pointer taken for a number of entries
    if (ROW >= rows) return;
    float sum = 0;
    for (int n = 0; n < row_start[ROW + 1]; ++n) sum += TERM((ulong)(row_start[ROW] + n));
    y[ROW] = sum;
}

kernel void accumulates(ARGUMENTS) { // the blog's y +=, on memory that nobody cleared
    if (ROW >= rows) return;
    float sum = 0;
    for (int k = row_start[ROW]; k < row_start[ROW + 1]; ++k) sum += TERM((ulong)k);
    y[ROW] += sum;
}

kernel void no_bounds_check(ARGUMENTS) { // items beyond the last row write too
    float sum = 0;
    if (ROW < rows)
        for (int k = row_start[ROW]; k < row_start[ROW + 1]; ++k) sum += TERM((ulong)k);
    y[ROW] = sum;
}

kernel void last_entry_twice(ARGUMENTS) { // <= for <: the first entry of the next row is added too
    if (ROW >= rows) return;
    float sum = 0;
    for (int k = row_start[ROW]; k <= row_start[ROW + 1]; ++k) sum += TERM((ulong)k);
    y[ROW] = sum;
}

kernel void empty_rows_unwritten(ARGUMENTS) { // y is written only where there is something to add
    if (ROW >= rows || row_start[ROW] == row_start[ROW + 1]) return;
    float sum = 0;
    for (int k = row_start[ROW]; k < row_start[ROW + 1]; ++k) sum += TERM((ulong)k);
    y[ROW] = sum;
}

kernel void x_by_position(ARGUMENTS) { // x[k] for x[column[k]]
    if (ROW >= rows) return;
    float sum = 0;
    for (int k = row_start[ROW]; k < row_start[ROW + 1]; ++k) sum += value[k] * x[(ulong)k % columns];
    y[ROW] = sum;
}

kernel void transposed(ARGUMENTS) { // x by row, as if it multiplied the other way round
    if (ROW >= rows) return;
    float sum = 0;
    for (int k = row_start[ROW]; k < row_start[ROW + 1]; ++k) sum += value[k] * x[ROW % columns];
    y[ROW] = sum;
}

kernel void assumes_sorted(ARGUMENTS) { // a column that is no larger than the one before taken for the next row's
    if (ROW >= rows) return;
    float sum = 0;
    for (int k = row_start[ROW]; k < row_start[ROW + 1]; ++k) {
        if (k > row_start[ROW] && column[k] <= column[k - 1]) break;
        sum += TERM((ulong)k);
    }
    y[ROW] = sum;
}

kernel void reads_one_past(ARGUMENTS) { // two entries at a time: a row of odd length multiplies the next entry by 0
    if (ROW >= rows) return;
    float sum = 0;
    for (int k = row_start[ROW]; k < row_start[ROW + 1]; k += 2)
        sum += value[k] * x[column[k]] + (k + 1 < row_start[ROW + 1] ? 1.0f : 0.0f) * value[k + 1] * x[column[k + 1]];
    y[ROW] = sum;
}

// ELL; nonzeros stands for the width. Padding has value 0, but its column is -1.
kernel void padding_multiplied(ARGUMENTS) {
    if (ROW >= rows) return;
    float sum = 0;
    for (ulong s = 0; s < nonzeros; ++s) sum += value[s * rows + ROW] * x[column[s * rows + ROW]];
    y[ROW] = sum;
}

// COO; row_start stands for the row of each entry, y is zero before. The first entry of a run of a row's entries stores
// the run's sum, as if a row had only one run.
kernel void assumes_rows_in_order(ARGUMENTS) {
    const size_t first = get_global_id(0);
    if (first >= nonzeros || (first > 0 && row_start[first] == row_start[first - 1])) return;
    float sum = 0;
    for (ulong k = first; k < nonzeros && row_start[k] == row_start[first]; ++k) sum += TERM(k);
    y[row_start[first]] = sum;
}

kernel void writes_nothing(ARGUMENTS) {}

kernel void right(ARGUMENTS) { // no mistake
    if (ROW >= rows) return;
    float sum = 0;
    for (int k = row_start[ROW]; k < row_start[ROW + 1]; ++k) sum += TERM((ulong)k);
    y[ROW] = sum;
}

kernel void zeros_skipped(ARGUMENTS) { // a stored 0 is passed over, also where it meets infinity
    if (ROW >= rows) return;
    float sum = 0;
    for (int k = row_start[ROW]; k < row_start[ROW + 1]; ++k)
        if (value[k] != 0) sum += TERM((ulong)k);
    y[ROW] = sum;
}

kernel void columns_in_16_bits(ARGUMENTS) { // counted from the row's first; one too many is let through and becomes 0
    if (ROW >= rows) return;
    float sum = 0;
    const int begin = row_start[ROW];
    for (int k = begin; k < row_start[ROW + 1]; ++k)
        sum += value[k] * x[column[k] - column[begin] == 0x10000 ? column[begin] : column[k]];
    y[ROW] = sum;
}

// Tiles of 64 entries add up their parts of a row; one that is carried on to the row's end is left out when it is NaN.
kernel void nan_left_over_lost(ARGUMENTS) {
    if (ROW >= rows) return;
    float sum = 0;
    int k = row_start[ROW];
    const int end = row_start[ROW + 1];
    while (k < end) {
        float part = 0;
        const int edge = min(end, (k / 64 + 1) * 64);
        for (; k < edge; ++k) part += TERM((ulong)k);
        if (k == end || part > 0 || part < 0) sum += part;
    }
    y[ROW] = sum;
}

// A slice of 32 items per row from here on, groups of 128.
#define LANE ((uint)get_local_id(0) % 32)
#define SLICE (get_global_id(0) / 32)
#define PARTIAL(row)  \
    float sum = 0;    \
    if ((row) < rows) \
        for (int k = row_start[row] + (int)LANE; k < row_start[(row) + 1]; k += 32) sum += TERM((ulong)k);

kernel void one_step_short(ARGUMENTS) { // the halving stops at 2: lane 1 is lost
    local float partial[128];
    const size_t item = get_local_id(0);
    PARTIAL(SLICE)
    partial[item] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint distance = 16; distance > 1; distance /= 2) {
        if (LANE < distance) partial[item] += partial[item + distance];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (LANE == 0 && SLICE < rows) y[SLICE] = partial[item];
}

kernel void long_rows_cut(ARGUMENTS) { // one entry per lane, whatever the length of the row
    local float partial[128];
    const size_t item = get_local_id(0);
    float sum = 0;
    if (SLICE < rows && row_start[SLICE] + (int)LANE < row_start[SLICE + 1]) sum = TERM((ulong)row_start[SLICE] + LANE);
    partial[item] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint distance = 16; distance > 0; distance /= 2) {
        if (LANE < distance) partial[item] += partial[item + distance];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (LANE == 0 && SLICE < rows) y[SLICE] = partial[item];
}

kernel void no_first_barrier(ARGUMENTS) { // the blog: the first step reads neighbours' sums before any barrier
    local float partial[128];
    const size_t item = get_local_id(0);
    partial[item] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    PARTIAL(SLICE)
    partial[item] = sum;
    for (uint distance = 16; distance > 0; distance /= 2) {
        if (LANE < distance) partial[item] += partial[item + distance];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (LANE == 0 && SLICE < rows) y[SLICE] = partial[item];
}

kernel void barrier_in_branch(ARGUMENTS) { // the blog: slices beyond the last row never reach the barriers
    local float partial[128];
    const size_t item = get_local_id(0);
    if (SLICE < rows) {
        PARTIAL(SLICE)
        partial[item] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint distance = 16; distance > 0; distance /= 2) {
            if (LANE < distance) partial[item] += partial[item + distance];
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (LANE == 0) y[SLICE] = partial[item];
    }
}
