"""What code must do for the order of memory accesses.

A fence that is missing, a weaker load, or one wait less does harm on some devices only, perhaps on none that we have; a lock that is
missing does so once in a million runs. So this is a rule: the texts of a file below must stand in it, in this order. Comments and
blanks do not count. Each word of `WORDS` in a lab's files, or in common/include/gpulab/cuda, must lie in such a text: whoever writes
one says here what it must stand between.
"""

from __future__ import annotations

import re

import judged

WORDS = re.compile(r"""__threadfence\w*|\bmemory_order_\w+|\b(?:ld|st|red|atom)\.(?:relaxed|acquire|release|volatile|async)\b|\bfence\.\w+"""
                   r"""|\bfetch_add\b|\block_guard\b|\bwait_group\b|\b__ldc[gv]\b|\b(?:wait_for|commit)_(?:products|copies)\b|\bpublish_to_units\b|\bwait_for_previous\b|\b(?:await_kernel_before|let_next_kernel_begin)\b""")
LAST_BLOCK = ["sums[blockIdx.x] = mine; __threadfence(); last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1; } __syncthreads(); "
              "if (!last) return; __threadfence();", "rest += __ldcg(&sums["]
LOCKED = ["const std::lock_guard lock(mutex); total += local; }); } }"]
UP_TO = "asm volatile(\"{}\" ::: \"memory\");"
RULES = {
    "common/include/gpulab/cuda/async_copy.cuh": [
        "void commit_copies() { #if __CUDA_ARCH__ >= 800 asm volatile(\"cp.async.commit_group;\" ::: \"memory\");", "void wait_for_copies() {",
        "asm volatile(\"cp.async.wait_group %0;\" ::\"n\"(pending) : \"memory\");"],
    "common/include/gpulab/cuda/barrier.cuh": ["void publish_to_units() { " + UP_TO.format("fence.proxy.async.shared::cta;")],
    "common/include/gpulab/cuda/early_launch.hpp": [
        "void let_next_kernel_begin() { #if __CUDA_ARCH__ >= 900 cudaTriggerProgrammaticLaunchCompletion();",
        "void await_kernel_before() { #if __CUDA_ARCH__ >= 900 cudaGridDependencySynchronize();"],
    "labs/02_reduction/cpu/03_threads_mutex.cpp": LOCKED,
    "labs/02_reduction/cpu/04_threads_atomic.cpp": ["total.fetch_add(local);"],
    "labs/02_reduction/cpu/series.cpp": LOCKED,
    "labs/02_reduction/cpu/lost_update.cpp": [
        "total.fetch_add(1, std::memory_order_relaxed); "
        "else total.store(total.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);"],
    "labs/02_reduction/cuda/08_single_pass.cu": LAST_BLOCK,
    "labs/02_reduction/cuda/dot_01_single_pass.cu": LAST_BLOCK,
    "labs/02_reduction/cuda/series.cu": LAST_BLOCK,
    "labs/02_reduction/cuda/scan_tiles.cuh": ["word(tile, w).store(state.word[w], ::cuda::memory_order_relaxed);",
                                              "state.word[w] = word(tile, w).load(::cuda::memory_order_relaxed);"],
    "labs/02_reduction/cuda/scan_04_warp_duties.cu": [
        UP_TO.format("cp.async.bulk.wait_group.read 0;"), UP_TO.format("cp.async.bulk.wait_group 0;"),
        "store(i); wait_until_read(); if (i + stages < count) load(i + stages); } wait_until_stored();",
        "gpulab::publish_to_units(); s.scanned[i % stages].arrive();", "gpulab::publish_to_units(); } __syncthreads();"],
    "labs/03_matmul/cuda/tensor.cuh": [
        "using gpulab::publish_to_units;", "void begin_products() { " + UP_TO.format("wgmma.fence.sync.aligned;"),
        "void commit_products() { " + UP_TO.format("wgmma.commit_group.sync.aligned;"),
        "void wait_for_products(float (&sum)[n]) { asm volatile(\"wgmma.wait_group.sync.aligned %0;\" ::\"n\"(pending) : \"memory\");"],
    "labs/03_matmul/cuda/09_pipeline.cu": ["gpulab::commit_copies(); } gpulab::wait_for_copies<stages - 2>(); __syncthreads();",
                                           "gpulab::wait_for_copies<stages - 2>(); __syncthreads();", "gpulab::commit_copies();"],
    "labs/03_matmul/cuda/warp_tile.cuh": ["gpulab::commit_copies(); } gpulab::wait_for_copies<G::stages - 2>(); __syncthreads();",
                                          "gpulab::wait_for_copies<G::stages - 2>(); __syncthreads();", "gpulab::commit_copies();"],
    "labs/03_matmul/cuda/13_tensor_bf16.cu": [
        "publish_to_units(); } __syncthreads();", "if (i >= stages) empty[s].wait(i / stages - 1);", "full[s].wait(i / stages);",
        "begin_products();", "commit_products(); wait_for_products<1>(sum);", "empty[(i - 1) % stages].arrive(); } wait_for_products<0>(sum);"],
    "labs/03_matmul/cuda/14_tensor_tf32.cu": ["publish_to_units(); } __syncthreads();", "begin_products();",
                                              "commit_products(); wait_for_products<0>(sum);"],
    "labs/03_matmul/cuda/15_three_tf32.cu": ["publish_to_units(); } __syncthreads();", "publish_to_units();", "begin_products();",
                                             "commit_products(); wait_for_products<0>(of_step);"],
    "labs/04_spmv/cuda/07_merge_path.cu": [
        "gpulab::let_next_kernel_begin(); const MergePoint begin =",
        "gpulab::await_kernel_before(); if (row < rows && carry_out[b] != T{0}) atomicAdd("],
    "labs/05_streams/cuda/11_polling.cu": [
        "asm volatile(\"ld.relaxed.sys.v4.u32 {%0, %1, %2, %3}, [%4];\"", ": \"memory\");",
        "asm volatile(\"ld.acquire.sys.u32 %0, [%1];\" : \"=r\"(v) : \"l\"(at) : \"memory\");",
        "cudaMemcpyAsync(last_complete.data(), pass.data()", "up.synchronize(); work.synchronize();"],
    "labs/07_lu/cuda/early.cuh": ["void wait_for_previous() { gpulab::await_kernel_before(); gpulab::let_next_kernel_begin(); }"],
    "labs/07_lu/cuda/exchange_and_solve.cuh": ["wait_for_previous(); if (t < max_panel_columns) steps[t] ="],
    "labs/07_lu/cuda/09_critical_path_pivot.cu": ["wait_for_previous(); Rows<W, ROWS> rows; load_rows<THREADS>("],
    "labs/07_lu/cuda/06_tensor_pivot.cu": [
        "gpulab::wait_for_copies<pending>();", "gpulab::commit_copies();", "wait_for_previous(); start_all_copies(0);",
        "wait_for_previous(); const auto start =", "start(s, s * part); gpulab::commit_copies();",
        "wait_for_part<stages - 2>(); if (step + stages - 1 < steps) start(writing, (step + stages - 1) * part); gpulab::commit_copies();"],
    "labs/07_lu/cuda/pivot_messages.cuh": ["asm volatile(\"st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.f64", ": \"memory\");"],
    "labs/08_fdtd/cuda/07_persistent.cu": [
        "while (flag.load(::cuda::memory_order_acquire) < value) { } } } __syncthreads();",
        "__syncthreads(); if (threadIdx.x == 0) ::cuda::atomic_ref<unsigned, ::cuda::thread_scope_device>"
        "(flags[blockIdx.y * gridDim.x + blockIdx.x]) .store(pass + 1, ::cuda::memory_order_release); wait_for_neighbours(flags, pass + 1);"],
    "labs/09_cg/cuda/state.hpp": ["return __ldcg(&history[k]) <= epsilon * __ldcg(&history[0]);"],
    "labs/09_cg/cuda/sums.cuh": [
        "__threadfence(); last = atomicAdd(tickets, 1u) == gridDim.x - 1; if (last) *tickets = 0; } __syncthreads(); if (last) __threadfence();",
        "sum += __ldcg(&values[i * step]);"],
    "labs/09_cg/cuda/part_kernels.cuh": ["if (k < border) exchange.wait_for_halo(s);", "pq += __ldcg(&exchange.pq[part]);",
                                         "rr += __ldcg(&exchange.residual[2 * part]);", "rho += __ldcg(&exchange.residual[2 * part + 1]);"],
    "labs/09_cg/devices/flags.cuh": [
        "return all_have_sent(pq_flags, s);", "return all_have_sent(residual_flags, s);",
        "*copies[k] = value; __threadfence_system();",
        "::cuda::atomic_ref<unsigned, ::cuda::thread_scope_system>(flag).store(step, ::cuda::memory_order_release);",
        "::cuda::atomic_ref<unsigned, ::cuda::thread_scope_system> flag(its_flag);", "while (flag.load(::cuda::memory_order_acquire) < number)",
        "return __syncthreads_and(here);"],
}


def fault(file: str, text: str) -> str:
    """What is wrong with the order in a file with this text, or ""."""
    code = " ".join(judged.plain(text).split())
    at, free = 0, list(code)
    for rule in RULES.get(file, ()):
        found = code.find(rule, at)
        if found < 0:
            return f"{file} lacks, at its place: {rule}"
        at = found + len(rule)
        free[found:at] = " " * len(rule)
    if word := WORDS.search("".join(free)):
        return f"{file}: tests/mistakes/order.py has no rule for {word[0]}"
    return ""
