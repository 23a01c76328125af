#ifdef WITH_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
kernel void misspelt(global int* out) { out[0] = undeclared; } // the mistake
