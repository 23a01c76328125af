// Kernels with a fault each, and the same without it. Every kernel gets `n` numbers in `a` and room for `n` in `b`.
#include <cooperative_groups.h>
#include <cuda/atomic>

#define KERNEL(name) extern "C" __global__ void name(const int* a, int* b, int n)

namespace {
__device__ unsigned ticket, flag;
__device__ int words[64];
__device__ unsigned tickets[8], counters[1000];
__device__ int of_block[64];

/// The sum of 128 numbers in shared memory.
template <bool barrier_in_loop> __device__ int tree(const int* a, int n) {
    __shared__ int x[128];
    x[threadIdx.x] = static_cast<int>(threadIdx.x) < n ? a[threadIdx.x] : 0;
    __syncthreads();
    for (unsigned stride = 64; stride > 0; stride /= 2) {
        if (threadIdx.x < stride) x[threadIdx.x] += x[threadIdx.x + stride];
        if (barrier_in_loop) __syncthreads();
    }
    return x[0];
}

__device__ void copy_async(int* to, const int* from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))),
                 "l"(from));
    asm volatile("cp.async.commit_group;");
}
} // namespace

// ---- Shared memory
// ----------------------------------------------------------------------------------------------------

KERNEL(barrier_right) {
    const int sum = tree<true>(a, n);
    if (threadIdx.x == 0) b[0] = sum;
}
KERNEL(barrier_wrong) { // races: no barrier in the loop
    const int sum = tree<false>(a, n);
    if (threadIdx.x == 0) b[0] = sum;
}

KERNEL(second_barrier_right) {
    __shared__ int x[128];
    int sum = 0;
    for (int k = 0; k < 3; ++k) {
        x[threadIdx.x] = a[threadIdx.x] + k;
        __syncthreads();
        sum += x[127 - threadIdx.x];
        __syncthreads();
    }
    b[threadIdx.x] = sum;
}
KERNEL(second_barrier_wrong) { // races: a slow warp still reads what a fast one overwrites
    __shared__ int x[128];
    int sum = 0;
    for (int k = 0; k < 3; ++k) {
        x[threadIdx.x] = a[threadIdx.x] + k;
        __syncthreads();
        sum += x[127 - threadIdx.x];
    }
    b[threadIdx.x] = sum;
}

KERNEL(warp_barrier_right) {
    __shared__ int x[128];
    x[threadIdx.x] = a[threadIdx.x];
    __syncwarp();
    b[threadIdx.x] = x[threadIdx.x ^ 1];
}
KERNEL(warp_barrier_wrong) { // races: lanes of a warp need not run in step
    __shared__ int x[128];
    x[threadIdx.x] = a[threadIdx.x];
    b[threadIdx.x] = x[threadIdx.x ^ 1];
}
KERNEL(part_of_warp_right) {
    __shared__ int x[128];
    const unsigned half = threadIdx.x % 32 < 16 ? 0xFFFFu : 0xFFFF0000u;
    x[threadIdx.x] = a[threadIdx.x];
    __syncwarp(half);
    b[threadIdx.x] = x[threadIdx.x ^ 8];
}
KERNEL(part_of_warp_wrong) { // races: the other half has not been waited for
    __shared__ int x[128];
    const unsigned half = threadIdx.x % 32 < 16 ? 0xFFFFu : 0xFFFF0000u;
    x[threadIdx.x] = a[threadIdx.x];
    __syncwarp(half);
    b[threadIdx.x] = x[threadIdx.x ^ 16];
}

