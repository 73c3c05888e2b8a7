#include "run/peaks.h"

#include <algorithm>

#include "backend/backend.h"
#include "meter/peaks.h"
#include "train/session/device_threads.h"

namespace trainyard::run {

double measure_peak(const train::SessionOptions& options, int threads) {
  if (options.cores.empty())
    train::limit_threads(threads);
  else
    train::limit_to(options.cores);
  const auto peaks = backend::make_backend(options.backend, options.device, options.precision)
                         ->gemm_peaks({name(options.precision)}, 0.5);
  return peaks.empty() ? 0 : peaks.front().flops_per_second;
}

namespace {

constexpr double kSeconds = 0.1;

constexpr std::int64_t kMemoryBytes = std::int64_t{128} << 20;

constexpr std::int64_t kCacheBytesPerThread = 16 << 10;  // half of a first-level cache

}  // namespace

void add_bandwidth_roofs(record::RunRecord& run, const train::SessionOptions& options, int threads) {
  if (options.device.is_cpu()) {
    if (options.cores.empty())
      train::limit_threads(threads);
    else
      train::limit_to(options.cores);
    run.figures["peak_bytes_per_second"] = meter::read_bytes_per_second(kSeconds, kMemoryBytes);
    run.figures["peak_cache_bytes_per_second"] =
        meter::read_bytes_per_second(kSeconds, kCacheBytesPerThread * threads);
    return;
  }
  double memory = 0, cache = 0;
  for (const backend::DevicePeak& peak :
       backend::make_backend(options.backend, options.device, options.precision)->device_peaks(kSeconds)) {
    if (peak.group == "memory_bytes_per_second") memory = std::max(memory, peak.value);
    if (peak.group == "cache_bytes_per_second") cache = std::max(cache, peak.value);
  }
  if (memory > 0) run.figures["peak_bytes_per_second"] = memory;
  if (cache > 0) run.figures["peak_cache_bytes_per_second"] = cache;
}

}  // namespace trainyard::run
