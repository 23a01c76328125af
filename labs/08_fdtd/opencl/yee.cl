// One cell of Yee's scheme, for the OpenCL rungs that compute any scene; rules.hpp says what a scene consists of. The
// host builds it for the problem: REAL is float or double, MAPPED says whether cells differ in their medium, GRADED
// whether each has coefficients of its own, LAYERS whether there are absorbing layers, DRIVEN whether there are sources
// or probes. What a problem does not have costs nothing.
#if defined(REAL_IS_DOUBLE)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

typedef struct {
    REAL keep, x, y, add;
} Coefficients;

typedef struct {
    int x0, y0, x1, y1;
} Box;

typedef struct {
    Box box;
    int component, hard, strengths;
} Patch;

typedef struct {
    int x, y;
} ProbeCell;

// The same layout as Rules in rules.hpp.
typedef struct {
    Coefficients u, e;
    int nx, ny, pitch;
    Box change, inner;
    int layers, mapped, graded, materials_u, steps, sources, probes;
    Box driven, probed;
} Rules;

// The first arguments of every kernel. OpenCL 1.2 has no pointers in structures that come from the host.
#define PROBLEM                                                                                                       \
    constant Rules *restrict r, global const uchar *restrict map, global const Coefficients *restrict table,          \
        global const REAL *restrict layers, global const Patch *restrict patches, global const REAL *restrict values, \
        global const REAL *restrict strengths, global const ProbeCell *restrict probes, global REAL *restrict recorded
#define PROBLEM_ARGUMENTS r, map, table, layers, patches, values, strengths, probes, recorded

bool inside(Box box, int i, int j) { return i >= box.x0 && i < box.x1 && j >= box.y0 && j < box.y1; }

bool in_layer(constant Rules* r, int i, int j) { return LAYERS && !inside(r->inner, i, j); }

// Numbers in an array of cells.
size_t plane_of(constant Rules* r) { return (size_t)r->pitch * (r->ny + 1); }

Coefficients medium_u(PROBLEM, size_t at) { return GRADED ? table[at] : MAPPED ? table[map[at]] : r->u; }
Coefficients medium_edge(PROBLEM, int component, size_t at) {
    if (GRADED) return table[component * plane_of(r) + at];
    // EXERCISE media-and-sources
    //| // TODO: the coefficients of P (component 1) or Q (component 2) at `at`. In a uniform medium (MAPPED is 0) they
    //| // are r->e, else the entry of the table that the map names. Indices of P and Q count from r->materials_u on.
    //| return r->e;
    return MAPPED ? table[r->materials_u + map[component * plane_of(r) + at]] : r->e;
    // END EXERCISE
}

// The number of source s in a cell of its box.
REAL source_in(PROBLEM, int s, int i, int j, int step) {
    const REAL x = values[(size_t)s * r->steps + step];
    if (patches[s].strengths < 0) return x;
    const Box b = patches[s].box;
    return x * strengths[(size_t)patches[s].strengths + (size_t)(j - b.y0) * (b.x1 - b.x0) + (i - b.x0)];
}

// A hard source sets the number, a soft one adds gain times its value.
REAL driven(PROBLEM, int component, int i, int j, REAL value, REAL gain, bool may_add, int step) {
    // Edges on the border belong to driven sides, which are components of their own.
    if (component == 1 && (j == 0 || j == r->ny)) component = 3;
    if (component == 2 && (i == 0 || i == r->nx)) component = 4;
    // EXERCISE media-and-sources
    //| // TODO: go through the sources patches[s] of this component whose box holds the cell. source_in() gives the
    //| // number of source s there. A hard source sets the value, a soft one adds gain times its number where may_add
    //| // says so.
    for (int s = 0; s < r->sources; ++s) {
        if (patches[s].component != component || !inside(patches[s].box, i, j)) continue;
        const REAL x = source_in(PROBLEM_ARGUMENTS, s, i, j, step);
        if (patches[s].hard) value = x;
        else if (may_add) value += gain * x;
    }
    // END EXERCISE
    return value;
}

