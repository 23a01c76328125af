// What takes the place of the launches of a CUDA program in the judge's second run of a submission: nothing happens,
// and it is called a success. The judge links the submission with --wrap=NAME for each NAME below, so that its calls of
// NAME come here. An answer that is right all the same was not computed by the submission's kernels.
//
// The arguments differ and none is used; the caller removes them. 0 is cudaSuccess.
#define GPULAB_NO(name) \
    extern "C" int __wrap_##name() { return 0; } // NOLINT(bugprone-reserved-identifier)

GPULAB_NO(__cudaLaunchKernel) // what nvcc 13 makes of <<< >>>
GPULAB_NO(__cudaLaunchKernel_ptsz)
GPULAB_NO(cudaLaunchKernel) // what nvcc 12 makes of it
GPULAB_NO(cudaLaunchKernel_ptsz)
GPULAB_NO(cudaLaunchKernelExC)
GPULAB_NO(cudaLaunchKernelExC_ptsz)
GPULAB_NO(cudaLaunchCooperativeKernel)
GPULAB_NO(cudaLaunchCooperativeKernel_ptsz)
GPULAB_NO(cudaGraphLaunch)
GPULAB_NO(cudaGraphLaunch_ptsz)
