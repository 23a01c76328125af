// STEPS steps of a tile in local memory. The group has LX x LY items, one per cell. After each step the outermost cells
// are no longer right, because their neighbours are missing, so the group completes only the cells at least STEPS away
// from its edge, and neighbouring groups overlap. `count` steps are done, STEPS at most.
kernel void some_steps(PROBLEM, global const REAL* from_u, global const REAL* from_p, global const REAL* from_q,
                       global const REAL* from_v, global REAL* to_u, global REAL* to_p, global REAL* to_q,
                       global REAL* to_v, int first, int count) {
    local REAL u[LY][LX], p[LY][LX], q[LY][LX];
    const int x = get_local_id(0), y = get_local_id(1);
    const int i = get_group_id(0) * (LX - 2 * STEPS) - STEPS + x;
    const int j = get_group_id(1) * (LY - 2 * STEPS) - STEPS + y;
    const int right = min(x + 1, LX - 1), above = min(y + 1, LY - 1), left = max(x - 1, 0), below = max(y - 1, 0);
    const bool column = i >= 0 && i < r->nx, row = j >= 0 && j < r->ny;
    const size_t at = (size_t)j * r->pitch + i;
    const bool mine = x >= STEPS && x < LX - STEPS && y >= STEPS && y < LY - STEPS;

    u[y][x] = column && row ? from_u[at] : 0;
    p[y][x] = column && j >= 0 && j <= r->ny ? from_p[at] : 0;
    q[y][x] = row && i >= 0 && i <= r->nx ? from_q[at] : 0;
    REAL part = 0; // no other item needs it
    if (column && row && in_layer(r, i, j)) part = from_v[at];
    barrier(CLK_LOCAL_MEM_FENCE);

    for (int t = 0; t < count; ++t) {
        const REAL here =
            next_u(PROBLEM_ARGUMENTS, i, j, u[y][x], &part, p[y][x], p[above][x], q[y][x], q[y][right], first + t);
        u[y][x] = here; // no other item reads it before the barrier
        if (mine) record(PROBLEM_ARGUMENTS, i, j, here, first + t);
        barrier(CLK_LOCAL_MEM_FENCE); // U is complete
        p[y][x] = next_p(PROBLEM_ARGUMENTS, i, j, p[y][x], u[y][x], u[below][x], first + t);
        q[y][x] = next_q(PROBLEM_ARGUMENTS, i, j, q[y][x], u[y][x], u[y][left], first + t);
        barrier(CLK_LOCAL_MEM_FENCE); // P and Q are complete
    }
    // EXERCISE repair-steps
    //| // TODO: these lines have a mistake. Find it and repair it.
    if (mine && column && row) to_u[at] = u[y][x];
    if (mine && column && j <= r->ny) to_p[at] = p[y][x];
    if (mine && row && i <= r->nx) to_q[at] = q[y][x];
    // END EXERCISE
    if (mine && column && row && in_layer(r, i, j)) to_v[at] = part;
}
