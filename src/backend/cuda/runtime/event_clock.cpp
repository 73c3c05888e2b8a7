#include "backend/cuda/runtime/event_clock.h"

#include "backend/cuda/runtime/launch_kernel.h"
#include "base/clock.h"
#include "base/error.h"

namespace trainyard::backend::cuda {

TimedEvent::TimedEvent() { TRAINYARD_CUDA(cudaEventCreate(&event_)); }

EventClock::~EventClock() {
  if (event_ != nullptr) cudaEventDestroy(event_);
}

void EventClock::match(cudaStream_t stream) {
  if (event_ == nullptr) TRAINYARD_CUDA(cudaEventCreate(&event_));
  TRAINYARD_CUDA(cudaStreamSynchronize(stream));  // so that the event happens as soon as it is asked for
  const double asked = now_seconds();
  TRAINYARD_CUDA(cudaEventRecord(event_, stream));
  TRAINYARD_CUDA(cudaEventSynchronize(event_));
  host_seconds_ = 0.5 * (asked + now_seconds());
}

double EventClock::seconds(cudaEvent_t event) const {
  TRAINYARD_CHECK(is_matched());
  float milliseconds = 0;
  TRAINYARD_CUDA(cudaEventElapsedTime(&milliseconds, event_, event));
  return host_seconds_ + static_cast<double>(milliseconds) * 1e-3;
}

}  // namespace trainyard::backend::cuda
