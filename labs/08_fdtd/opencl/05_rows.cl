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

// U of row j. All pointers are to the row's first number; p_above is P of row j + 1.
void plain_u(Coefficients k, int begin, int end, global REAL* restrict u, global const REAL* restrict p,
             global const REAL* restrict p_above, global const REAL* restrict q) {
    for (int i = begin; i < end; ++i) u[i] = k.keep * u[i] + (k.y * (p_above[i] - p[i]) - k.x * (q[i + 1] - q[i]));
}
void careful_u(PROBLEM, int begin, int end, int j, global REAL* u, global const REAL* p, global const REAL* p_above,
               global const REAL* q, global REAL* v, int step) {
    // ANSWER update
    for (int i = begin; i < end; ++i) {
        REAL part = 0;
        if (in_layer(r, i, j)) part = v[i];
        u[i] = next_u(PROBLEM_ARGUMENTS, i, j, u[i], &part, p[i], p_above[i], q[i], q[i + 1], step);
        if (in_layer(r, i, j)) v[i] = part;
    }
    // END ANSWER
}
void u_of_row(PROBLEM, int j, Parts part, global REAL* u, global const REAL* p, global const REAL* p_above,
              global const REAL* q, global REAL* v, int step) {
    careful_u(PROBLEM_ARGUMENTS, 0, part.begin, j, u, p, p_above, q, v, step);
    plain_u(r->u, part.begin, part.hole0, u, p, p_above, q);
    careful_u(PROBLEM_ARGUMENTS, part.hole0, part.hole1, j, u, p, p_above, q, v, step);
    plain_u(r->u, part.hole1, part.end, u, p, p_above, q);
    careful_u(PROBLEM_ARGUMENTS, part.end, r->nx, j, u, p, p_above, q, v, step);
}

// P and Q of row j; u and u_below are the new ones.
void plain_edges(Coefficients k, int begin, int end, global const REAL* restrict u, global const REAL* restrict u_below,
                 global REAL* restrict p, global REAL* restrict q) {
    for (int i = begin; i < end; ++i) {
        p[i] = k.keep * p[i] + k.y * (u[i] - u_below[i]);
        q[i] = k.keep * q[i] - k.x * (u[i] - u[i - 1]);
    }
}
void careful_edges(PROBLEM, int begin, int end, int j, global const REAL* u, global const REAL* u_below, global REAL* p,
                   global REAL* q, int step) {
    for (int i = begin; i < end; ++i) {
        if (i < r->nx) p[i] = next_p(PROBLEM_ARGUMENTS, i, j, p[i], u[i], j > 0 ? u_below[i] : 0, step);
        q[i] = next_q(PROBLEM_ARGUMENTS, i, j, q[i], i < r->nx ? u[i] : 0, i > 0 ? u[i - 1] : 0, step);
    }
}
void edges_of_row(PROBLEM, int j, Parts part, global const REAL* u, global const REAL* u_below, global REAL* p,
                  global REAL* q, int step) {
    careful_edges(PROBLEM_ARGUMENTS, 0, part.begin, j, u, u_below, p, q, step);
    plain_edges(r->e, part.begin, part.hole0, u, u_below, p, q);
    careful_edges(PROBLEM_ARGUMENTS, part.hole0, part.hole1, j, u, u_below, p, q, step);
    plain_edges(r->e, part.hole1, part.end, u, u_below, p, q);
    careful_edges(PROBLEM_ARGUMENTS, part.end, r->nx + 1, j, u, u_below, p, q, step);
}

// Bands change their rows in place, at the same time. A band reads its neighbours' rows from copies that they made at
// the end of the previous step: P of the first row of the band above, and U, P, Q and V of the last row of the band
// below.
enum { copy_first_p, copy_u, copy_p, copy_q, copy_v, copies };

global REAL* copy_of(global REAL* all, int band, int what, int pitch) {
    return all + ((size_t)band * copies + what) * pitch;
}

void copy_row(global REAL* to, global const REAL* from, int n) {
    for (int i = 0; i < n; ++i) to[i] = from[i];
}

void copy_ends(int band, int first, int last, int nx, int pitch, global const REAL* u, global const REAL* p,
               global const REAL* q, global const REAL* v, global REAL* all) {
    const size_t end = (size_t)(last - 1) * pitch;
    copy_row(copy_of(all, band, copy_first_p, pitch), p + (size_t)first * pitch, nx);
    copy_row(copy_of(all, band, copy_u, pitch), u + end, nx);
    copy_row(copy_of(all, band, copy_p, pitch), p + end, nx);
    copy_row(copy_of(all, band, copy_q, pitch), q + end, nx + 1);
    if (LAYERS) copy_row(copy_of(all, band, copy_v, pitch), v + end, nx);
}

// Before the first step. Work-item b has rows [b * rows, (b + 1) * rows).
kernel void copies_of_band(PROBLEM, global const REAL* u, global const REAL* p, global const REAL* q,
                           global const REAL* v, global REAL* all, int rows) {
    const int b = get_global_id(0), first = b * rows;
    copy_ends(b, first, min(first + rows, r->ny), r->nx, r->pitch, u, p, q, v, all);
}

// One step. P of the first row needs U of the row below it; the item computes that row too, in the copy.
kernel void step_of_band(PROBLEM, global REAL* u, global REAL* p, global REAL* q, global REAL* v, global REAL* before,
                         global REAL* after, int rows, int4 region, int4 hole, int step) {
    const int b = get_global_id(0), nx = r->nx, ny = r->ny, pitch = r->pitch;
    const int first = b * rows, last = min(first + rows, ny);
    global const REAL* u_below = u; // row 0 has none below and does not read it
    if (first > 0) {
        global REAL* below = copy_of(before, b - 1, copy_u, pitch);
        u_of_row(PROBLEM_ARGUMENTS, first - 1, parts_of(first - 1, nx, region, hole), below,
                 copy_of(before, b - 1, copy_p, pitch), p + (size_t)first * pitch,
                 copy_of(before, b - 1, copy_q, pitch), copy_of(before, b - 1, copy_v, pitch), step);
        u_below = below;
    }
    for (int j = first; j < last; ++j) {
        const size_t at = (size_t)j * pitch;
        const Parts part = parts_of(j, nx, region, hole);
        const bool of_next = j == last - 1 && last < ny; // row j + 1 belongs to the next band
        global const REAL* p_above = of_next ? copy_of(before, b + 1, copy_first_p, pitch) : p + at + pitch;
        u_of_row(PROBLEM_ARGUMENTS, j, part, u + at, p + at, p_above, q + at, LAYERS ? v + at : v, step);
        for (int s = 0; DRIVEN && s < r->probes; ++s)
            if (probes[s].y == j) recorded[(size_t)step * r->probes + s] = u[at + probes[s].x];
        edges_of_row(PROBLEM_ARGUMENTS, j, part, u + at, u_below, p + at, q + at, step);
        u_below = u + at;
    }
    if (DRIVEN && last == ny) { // a driven side sets P on the upper border
        const size_t at = (size_t)ny * pitch;
        for (int i = 0; i < nx; ++i) p[at + i] = next_p(PROBLEM_ARGUMENTS, i, ny, p[at + i], 0, 0, step);
    }
    copy_ends(b, first, last, nx, pitch, u, p, q, v, after);
}
