#pragma OPENCL EXTENSION cl_khr_fp64 : enable

// Divides column i below the diagonal by the pivot; one work-item per row.
kernel void scale(global double* lu, int n, int i) {
    // EXERCISE two-kernels
    //| // TODO: divide the element of column i in this item's row, below the diagonal, by the pivot.
    const int j = i + 1 + get_global_id(0);
    if (j < n) lu[(size_t)j * n + i] /= lu[(size_t)i * n + i];
    // END EXERCISE
}

// Updates the submatrix right of and below element (i, i); one work-item per element, dimension 0 along the columns.
kernel void update(global double* lu, int n, int i) {
    // EXERCISE two-kernels
    //| // TODO: subtract from this item's element (j, k), right of and below (i, i), the product that the elimination
    //| // of unknown i takes.
    const int j = i + 1 + get_global_id(1);
    const int k = i + 1 + get_global_id(0);
    if (j < n && k < n) lu[(size_t)j * n + k] -= lu[(size_t)j * n + i] * lu[(size_t)i * n + k];
    // END EXERCISE
}