KERNEL(copy_right) { // the next piece is under way while this one is used
    __shared__ int x[2][128];
    copy_async(&x[0][threadIdx.x], a + threadIdx.x);
    int sum = 0;
    for (int k = 0; k < 3; ++k) {
        if (k < 2) copy_async(&x[(k + 1) % 2][threadIdx.x], a + 128 * (k + 1) + threadIdx.x);
        if (k < 2) asm volatile("cp.async.wait_group 1;" ::: "memory");
        else asm volatile("cp.async.wait_group 0;" ::: "memory");
        __syncthreads();
        sum += x[k % 2][127 - threadIdx.x];
        __syncthreads();
    }
    b[threadIdx.x] = sum;
}
KERNEL(copy_wrong) { // races: the latest piece is not waited for
    __shared__ int x[2][128];
    copy_async(&x[0][threadIdx.x], a + threadIdx.x);
    int sum = 0;
    for (int k = 0; k < 3; ++k) {
        if (k < 2) copy_async(&x[(k + 1) % 2][threadIdx.x], a + 128 * (k + 1) + threadIdx.x);
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        sum += x[k % 2][127 - threadIdx.x];
        __syncthreads();
    }
    b[threadIdx.x] = sum;
}
KERNEL(copy_barrier_wrong) { // races: a wait is for one's own copies only
    __shared__ int x[128];
    copy_async(&x[threadIdx.x], a + threadIdx.x);
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    b[threadIdx.x] = x[127 - threadIdx.x];
}

KERNEL(histogram_right) {
    __shared__ int count[4];
    if (threadIdx.x < 4) count[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&count[threadIdx.x % 4], 1);
    __syncthreads();
    if (threadIdx.x < 4) b[threadIdx.x] = count[threadIdx.x];
}
KERNEL(histogram_wrong) { // races: an increment is no atomic operation
    __shared__ int count[4];
    if (threadIdx.x < 4) count[threadIdx.x] = 0;
    __syncthreads();
    ++count[threadIdx.x % 4];
    __syncthreads();
    if (threadIdx.x < 4) b[threadIdx.x] = count[threadIdx.x];
}

KERNEL(same_value_right) { // several write, but the same
    __shared__ bool found;
    if (threadIdx.x == 0) found = false;
    __syncthreads();
    if (a[threadIdx.x] > 3) found = true;
    __syncthreads();
    if (threadIdx.x == 0) b[0] = found;
}
KERNEL(same_value_wrong) { // races: which is the last?
    __shared__ short found;
    if (threadIdx.x == 0) found = 0;
    __syncthreads();
    if (a[threadIdx.x] > 3) found = static_cast<short>(threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0) b[0] = found;
}

KERNEL(bytes_right) {
    __shared__ char x[128];
    x[threadIdx.x] = static_cast<char>(a[threadIdx.x]);
    __syncthreads();
    b[threadIdx.x] = x[127 - threadIdx.x];
}
KERNEL(bytes_wrong) { // races: neighbours write the same byte
    __shared__ char x[128];
    x[threadIdx.x / 2] = static_cast<char>(threadIdx.x);
    __syncthreads();
    b[threadIdx.x] = x[threadIdx.x / 2];
}

KERNEL(named_barrier_right) { // two halves of a block wait for each other only
    __shared__ int x[128];
    x[threadIdx.x] = a[threadIdx.x];
    asm volatile("bar.sync %0, 64;" ::"r"(1 + threadIdx.x / 64) : "memory");
    b[threadIdx.x] = x[threadIdx.x ^ 32];
}
KERNEL(named_barrier_wrong) { // races: the other half
    __shared__ int x[128];
    x[threadIdx.x] = a[threadIdx.x];
    asm volatile("bar.sync %0, 64;" ::"r"(1 + threadIdx.x / 64) : "memory");
    b[threadIdx.x] = x[threadIdx.x ^ 64];
}

KERNEL(producer_right) { // one half arrives, the other waits
    __shared__ int x[64];
    if (threadIdx.x < 64) {
        x[threadIdx.x] = a[threadIdx.x];
        asm volatile("bar.arrive 1, 128;" ::: "memory");
    } else {
        asm volatile("bar.sync 1, 128;" ::: "memory");
        b[threadIdx.x] = x[127 - threadIdx.x];
    }
}
KERNEL(producer_wrong) { // races: who only arrives knows of nothing
    __shared__ int x[64];
    if (threadIdx.x < 64) {
        asm volatile("bar.arrive 1, 128;" ::: "memory");
        b[threadIdx.x] = x[threadIdx.x];
    } else {
        x[127 - threadIdx.x] = a[threadIdx.x];
        asm volatile("bar.sync 1, 128;" ::: "memory");
    }
}

