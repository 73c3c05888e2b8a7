#include "ops/smooth_unit.h"

#include "backend/onednn/backend.h"
#include "backend/onednn/elementwise.h"
#include "backend/onednn/runtime/dnnl_kernel.h"
#include "backend/onednn/runtime/vector_math.h"

namespace trainyard::backend::onednn {
namespace {

using ops::SmoothKind;

constexpr float kRootTwoOverPi = 0.79788456080286536f, kCubic = 0.044715f;

template <SmoothKind kind>
float value_at(float x) {
  if constexpr (kind == SmoothKind::gelu) return x * vector_normal(x);
  if constexpr (kind == SmoothKind::silu) return x * vector_logistic(x);
  // (1 + tanh(u)) / 2 is the logistic function of 2 u.
  return x * vector_logistic(2 * kRootTwoOverPi * (x + kCubic * x * x * x));
}

template <SmoothKind kind>
float slope_at(float x) {
  if constexpr (kind == SmoothKind::gelu) {
    constexpr float kInverseRootTwoPi = 0.39894228040143268f;
    return vector_normal(x) + x * kInverseRootTwoPi * vector_exp(-0.5f * x * x);
  }
  if constexpr (kind == SmoothKind::silu) {
    const float share = vector_logistic(x);
    return share * (1 + x * (1 - share));
  }
  const float share = vector_logistic(2 * kRootTwoOverPi * (x + kCubic * x * x * x));
  return share + 2 * x * share * (1 - share) * kRootTwoOverPi * (1 + 3 * kCubic * x * x);
}

// Calls function.template operator()<kind>().
template <typename Function>
void with_kind(SmoothKind kind, const Function& function) {
  switch (kind) {
    case SmoothKind::gelu:
      return function.template operator()<SmoothKind::gelu>();
    case SmoothKind::gelu_tanh:
      return function.template operator()<SmoothKind::gelu_tanh>();
    case SmoothKind::silu:
      return function.template operator()<SmoothKind::silu>();
  }
}

// Calls body(a, b, to) with the first of each row's two halves and of the row that they make.
template <typename Body>
void for_each_gated_row(const Shape& made, const Body& body) {
  const std::int64_t width = made[1];
  parallel_chunks(made[0], std::max<std::int64_t>(1, kElementwiseGrain / width),
                  [&](std::int64_t begin, std::int64_t end, int) {
                    for (std::int64_t row = begin; row < end; ++row)
                      body(row * 2 * width, (row * 2 + 1) * width, row * width);
                  });
}

void run_forward(const Arguments& arguments) {
  const auto& attrs = arguments.node.attrs<ops::SmoothUnitAttrs>();
  with_kind(attrs.kind, [&]<SmoothKind kind>() {
    const float* src = arguments.input<float>(0);
    float* dst = arguments.output<float>(0);
    if (!attrs.gated)
      return for_each_element(padded_elements(arguments),
                              [=](std::int64_t i) { dst[i] = value_at<kind>(src[i]); });
    const Shape& made = arguments.node.output_shape(0);
    for_each_gated_row(made, [=, width = made[1]](std::int64_t a, std::int64_t b, std::int64_t to) {
#pragma omp simd
      for (std::int64_t i = 0; i < width; ++i) dst[to + i] = value_at<kind>(src[a + i]) * src[b + i];
    });
  });
}

void run_grad(const Arguments& arguments) {
  const auto& attrs = arguments.node.attrs<ops::SmoothUnitAttrs>();
  with_kind(attrs.kind, [&]<SmoothKind kind>() {
    const float *d_dst = arguments.input<float>(0), *src = arguments.input<float>(1);
    float* d_src = arguments.output<float>(0);
    if (!attrs.gated)
      return for_each_element(padded_elements(arguments),
                              [=](std::int64_t i) { d_src[i] = d_dst[i] * slope_at<kind>(src[i]); });
    const Shape& made = arguments.node.input_shape(0);
    for_each_gated_row(made, [=, width = made[1]](std::int64_t a, std::int64_t b, std::int64_t to) {
#pragma omp simd
      for (std::int64_t i = 0; i < width; ++i) {
        const float d = d_dst[to + i], x = src[a + i], gate = src[b + i];
        d_src[a + i] = d * gate * slope_at<kind>(x);
        d_src[b + i] = d * value_at<kind>(x);
      }
    });
  });
}

Decision accept(const KernelRequest& request) {
  if (request.node.attrs<ops::SmoothUnitAttrs>().column_sums) return Decision::no("sums no columns");
  return wants_f32(request.node);
}

std::unique_ptr<Kernel> make_forward(const KernelRequest& request) {
  const bool gated = request.node.attrs<ops::SmoothUnitAttrs>().gated;
  return std::make_unique<FunctionKernel>(
      request.node, gated ? plain_io(request.node) : follow_io(request, 0, {{0, 0}}), run_forward);
}

std::unique_ptr<Kernel> make_grad(const KernelRequest& request) {
  const bool gated = request.node.attrs<ops::SmoothUnitAttrs>().gated;
  return std::make_unique<FunctionKernel>(
      request.node, gated ? plain_io(request.node) : follow_io(request, 1, {{0, 0}, {0, 1}}), run_grad);
}

}  // namespace

std::vector<Candidate> smooth_unit_candidates() {
  return {{&ops::smooth_unit_op, "own:smooth_unit", accept, make_forward},
          {&ops::smooth_unit_grad_op, "own:smooth_unit_grad", accept, make_grad}};
}

}  // namespace trainyard::backend::onednn
