#include "ops/activation.h"

#include <cmath>

#include "backend/onednn/dnnl_kernel.h"
#include "backend/onednn/elementwise.h"
#include "backend/onednn/list.h"

namespace trainyard::backend::onednn {
namespace {

using ops::Activation;

void run_forward(const Arguments& arguments) {
  const auto& attrs = arguments.node.attrs<ops::ActivationAttrs>();
  const float* x = arguments.input<float>(0);
  float* y = arguments.output<float>(0);
  const std::int64_t count = padded_elements(arguments);
  const auto slope = static_cast<float>(attrs.slope);
  switch (attrs.kind) {
    case Activation::none:
      return for_each_element(count, [=](std::int64_t i) { y[i] = x[i]; });
    case Activation::relu:
      return for_each_element(count, [=](std::int64_t i) { y[i] = x[i] > 0 ? x[i] : 0; });
    case Activation::relu6:
      return for_each_element(count, [=](std::int64_t i) { y[i] = std::min(x[i] > 0 ? x[i] : 0, 6.0f); });
    case Activation::leaky_relu:
      return for_each_element(count, [=](std::int64_t i) { y[i] = x[i] > 0 ? x[i] : slope * x[i]; });
    case Activation::sigmoid:
      return for_each_element(count, [=](std::int64_t i) { y[i] = 1 / (1 + std::exp(-x[i])); });
    case Activation::tanh:
      return for_each_element(count, [=](std::int64_t i) { y[i] = std::tanh(x[i]); });
  }
}

void run_grad(const Arguments& arguments) {
  const auto& attrs = arguments.node.attrs<ops::ActivationAttrs>();
  const float *d = arguments.input<float>(0), *y = arguments.input<float>(1);
  float* out = arguments.output<float>(0);
  const std::int64_t count = padded_elements(arguments);
  const auto slope = static_cast<float>(attrs.slope);
  switch (attrs.kind) {
    case Activation::none:
      return for_each_element(count, [=](std::int64_t i) { out[i] = d[i]; });
    case Activation::relu:
      return for_each_element(count, [=](std::int64_t i) { out[i] = y[i] > 0 ? d[i] : 0; });
    case Activation::relu6:
      return for_each_element(count, [=](std::int64_t i) { out[i] = y[i] > 0 && y[i] < 6 ? d[i] : 0; });
    case Activation::leaky_relu:
      return for_each_element(count, [=](std::int64_t i) { out[i] = y[i] > 0 ? d[i] : slope * d[i]; });
    case Activation::sigmoid:
      return for_each_element(count, [=](std::int64_t i) { out[i] = d[i] * y[i] * (1 - y[i]); });
    case Activation::tanh:
      return for_each_element(count, [=](std::int64_t i) { out[i] = d[i] * (1 - y[i] * y[i]); });
  }
}

// sigmoid(0) is not 0: a padded layout would get garbage in its padding.
bool keeps_zeros(const graph::NodeView& node) {
  return node.attrs<ops::ActivationAttrs>().kind != Activation::sigmoid;
}

Decision accept(const KernelRequest& request) {
  // A dropout's gradient stays apart: dst is not read for it, and what is not read costs nothing.
  if (request.node.attrs<ops::ActivationAttrs>().gradient_scale != 1) return Decision::no("scales nothing");
  return wants_f32(request.node);
}

std::unique_ptr<Kernel> make_forward(const KernelRequest& request) {
  KernelIo io = follow_io(request, 0, {{0, 0}});
  if (!keeps_zeros(request.node) && io.inputs[0].pads(request.node.input_shape(0))) {
    io = plain_io(request.node);
    io.in_place = {{0, 0}};
  }
  return std::make_unique<FunctionKernel>(request.node, std::move(io), run_forward);
}

// The gradient follows the output it belongs to: that one is blocked, while a first gradient may still be
// plain.
std::unique_ptr<Kernel> make_grad(const KernelRequest& request) {
  return std::make_unique<FunctionKernel>(request.node, follow_io(request, 1, {{0, 0}}), run_grad);
}

}  // namespace

std::vector<Candidate> activation_candidates() {
  return {{&ops::activation_op, "own:activation", accept, make_forward},
          {&ops::activation_grad_op, "own:activation_grad", accept, make_grad}};
}

}  // namespace trainyard::backend::onednn
