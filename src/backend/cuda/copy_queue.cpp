#include "backend/cuda/copy_queue.h"

#include <deque>
#include <vector>

#include "backend/cuda/check.h"
#include "backend/cuda/pinned_memory.h"

namespace trainyard::backend::cuda {
namespace {

// The thread that waits for it leaves its core to those that make batches.
class Event {
 public:
  Event() {
    TRAINYARD_CUDA(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming | cudaEventBlockingSync));
  }
  ~Event() { cudaEventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

class Stream {
 public:
  Stream() { TRAINYARD_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Stream() {
    cudaStreamSynchronize(stream_);
    cudaStreamDestroy(stream_);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class StreamCopies final : public CopyQueue {
 public:
  StreamCopies(cudaStream_t kernels, int places, std::size_t host_bytes, const EventClock& clock)
      : kernels_(kernels), clock_(clock), host_(host_bytes), places_(static_cast<std::size_t>(places)) {}

  std::byte* host() const override { return host_.data(); }

  void send(int place, std::byte* to, const std::byte* from, std::size_t bytes) override {
    TRAINYARD_CUDA(cudaStreamWaitEvent(copies_.get(), at(place).free.get(), 0));
    if (watches_) note_begin(bytes);
    TRAINYARD_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, copies_.get()));
    if (watches_) TRAINYARD_CUDA(cudaEventRecord(watched_.back().ended.get(), copies_.get()));
    TRAINYARD_CUDA(cudaEventRecord(at(place).sent.get(), copies_.get()));
  }
  void take(int place) override { TRAINYARD_CUDA(cudaStreamWaitEvent(kernels_, at(place).sent.get(), 0)); }
  void give_back(int place) override { TRAINYARD_CUDA(cudaEventRecord(at(place).free.get(), kernels_)); }
  void settle(int place) override { TRAINYARD_CUDA(cudaEventSynchronize(at(place).sent.get())); }

  bool is_used(int place) override {
    const cudaError_t status = cudaEventQuery(at(place).free.get());
    if (status == cudaErrorNotReady) return false;
    check(status, "cudaEventQuery");
    return true;
  }
  void await_use(int place) override { TRAINYARD_CUDA(cudaEventSynchronize(at(place).free.get())); }

  void watch(bool on) override { watches_ = on; }
  std::vector<Copy> copies() override {
    std::vector<Copy> found;
    for (const Watched& each : watched_) {
      TRAINYARD_CUDA(cudaEventSynchronize(each.ended.get()));
      found.push_back({clock_.seconds(each.began.get()), clock_.seconds(each.ended.get()), each.bytes});
    }
    watched_.clear();
    return found;
  }

 private:
  struct Watched {
    TimedEvent began, ended;
    std::size_t bytes = 0;
  };

  void note_begin(std::size_t bytes) {
    watched_.emplace_back().bytes = bytes;
    TRAINYARD_CUDA(cudaEventRecord(watched_.back().began.get(), copies_.get()));
  }

  struct Place {
    Event sent, free;
  };
  const Place& at(int place) const { return places_[static_cast<std::size_t>(place)]; }

  cudaStream_t kernels_;
  const EventClock& clock_;
  bool watches_ = false;
  std::deque<Watched> watched_;
  PinnedMemory host_;
  std::vector<Place> places_;
  Stream copies_;  // last: it waits for the copies before the rest goes
};

}  // namespace

std::unique_ptr<CopyQueue> make_copy_queue(cudaStream_t stream, int places, std::size_t host_bytes,
                                           const EventClock& clock) {
  return std::make_unique<StreamCopies>(stream, places, host_bytes, clock);
}

}  // namespace trainyard::backend::cuda
