// Two kernels per step, one work-item per cell: the counterpart of cuda_coalesced. Item 0 counts along the rows.
kernel void update_u(PROBLEM, global REAL* u, global const REAL* p, global const REAL* q, global REAL* v, int step) {
    const int i = get_global_id(0), j = get_global_id(1);
    if (i >= r->nx || j >= r->ny) return;
    const size_t at = (size_t)j * r->pitch + i;
    REAL part = 0;
    if (in_layer(r, i, j)) part = v[at];
    const REAL next = next_u(PROBLEM_ARGUMENTS, i, j, u[at], &part, p[at], p[at + r->pitch], q[at], q[at + 1], step);
    u[at] = next;
    if (in_layer(r, i, j)) v[at] = part;
    record(PROBLEM_ARGUMENTS, i, j, next, step);
}

kernel void update_edges(PROBLEM, global const REAL* u, global REAL* p, global REAL* q, int step) {
    const int i = get_global_id(0), j = get_global_id(1);
    if (i >= r->nx || j >= r->ny) return;
    const size_t at = (size_t)j * r->pitch + i;
    const REAL here = u[at];
    if (j > 0) p[at] = next_p(PROBLEM_ARGUMENTS, i, j, p[at], here, u[at - r->pitch], step);
    if (i > 0) q[at] = next_q(PROBLEM_ARGUMENTS, i, j, q[at], here, u[at - 1], step);
}
