#include "backend/cuda/input/input.h"

#include <unistd.h>

#include <deque>

#include "backend/cuda/input/input_kernels.h"
#include "backend/cuda/runtime/launch_kernel.h"
#include "base/text.h"

namespace trainyard::backend::cuda {

PinnedMemory::PinnedMemory(std::size_t bytes) {
  void* memory = nullptr;
  const cudaError_t status = cudaMallocHost(&memory, bytes);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    fail(ErrorKind::device, "cuda: out of memory: {} of page-locked host memory asked, {} free",
         format_bytes(static_cast<std::int64_t>(bytes)),
         format_bytes(std::int64_t{::sysconf(_SC_AVPHYS_PAGES)} * ::sysconf(_SC_PAGESIZE)));
  }
  check(status, "cudaMallocHost");
  data_ = static_cast<std::byte*>(memory);
  std::fill_n(data_, bytes, std::byte{0});
}

PinnedMemory::~PinnedMemory() { cudaFreeHost(data_); }

namespace {

class InputBatchKernel final : public Kernel {
 public:
  InputBatchKernel(Context& context, const InputBatch& batch)
      : Kernel({.inputs = {Layout{}, Layout{}},
                .outputs = {Layout{}, Layout{}},
                .workspace_bytes = 0,
                .in_place = {}}),
        context_(context),
        batch_(batch) {}
  void bind(const Binding& binding) override {
    memory_ = {.images = reinterpret_cast<const std::uint8_t*>(binding.inputs[0]),
               .labels = reinterpret_cast<const std::int32_t*>(binding.inputs[1]),
               .batch_images = reinterpret_cast<float*>(binding.outputs[0]),
               .batch_labels = reinterpret_cast<std::int32_t*>(binding.outputs[1]),
               .context = binding.context};
  }
  void run(const StepContext&) override { device::input_batch(context_.stream(), batch_, memory_); }

 private:
  Context& context_;
  InputBatch batch_;
  device::InputBatchMemory memory_{};
};

}  // namespace

std::unique_ptr<Kernel> make_input_batch(Context& context, const InputBatch& batch) {
  TRAINYARD_CHECK(batch.batch > 0 && batch.workers > batch.worker && batch.worker >= 0);
  // The kernel counts within an image with 32 bits, and keeps its channels' sums in shared memory.
  constexpr std::int64_t kMostChannels = 2048;
  if (batch.channels > kMostChannels || batch.output_floats() > std::numeric_limits<std::int32_t>::max() ||
      batch.image_bytes() > std::numeric_limits<std::int32_t>::max())
    return nullptr;
  return std::make_unique<InputBatchKernel>(context, batch);
}

namespace {

// Buffers own the bytes up to the next multiple of 64, so whole words may be copied: their tail is zeros, as
// it is in the ring.
std::size_t words(std::size_t bytes) { return (bytes + sizeof(uint4) - 1) / sizeof(uint4); }

class InputRingKernel final : public Kernel {
 public:
  InputRingKernel(Context& context, const InputRing& ring)
      : Kernel({.inputs = {Layout{}},
                .outputs = {Layout{}, Layout{}, Layout{}},
                .workspace_bytes = 0,
                .in_place = {}}),
        context_(context),
        ring_(ring) {}
  void bind(const Binding& binding) override {
    memory_ = {.ring = reinterpret_cast<const uint4*>(binding.inputs[0]),
               .places = ring_.places,
               .place_words = words(ring_.place_bytes()),
               .image_words = words(ring_.image_bytes),
               .labels_at = words(ring_.labels_at()),
               .label_words = words(ring_.label_bytes),
               .images = reinterpret_cast<uint4*>(binding.outputs[0]),
               .labels = reinterpret_cast<uint4*>(binding.outputs[1]),
               .begins = reinterpret_cast<std::int64_t*>(binding.outputs[2]),
               .begins_count = ring_.begins,
               .context = binding.context};
  }
  void run(const StepContext&) override { device::take_from_ring(context_.stream(), memory_); }

 private:
  Context& context_;
  InputRing ring_;
  device::InputRingMemory memory_{};
};

}  // namespace

std::unique_ptr<Kernel> make_input_ring(Context& context, const InputRing& ring) {
  TRAINYARD_CHECK(ring.places > 0 && ring.begins > 0 && ring.image_bytes > 0 && ring.label_bytes > 0);
  return std::make_unique<InputRingKernel>(context, ring);
}

namespace {

class SampleGatherKernel final : public Kernel {
 public:
  SampleGatherKernel(Context& context, const SampleGather& gather, const InputRing& ring)
      : Kernel({.inputs = {Layout{}, Layout{}},
                .outputs = {Layout{}, Layout{}, Layout{}},
                .workspace_bytes = 0,
                .in_place = {}}),
        context_(context),
        gather_(gather),
        ring_(ring) {}
  void bind(const Binding& binding) override {
    memory_ = {.ring = binding.inputs[0],
               .places = ring_.places,
               .place_bytes = ring_.place_bytes(),
               .labels_at = ring_.labels_at(),
               .samples = reinterpret_cast<const std::uint8_t*>(binding.inputs[1]),
               .images = reinterpret_cast<float*>(binding.outputs[0]),
               .labels = reinterpret_cast<std::int32_t*>(binding.outputs[1]),
               .begins = reinterpret_cast<std::int64_t*>(binding.outputs[2]),
               .begins_count = ring_.begins,
               .context = binding.context};
  }
  void run(const StepContext&) override { device::gather_samples(context_.stream(), gather_, memory_); }

 private:
  Context& context_;
  SampleGather gather_;
  InputRing ring_;
  device::SampleGatherMemory memory_{};
};

}  // namespace

std::unique_ptr<Kernel> make_sample_gather(Context& context, const SampleGather& gather,
                                           const InputRing& ring) {
  TRAINYARD_CHECK(gather.batch > 0 && ring.places > 0 && ring.begins > 0);
  TRAINYARD_CHECK(gather.channels == 1 || gather.channels == 3);
  TRAINYARD_CHECK(ring.image_bytes == static_cast<std::size_t>(gather.batch) * sizeof(GatheredSample));
  // The kernel counts within a sample with 32 bits.
  TRAINYARD_CHECK(gather.sample_bytes() <= std::numeric_limits<std::int32_t>::max());
  return std::make_unique<SampleGatherKernel>(context, gather, ring);
}

namespace {

// A thread that waits for the event is suspended, so its core is free for the threads that make batches.
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
