#include "backend/cuda/copy_queue.h"

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
  StreamCopies(cudaStream_t kernels, int places, std::size_t host_bytes)
      : kernels_(kernels), host_(host_bytes), places_(static_cast<std::size_t>(places)) {}

  std::byte* host() const override { return host_.data(); }

  void send(int place, std::byte* to, const std::byte* from, std::size_t bytes) override {
    TRAINYARD_CUDA(cudaStreamWaitEvent(copies_.get(), at(place).free.get(), 0));
    TRAINYARD_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, copies_.get()));
    TRAINYARD_CUDA(cudaEventRecord(at(place).sent.get(), copies_.get()));
  }
  void take(int place) override { TRAINYARD_CUDA(cudaStreamWaitEvent(kernels_, at(place).sent.get(), 0)); }
  void give_back(int place) override { TRAINYARD_CUDA(cudaEventRecord(at(place).free.get(), kernels_)); }
  void settle(int place) override { TRAINYARD_CUDA(cudaEventSynchronize(at(place).sent.get())); }

 private:
  struct Place {
    Event sent, free;
  };
  const Place& at(int place) const { return places_[static_cast<std::size_t>(place)]; }

  cudaStream_t kernels_;
  PinnedMemory host_;
  std::vector<Place> places_;
  Stream copies_;  // last: it waits for the copies before the rest goes
};

}  // namespace

std::unique_ptr<CopyQueue> make_copy_queue(cudaStream_t stream, int places, std::size_t host_bytes) {
  return std::make_unique<StreamCopies>(stream, places, host_bytes);
}

}  // namespace trainyard::backend::cuda
