#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include "backend/copy_queue.h"
#include "backend/cuda/event_clock.h"

namespace trainyard::backend::cuda {

// A stream of its own; `stream`, where the kernels run, and the clock must outlive it.
std::unique_ptr<CopyQueue> make_copy_queue(cudaStream_t stream, int places, std::size_t host_bytes,
                                           const EventClock& clock);

}  // namespace trainyard::backend::cuda
