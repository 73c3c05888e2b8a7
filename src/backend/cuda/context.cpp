#include "backend/cuda/runtime/context.h"

#include <charconv>

#include "backend/cuda/attention/cudnn_attention.h"
#include "backend/cuda/conv/convolution.h"
#include "backend/cuda/dense/matmul.h"
#include "backend/cuda/input/input.h"
#include "backend/cuda/runtime/launch_kernel.h"
#include "backend/cuda/runtime/step.h"
#include "backend/cuda/runtime/tuning.h"
#include "base/error.h"
#include "base/text.h"

namespace trainyard::backend::cuda {
namespace {

class GraphRecording final : public Recording {
 public:
  GraphRecording(cudaGraphExec_t graph, cudaStream_t stream) : graph_(graph), stream_(stream) {}
  ~GraphRecording() override { cudaGraphExecDestroy(graph_); }
  GraphRecording(const GraphRecording&) = delete;
  GraphRecording& operator=(const GraphRecording&) = delete;
  void launch() override { TRAINYARD_CUDA(cudaGraphLaunch(graph_, stream_)); }

 private:
  cudaGraphExec_t graph_;
  cudaStream_t stream_;
};

// Ends a capture that an exception left open, so that the stream can be used again.
cudaGraph_t captured(cudaStream_t stream, const std::function<void()>& enqueue) {
  cudaGraph_t graph = nullptr;
  // Relaxed: the libraries may load the code of a kernel when it is first started.
  TRAINYARD_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
  try {
    enqueue();
  } catch (...) {
    cudaStreamEndCapture(stream, &graph);
    if (graph != nullptr) cudaGraphDestroy(graph);
    cudaGetLastError();
    throw;
  }
  TRAINYARD_CUDA(cudaStreamEndCapture(stream, &graph));
  return graph;
}

}  // namespace

Context::Context(int ordinal, Precision precision, Effort tuning) : ordinal_(ordinal), precision_(precision) {
  int devices = 0;
  const cudaError_t found = cudaGetDeviceCount(&devices);
  if (found != cudaSuccess || devices == 0)
    fail(ErrorKind::unsupported, "device 'cuda': this machine has no usable NVIDIA GPU ({})",
         found == cudaSuccess ? "none found" : cudaGetErrorString(found));
  if (ordinal >= devices)
    fail(ErrorKind::unsupported, "device 'cuda:{}': this machine has {} NVIDIA GPU{}, numbered from 0",
         ordinal, devices, devices == 1 ? "" : "s");
  TRAINYARD_CUDA(cudaSetDevice(ordinal));
  TRAINYARD_CUDA(cudaGetDeviceProperties(&properties_, ordinal));
  // Lane 0 determines how long a step takes, so it has the highest priority; the other lanes get the rest of
  // the GPU.
  int least = 0, greatest = 0;
  TRAINYARD_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  TRAINYARD_CUDA(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, greatest));
  for (cudaStream_t& lane : lane_streams_) lane = stream_;
  for (std::size_t i = 1; i < lane_streams_.size(); ++i)
    TRAINYARD_CUDA(cudaStreamCreateWithPriority(&lane_streams_[i], cudaStreamNonBlocking, least));
  lane_ = stream_;
  TRAINYARD_CUDA(cudaEventCreate(&begin_));
  TRAINYARD_CUDA(cudaEventCreate(&end_));
  TRAINYARD_CUDA(cudnnCreate(&cudnn_));
  TRAINYARD_CUDA(cudnnSetStream(cudnn_, stream_));
  TRAINYARD_CUDA(cublasLtCreate(&cublas_lt_));
  const std::string versions = fmt::format("cudnn {} cublaslt {}", cudnnGetVersion(), cublasLtGetVersion());
  tuning_ = std::make_unique<Tuning>(tuning_file(properties_.name, versions), tuning);
  attentions_ = std::make_unique<Attentions>();
  convolutions_ = std::make_unique<Convolutions>();
  matmuls_ = std::make_unique<Matmuls>();
}

Context::~Context() {
  attentions_.reset();
  convolutions_.reset();
  matmuls_.reset();
  if (cublas_lt_ != nullptr) cublasLtDestroy(cublas_lt_);
  if (cudnn_ != nullptr) cudnnDestroy(cudnn_);
  if (end_ != nullptr) cudaEventDestroy(end_);
  if (begin_ != nullptr) cudaEventDestroy(begin_);
  for (const cudaEvent_t mark : marks_) cudaEventDestroy(mark);
  for (const cudaStream_t lane : lane_streams_)
    if (lane != nullptr && lane != stream_) cudaStreamDestroy(lane);
  if (stream_ != nullptr) cudaStreamDestroy(stream_);
}

