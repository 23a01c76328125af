#ifdef REAL_IS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

// A slice of `width` work-items per row; width is a power of two that divides the size of the group.
// partial: one REAL per item of the group. Every item of the group reaches every barrier: those beyond the last row add
// up an empty range.
kernel void spmv(global const int* row_start, global const int* column, global const REAL* value, global const REAL* x,
                 global REAL* y, ulong rows, uint width, local REAL* partial) {
    const uint item = get_local_id(0);
    const uint lane = item % width;
    const size_t i = get_global_id(0) / width; // the global size and the group are multiples of width
    const int begin = i < rows ? row_start[i] : 0;
    const int end = i < rows ? row_start[i + 1] : 0;

    // EXERCISE slice-per-row
    //| // TODO: lane l takes the entries l, l + width, ... of the row. Then the lanes of a slice add up their sums in
    //| // local memory, and lane 0 writes y. Where does every item have to wait, even those beyond the last row?
    //| partial[item] = 0;
    //| if (lane == 0 && i < rows) y[i] = begin - end;
    REAL sum = 0;
    for (int k = begin + (int)lane; k < end; k += (int)width) sum += value[k] * x[column[k]];
    partial[item] = sum;
    barrier(CLK_LOCAL_MEM_FENCE); // all partial sums are written before any item reads a neighbour's

    for (uint half_width = width / 2; half_width > 0; half_width /= 2) {
        if (lane < half_width) partial[item] += partial[item + half_width];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lane == 0 && i < rows) y[i] = partial[item];
    // END EXERCISE
}
