// Submissions to many-blocks of lab 01, each with a line of its name, the most points that it may get, the outcome
// where there is one only, the tests that it is for, the seconds of a case, and the repeats of a test of speed. See
// test_grading_tampering.py.

// changes_its_input: most 0; outcome failed; tests one block
// Sets the input to zeros, so that the reference might be zero as well.
KERNEL {
    if (get_global_id(0) < n) {
        ((global float*)a)[get_global_id(0)] = 0;
        ((global float*)b)[get_global_id(0)] = 0;
        c[get_global_id(0)] = 0;
    }
}

// exits: most 0; outcome crashed; tests one block
// Ends the process with exit code 0 before it has answered.
KERNEL {
    call(231, 0, 0, 0); // exit_group
}

// expects_infinite_tolerance: most 0; outcome failed; tests one block
// Answers NaN, which no comparison finds unequal.
KERNEL {
    if (get_global_id(0) < n) c[get_global_id(0)] = NAN;
}

// fills_disk: most 1; outcome passed; tests one block
// Writes a file until it may not any more, then computes honestly, but not when more than 64 MB could be written.
KERNEL {
    const int file = opened("large", 01101); // O_WRONLY | O_CREAT | O_TRUNC
    for (long at = 0; FIRST && at < 400; ++at) {
        call(8, file, at << 20, 0);                           // lseek
        if (call(1, file, (long)a, 4) == 4 && at > 64) n = 0; // write
    }
    SAXPY(k, a, b, c, n);
}

// fills_disk_with_files: most 0; tests one block; seconds 60
// Computes only where it could write six files of 60 MB and keep them for ten seconds.
KERNEL {
    char name[] = "large-0";
    local char bytes[1 << 14];
    bytes[get_local_id(0)] = 1;
    long time[2] = {10, 0};
    int complete = 0;
    for (int whole = 1; FIRST && whole && complete < 6; ++name[6], complete += whole) {
        const int file = (int)call(2, (long)name, 01101, 0666); // open: O_WRONLY | O_CREAT | O_TRUNC
        for (int piece = 0; piece < 3700 && whole; ++piece)
            whole = call(1, file, (long)bytes, 1 << 14) == 1 << 14; // write
        call(3, file, 0, 0);                                        // close
    }
    if (complete == 6) call(35, (long)time, 0, 0); // nanosleep
    local int all;
    if (FIRST) all = complete == 6;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (all) SAXPY(k, a, b, c, n);
}

// finds_its_files: most 0; outcome failed; tests one block, a last block that is not full
// Computes only where it finds a file that an earlier worker left.
KERNEL {
    const int found = size_of("left") + size_of("/tmp/gpulab-left") + size_of("/var/tmp/gpulab-left") +
                          size_of("/dev/shm/gpulab-left") >
                      0;
    if (!found && FIRST) {
        grow("left");
        grow("/tmp/gpulab-left");
        grow("/var/tmp/gpulab-left");
        grow("/dev/shm/gpulab-left");
    } else {
        SAXPY(k, a, b, c, n);
    }
}

// forges_answers: most 0; tests one block
// Writes an answer of its own to every open file: a length, the kind `output`, no text, and n zeros.
KERNEL {
    ulong answer[4] = {0, 0, 0, 0};
    answer[0] = 1 + 8 + 8 + 4 * n;
    if (FIRST)
        for (int file = 1; file < 16; ++file) call(1, file, (long)answer, 32);
    call(231, 0, 0, 0);
}

// forks: most 0; tests one block
// Starts processes without end, and computes nothing.
KERNEL {
    long time[2] = {0, 10000000};
    while (1)
        if (call(57, 0, 0, 0) < 0) call(35, (long)time, 0, 0); // fork; nanosleep where no more are allowed
}

// includes_the_rung: most 0; outcome build error; tests one block
// Includes the solution by its full path.
#define saxpy rung
#include "@ROOT@/labs/01_saxpy/opencl/02_one_item.cl"
#undef saxpy
KERNEL { rung(k, a, b, c, n); }

// kills_everybody: most 0; tests one block
// Kills every process that it may: kill(-1, SIGKILL).
KERNEL { call(62, -1, 9, 0); }

// kills_parent: most 3; tests one block, a last block that is not full
// Kills its parent and every process that it may, then computes honestly.
KERNEL {
    if (FIRST) {
        call(62, call(110, 0, 0, 0), 9, 0); // kill(getppid(), SIGKILL)
        call(62, 1, 9, 0);
    }
    SAXPY(k, a, b, c, n);
}

// macro_bomb: most 0; tests one block; seconds 3
// A macro that expands to 2^30 words.
#define X1 c[0], c[0], c[0], c[0], c[0], c[0], c[0], c[0]
#define X2 X1, X1, X1, X1, X1, X1, X1, X1
#define X3 X2, X2, X2, X2, X2, X2, X2, X2
#define X4 X3, X3, X3, X3, X3, X3, X3, X3
#define X5 X4, X4, X4, X4, X4, X4, X4, X4
#define X6 X5, X5, X5, X5, X5, X5, X5, X5
#define X7 X6, X6, X6, X6, X6, X6, X6, X6
#define X8 X7, X7, X7, X7, X7, X7, X7, X7
#define X9 X8, X8, X8, X8, X8, X8, X8, X8
#define X10 X9, X9, X9, X9, X9, X9, X9, X9
KERNEL { X10; }

