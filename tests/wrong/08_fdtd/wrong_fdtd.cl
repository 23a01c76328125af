// Each kernel has one mistake, chosen by MISTAKE; the right one is labs/08_fdtd/opencl/02_local_tile.cl and
// 03_steps.cl. 1 no barrier after U, 2 the ring is one cell too narrow, 3 the last column is left out, 4 P reads U from
// the wrong side, 5 a row of P above the array is read, 6 layers keep the whole of U, 7 V is not stored
kernel void two_steps(PROBLEM, global const REAL* from_u, global const REAL* from_p, global const REAL* from_q,
                      global const REAL* from_v, global REAL* to_u, global REAL* to_p, global REAL* to_q,
                      global REAL* to_v, int first, int count) {
    local REAL u[16][16], p[16][16], q[16][16];
    const int ring = MISTAKE == 2 ? 1 : 2;
    const int x = get_local_id(0), y = get_local_id(1);
    const int i = get_group_id(0) * (16 - 2 * ring) - ring + x, j = get_group_id(1) * (16 - 2 * ring) - ring + y;
    const int right = min(x + 1, 15), above = min(y + 1, 15), left = max(x - 1, 0), below = max(y - 1, 0);
    const bool column = i >= 0 && i < r->nx - (MISTAKE == 3), row = j >= 0 && j < r->ny;
    const size_t at = (size_t)j * r->pitch + i;
    const bool mine = x >= ring && x < 16 - ring && y >= ring && y < 16 - ring;
    u[y][x] = column && row ? from_u[at] : 0;
    p[y][x] = column && j >= 0 && j <= r->ny + (MISTAKE == 5) ? from_p[at] : 0;
    q[y][x] = row && i >= 0 && i <= r->nx ? from_q[at] : 0;
    REAL part = 0;
    if (column && row && in_layer(r, i, j)) part = from_v[at];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int t = 0; t < count; ++t) {
        const REAL here =
            next_u(PROBLEM_ARGUMENTS, i, j, u[y][x], &part, p[y][x], p[above][x], q[y][x], q[y][right], first + t);
        if (MISTAKE == 6) part = here;
        u[y][x] = here;
        if (mine) record(PROBLEM_ARGUMENTS, i, j, here, first + t);
        if (MISTAKE != 1) barrier(CLK_LOCAL_MEM_FENCE);
        p[y][x] =
            next_p(PROBLEM_ARGUMENTS, i, j, p[y][x], u[y][x], MISTAKE == 4 ? u[above][x] : u[below][x], first + t);
        q[y][x] = next_q(PROBLEM_ARGUMENTS, i, j, q[y][x], u[y][x], u[y][left], first + t);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (mine && column && row) to_u[at] = u[y][x];
    if (mine && column && j <= r->ny) to_p[at] = p[y][x];
    if (mine && row && i <= r->nx) to_q[at] = q[y][x];
    if (MISTAKE != 7 && mine && column && row && in_layer(r, i, j)) to_v[at] = part;
}