std::string Context::name() const { return fmt::format("cuda:{}", ordinal_); }

std::string Context::pci_address() const {
  std::array<char, 32> address{};
  TRAINYARD_CUDA(cudaDeviceGetPCIBusId(address.data(), static_cast<int>(address.size()), ordinal_));
  return address.data();
}

DeviceModel Context::model() const {
  return {properties_.name, static_cast<std::int64_t>(properties_.totalGlobalMem),
          properties_.multiProcessorCount};
}

std::byte* Context::allocate(std::size_t bytes) {
  if (bytes == 0) return nullptr;
  void* memory = nullptr;
  const cudaError_t status = cudaMalloc(&memory, bytes);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    std::size_t free_bytes = 0, total = 0;
    TRAINYARD_CUDA(cudaMemGetInfo(&free_bytes, &total));
    fail(ErrorKind::device, "{}: out of memory: {} asked, {} of {} free", name(),
         format_bytes(static_cast<std::int64_t>(bytes)), format_bytes(static_cast<std::int64_t>(free_bytes)),
         format_bytes(static_cast<std::int64_t>(total)));
  }
  check(status, "cudaMalloc");
  TRAINYARD_CUDA(cudaMemsetAsync(memory, 0, bytes, stream_));
  return static_cast<std::byte*>(memory);
}

std::size_t Context::free_bytes() const {
  std::size_t free_now = 0, total = 0;
  TRAINYARD_CUDA(cudaMemGetInfo(&free_now, &total));
  return free_now;
}

void Context::release(std::byte* memory, std::size_t) noexcept { cudaFree(memory); }

void Context::write(std::byte* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  TRAINYARD_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_));
  // Small or pageable memory was staged by the driver; pinned memory may still be read.
  TRAINYARD_CUDA(cudaStreamSynchronize(stream_));
}

void Context::read(const std::byte* from, void* to, std::size_t bytes) {
  if (bytes > 0) TRAINYARD_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_));
  wait();
}

void Context::clear(std::byte* to, std::size_t bytes) {
  if (bytes > 0) TRAINYARD_CUDA(cudaMemsetAsync(to, 0, bytes, stream_));
}

