// One step of any scene in two kernels, one work-item per cell: the counterpart of cuda_scene.
kernel void update_u(PROBLEM, global REAL* restrict u, global const REAL* restrict p, global const REAL* restrict q,
                     global REAL* restrict v, int4 region, int4 hole, int step) {
    const int i = get_global_id(0), j = get_global_id(1);
    const int x0 = get_group_id(0) * LX, y0 = get_group_id(1) * LY;
    const size_t at = (size_t)j * r->pitch + i;
    if (is_plain(region, hole, x0, y0, x0 + LX, y0 + LY)) { // the same for the whole group
        const Coefficients k = r->u;
        u[at] = k.keep * u[at] + (k.y * (p[at + r->pitch] - p[at]) - k.x * (q[at + 1] - q[at]));
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
        p[at] = k.keep * p[at] + k.y * (u[at] - u[at - r->pitch]);
        q[at] = k.keep * q[at] - k.x * (u[at] - u[at - 1]);
    } else if (i <= r->nx && j <= r->ny) { // a driven side sets the edges on the upper and the right border, too
        const bool column = i < r->nx, row = j < r->ny;
        const REAL here = column && row ? u[at] : 0;
        if (column) p[at] = next_p(PROBLEM_ARGUMENTS, i, j, p[at], here, j > 0 ? u[at - r->pitch] : 0, step);
        if (row) q[at] = next_q(PROBLEM_ARGUMENTS, i, j, q[at], here, i > 0 ? u[at - 1] : 0, step);
    }
}
