// Each item adds 1 to count[0], so that in the end it is the number of items.
kernel void puzzle(global int* count) {
    // EXERCISE race
    //| count[0] = count[0] + 1; // TODO: what if two items read the same count?
    atomic_inc(count);
    // END EXERCISE
}