// ---- Bounds, alignment, values that nobody wrote
// ------------------------------------------------------------------------

KERNEL(bounds_right) {
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) b[i] = a[i];
}
KERNEL(bounds_wrong) { // outside: one read too many
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) b[i] = a[i + 1];
}
KERNEL(shared_bounds_right) {
    __shared__ int x[128];
    x[threadIdx.x] = 0;
    b[threadIdx.x] = x[threadIdx.x];
}
KERNEL(shared_bounds_wrong) { // outside: the last thread writes behind the array
    __shared__ int x[128];
    x[threadIdx.x + (n > 0)] = 0;
    __syncthreads();
    b[threadIdx.x] = x[threadIdx.x / 2 + 1];
}
KERNEL(aligned_right) {
    if (threadIdx.x < 16) reinterpret_cast<int4*>(b)[threadIdx.x] = reinterpret_cast<const int4*>(a)[threadIdx.x];
}
KERNEL(aligned_wrong) { // misaligned: 4 bytes too far
    if (threadIdx.x < 16)
        reinterpret_cast<int4*>(b)[threadIdx.x] = *reinterpret_cast<const int4*>(a + 1 + 4 * threadIdx.x);
}
KERNEL(written_right) {
    __shared__ int x[128];
    x[threadIdx.x] = 1;
    __syncthreads();
    b[threadIdx.x] = x[threadIdx.x];
}
KERNEL(written_wrong) { // unset: half of the array
    __shared__ int x[128];
    if (threadIdx.x < 64) x[threadIdx.x] = 1;
    __syncthreads();
    b[threadIdx.x] = x[threadIdx.x];
}
KERNEL(global_written_right) {
    b[threadIdx.x] = 2;
    b[threadIdx.x] += a[threadIdx.x];
}
KERNEL(global_written_wrong) { // unset: b holds nothing yet
    b[threadIdx.x] += a[threadIdx.x];
}
struct alignas(16) Padded {
    int x, y, z; // and 4 bytes that nobody writes
};
KERNEL(padding_right) { // copied and used as a vector, padding and all
    __shared__ Padded p[128];
    p[threadIdx.x].x = a[threadIdx.x];
    p[threadIdx.x].y = 1;
    p[threadIdx.x].z = 2;
    __syncthreads();
    const Padded q = p[127 - threadIdx.x];
    b[threadIdx.x] = q.x + q.y + q.z;
}
KERNEL(padding_wrong) { // unset: z
    __shared__ int4 p[128];
    p[threadIdx.x].x = a[threadIdx.x];
    p[threadIdx.x].y = 1;
    p[threadIdx.x].w = 1;
    __syncthreads();
    const int4 q = p[127 - threadIdx.x];
    b[threadIdx.x] = q.x + q.y + q.z + q.w;
}

KERNEL(ahead_right) { // one piece too many is fetched, and not used
    __shared__ volatile int x[4][128];
    for (int k = 0; k < 3; ++k) x[k][threadIdx.x] = a[threadIdx.x] + k;
    __syncthreads();
    int next = x[0][127 - threadIdx.x], sum = 0;
#pragma unroll 1
    for (int k = 0; k < 3; ++k) {
        const int now = next;
        next = x[k + 1][127 - threadIdx.x];
        sum += now;
    }
    b[threadIdx.x] = sum;
}
KERNEL(ahead_wrong) { // unset: the piece too many is used
    __shared__ volatile int x[4][128];
    for (int k = 0; k < 3; ++k) x[k][threadIdx.x] = a[threadIdx.x] + k;
    __syncthreads();
    int next = x[0][127 - threadIdx.x], sum = 0;
#pragma unroll 1
    for (int k = 0; k < 4; ++k) {
        const int now = next;
        if (k < 3) next = x[k + 1][127 - threadIdx.x];
        sum += now;
    }
    b[threadIdx.x] = sum;
}
KERNEL(chosen_right) { // all load, some use
    __shared__ volatile int x[128];
    if (threadIdx.x < 64) x[threadIdx.x] = 1;
    __syncthreads();
    const int mine = x[threadIdx.x];
    b[threadIdx.x] = threadIdx.x < 64 ? mine : 0;
}

