#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <cudnn.h>

#include "backend/cuda/runtime/event_clock.h"
#include "backend/device.h"
#include "backend/kernel.h"

namespace trainyard::backend::cuda {

class Tuning;
class Attentions;
class Convolutions;
class Matmuls;

// A Context is one GPU: its memory, the streams of its lanes, and the libraries' handles.
class Context final : public Device {
 public:
  // Error (unsupported) when there is no such device, with the reason.
  Context(int ordinal, Precision precision, Effort tuning);
  ~Context() override;
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  Precision precision() const { return precision_; }
  const cudaDeviceProp& properties() const { return properties_; }
  cudaStream_t stream() const { return lane_; }
  cudnnHandle_t cudnn() const { return cudnn_; }
  cublasLtHandle_t cublas_lt() const { return cublas_lt_; }
  // These hold what was measured and planned with the libraries so far. The context owns them.
  Tuning& tuning() { return *tuning_; }
  Attentions& attentions() { return *attentions_; }
  Convolutions& convolutions() { return *convolutions_; }
  Matmuls& matmuls() { return *matmuls_; }

  std::string name() const override;
  std::string pci_address() const override;
  DeviceModel model() const override;
  std::byte* allocate(std::size_t bytes) override;
  std::size_t free_bytes() const override;
  void release(std::byte* memory, std::size_t bytes) noexcept override;
  void write(std::byte* to, const void* from, std::size_t bytes) override;
  void read(const std::byte* from, void* to, std::size_t bytes) override;
  void clear(std::byte* to, std::size_t bytes) override;
  std::string share(std::byte* memory) override;
  std::byte* open(const std::string& shared) override;
  void close(std::byte* opened) noexcept override;
  void fill_random(std::byte* to, std::size_t elements, DType dtype) override;
  void wait() override;
  std::unique_ptr<CopyQueue> make_copy_queue(int places, std::size_t host_bytes) override;
  int lanes() const override { return kLanes; }
  void use_lane(int lane) override;
  int mark_lane() override;
  void wait_for_mark(int mark) override;
  void join_lanes(int count) override;
  std::unique_ptr<Recording> record(const std::function<void()>& enqueue) override;
  void mark_step(StepContext* context, const float* loss, StepMark* marks, std::int64_t count) override;
  void count_step(StepContext* context) override;
  double time(const std::function<void()>& enqueue) override;
  std::unique_ptr<Timeline> make_timeline(const Works& works) override;
  void match_clocks() override { clock_.match(stream_); }

 private:
  int ordinal_;
  Precision precision_;
  cudaDeviceProp properties_{};
  static constexpr int kLanes = 4;

  cudaStream_t stream_ = nullptr;  // lane 0
  cudaStream_t lane_ = nullptr;    // the one in use
  std::array<cudaStream_t, kLanes> lane_streams_{};
  std::vector<cudaEvent_t> marks_;
  int next_mark_ = 0;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
  EventClock clock_;
  cudnnHandle_t cudnn_ = nullptr;
  cublasLtHandle_t cublas_lt_ = nullptr;
  std::unique_ptr<Tuning> tuning_;
  std::unique_ptr<Attentions> attentions_;
  std::unique_ptr<Convolutions> convolutions_;
  std::unique_ptr<Matmuls> matmuls_;
};

struct ReleaseMemory {
  Context* context;
  void operator()(std::byte* memory) const { context->release(memory, 0); }
};
// Memory for a moment, to measure on.
using ScratchMemory = std::unique_ptr<std::byte, ReleaseMemory>;
inline ScratchMemory scratch_memory(Context& context, std::size_t bytes) {
  return ScratchMemory(context.allocate(bytes), ReleaseMemory{&context});
}
ScratchMemory random_memory(Context& context, std::int64_t elements, DType dtype);

// Returns the context of a request. REQUIRES: the device of the request is a Context, which holds for all
// kernels of this backend.
inline Context& context_of(const KernelRequest& request) { return static_cast<Context&>(*request.device); }

}  // namespace trainyard::backend::cuda
