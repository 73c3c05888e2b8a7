#include <algorithm>
#include <array>

#include "backend/cuda/matmul.h"
#include "base/clock.h"

// The measured roof of this GPU: the best square matrix product cuBLASLt can do, per precision.
namespace trainyard::backend::cuda {
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
