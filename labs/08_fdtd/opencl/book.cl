// The book's problem, for the OpenCL rungs of the Core. The same layout as Book in book.hpp, which has the equations.
// The host defines REAL as float or double.
#if defined(REAL_IS_DOUBLE)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

typedef struct {
    REAL a, b_dx, b_dy; // for Hz
    REAL c, d_dx, d_dy; // for Ex and Ey
    int nx, ny, pitch;
    int source_i, source_j; // the cell whose Hz the source sets; -1: there is no source
} Book;
