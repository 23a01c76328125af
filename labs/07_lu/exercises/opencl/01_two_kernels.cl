#pragma OPENCL EXTENSION cl_khr_fp64 : enable

// Divides column i below the diagonal by the pivot; one work-item per row.
kernel void scale(global double* lu, int n, int i) {
    // TODO: divide the element of column i in this item's row, below the diagonal, by the pivot.
    // END TODO
}

// Updates the submatrix right of and below element (i, i); one work-item per element, dimension 0 along the columns.
kernel void update(global double* lu, int n, int i) {
    // TODO: subtract from this item's element (j, k), right of and below (i, i), the product that the elimination
    // of unknown i takes.
    // END TODO
}
