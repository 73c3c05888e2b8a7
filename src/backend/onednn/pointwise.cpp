#include "ops/pointwise.h"

#include "backend/onednn/backend.h"
#include "backend/onednn/elementwise.h"
#include "backend/onednn/runtime/dnnl_kernel.h"

namespace trainyard::backend::onednn {
namespace {

void run_forward(const Arguments& arguments) {
  const auto& attrs = arguments.node.attrs<ops::PointwiseAttrs>();
  const auto a = static_cast<float>(attrs.a), b = static_cast<float>(attrs.b);
  const float* src = arguments.input<float>(0);
  float* dst = arguments.output<float>(0);
  ops::with_pointwise_kind(attrs.kind, [&]<ops::PointwiseKind kind>() {
    for_each_element(padded_elements(arguments),
                     [=](std::int64_t i) { dst[i] = ops::pointwise_at<kind>(src[i], a, b).value; });
  });
}

void run_grad(const Arguments& arguments) {
  const auto& attrs = arguments.node.attrs<ops::PointwiseAttrs>();
  const auto a = static_cast<float>(attrs.a), b = static_cast<float>(attrs.b);
  const float *d_dst = arguments.input<float>(0), *src = arguments.input<float>(1);
  float* d_src = arguments.output<float>(0);
  ops::with_pointwise_kind(attrs.kind, [&]<ops::PointwiseKind kind>() {
    for_each_element(padded_elements(arguments), [=](std::int64_t i) {
      d_src[i] = d_dst[i] * ops::pointwise_at<kind>(src[i], a, b).slope;
    });
  });
}

bool keeps_zeros(const ops::PointwiseAttrs& attrs) {
  bool keeps = false;
  ops::with_pointwise_kind(attrs.kind, [&]<ops::PointwiseKind kind>() {
    keeps = ops::pointwise_at<kind>(0.0, attrs.a, attrs.b).value == 0;
  });
  return keeps;
}

Decision accept(const KernelRequest& request) { return wants_f32(request.node); }

// Zeros in the padding of a layout must stay zeros; the slope there times a gradient of 0 might be no number.
template <KernelFunction function, int leader>
std::unique_ptr<Kernel> make_kernel(const KernelRequest& request) {
  KernelIo io = follow_io(request, leader, {{0, 0}});
  if (io.outputs[0].pads(request.node.output_shape(0)) &&
      !keeps_zeros(request.node.attrs<ops::PointwiseAttrs>())) {
    io = plain_io(request.node);
    io.in_place = {{0, 0}};
  }
  return std::make_unique<FunctionKernel>(request.node, std::move(io), function);
}

}  // namespace

std::vector<Candidate> pointwise_candidates() {
  return {{&ops::pointwise_op, "own:pointwise", accept, make_kernel<run_forward, 0>},
          {&ops::pointwise_grad_op, "own:pointwise_grad", accept, make_kernel<run_grad, 1>}};
}

}  // namespace trainyard::backend::onednn
