// U, P and Q in one kernel, U in local memory: the counterpart of cuda_fused. A group computes U of its LX x LY cells,
// and again of the column to the left and the row below, which belong to other groups. The old field stays until all
// groups are done; the new one goes to a second set of arrays.
REAL new_u(PROBLEM, int i, int j, global const REAL* u, global const REAL* p, global const REAL* q,
           global const REAL* v, REAL* part, int step) {
    if (i < 0 || j < 0 || i >= r->nx || j >= r->ny) return 0;
    const size_t at = (size_t)j * r->pitch + i;
    if (in_layer(r, i, j)) *part = v[at];
    return next_u(PROBLEM_ARGUMENTS, i, j, u[at], part, p[at], p[at + r->pitch], q[at], q[at + 1], step);
}

kernel void one_step(PROBLEM, global const REAL* u, global const REAL* p, global const REAL* q, global const REAL* v,
                     global REAL* next_u_, global REAL* next_p_, global REAL* next_q_, global REAL* next_v_, int step) {
    local REAL tile[LY + 1][LX + 1]; // row 0 and column 0: computed again
    const int x = get_local_id(0), y = get_local_id(1);
    const int i = get_global_id(0), j = get_global_id(1);
    REAL part = 0, other = 0;
    const REAL here = new_u(PROBLEM_ARGUMENTS, i, j, u, p, q, v, &part, step);
    tile[y + 1][x + 1] = here;
    if (y == 0) tile[0][x + 1] = new_u(PROBLEM_ARGUMENTS, i, j - 1, u, p, q, v, &other, step);
    if (x == 0) tile[y + 1][0] = new_u(PROBLEM_ARGUMENTS, i - 1, j, u, p, q, v, &other, step);
    barrier(CLK_LOCAL_MEM_FENCE); // U is complete

    const size_t at = (size_t)j * r->pitch + i;
    if (i < r->nx && j < r->ny) {
        next_u_[at] = here;
        if (in_layer(r, i, j)) next_v_[at] = part;
        record(PROBLEM_ARGUMENTS, i, j, here, step);
    }
    if (i < r->nx && j <= r->ny) next_p_[at] = next_p(PROBLEM_ARGUMENTS, i, j, p[at], here, tile[y][x + 1], step);
    if (i <= r->nx && j < r->ny) next_q_[at] = next_q(PROBLEM_ARGUMENTS, i, j, q[at], here, tile[y + 1][x], step);
}
