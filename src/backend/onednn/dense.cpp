#include "ops/dense.h"

#include <string>

#include "backend/onednn/dnnl_kernel.h"
#include "backend/onednn/list.h"

namespace trainyard::backend::onednn {
namespace {

using dnnl::memory;
using Argument = DnnlKernel::Argument;
using Place = DnnlKernel::Place;

memory::desc given_or_any(const KernelRequest& request, int input) {
  const auto& layout = request.inputs[static_cast<std::size_t>(input)];
  const Shape& shape = request.node.input_shape(input);
  return layout ? to_desc(shape, *layout) : any_desc(shape);
}

memory::desc plain_desc(const Shape& shape) { return to_desc(shape, Layout{}); }

dnnl::inner_product_forward::primitive_desc forward_desc(const memory::desc& src, const memory::desc& weight,
                                                         const memory::desc& bias, const Shape& dst,
                                                         const ops::ActivationAttrs& activation) {
  const dnnl::inner_product_forward::desc desc(dnnl::prop_kind::forward_training, src, weight, bias,
                                               plain_desc(dst));
  return {desc, planned_attr(activation), cpu_engine()};
}

std::unique_ptr<Kernel> make_forward(const KernelRequest& request) {
  const graph::NodeView& node = request.node;
  const bool bias = node.inputs() == 3;
  const auto pd = forward_desc(given_or_any(request, 0), given_or_any(request, 1),
                               bias ? plain_desc(node.input_shape(2)) : memory::desc(), node.output_shape(0),
                               node.attrs<ops::DenseAttrs>().activation);
  std::vector<Argument> arguments{{DNNL_ARG_SRC, Place::input, 0, pd.src_desc()},
                                  {DNNL_ARG_WEIGHTS, Place::input, 1, pd.weights_desc()},
                                  {DNNL_ARG_DST, Place::output, 0, pd.dst_desc()}};
  if (bias) arguments.push_back({DNNL_ARG_BIAS, Place::input, 2, pd.bias_desc()});
  return make_dnnl_kernel(node, dnnl::inner_product_forward(pd), pd.scratchpad_desc(), std::move(arguments));
}

std::unique_ptr<Kernel> make_d_src(const KernelRequest& request) {
  const graph::NodeView& node = request.node;
  const Shape& src = node.attrs<ops::DenseGradAttrs>().shape;
  const memory::desc weight = given_or_any(request, 1);
  const memory::desc d_src = request.outputs[0] ? to_desc(src, *request.outputs[0]) : any_desc(src);
  const dnnl::inner_product_backward_data::desc desc(d_src, weight, plain_desc(node.input_shape(0)));
  const dnnl::inner_product_backward_data::primitive_desc pd(
      desc, planned_attr(), cpu_engine(),
      forward_desc(d_src, weight, memory::desc(), node.input_shape(0), {ops::Activation::none}));
  return make_dnnl_kernel(node, dnnl::inner_product_backward_data(pd), pd.scratchpad_desc(),
                          {{DNNL_ARG_DIFF_DST, Place::input, 0, pd.diff_dst_desc()},
                           {DNNL_ARG_WEIGHTS, Place::input, 1, pd.weights_desc()},
                           {DNNL_ARG_DIFF_SRC, Place::output, 0, pd.diff_src_desc()}});
}

std::unique_ptr<Kernel> make_d_weight(const KernelRequest& request) {
  const graph::NodeView& node = request.node;
  const auto& attrs = node.attrs<ops::DenseGradAttrs>();
  const memory::desc src = given_or_any(request, 1);
  const memory::desc d_weight =
      request.outputs[0] ? to_desc(attrs.shape, *request.outputs[0]) : any_desc(attrs.shape);
  const memory::desc d_bias = attrs.bias ? plain_desc({attrs.shape[0]}) : memory::desc();
  const dnnl::inner_product_backward_weights::desc desc(src, d_weight, d_bias,
                                                        plain_desc(node.input_shape(0)));
  const dnnl::inner_product_backward_weights::primitive_desc pd(
      desc, planned_attr(), cpu_engine(),
      forward_desc(src, d_weight, d_bias, node.input_shape(0), {ops::Activation::none}));
  std::vector<Argument> arguments{{DNNL_ARG_DIFF_DST, Place::input, 0, pd.diff_dst_desc()},
                                  {DNNL_ARG_SRC, Place::input, 1, pd.src_desc()},
                                  {DNNL_ARG_DIFF_WEIGHTS, Place::output, 0, pd.diff_weights_desc()}};
  if (attrs.bias) arguments.push_back({DNNL_ARG_DIFF_BIAS, Place::output, 1, pd.diff_bias_desc()});
  return make_dnnl_kernel(node, dnnl::inner_product_backward_weights(pd), pd.scratchpad_desc(),
                          std::move(arguments));
}

Decision accept(const KernelRequest& request) { return wants_f32(request.node); }

}  // namespace

std::vector<Candidate> dense_candidates() {
  return {{&ops::dense_op, "onednn:dense", accept, make_forward},
          {&ops::dense_d_src_op, "onednn:dense_d_src", accept, make_d_src},
          {&ops::dense_d_weight_op, "onednn:dense_d_weight", accept, make_d_weight}};
}

}  // namespace trainyard::backend::onednn
