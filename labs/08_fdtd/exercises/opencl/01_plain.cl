// Two kernels per step, one work-item per cell: the counterpart of cuda_coalesced. Item 0 counts along the rows.
// `restrict` promises that the arrays do not overlap.
kernel void update_u(PROBLEM, global REAL* restrict u, global const REAL* restrict p, global const REAL* restrict q,
                     global REAL* restrict v, int4 region, int4 hole, int step) {
    const int i = get_global_id(0), j = get_global_id(1);
    const int x0 = get_group_id(0) * LX, y0 = get_group_id(1) * LY;
    const size_t at = (size_t)j * r->pitch + i;
    // TODO: U one time step later. next_u() computes it in every cell, and in a layer also the part that v[at] holds;
    // record() keeps what a probe sees. Where is_plain() holds for the whole group, there is one medium, and no border,
    // layer, source or probe: there the equation in the hand-out suffices, and is faster.
    (void)x0, (void)y0, (void)at;
    // END TODO
}

kernel void update_edges(PROBLEM, global const REAL* restrict u, global REAL* restrict p, global REAL* restrict q,
                         int4 region, int4 hole, int step) {
    const int i = get_global_id(0), j = get_global_id(1);
    const int x0 = get_group_id(0) * LX, y0 = get_group_id(1) * LY;
    const size_t at = (size_t)j * r->pitch + i;
    // TODO: P on the lower edge and Q on the left edge, half a step after U, by next_p() and next_q(), and by the
    // equations alone where is_plain() holds. Edges on the border stay.
    (void)x0, (void)y0, (void)at;
    // END TODO
}
