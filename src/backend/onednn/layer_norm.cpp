#include "ops/layer_norm.h"

#include "backend/onednn/backend.h"
#include "backend/onednn/elementwise.h"
#include "backend/onednn/runtime/dnnl_kernel.h"
#include "backend/onednn/runtime/lane_sums.h"
#include "base/parallel.h"

namespace trainyard::backend::onednn {
namespace {

std::int64_t row_grain(std::int64_t channels) {
  return std::max<std::int64_t>(1, kElementwiseGrain / channels);
}

void run_forward(const Arguments& arguments) {
  const auto& attrs = arguments.node.attrs<ops::LayerNormAttrs>();
  const std::int64_t rows = arguments.node.input_shape(0)[0], channels = arguments.node.input_shape(0)[1];
  const float share = 1 / static_cast<float>(channels), *gamma = arguments.input<float>(1);
  const float* beta = attrs.centred ? arguments.input<float>(2) : nullptr;
  parallel_chunks(rows, row_grain(channels), [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t r = begin; r < end; ++r) {
      const float* src = arguments.input<float>(0) + r * channels;
      float* dst = arguments.output<float>(0) + r * channels;
      const float mean =
          beta == nullptr ? 0 : share * sum_in_lanes(channels, [=](std::int64_t c) { return src[c]; });
      const float variance =
          share * sum_in_lanes(channels, [=](std::int64_t c) { return (src[c] - mean) * (src[c] - mean); });
      const float inverse = 1 / std::sqrt(variance + static_cast<float>(attrs.epsilon));
      arguments.output<float>(1)[r] = inverse;
      if (beta == nullptr) {
#pragma omp simd
        for (std::int64_t c = 0; c < channels; ++c) dst[c] = src[c] * inverse * gamma[c];
        continue;
      }
      arguments.output<float>(2)[r] = mean;
#pragma omp simd
      for (std::int64_t c = 0; c < channels; ++c) dst[c] = (src[c] - mean) * inverse * gamma[c] + beta[c];
    }
  });
}

// Each thread sums the gradients of gamma and beta over its rows; then the sums of threads are added in
// order.
void run_grad(const Arguments& arguments) {
  const bool centred = arguments.node.attrs<ops::LayerNormAttrs>().centred;
  const std::int64_t rows = arguments.node.input_shape(1)[0], channels = arguments.node.input_shape(1)[1];
  const float share = 1 / static_cast<float>(channels), *gamma = arguments.input<float>(2);
  auto* sums = reinterpret_cast<float*>(arguments.memory.workspace);
  const std::int64_t threads = thread_count();
  std::fill_n(sums, threads * 2 * channels, 0.0f);
  parallel_chunks(rows, row_grain(channels), [&](std::int64_t begin, std::int64_t end, int thread) {
    float *d_gamma = sums + thread * 2 * channels, *d_beta = d_gamma + channels;
    for (std::int64_t r = begin; r < end; ++r) {
      const float *d_dst = arguments.input<float>(0) + r * channels,
                  *src = arguments.input<float>(1) + r * channels;
      float* d_src = arguments.output<float>(0) + r * channels;
      const float inverse = arguments.input<float>(3)[r], mean = centred ? arguments.input<float>(4)[r] : 0;
      const float normal_mean = share * sum_in_lanes(channels, [=](std::int64_t c) {
                                  return d_dst[c] * gamma[c] * (src[c] - mean) * inverse;
                                });
      const float plain_mean =
          centred ? share * sum_in_lanes(channels, [=](std::int64_t c) { return d_dst[c] * gamma[c]; }) : 0;
#pragma omp simd
      for (std::int64_t c = 0; c < channels; ++c) {
        const float d = d_dst[c], normal = (src[c] - mean) * inverse;
        d_gamma[c] += d * normal;
        d_beta[c] += d;
        d_src[c] = inverse * (d * gamma[c] - plain_mean - normal * normal_mean);
      }
    }
  });
  for (std::int64_t c = 0; c < channels; ++c) {
    float d_gamma = 0, d_beta = 0;
    for (std::int64_t t = 0; t < threads; ++t) {
      d_gamma += sums[t * 2 * channels + c];
      d_beta += sums[(t * 2 + 1) * channels + c];
    }
    arguments.output<float>(1)[c] = d_gamma;
    if (centred) arguments.output<float>(2)[c] = d_beta;
  }
}

Decision accept(const KernelRequest& request) {
  const auto& attrs = request.node.attrs<ops::LayerNormAttrs>();
  if (attrs.adds || attrs.column_sums) return Decision::no("makes no sums beside the norm");
  return wants_f32(request.node);
}

std::unique_ptr<Kernel> make_forward(const KernelRequest& request) {
  KernelIo io = plain_io(request.node);
  io.in_place = {{0, 0}};
  return std::make_unique<FunctionKernel>(request.node, std::move(io), run_forward);
}

std::unique_ptr<Kernel> make_grad(const KernelRequest& request) {
  KernelIo io = plain_io(request.node);
  io.in_place = {{0, 0}};
  Workspace workspace;
  workspace.add_floats(thread_count() * 2 * request.node.input_shape(1)[1]);
  io.workspace_bytes = workspace.bytes();
  return std::make_unique<FunctionKernel>(request.node, std::move(io), run_grad);
}

}  // namespace

std::vector<Candidate> layer_norm_candidates() {
  return {{&ops::layer_norm_op, "own:layer_norm", accept, make_forward},
          {&ops::layer_norm_grad_op, "own:layer_norm_grad", accept, make_grad}};
}

}  // namespace trainyard::backend::onednn