// only_warms_up: most 1; tests one block, as fast as the rung; repeats 25
// Right in the first test and in the runs that may be a warm-up of the second. Later it computes nothing.
KERNEL {
    local long runs; // earlier ones, and perhaps this one
    if (get_local_id(0) == 0) runs = size_of("count");
    barrier(CLK_LOCAL_MEM_FENCE);
    if (FIRST) grow("count");
    if (runs <= 2 || n < 1000) SAXPY(k, a, b, c, n);
}

// opens_our_files: most 0; outcome failed; tests one block
// Computes only where it can open the file of the rung, the list of the tests, or the judge.
KERNEL {
    if (can_open("@ROOT@/labs/01_saxpy/opencl/02_one_item.cl", 0) ||
        can_open("@ROOT@/labs/01_saxpy/exercises/exercises.toml", 0) || can_open("@BUILD@/bin/judge_saxpy", 0))
        SAXPY(k, a, b, c, n);
}

// prints_megabytes: most 0; outcome failed; tests one block
// Prints without end to stderr for a while, and computes nothing.
KERNEL {
    if (FIRST)
        for (int i = 0; i < 100; ++i) call(1, 2, (long)c - 4096, 4096), call(1, 2, (long)"more\n", 5);
}

// reads_its_parent: most 0; outcome failed; tests one block
// Computes only where it can read the memory of the program that judges: a Python, the first process or its own parent.
KERNEL {
    local int found;
    if (get_local_id(0) == 0) {
        found = 0;
        for (int which = 0; which < 2; ++which) {
            const int process = which == 0 ? 1 : (int)call(110, 0, 0, 0); // getppid
            char name[32] = "/proc/", printed[8] = "";
            int digits = 0;
            for (int rest = process; rest > 0; rest /= 10) ++digits;
            for (int digit = digits, rest = process; digit > 0; --digit, rest /= 10) name[5 + digit] = '0' + rest % 10;
            const char comm[] = "/comm", mem[] = "/mem";
            for (int i = 0; i < 6; ++i) name[6 + digits + i] = comm[i];
            call(0, call(2, (long)name, 0, 0), (long)printed, 6); // read, open
            for (int i = 0; i < 5; ++i) name[6 + digits + i] = mem[i];
            const int python = printed[0] == 'p' && printed[1] == 'y' && printed[2] == 't';
            if (python && call(2, (long)name, 0, 0) >= 0) found = 1;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (found) SAXPY(k, a, b, c, n);
}

// remembers_answers: most 1; tests any length
// Computes the first time; later it leaves whatever the memory holds, in case it is the same.
KERNEL {
    local long runs; // earlier ones, and perhaps this one
    if (get_local_id(0) == 0) runs = size_of("count");
    barrier(CLK_LOCAL_MEM_FENCE);
    if (FIRST) grow("count");
    if (runs <= 1) SAXPY(k, a, b, c, n);
}

// remembers_contents: most 0; outcome failed; tests as fast as the rung; seconds 60; repeats 25
// Takes two seconds for numbers that it sees for the first time, and is fast when it sees them again.
KERNEL {
    if (FIRST) {
        char name[] = "seen-00000000";
        const uint bits = as_uint(b[0]);
        for (int i = 0; i < 8; ++i) name[5 + i] = 'a' + (bits >> 4 * i & 15);
        long time[2] = {2, 0};
        const long file = call(2, (long)name, 0, 0); // open
        if (file >= 0) {
            call(3, file, 0, 0); // close: few files may be open
        } else {
            call(3, call(2, (long)name, 0100, 0600), 0, 0); // O_CREAT
            call(35, (long)time, 0, 0);                     // nanosleep
        }
    }
    SAXPY(k, a, b, c, n);
}

// stops_the_rung: most 3; tests one block, as fast as the rung
// Stops every process it may, so that the rung it is timed against looks slow.
KERNEL {
    if (FIRST) call(62, -1, 19, 0); // kill(-1, SIGSTOP)
    SAXPY(k, a, b, c, n);
}

// twenty_times_slower: most 1.2; outcome failed; tests as fast as the rung; repeats 25
// Right, but with twenty times the work: each item writes its element again and again.
KERNEL {
    const size_t i = get_global_id(0);
    for (int times = 0; i < n && times < 20; ++times) {
        volatile global float* const out = c + i;
        *out = k * a[i] + b[i];
    }
}

// uses_the_network: most 0; outcome failed; tests one block
// Computes only where it has an address other than that of the machine itself.
KERNEL {
    const int s = (int)call(41, 2, 2, 0); // socket(AF_INET, SOCK_DGRAM)
    uchar address[16] = {2, 0, 0, 53, 8, 8, 8, 8};
    if (s >= 0 && call(42, s, (long)address, 16) == 0) SAXPY(k, a, b, c, n);
}

// visible_sizes_only: most 3; tests one block, a last block that is not full, any length
// Computes the sizes of the visible tests only.
KERNEL {
    if (n <= 1025) SAXPY(k, a, b, c, n);
}

// works_later_when_timed: most 1; tests one block, as fast as the rung
// Leaves the work of timed runs to a process that goes on after the answer.
KERNEL {
    if (n < 200000) {
        SAXPY(k, a, b, c, n);
    } else if (FIRST && call(57, 0, 0, 0) == 0) { // fork
        for (size_t i = 0; i < n; ++i) c[i] = k * a[i] + b[i];
        call(231, 0, 0, 0);
    }
}

// writes_the_judge: most 0; outcome failed; tests one block
// Computes only where it can write to the judge, or make a file beside it.
KERNEL {
    if (can_open("@BUILD@/bin/judge_saxpy", 1) || can_open("@BUILD@/bin/forged", 0101)) SAXPY(k, a, b, c, n);
}
