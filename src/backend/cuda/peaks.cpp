#include "backend/cuda/peaks.h"

#include "backend/cuda/dense/matmul.h"
#include "backend/cuda/input/input.h"
#include "backend/cuda/runtime/launch_kernel.h"
#include "backend/cuda/runtime/peaks_kernels.h"
#include "base/clock.h"

namespace trainyard::backend::cuda {

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kDeviceBytes = 2048 * kMiB;  // far more than any cache
constexpr std::size_t kTransferBytes = 256 * kMiB;
constexpr int kLaunches = 1000;

// The least that `once` returns, over about `seconds` and three times at least; the first is not counted.
template <typename Once>
double least(double seconds, const Once& once) {
  once();
  const double end = now_seconds() + seconds;
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 3 || now_seconds() < end; ++i) best = std::min(best, once());
  return best;
}

void add_memory(std::vector<DevicePeak>& peaks, const std::shared_ptr<Context>& context, double seconds) {
  const DeviceMemory from(context, kDeviceBytes), to(context, kDeviceBytes),
      sink(context, sizeof(std::uint32_t));
  context->fill_random(from.data(), kDeviceBytes / sizeof(float), DType::f32);
  const cudaStream_t stream = context->stream();
  const double read = least(seconds, [&] {
    return context->time([&] {
      device::read_bytes(stream, from.data(), kDeviceBytes, reinterpret_cast<std::uint32_t*>(sink.data()));
    });
  });
  const double own = least(seconds / 2, [&] {
    return context->time([&] { device::copy_bytes(stream, from.data(), to.data(), kDeviceBytes); });
  });
  const double driver = least(seconds / 2, [&] {
    return context->time([&] {
      TRAINYARD_CUDA(cudaMemcpyAsync(to.data(), from.data(), kDeviceBytes, cudaMemcpyDeviceToDevice, stream));
    });
  });
  const auto bytes = static_cast<double>(kDeviceBytes);
  peaks.push_back({"memory_bytes_per_second", "read", bytes / read});
  peaks.push_back({"memory_bytes_per_second", "copy", 2 * bytes / std::min(own, driver)});
}

// Measures the cache that the whole GPU shares, with an array that fits it with room to spare.
void add_cache(std::vector<DevicePeak>& peaks, const std::shared_ptr<Context>& context, double seconds) {
  constexpr int kPasses = 50;
  const auto bytes = static_cast<std::size_t>(context->properties().l2CacheSize) / 4;
  const DeviceMemory from(context, bytes), sink(context, sizeof(std::uint32_t));
  context->fill_random(from.data(), bytes / sizeof(float), DType::f32);
  std::size_t read = 0;
  const double took = least(seconds, [&] {
    return context->time([&] {
      read = device::reread_bytes(context->stream(), from.data(), bytes, kPasses,
                                  reinterpret_cast<std::uint32_t*>(sink.data()));
    });
  });
  peaks.push_back({"cache_bytes_per_second", "read", static_cast<double>(read) / took});
}

void add_launches(std::vector<DevicePeak>& peaks, Context& context, double seconds) {
  const cudaStream_t stream = context.stream();
  const auto many = [&] {
    for (int i = 0; i < kLaunches; ++i) device::nothing(stream);
  };
  const double alone = least(seconds, [&] {
    context.wait();
    const double began = now_seconds();
    device::nothing(stream);
    context.wait();
    return now_seconds() - began;
  });
  const double in_a_row = least(seconds, [&] { return context.time(many); });
  const std::unique_ptr<Recording> graph = context.record(many);
  const double in_a_graph = least(seconds, [&] { return context.time([&] { graph->launch(); }); });
  peaks.push_back({"launch_seconds", "alone", alone});
  peaks.push_back({"launch_seconds", "in_a_row", in_a_row / kLaunches});
  peaks.push_back({"launch_seconds", "in_a_graph", in_a_graph / kLaunches});
}

