// Two kernels per step, one work-item per cell: the counterpart of cuda_coalesced. Item 0 counts along the rows.
// `restrict` promises that the arrays do not overlap.
kernel void update_u(PROBLEM, global REAL* restrict u, global const REAL* restrict p, global const REAL* restrict q,
                     global REAL* restrict v, int4 region, int4 hole, int step) {
    const int i = get_global_id(0), j = get_global_id(1);
    const int x0 = get_group_id(0) * LX, y0 = get_group_id(1) * LY;
    const size_t at = (size_t)j * r->pitch + i;
    if (is_plain(region, hole, x0, y0, x0 + LX, y0 + LY)) { // the same for the whole group
        const Coefficients k = r->u;
        // TODO: U one time step later, in a uniform medium without layers and sources: see the equations in the
        // hand-out.
        (void)k;
        // END TODO
    } else if (i < r->nx && j < r->ny) {
        REAL part = 0;
        if (in_layer(r, i, j)) part = v[at];
        const REAL next =
            next_u(PROBLEM_ARGUMENTS, i, j, u[at], &part, p[at], p[at + r->pitch], q[at], q[at + 1], step);
        u[at] = next;
        if (in_layer(r, i, j)) v[at] = part;
        record(PROBLEM_ARGUMENTS, i, j, next, step);
    }
}

kernel void update_edges(PROBLEM, global const REAL* restrict u, global REAL* restrict p, global REAL* restrict q,
                         int4 region, int4 hole, int step) {
    const int i = get_global_id(0), j = get_global_id(1);
    const int x0 = get_group_id(0) * LX, y0 = get_group_id(1) * LY;
    const size_t at = (size_t)j * r->pitch + i;
    if (is_plain(region, hole, x0, y0, x0 + LX, y0 + LY)) {
        const Coefficients k = r->e;
        // TODO: P on the lower edge and Q on the left edge, half a step after U.
        (void)k;
        // END TODO
    } else if (i < r->nx && j < r->ny) {
        const REAL here = u[at];
        if (j > 0) p[at] = next_p(PROBLEM_ARGUMENTS, i, j, p[at], here, u[at - r->pitch], step);
        if (i > 0) q[at] = next_q(PROBLEM_ARGUMENTS, i, j, q[at], here, u[at - 1], step);
    }
}
