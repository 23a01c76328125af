/// @file
/// The rungs, one line each, for the table and the tests. Each rung is described in its own file.
#pragma once

#include "streams.hpp"

namespace streams {

Run cpu_sequential;
Run cpu_threads;
Run opencl_in_order;
Run opencl_queues;
Run opencl_pinned;
Run cuda_sync_pageable;
Run cuda_sync_pinned;
Run cuda_async_pageable;
Run cuda_depth_first;
Run cuda_breadth_first;
Run cuda_pipeline;
Run cuda_mapped;
Run cuda_mapped_write;
Run cuda_mixed;
Run cuda_growing;
Run cuda_polling;

} // namespace streams