// Whether a group's cells [x0, x1) x [y0, y1) are within a region of columns .s0 to .s2 and rows .s1 to .s3, and
// outside a hole: away from borders, layers, sources and probes. The host passes both boxes by value, so that this
// costs little.
bool is_plain(int4 region, int4 hole, int x0, int y0, int x1, int y1) {
    return x0 >= region.s0 && y0 >= region.s1 && x1 <= region.s2 && y1 <= region.s3 &&
           !(x0 < hole.s2 && x1 > hole.s0 && y0 < hole.s3 && y1 > hole.s1);
}

// U of cell (i, j) one time step later. Outside the grid U stays. v: the part that Q drives, in the layers.
REAL next_u(PROBLEM, int i, int j, REAL u, REAL* v, REAL p0, REAL p1, REAL q0, REAL q1, int step) {
    const size_t at = (size_t)j * r->pitch + i;
    const bool changes = inside(r->change, i, j);
    if (changes) {
        const Coefficients k = medium_u(PROBLEM_ARGUMENTS, at);
        const REAL x = k.x * (q1 - q0), y = k.y * (p1 - p0);
        if (!in_layer(r, i, j)) {
            u = k.keep * u + (y - x);
        } else { // U in two parts, each with its own loss
            global const REAL* rows = layers + 4 * (r->nx + 1);
            const REAL from_x = k.keep * layers[i] * *v - layers[r->nx + 1 + i] * x;
            const REAL from_y = k.keep * rows[j] * (u - *v) + rows[r->ny + 1 + j] * y;
            *v = from_x;
            u = from_x + from_y;
        }
    }
    if (DRIVEN && inside(r->driven, i, j))
        u = driven(PROBLEM_ARGUMENTS, 0, i, j, u, medium_u(PROBLEM_ARGUMENTS, at).add, changes, step);
    return u;
}

// P on the lower edge of cell (i, j), half a step after U. Edges on the border stay, unless their side is driven; those
// outside the grid stay.
REAL next_p(PROBLEM, int i, int j, REAL p, REAL u, REAL u_below, int step) {
    if (j < 0 || j > r->ny || i < 0 || i >= r->nx) return p;
    const Coefficients k = medium_edge(PROBLEM_ARGUMENTS, 1, (size_t)j * r->pitch + i);
    global const REAL* rows = layers + 4 * (r->nx + 1) + 2 * (r->ny + 1);
    const REAL keep = LAYERS ? rows[j] : (REAL)1, gain = LAYERS ? rows[r->ny + 1 + j] : (REAL)1;
    if (j > 0 && j < r->ny) p = k.keep * keep * p + k.y * gain * (u - u_below);
    if (DRIVEN && inside(r->driven, i, j)) p = driven(PROBLEM_ARGUMENTS, 1, i, j, p, k.add * gain, true, step);
    return p;
}

// Q on the left edge of cell (i, j), half a step after U; the same for its edges.
REAL next_q(PROBLEM, int i, int j, REAL q, REAL u, REAL u_left, int step) {
    if (i < 0 || i > r->nx || j < 0 || j >= r->ny) return q;
    const Coefficients k = medium_edge(PROBLEM_ARGUMENTS, 2, (size_t)j * r->pitch + i);
    global const REAL* columns = layers + 2 * (r->nx + 1);
    const REAL keep = LAYERS ? columns[i] : (REAL)1, gain = LAYERS ? columns[r->nx + 1 + i] : (REAL)1;
    if (i > 0 && i < r->nx) q = k.keep * keep * q - k.x * gain * (u - u_left);
    if (DRIVEN && inside(r->driven, i, j)) q = driven(PROBLEM_ARGUMENTS, 2, i, j, q, k.add * gain, true, step);
    return q;
}

// Writes U of a probe's cell to the record.
void record(PROBLEM, int i, int j, REAL u, int step) {
    if (!DRIVEN || !inside(r->probed, i, j)) return;
    for (int s = 0; s < r->probes; ++s)
        if (probes[s].x == i && probes[s].y == j) recorded[(size_t)step * r->probes + s] = u;
}
