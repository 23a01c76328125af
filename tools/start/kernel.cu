// The kernel of a puzzle, PUZZLE, for start_cuda.cpp, which knows neither its arguments nor its file.
#include <cstdio> // a kernel may print

#include PUZZLE

const void* puzzle_kernel();
const void* puzzle_kernel() { return reinterpret_cast<const void*>(puzzle); }
