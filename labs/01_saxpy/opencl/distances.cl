// One work-item per point. Packed: three consecutive floats, loaded one by one.
kernel void distances_packed(float x, float y, float z, global const float* points, global float* d, ulong n) {
    const size_t i = get_global_id(0);
    if (i >= n) return;
    // EXERCISE distances
    //| // TODO: load the three coordinates of point i and compute its distance from (x, y, z).
    const float dx = points[3 * i] - x, dy = points[3 * i + 1] - y, dz = points[3 * i + 2] - z;
    d[i] = sqrt(dx * dx + dy * dy + dz * dz);
    // END EXERCISE
}

// Aligned: 16 bytes per point, one load. The fourth float carries no data.
kernel void distances_aligned(float x, float y, float z, global const float4* points, global float* d, ulong n) {
    const size_t i = get_global_id(0);
    if (i >= n) return;
    // EXERCISE distances
    //| // TODO: the same with one load of a float4.
    const float4 p = points[i];
    const float dx = p.x - x, dy = p.y - y, dz = p.z - z;
    d[i] = sqrt(dx * dx + dy * dy + dz * dz);
    // END EXERCISE
}
