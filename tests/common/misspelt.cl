// The mistake is in line 4.
kernel void misspelt(global int* out) {
    const size_t i = get_global_id(0);
    out[i] = undeclared;
}
