/// @file
/// The three stages of cuda_pipeline, for the rungs that change only the strips.
#pragma once

#include <vector>

#include "pass.cuh"

namespace streams {

/// A stream for each stage, and for each strip the events with which one stage waits for the other; see cuda_pipeline.
class Pipeline {
public:
    explicit Pipeline(const std::vector<Strip>& strips) : strips_(strips) {
        for (std::size_t i = 0; i < strips.size(); ++i) {
            uploaded_.emplace_back(cudaEventDisableTiming); // they only keep order
            inverted_.emplace_back(cudaEventDisableTiming);
        }
    }

    /// Issues copy up, kernel and copy down of every strip, without waiting.
    /// @param host_in,in,result,host_out the bytes from which the strips' offsets are counted
    /// @param rounds rounds of work per byte
    void issue(CudaRecorder& r, const unsigned char* host_in, unsigned char* in, unsigned char* result,
               unsigned char* host_out, unsigned colours, unsigned rounds) {
        // ANSWER pipeline
        for (std::size_t i = 0; i < strips_.size(); ++i) {
            const Strip s = strips_[i];
            r.begin_up(i, 0, up_);
            CUDA_CHECK(cudaMemcpyAsync(in + s.first, host_in + s.first, s.bytes, cudaMemcpyHostToDevice, up_));
            r.end(up_);
            uploaded_[i].record(up_);

            CUDA_CHECK(cudaStreamWaitEvent(work_, uploaded_[i], 0));
            r.begin_kernel(i, 1, work_);
            invert_kernel<<<strip_blocks(s), block_threads, 0, work_>>>(in + s.first, result + s.first, s.bytes,
                                                                        colours, rounds);
            CUDA_CHECK_LAUNCH();
            r.end(work_);
            inverted_[i].record(work_);

            CUDA_CHECK(cudaStreamWaitEvent(down_, inverted_[i], 0));
            r.begin_down(i, 2, down_);
            CUDA_CHECK(cudaMemcpyAsync(host_out + s.first, result + s.first, s.bytes, cudaMemcpyDeviceToHost, down_));
            r.end(down_);
        }
        // END ANSWER
    }

    /// Waits for the last copy down, which waits for everything else.
    void synchronize() const { down_.synchronize(); }

private:
    std::vector<Strip> strips_;
    gpulab::Stream up_, work_, down_;
    std::vector<gpulab::Event> uploaded_, inverted_;
};

} // namespace streams
