#include "ops/conv2d.h"

#include <string>

#include "backend/onednn/dnnl_kernel.h"
#include "backend/onednn/list.h"

namespace trainyard::backend::onednn {
namespace {

using dnnl::memory;
using Argument = DnnlKernel::Argument;
using Place = DnnlKernel::Place;

constexpr auto kDirect = dnnl::algorithm::convolution_direct;

// oneDNN gives the groups of a weight an axis of their own: (G, O/G, I/G, h, w). Ours is (O, I/G, h, w). For
// depthwise weights O/G is 1, so dropping that axis maps every layout; otherwise both agree in plain layout
// only.
struct WeightShape {
  Shape shape;
  bool grouped, depthwise;

  WeightShape(const Shape& weight, std::int64_t groups)
      : shape(weight), grouped(groups > 1), depthwise(groups > 1 && weight[0] == groups && weight[1] == 1) {
    if (grouped) shape = {groups, weight[0] / groups, weight[1], weight[2], weight[3]};
  }
  memory::desc any() const { return grouped && !depthwise ? to_desc(shape, Layout{}) : any_desc(shape); }
  Layout ours(const memory::desc& desc) const {
    const Layout theirs = to_layout(desc);
    if (!grouped) return theirs;
    if (!depthwise) return {};
    const auto without_second = [](int axis) { return axis > 1 ? axis - 1 : axis; };
    std::vector<int> order;
    std::vector<Layout::Block> blocks;
    for (const int axis : theirs.is_plain() ? std::vector<int>{0, 1, 2, 3, 4} : theirs.order())
      if (axis != 1) order.push_back(without_second(axis));
    for (const Layout::Block& block : theirs.blocks())
      if (block.axis != 1) blocks.push_back({without_second(block.axis), block.size});
    return {order, blocks};
  }
};

// What all three primitives of one convolution share.
struct Problem {
  const ops::Conv2dAttrs& attrs;
  Shape src, dst;
  WeightShape weight;
  bool bias;

  memory::desc bias_desc() const { return bias ? to_desc({dst[1]}, Layout{}) : memory::desc(); }
  dnnl::convolution_forward::primitive_desc forward(dnnl::prop_kind kind) const {
    const ops::Window2d& w = attrs.window;
    const dnnl::convolution_forward::desc desc(kind, kDirect, any_desc(src), weight.any(), bias_desc(),
                                               any_desc(dst), window_strides(w), window_dilations(w),
                                               padding_before(w), padding_after(w));
    return {desc, planned_attr(attrs.activation), cpu_engine()};
  }
};

std::unique_ptr<Kernel> make_forward(const KernelRequest& request) {
  const graph::NodeView& node = request.node;
  const auto& attrs = node.attrs<ops::Conv2dAttrs>();
  const Problem problem{attrs,
                        node.input_shape(0),
                        node.output_shape(0),
                        {node.input_shape(1), attrs.groups},
                        node.inputs() == 3};
  const auto pd = problem.forward(dnnl::prop_kind::forward_training);
  std::vector<Argument> arguments{
      {DNNL_ARG_SRC, Place::input, 0, pd.src_desc()},
      {DNNL_ARG_WEIGHTS, Place::input, 1, pd.weights_desc(), problem.weight.ours(pd.weights_desc())},
      {DNNL_ARG_DST, Place::output, 0, pd.dst_desc()}};
  if (problem.bias) arguments.push_back({DNNL_ARG_BIAS, Place::input, 2, pd.bias_desc()});
  return make_dnnl_kernel(node, dnnl::convolution_forward(pd), pd.scratchpad_desc(), std::move(arguments));
}

std::unique_ptr<Kernel> make_d_src(const KernelRequest& request) {
  const graph::NodeView& node = request.node;
  const auto& attrs = node.attrs<ops::Conv2dGradAttrs>();
  const Problem problem{
      attrs.conv, attrs.shape, node.input_shape(0), {node.input_shape(1), attrs.conv.groups}, false};
  const ops::Window2d& w = attrs.conv.window;
  const dnnl::convolution_backward_data::desc desc(kDirect, any_desc(problem.src), problem.weight.any(),
                                                   any_desc(problem.dst), window_strides(w),
                                                   window_dilations(w), padding_before(w), padding_after(w));
  const dnnl::convolution_backward_data::primitive_desc pd(
      desc, planned_attr(), cpu_engine(), problem.forward(dnnl::prop_kind::forward_training));
  return make_dnnl_kernel(
      node, dnnl::convolution_backward_data(pd), pd.scratchpad_desc(),
      {{DNNL_ARG_DIFF_DST, Place::input, 0, pd.diff_dst_desc()},
       {DNNL_ARG_WEIGHTS, Place::input, 1, pd.weights_desc(), problem.weight.ours(pd.weights_desc())},
       {DNNL_ARG_DIFF_SRC, Place::output, 0, pd.diff_src_desc()}});
}

dnnl::convolution_backward_weights::primitive_desc d_weight_desc(const Problem& problem,
                                                                 const memory::desc& d_weight) {
  const ops::Window2d& w = problem.attrs.window;
  const dnnl::convolution_backward_weights::desc desc(
      kDirect, any_desc(problem.src), d_weight, problem.bias_desc(), any_desc(problem.dst), window_strides(w),
      window_dilations(w), padding_before(w), padding_after(w));
  return {desc, planned_attr(), cpu_engine(), problem.forward(dnnl::prop_kind::forward_training)};
}

std::unique_ptr<Kernel> make_d_weight(const KernelRequest& request) {
  const graph::NodeView& node = request.node;
  const auto& attrs = node.attrs<ops::Conv2dGradAttrs>();
  const Problem problem{
      attrs.conv, node.input_shape(1), node.input_shape(0), {attrs.shape, attrs.conv.groups}, attrs.bias};
  auto pd = d_weight_desc(problem, problem.weight.any());
  // The parameter's own layout saves a reorder, if the same implementation can write it.
  if (!problem.weight.grouped && request.outputs[0]) {
    try {
      const auto pinned = d_weight_desc(problem, to_desc(attrs.shape, *request.outputs[0]));
      if (std::string(pinned.impl_info_str()) == pd.impl_info_str()) pd = pinned;
    } catch (const dnnl::error&) {
      // No implementation writes that layout: keep the free choice.
    }
  }
  std::vector<Argument> arguments{{DNNL_ARG_DIFF_DST, Place::input, 0, pd.diff_dst_desc()},
                                  {DNNL_ARG_SRC, Place::input, 1, pd.src_desc()},
                                  {DNNL_ARG_DIFF_WEIGHTS, Place::output, 0, pd.diff_weights_desc(),
                                   problem.weight.ours(pd.diff_weights_desc())}};
  if (attrs.bias) arguments.push_back({DNNL_ARG_DIFF_BIAS, Place::output, 1, pd.diff_bias_desc()});
  return make_dnnl_kernel(node, dnnl::convolution_backward_weights(pd), pd.scratchpad_desc(),
                          std::move(arguments));
}

Decision accept(const KernelRequest& request) { return wants_f32(request.node); }

}  // namespace

std::vector<Candidate> conv2d_candidates() {
  return {{&ops::conv2d_op, "onednn:conv2d", accept, make_forward},
          {&ops::conv2d_d_src_op, "onednn:conv2d_d_src", accept, make_d_src},
          {&ops::conv2d_d_weight_op, "onednn:conv2d_d_weight", accept, make_d_weight}};
}

}  // namespace trainyard::backend::onednn
