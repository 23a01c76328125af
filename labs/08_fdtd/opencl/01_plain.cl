// Two kernels per step, one work-item per cell: the counterpart of cuda_coalesced. Item 0 counts along the rows.
// `restrict` promises that the arrays do not overlap.
kernel void update_h(Book g, global REAL* restrict hz, global const REAL* restrict ex, global const REAL* restrict ey,
                     REAL source) {
    const int i = get_global_id(0), j = get_global_id(1);
    if (i >= g.nx || j >= g.ny) return;
    const size_t at = (size_t)j * g.pitch + i;
    // EXERCISE update
    //| // TODO: Hz one time step later, from the four edges of the cell; in the source's cell it is `source`.
    //| (void)at, (void)source;
    const REAL h = g.a * hz[at] + (g.b_dy * (ex[at + g.pitch] - ex[at]) - g.b_dx * (ey[at + 1] - ey[at]));
    hz[at] = i == g.source_i && j == g.source_j ? source : h;
    // END EXERCISE
}

kernel void update_e(Book g, global const REAL* restrict hz, global REAL* restrict ex, global REAL* restrict ey) {
    const int i = get_global_id(0), j = get_global_id(1);
    if (i >= g.nx || j >= g.ny) return;
    const size_t at = (size_t)j * g.pitch + i;
    // EXERCISE update
    //| // TODO: Ex on the lower edge of the cell and Ey on its left edge. Edges on the border stay as they are.
    //| (void)at;
    if (j > 0) ex[at] = g.c * ex[at] + g.d_dy * (hz[at] - hz[at - g.pitch]);
    if (i > 0) ey[at] = g.c * ey[at] - g.d_dx * (hz[at] - hz[at - 1]);
    // END EXERCISE
}