void add_transfers(std::vector<DevicePeak>& peaks, const std::shared_ptr<Context>& context, double seconds) {
  const DeviceMemory device(context, kTransferBytes);
  std::vector<std::byte> pageable(kTransferBytes, std::byte{1});
  const PinnedMemory pinned(kTransferBytes);
  std::fill_n(pinned.data(), kTransferBytes, std::byte{1});
  // Copies are timed by the clock of the host: the driver copies pageable memory in pieces, with the help of
  // the host.
  const auto rate = [&](void* to, const void* from, cudaMemcpyKind kind) {
    const double best = least(seconds, [&] {
      context->wait();
      const double began = now_seconds();
      TRAINYARD_CUDA(cudaMemcpyAsync(to, from, kTransferBytes, kind, context->stream()));
      context->wait();
      return now_seconds() - began;
    });
    return static_cast<double>(kTransferBytes) / best;
  };
  const auto add = [&](const char* name, void* to, const void* from, cudaMemcpyKind kind) {
    peaks.push_back({"transfer_bytes_per_second", name, rate(to, from, kind)});
  };
  add("to_device_pageable", device.data(), pageable.data(), cudaMemcpyHostToDevice);
  add("to_device_pinned", device.data(), pinned.data(), cudaMemcpyHostToDevice);
  add("to_host_pageable", pageable.data(), device.data(), cudaMemcpyDeviceToHost);
  add("to_host_pinned", pinned.data(), device.data(), cudaMemcpyDeviceToHost);
}

}  // namespace

std::vector<DevicePeak> measure_device_peaks(const std::shared_ptr<Context>& context, double seconds) {
  std::vector<DevicePeak> peaks;
  add_memory(peaks, context, seconds);
  add_cache(peaks, context, seconds);
  add_launches(peaks, *context, seconds);
  add_transfers(peaks, context, seconds);
  return peaks;
}

// measure_gemm_peaks() finds the measured peak of this GPU: the best square matrix product that cuBLASLt
// runs, per precision.

namespace {

double best_rate(Context& context, Precision precision, std::int64_t size, double seconds) {
  const DType dtype = precision == Precision::bf16 ? DType::bf16 : DType::f32;
  const auto planned = context.matmuls().find(
      context,
      {.m = size, .n = size, .k = size, .b_transposed = true, .dtype = dtype, .precision = precision});
  if (planned == nullptr) return 0;
  Matmul matmul(context, planned);
  const ScratchMemory a = random_memory(context, size * size, dtype),
                      b = random_memory(context, size * size, dtype),
                      dst = random_memory(context, size * size, dtype),
                      workspace = scratch_memory(context, matmul.workspace_bytes());
  matmul.bind(a.get(), b.get(), dst.get(), nullptr, workspace.get());
  double best = planned->tuned.seconds > 0 ? planned->tuned.seconds : 1e9;
  const double end = now_seconds() + seconds;
  for (int i = 0; i < 3 || now_seconds() < end; ++i)
    best = std::min(best, context.time([&] { matmul.run(); }));
  const auto n = static_cast<double>(size);
  return 2 * n * n * n / best;
}

}  // namespace

std::vector<GemmPeak> measure_gemm_peaks(Context& context, const std::vector<std::string>& precisions,
                                         double seconds) {
  std::vector<GemmPeak> peaks;
  for (const Precision precision : {Precision::f32, Precision::tf32, Precision::bf16}) {
    if (std::find(precisions.begin(), precisions.end(), name(precision)) == precisions.end()) continue;
    GemmPeak peak{name(precision), 0, 0};
    for (const std::int64_t size : {4096, 8192}) {
      const double rate = best_rate(context, precision, size, seconds / 2);
      if (rate > peak.flops_per_second) peak = {name(precision), size, rate};
    }
    peaks.push_back(peak);
  }
  return peaks;
}

}  // namespace trainyard::backend::cuda
