// One time step of a band of rows, by one work-item: the counterpart of cpu_threads. Loops along a row have no tests
// where none are needed, so that the compiler turns each into vector instructions.

// Columns of row j: [0, begin) with tests, [begin, hole0) without, [hole0, hole1) with, [hole1, end) without, then
// with.
typedef struct {
    int begin, hole0, hole1, end;
} Parts;

Parts parts_of(int j, int nx, int4 region, int4 hole) {
    Parts s = {nx, nx, nx, nx};
    if (j < region.s1 || j >= region.s3 || region.s0 >= region.s2) return s;
    s.begin = region.s0, s.hole0 = s.hole1 = s.end = region.s2;
    if (j >= hole.s1 && j < hole.s3) s.hole0 = clamp(hole.s0, s.begin, s.end), s.hole1 = clamp(hole.s2, s.begin, s.end);
    return s;
}

// U of row j. All pointers are to the row's first number.
void plain_u(Coefficients k, int begin, int end, int pitch, global const REAL* restrict u,
             global const REAL* restrict p, global const REAL* restrict q, global REAL* restrict to_u) {
    for (int i = begin; i < end; ++i) to_u[i] = k.keep * u[i] + (k.y * (p[i + pitch] - p[i]) - k.x * (q[i + 1] - q[i]));
}
void careful_u(PROBLEM, int begin, int end, int j, global const REAL* u, global const REAL* p, global const REAL* q,
               global const REAL* v, global REAL* to_u, global REAL* to_v, bool mine, int step) {
    for (int i = begin; i < end; ++i) {
        REAL part = 0;
        if (in_layer(r, i, j)) part = v[i];
        to_u[i] = next_u(PROBLEM_ARGUMENTS, i, j, u[i], &part, p[i], p[i + r->pitch], q[i], q[i + 1], step);
        if (mine && in_layer(r, i, j)) to_v[i] = part;
    }
}

// P and Q of row j; u is the new one.
void plain_edges(Coefficients k, int begin, int end, global const REAL* restrict u, global const REAL* restrict u_below,
                 global const REAL* restrict p, global const REAL* restrict q, global REAL* restrict to_p,
                 global REAL* restrict to_q) {
    for (int i = begin; i < end; ++i) to_p[i] = k.keep * p[i] + k.y * (u[i] - u_below[i]);
    for (int i = begin; i < end; ++i) to_q[i] = k.keep * q[i] - k.x * (u[i] - u[i - 1]);
}
void careful_edges(PROBLEM, int begin, int end, int j, global const REAL* u, global const REAL* u_below,
                   global const REAL* p, global const REAL* q, global REAL* to_p, global REAL* to_q, int step) {
    for (int i = begin; i < end; ++i) {
        if (i < r->nx) to_p[i] = next_p(PROBLEM_ARGUMENTS, i, j, p[i], u[i], j > 0 ? u_below[i] : 0, step);
        to_q[i] = next_q(PROBLEM_ARGUMENTS, i, j, q[i], i < r->nx ? u[i] : 0, i > 0 ? u[i - 1] : 0, step);
    }
}

// Work-item b has rows [b * rows, (b + 1) * rows). P of its first row needs U of the row below, which another item
// computes at the same time; so it computes that row itself, into row b of `below`.
kernel void step_of_band(PROBLEM, global const REAL* from_u, global const REAL* from_p, global const REAL* from_q,
                         global const REAL* from_v, global REAL* to_u, global REAL* to_p, global REAL* to_q,
                         global REAL* to_v, global REAL* below, int rows, int4 region, int4 hole, int step) {
    const int b = get_global_id(0), nx = r->nx, ny = r->ny, pitch = r->pitch;
    const int first = b * rows, last = min(first + rows, ny);
    global REAL* u_below = below + (size_t)b * pitch;
    for (int j = max(first - 1, 0); j < last; ++j) {
        const size_t at = (size_t)j * pitch;
        const bool mine = j >= first;
        const Parts part = parts_of(j, nx, region, hole);
        global REAL* new_u = mine ? to_u + at : u_below;
        global const REAL *u = from_u + at, *p = from_p + at, *q = from_q + at;
        global const REAL* v = LAYERS ? from_v + at : from_v;
        global REAL* new_v = LAYERS ? to_v + at : to_v;
        careful_u(PROBLEM_ARGUMENTS, 0, part.begin, j, u, p, q, v, new_u, new_v, mine, step);
        plain_u(r->u, part.begin, part.hole0, pitch, u, p, q, new_u);
        careful_u(PROBLEM_ARGUMENTS, part.hole0, part.hole1, j, u, p, q, v, new_u, new_v, mine, step);
        plain_u(r->u, part.hole1, part.end, pitch, u, p, q, new_u);
        careful_u(PROBLEM_ARGUMENTS, part.end, nx, j, u, p, q, v, new_u, new_v, mine, step);
        if (!mine) continue;
        for (int s = 0; DRIVEN && s < r->probes; ++s)
            if (r->probe_y[s] == j) recorded[(size_t)step * r->probes + s] = new_u[r->probe_x[s]];
        global REAL *new_p = to_p + at, *new_q = to_q + at;
        careful_edges(PROBLEM_ARGUMENTS, 0, part.begin, j, new_u, u_below, p, q, new_p, new_q, step);
        plain_edges(r->e, part.begin, part.hole0, new_u, u_below, p, q, new_p, new_q);
        careful_edges(PROBLEM_ARGUMENTS, part.hole0, part.hole1, j, new_u, u_below, p, q, new_p, new_q, step);
        plain_edges(r->e, part.hole1, part.end, new_u, u_below, p, q, new_p, new_q);
        careful_edges(PROBLEM_ARGUMENTS, part.end, nx + 1, j, new_u, u_below, p, q, new_p, new_q, step);
        u_below = new_u;
    }
    if (last == ny && first < ny) // the border edges above the last row
        for (int i = 0; i < nx; ++i) to_p[(size_t)ny * pitch + i] = from_p[(size_t)ny * pitch + i];
}
