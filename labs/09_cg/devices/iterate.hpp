/// @file
/// The method on several parts: begin() and iterate(), for any *transport*, which sends what the parts need of each
/// other. The other files of this folder are transports; that of rung 7 is in its file, with its loop written out.
///
/// A *part* is a range of rows on one device, with the same range of every vector. Its p has more: behind its own
/// elements lies the *halo*, the elements of other parts that its rows refer to. An iteration, from top to bottom:
///
///     part 0                                                      part 1
///
///     p = | own elements ......... | halo |         | halo | own elements ......... | = p
///                              |      ^                 ^      |
///                              |      '--- send_halo() -|------'
///                              '---------- send_halo() -'
///
///     multiply_inner()                the halo travels            multiply_inner()
///     receive_halo()                    it is there               receive_halo()
///     multiply_border()                                           multiply_border()
///          share of p . q  ------->    share_pq()    <-------  share of p . q
///                               alpha, the same on all parts
///     next_r()                                                    next_r()
///          shares of r . r  ---->   share_residual()   <----  shares of r . r
///           and r . z           beta, the same on all parts       and r . z
///     next_p()                                                    next_p()
///
/// All parts add up the same shares in the same order. So alpha and beta are the same on all, to the last bit, and no
/// part needs to be told when to stop. (Part 1 is drawn mirrored: its halo, too, lies behind its own elements.)
///
/// A transport is a class with these operations; on a first reading take PeerCopies. Every transport defines
/// send_halo() and receive_halo(), and most of them share_pq() and share_residual(); Stores has a product of its own,
/// which waits for the halo. The rest is in a base class:
///
///     GpuParts (cuda/gpu_parts.cuh): alpha and beta stay on the GPUs, and the host only puts commands into streams
///         PeerCopies   cuda/07_devices.cu             copies from GPU to GPU
///         Stores       stores.cuh, flags.cuh          stores of the kernels
///         MpiOnGpu     mpi_gpu.cuh, mpi.hpp           MPI, through host memory
///         Nccl         nccl.cuh                       NCCL, from GPU to GPU
///
///     HostParts (host_parts.hpp): the host computes alpha and beta
///         Mpi          mpi_host.hpp, mpi.hpp          MPI, through host memory
///         HostCopies   host_copies.hpp                copies through host memory
///         WholeP       opencl/03_devices_whole.cpp    all of p through host memory
///     The last two have their devices, in OpenCL, from ClParts (opencl/several_devices.hpp).
#pragma once

namespace cg {

/// Before the first iteration: r = b - A x_0 and p = z.
/// @pre p holds x_0, except in the halo; r holds b
template <class Parts> void begin(Parts& parts) {
    parts.clear(); // the scalars
    parts.send_halo();
    parts.multiply_inner(); // q = A x_0
    parts.receive_halo();
    parts.multiply_border();
    parts.first_r(); // r = b - q, and the shares of r . r and r . z
    parts.share_residual();
    parts.first_p();
}

/// One iteration; the numbers are those of the method's steps, in the README.
/// @return false when the host computes the scalars and p . q is not positive: the solution ends. When the devices
///         compute them always true; after the end their kernels return at once
template <class Parts> bool iterate(Parts& parts) {
    parts.send_halo();
    parts.multiply_inner(); // 1: q = A p in the rows that need no halo, while it travels
    parts.receive_halo();
    parts.multiply_border();             // 1 in the other rows; 2: the shares of p . q
    if (!parts.share_pq()) return false; // 3: alpha, here on the host; GPUs compute it in next_r()
    parts.next_r();                      // 5: r -= alpha q; 6: the shares of r . r and r . z
    parts.share_residual();              // 7: beta, here on the host; on GPUs in next_p()
    parts.next_p();                      // 8: p = z + beta p; and 4, x += alpha p, here or in next_r()
    return true;
}

} // namespace cg