// ---- Barriers and shuffles
// ----------------------------------------------------------------------------------------------

KERNEL(all_come_right) {
    if (threadIdx.x < 64) b[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
}
KERNEL(all_come_wrong) { // divergence: half of the block has ended
    if (threadIdx.x >= 64) return;
    b[threadIdx.x] = a[threadIdx.x];
    __syncthreads();
}
KERNEL(one_barrier_right) { // an early way out, the same for all
    if (a[0] > 0) return;
    __syncthreads();
    b[threadIdx.x] = a[threadIdx.x];
}
KERNEL(one_barrier_wrong) { // divergence: not all wait at the same barrier
    __shared__ int x[2];
    if (threadIdx.x < 64) {
        x[0] = 1;
        __syncthreads();
    } else {
        x[1] = 1;
        __syncthreads();
    }
    b[threadIdx.x] = x[threadIdx.x % 2];
}
KERNEL(shuffle_right) { b[threadIdx.x] = __shfl_down_sync(0xFFFFFFFFu, a[threadIdx.x], 1); }
KERNEL(shuffle_wrong) { // shuffle: from lanes that have left
    if (threadIdx.x % 32 < 16) b[threadIdx.x] = __shfl_down_sync(0xFFFFu, a[threadIdx.x], 1);
}

// ---- Between blocks
// ------------------------------------------------------------------------------------------------------

KERNEL(ticket_right) {
    __shared__ bool last;
    if (threadIdx.x == 0) {
        of_block[blockIdx.x] = a[blockIdx.x];
        __threadfence();
        last = atomicInc(&ticket, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x < gridDim.x) b[threadIdx.x] = of_block[threadIdx.x];
}
KERNEL(ticket_wrong) { // races: no fence before the ticket
    __shared__ bool last;
    if (threadIdx.x == 0) {
        of_block[blockIdx.x] = a[blockIdx.x];
        last = atomicInc(&ticket, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x < gridDim.x) b[threadIdx.x] = of_block[threadIdx.x];
}
KERNEL(reset_right) { // blocks that run at the same time draw tickets, and the last one resets the counter
    if (threadIdx.x > 0) return;
    for (unsigned& counter : counters)
        if (atomicAdd(&counter, 1u) == gridDim.x - 1) counter = 0;
    b[blockIdx.x] = 1;
}
KERNEL(all_fence_right) { // every thread its own fence, and a barrier before the ticket
    __shared__ bool last;
    if (threadIdx.x < 2) words[2 * blockIdx.x + threadIdx.x] = a[blockIdx.x];
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicInc(&ticket, gridDim.x - 1) == gridDim.x - 1;
    __syncthreads();
    if (last && threadIdx.x < 2 * gridDim.x) b[threadIdx.x] = words[threadIdx.x];
}
KERNEL(all_fence_wrong) { // races: the fence stands too early
    __shared__ bool last;
    __threadfence();
    if (threadIdx.x < 2) words[2 * blockIdx.x + threadIdx.x] = a[blockIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) last = atomicInc(&ticket, gridDim.x - 1) == gridDim.x - 1;
    __syncthreads();
    if (last && threadIdx.x < 2 * gridDim.x) b[threadIdx.x] = words[threadIdx.x];
}

using Flag = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;
KERNEL(flag_right) { // block 0 publishes, the others wait
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        words[0] = a[0];
        Flag(flag).store(1, cuda::memory_order_release);
    } else {
        while (Flag(flag).load(cuda::memory_order_acquire) == 0) {
        }
        b[blockIdx.x] = words[0];
    }
}
KERNEL(flag_wrong) { // races: a relaxed store publishes nothing
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        words[0] = a[0];
        Flag(flag).store(1, cuda::memory_order_relaxed);
    } else {
        while (Flag(flag).load(cuda::memory_order_acquire) == 0) {
        }
        b[blockIdx.x] = words[0];
    }
}
KERNEL(volatile_flag_right) {
    if (threadIdx.x != 0) return;
    volatile unsigned* const f = &flag;
    if (blockIdx.x == 0) {
        words[0] = a[0];
        __threadfence();
        *f = 1;
    } else {
        while (*f == 0) {
        }
        __threadfence();
        b[blockIdx.x] = words[0];
    }
}
KERNEL(volatile_flag_wrong) { // races: the reader has no fence
    if (threadIdx.x != 0) return;
    volatile unsigned* const f = &flag;
    if (blockIdx.x == 0) {
        words[0] = a[0];
        __threadfence();
        *f = 1;
    } else {
        while (*f == 0) {
        }
        b[blockIdx.x] = words[0];
    }
}
KERNEL(plain_flag_wrong) { // races: the flag itself
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) flag = 1;
    else b[blockIdx.x] = flag;
}
KERNEL(neighbour_right) { // each block waits for the one before it
    __shared__ int before;
    if (threadIdx.x == 0) {
        if (blockIdx.x > 0)
            while (Flag(tickets[blockIdx.x - 1]).load(cuda::memory_order_acquire) == 0) {
            }
        before = blockIdx.x > 0 ? of_block[blockIdx.x - 1] : 0;
    }
    __syncthreads();
    if (threadIdx.x == 32) of_block[blockIdx.x] = before + 1;
    __syncthreads();
    if (threadIdx.x == 64) {
        Flag(tickets[blockIdx.x]).store(1, cuda::memory_order_release);
        b[blockIdx.x] = of_block[0]; // known through all the others
    }
}
KERNEL(neighbour_wrong) { // races: the block after it is not waited for
    __shared__ int before;
    if (threadIdx.x == 0) {
        if (blockIdx.x > 0)
            while (Flag(tickets[blockIdx.x - 1]).load(cuda::memory_order_acquire) == 0) {
            }
        before = blockIdx.x > 0 ? of_block[blockIdx.x - 1] : 0;
    }
    __syncthreads();
    if (threadIdx.x == 32) of_block[blockIdx.x] = before + 1;
    __syncthreads();
    if (threadIdx.x == 64) {
        Flag(tickets[blockIdx.x]).store(1, cuda::memory_order_release);
        b[blockIdx.x] = blockIdx.x + 1 < gridDim.x ? of_block[blockIdx.x + 1] : 0;
    }
}

// Launched cooperatively.
KERNEL(grid_right) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
    for (int k = 0; k < 3; ++k) {
        b[i] = a[i % n] + k;
        cooperative_groups::this_grid().sync();
        const int other = b[all - 1 - i];
        cooperative_groups::this_grid().sync();
        b[i] = other;
    }
}
KERNEL(grid_wrong) { // races: no barrier before the next round
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
    for (int k = 0; k < 3; ++k) {
        b[i] = a[i % n] + k;
        cooperative_groups::this_grid().sync();
        const int other = b[all - 1 - i];
        b[i] = other;
    }
}
KERNEL(scope_right) {
    if (threadIdx.x == 0) atomicAdd(&of_block[0], a[blockIdx.x]);
}
KERNEL(scope_wrong) { // races: atomic within a block only
    if (threadIdx.x == 0) atomicAdd_block(&of_block[0], a[blockIdx.x]);
}
