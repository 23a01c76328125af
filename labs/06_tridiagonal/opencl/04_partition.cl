#ifdef REAL_IS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

// A level has `systems` systems of n equations, cut into `chunks` chunks of `length` equations; an item per chunk.
// Coarse equations have 1 on their diagonals, so a coarse level has no b: unit_diagonal is then 1, and b is not read.

// Reports a zero pivot: the row at level 0 from which row `row` of level `level` comes.
void report(global uint* zero_pivot, uint system, uint row, uint level, uint length, uint n_0) {
    for (; level > 0; --level) row = row / 2 * length + (row % 2 == 0 ? 0 : length - 1); // first or last of its chunk
    atomic_min(&zero_pivot[system], min(row, n_0 - 1));
}

// Pass 1: leaves the first and the last equation of each chunk, rows 2 q and 2 q + 1 of the coarse system. Nothing else
// is stored. Going down, equation i reads a f + x[i] + c x[i+1] = d, and the first one a' (last unknown of the chunk
// before) + b' f + c' x[i] = d'.
kernel void reduce(global const REAL* a_in, global const REAL* b_in, global const REAL* c_in, global const REAL* d_in,
                   int unit_diagonal, uint n, uint systems, uint chunks, uint length, uint level, uint n_0,
                   global uint* zero_pivot, global REAL* coarse_a, global REAL* coarse_c, global REAL* coarse_d) {
    const size_t item = get_global_id(0);
    if (item >= (size_t)systems * chunks) return;
    const uint s = item / chunks, q = item % chunks;
    const uint begin = q * length, end = min(begin + length, n);
    const size_t at_0 = (size_t)s * n;

    const REAL first_a = begin == 0 ? 0 : a_in[at_0 + begin];
    REAL first_b = unit_diagonal ? 1 : b_in[at_0 + begin];
    REAL first_c = begin + 1 == n ? 0 : c_in[at_0 + begin];
    REAL first_d = d_in[at_0 + begin];
    REAL a = 0, c = 0, d = 0; // a chunk of one equation: the last chunk's second coarse equation is then x = 0
    for (uint i = begin + 1; i < end; ++i) {
        const size_t at = at_0 + i;
        const REAL b_i = unit_diagonal ? 1 : b_in[at];
        const REAL pivot = i == begin + 1 ? b_i : b_i - a_in[at] * c;
        if (pivot == 0) report(zero_pivot, s, i, level, length, n_0);
        d = (i == begin + 1 ? d_in[at] : d_in[at] - a_in[at] * d) / pivot;
        a = (i == begin + 1 ? a_in[at] : -a_in[at] * a) / pivot;
        c = (i + 1 == n ? 0 : c_in[at]) / pivot;
        if (i + 1 < end) { // x[i] leaves the first equation; the last unknown of the chunk stays in it
            first_b -= first_c * a;
            first_d -= first_c * d;
            first_c = -first_c * c;
        }
    }
    if (first_b == 0) report(zero_pivot, s, begin, level, length, n_0);
    const size_t row = 2 * item;
    coarse_a[row] = first_a / first_b;
    coarse_a[row + 1] = a;
    coarse_c[row] = first_c / first_b;
    coarse_c[row + 1] = c;
    coarse_d[row] = first_d / first_b;
    coarse_d[row + 1] = d;
}

// Pass 2: solves each chunk with Thomas. The unknowns on both sides of it are in coarse_x. With one chunk for each
// system, coarse_x is not read and this is Thomas, a work-item per system. c_new: scratch as large as c_in.
kernel void substitute(global const REAL* a_in, global const REAL* b_in, global const REAL* c_in,
                       global const REAL* d_in, int unit_diagonal, uint n, uint systems, uint chunks, uint length,
                       uint level, uint n_0, global uint* zero_pivot, global const REAL* coarse_x, global REAL* c_new,
                       global REAL* x) {
    const size_t item = get_global_id(0);
    if (item >= (size_t)systems * chunks) return;
    const uint s = item / chunks, q = item % chunks;
    const uint begin = q * length, end = min(begin + length, n);
    const size_t at_0 = (size_t)s * n;

    REAL c_before = 0, d_before = 0;
    for (uint i = begin; i < end; ++i) {
        const size_t at = at_0 + i;
        REAL pivot = unit_diagonal ? 1 : b_in[at];
        REAL d = d_in[at];
        if (i > begin) {
            pivot -= a_in[at] * c_before;
            d -= a_in[at] * d_before;
        } else if (q > 0) {
            d -= a_in[at] * coarse_x[2 * item - 1]; // the last unknown of the chunk before
        }
        const bool couples = i + 1 < end;
        if (!couples && q + 1 < chunks) d -= c_in[at] * coarse_x[2 * item + 2]; // the first of the chunk after
        if (pivot == 0) report(zero_pivot, s, i, level, length, n_0);
        d_before = x[at] = d / pivot;
        c_before = c_new[at] = couples ? c_in[at] / pivot : 0;
    }
    REAL x_after = d_before;
    for (uint i = end - 1; i-- > begin;) x_after = x[at_0 + i] -= c_new[at_0 + i] * x_after;
}
