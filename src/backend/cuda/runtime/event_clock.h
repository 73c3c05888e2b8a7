#pragma once

#include <cuda_runtime_api.h>

namespace trainyard::backend::cuda {

// A TimedEvent is an event that records its time.
class TimedEvent {
 public:
  TimedEvent();
  ~TimedEvent() { cudaEventDestroy(event_); }
  TimedEvent(const TimedEvent&) = delete;
  TimedEvent& operator=(const TimedEvent&) = delete;
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

// Times of events by the host's now_seconds(): an event that the host waited for ties the two clocks
// together, to within the time in which the host hears of it, some microseconds.
class EventClock {
 public:
  EventClock() = default;
  ~EventClock();
  EventClock(const EventClock&) = delete;
  EventClock& operator=(const EventClock&) = delete;

  void match(cudaStream_t stream);  // waits for what is in the stream
  bool is_matched() const { return event_ != nullptr; }
  // REQUIRES: is_matched(), and the event has happened.
  double seconds(cudaEvent_t event) const;

 private:
  cudaEvent_t event_ = nullptr;
  double host_seconds_ = 0;  // when it was
};

}  // namespace trainyard::backend::cuda
