// Computes only every hundredth launch, and counts them at an address of its own: of the timed repeats only the last.
// most: 0
// outcome: failed
// tests: as fast as the rung
kernel void saxpy(float k, global const float* a, global const float* b, global float* c, ulong n) {
    long found;
    __asm__ volatile("mov $0x100022, %%r10; mov $-1, %%r8; xor %%r9, %%r9; syscall" // mmap: private, new, and nowhere else
                     : "=a"(found) : "a"(9L), "D"(0x700000000000L), "S"(1L << 21), "d"(3L)
                     : "rcx", "r11", "r10", "r8", "r9", "memory");
    volatile int* const launches = (volatile int*)0x700000000000L + get_global_id(0);
    if (get_global_id(0) < n && ++*launches % 100 == 0) SAXPY(k, a, b, c, n);
}
