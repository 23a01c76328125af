// Computes only where it could write six files of 60 MB and keep them for two seconds.
// most: 0
// tests: one block
kernel void saxpy(float k, global const float* a, global const float* b, global float* c, ulong n) {
    char name[] = "large-0";
    local char bytes[1 << 14];
    bytes[get_local_id(0)] = 1;
    long time[2] = {2, 0};
    int complete = 0;
    for (int whole = 1; FIRST && whole && complete < 6; ++name[6], complete += whole) {
        const int file = (int)call(2, (long)name, 01101, 0666); // open: O_WRONLY | O_CREAT | O_TRUNC
        for (int piece = 0; piece < 3700 && whole; ++piece)
            whole = call(1, file, (long)bytes, 1 << 14) == 1 << 14; // write
        call(3, file, 0, 0);                                        // close
    }
    if (FIRST) call(35, (long)time, 0, 0); // nanosleep
    local int all;
    if (FIRST) all = complete == 6;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (all) SAXPY(k, a, b, c, n);
}