// Writes the handle's bytes, two digits each.
std::string Context::share(std::byte* memory) {
  cudaIpcMemHandle_t handle;
  TRAINYARD_CUDA(cudaIpcGetMemHandle(&handle, memory));
  std::string text;
  for (const char byte : handle.reserved) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

std::byte* Context::open(const std::string& shared) {
  cudaIpcMemHandle_t handle;
  if (shared.size() != 2 * sizeof handle.reserved)
    fail(ErrorKind::device, "{}: '{}' is no memory of another process", name(), shared);
  for (std::size_t i = 0; i < sizeof handle.reserved; ++i) {
    const char* digits = shared.data() + 2 * i;
    unsigned byte = 0;
    const auto [end, status] = std::from_chars(digits, digits + 2, byte, 16);
    if (status != std::errc{} || end != digits + 2)
      fail(ErrorKind::device, "{}: '{}' is no memory of another process", name(), shared);
    handle.reserved[i] = static_cast<char>(byte);
  }
  void* memory = nullptr;
  TRAINYARD_CUDA(cudaIpcOpenMemHandle(&memory, handle, cudaIpcMemLazyEnablePeerAccess));
  return static_cast<std::byte*>(memory);
}

void Context::close(std::byte* opened) noexcept { cudaIpcCloseMemHandle(opened); }

void Context::fill_random(std::byte* to, std::size_t elements, DType dtype) {
  device::fill_random(stream_, to, elements, dtype == DType::bf16 ? 2 : static_cast<int>(size_of(dtype)),
                      dtype == DType::f32 || dtype == DType::bf16);
}

ScratchMemory random_memory(Context& context, std::int64_t elements, DType dtype) {
  const auto count = static_cast<std::size_t>(elements);
  ScratchMemory memory = scratch_memory(context, count * size_of(dtype));
  context.fill_random(memory.get(), count, dtype);
  return memory;
}

void Context::wait() { TRAINYARD_CUDA(cudaStreamSynchronize(stream_)); }

std::unique_ptr<CopyQueue> Context::make_copy_queue(int places, std::size_t host_bytes) {
  return cuda::make_copy_queue(stream_, places, host_bytes, clock_);
}

void Context::use_lane(int lane) {
  const cudaStream_t chosen = lane_streams_[static_cast<std::size_t>(lane)];
  if (chosen == lane_) return;
  lane_ = chosen;
  TRAINYARD_CUDA(cudnnSetStream(cudnn_, lane_));
}

int Context::mark_lane() {
  if (next_mark_ == static_cast<int>(marks_.size())) {
    marks_.push_back(nullptr);
    TRAINYARD_CUDA(cudaEventCreateWithFlags(&marks_.back(), cudaEventDisableTiming));
  }
  TRAINYARD_CUDA(cudaEventRecord(marks_[static_cast<std::size_t>(next_mark_)], lane_));
  return next_mark_++;
}

void Context::wait_for_mark(int mark) {
  TRAINYARD_CUDA(cudaStreamWaitEvent(lane_, marks_[static_cast<std::size_t>(mark)], 0));
}

void Context::join_lanes(int count) {
  std::vector<int> ends;
  for (int lane = 1; lane < count; ++lane) {
    use_lane(lane);
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    TRAINYARD_CUDA(cudaStreamIsCapturing(lane_, &status));
    if (status == cudaStreamCaptureStatusActive) ends.push_back(mark_lane());  // what is recorded reached it
  }
  use_lane(0);
  for (const int end : ends) wait_for_mark(end);
  if (count == kLanes) next_mark_ = 0;
}

std::unique_ptr<Recording> Context::record(const std::function<void()>& enqueue) {
  const auto in_order = [&] {
    try {
      enqueue();
    } catch (...) {
      use_lane(0);
      next_mark_ = 0;
      throw;
    }
  };
  const std::unique_ptr<CUgraph_st, cudaError_t (*)(cudaGraph_t)> graph(captured(stream_, in_order),
                                                                        cudaGraphDestroy);
  device::fill_by_kernels(graph.get());
  cudaGraphExec_t executable = nullptr;
  TRAINYARD_CUDA(cudaGraphInstantiate(&executable, graph.get(), cudaGraphInstantiateFlagUseNodePriority));
  auto recording = std::make_unique<GraphRecording>(executable, stream_);
  TRAINYARD_CUDA(cudaGraphUpload(executable, stream_));
  return recording;
}

void Context::mark_step(StepContext* context, const float* loss, StepMark* marks, std::int64_t count) {
  device::mark_step(stream_, context, loss, marks, count);
}

void Context::count_step(StepContext* context) { device::count_step(lane_, context); }

double Context::time(const std::function<void()>& enqueue) {
  TRAINYARD_CUDA(cudaEventRecord(begin_, stream_));
  enqueue();
  TRAINYARD_CUDA(cudaEventRecord(end_, stream_));
  TRAINYARD_CUDA(cudaEventSynchronize(end_));
  float milliseconds = 0;
  TRAINYARD_CUDA(cudaEventElapsedTime(&milliseconds, begin_, end_));
  return milliseconds * 1e-3;
}

namespace {

class EventTimeline final : public Timeline {
 public:
  EventTimeline(Context& context, const EventClock& clock, const Device::Works& works)
      : context_(context), clock_(clock), events_(works.size() + 1) {
    recording_ = context.record([&] {
      for (std::size_t i = 0; i < works.size(); ++i) {
        note(events_[i]);
        works[i]();
      }
      note(events_.back());
    });
  }

  std::vector<double> run() override {
    recording_->launch();
    context_.wait();
    std::vector<double> moments;
    for (const TimedEvent& event : events_) moments.push_back(clock_.seconds(event.get()));
    return moments;
  }

 private:
  // The flag is External, because code outside of the recording reads the event.
  void note(const TimedEvent& event) {
    TRAINYARD_CUDA(cudaEventRecordWithFlags(event.get(), context_.stream(), cudaEventRecordExternal));
  }

  Context& context_;
  const EventClock& clock_;
  std::vector<TimedEvent> events_;
  std::unique_ptr<Recording> recording_;
};

}  // namespace

std::unique_ptr<Timeline> Context::make_timeline(const Works& works) {
  if (!clock_.is_matched()) match_clocks();
  return std::make_unique<EventTimeline>(*this, clock_, works);
}

}  // namespace trainyard::backend::cuda
