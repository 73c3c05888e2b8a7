#include "ops/dense.h"

#include <optional>
#include <type_traits>

#include "backend/onednn/blocked_image.h"
#include "backend/onednn/dnnl_kernel.h"
#include "backend/onednn/list.h"

namespace trainyard::backend::onednn {
namespace {

using dnnl::memory;
using Argument = DnnlKernel::Argument;
using Place = DnnlKernel::Place;

// An image in blocks of channels is, row by row, a plain matrix whose columns are the channels in another
// order: (N, C, H, W) as "aBcd16b" is N rows of (C/16, H, W, 16). So oneDNN only ever sees matrices, for
// which it has its fastest kernels, and no flatten or reorder is needed. Layouts of the weight matrix (O, K)
// are named over the image's axes: as long as K is cut into the same blocks as the channels, "AB16b64a" is
// "ABcd16b64a".
class Flattened {
 public:
  Flattened(const Shape& shape, const Layout& layout) : shape_(shape), layout_(layout) {
    const Shape padded = layout.padded(shape);
    flat_ = {shape[0], padded.elements_from(1)};
  }

  const Shape& flat() const { return flat_; }
  const Layout& image_layout() const { return layout_; }
  bool is_matrix() const { return shape_.rank() == 2; }

  // Weight layout (O, K) -> over the image's axes; nothing when K is not cut like the channels.
  std::optional<Layout> unflatten(const Layout& matrix) const {
    if (is_matrix()) return matrix;
    std::vector<Layout::Block> blocks = matrix.blocks();
    const std::int64_t block = layout_.block_of(1);
    if (matrix.block_of(1) == 1)
      blocks.push_back({1, block});
    else if (matrix.block_of(1) != block)
      return std::nullopt;
    // Rows innermost of all: a channel block could not follow.
    if (matrix.block_of(1) == 1 && (!matrix.blocks().empty() || !matrix.is_plain())) return std::nullopt;
    std::vector<int> order;
    for (const int axis : matrix.is_plain() ? std::vector<int>{0, 1} : matrix.order()) {
      order.push_back(axis);
      if (axis == 1) order.insert(order.end(), {2, 3});
    }
    return Layout(order, blocks);
  }

  // The way back; nothing for a layout that unflatten() does not make.
  std::optional<Layout> flatten(const Layout& weight) const {
    if (is_matrix()) return weight;
    std::vector<int> order;
    for (const int axis : weight.order())
      if (axis < 2) order.push_back(axis);
    std::vector<Layout::Block> blocks = weight.blocks();
    if (blocks.size() == 1 && blocks[0].axis == 1 && order == std::vector<int>{0, 1}) blocks.clear();
    const Layout matrix(order, blocks);
    return unflatten(matrix) == weight ? std::optional(matrix) : std::nullopt;
  }

 private:
  Shape shape_, flat_;
  Layout layout_;
};

memory::desc plain_desc(const Shape& shape) { return to_desc(shape, Layout{}); }

// Everything the three primitives of one dense layer share.
struct Problem {
  Flattened src;
  std::int64_t outputs;
  bool bias;
  Shape dst() const { return {src.flat()[0], outputs}; }
  Shape weight() const { return {outputs, src.flat()[1]}; }
  memory::desc bias_desc() const { return bias ? plain_desc({outputs}) : memory::desc(); }

  memory::desc weight_desc(const std::optional<Layout>& wanted) const {
    const std::optional<Layout> matrix = wanted ? src.flatten(*wanted) : std::nullopt;
    return matrix ? to_desc(weight(), *matrix) : any_desc(weight());
  }
  dnnl::inner_product_forward::primitive_desc forward(const memory::desc& weights,
                                                      const ops::ActivationAttrs& activation) const {
    const dnnl::inner_product_forward::desc desc(dnnl::prop_kind::forward_training, plain_desc(src.flat()),
                                                 weights, bias_desc(), plain_desc(dst()));
    return {desc, planned_attr(activation), cpu_engine()};
  }
};

Layout image_or_plain(const KernelRequest& request, int input) {
  return request.node.input_shape(input).rank() == 2 ? Layout{} : blocked_layout(request, input);
}

// Weights in a layout that can be named over the image's axes: the free choice, or plain rows.
template <typename Desc>
auto nameable(const Problem& problem, const std::optional<Layout>& wanted, const Desc& make) {
  auto pd = make(problem.weight_desc(wanted));
  const auto weights =
      pd.query_md(std::is_same_v<decltype(pd), dnnl::inner_product_backward_weights::primitive_desc>
                      ? dnnl::query::diff_weights_md
                      : dnnl::query::weights_md);
  if (problem.src.unflatten(to_layout(weights))) return pd;
  return make(plain_desc(problem.weight()));
}

std::unique_ptr<Kernel> make_forward(const KernelRequest& request) {
  const graph::NodeView& node = request.node;
  const Problem problem{
      {node.input_shape(0), image_or_plain(request, 0)}, node.output_shape(0)[1], node.inputs() == 3};
  const auto pd = nameable(problem, request.inputs[1], [&](const memory::desc& weights) {
    return problem.forward(weights, node.attrs<ops::DenseAttrs>().activation);
  });
  std::vector<Argument> arguments{{DNNL_ARG_SRC, Place::input, 0, pd.src_desc(), problem.src.image_layout()},
                                  {DNNL_ARG_WEIGHTS, Place::input, 1, pd.weights_desc(),
                                   problem.src.unflatten(to_layout(pd.weights_desc()))},
                                  {DNNL_ARG_DST, Place::output, 0, pd.dst_desc()}};
  if (problem.bias) arguments.push_back({DNNL_ARG_BIAS, Place::input, 2, pd.bias_desc()});
  return make_dnnl_kernel(node, dnnl::inner_product_forward(pd), pd.scratchpad_desc(), std::move(arguments));
}

// The image's layout is that of the forward pass where the planner knows it.
Layout gradient_layout(const KernelRequest& request, const Shape& src) {
  if (src.rank() == 2) return {};
  const Layout& wanted = request.outputs[0] ? *request.outputs[0] : preferred_blocked_layout();
  return is_blocked(wanted) ? wanted : preferred_blocked_layout();
}

std::unique_ptr<Kernel> make_d_src(const KernelRequest& request) {
  const graph::NodeView& node = request.node;
  const Shape& src = node.attrs<ops::DenseGradAttrs>().shape;
  const Problem problem{{src, gradient_layout(request, src)}, node.input_shape(0)[1], false};
  const auto pd = nameable(problem, request.inputs[1], [&](const memory::desc& weights) {
    const dnnl::inner_product_backward_data::desc desc(plain_desc(problem.src.flat()), weights,
                                                       plain_desc(problem.dst()));
    return dnnl::inner_product_backward_data::primitive_desc(
        desc, planned_attr(), cpu_engine(), problem.forward(weights, {ops::Activation::none}));
  });
  return make_dnnl_kernel(
      node, dnnl::inner_product_backward_data(pd), pd.scratchpad_desc(),
      {{DNNL_ARG_DIFF_DST, Place::input, 0, pd.diff_dst_desc()},
       {DNNL_ARG_WEIGHTS, Place::input, 1, pd.weights_desc(),
        problem.src.unflatten(to_layout(pd.weights_desc()))},
       {DNNL_ARG_DIFF_SRC, Place::output, 0, pd.diff_src_desc(), problem.src.image_layout()}});
}

std::unique_ptr<Kernel> make_d_weight(const KernelRequest& request) {
  const graph::NodeView& node = request.node;
  const auto& attrs = node.attrs<ops::DenseGradAttrs>();
  const Problem problem{
      {node.input_shape(1), image_or_plain(request, 1)}, node.input_shape(0)[1], attrs.bias};
  const auto pd = nameable(problem, request.outputs[0], [&](const memory::desc& weights) {
    const dnnl::inner_product_backward_weights::desc desc(plain_desc(problem.src.flat()), weights,
                                                          problem.bias_desc(), plain_desc(problem.dst()));
    return dnnl::inner_product_backward_weights::primitive_desc(
        desc, planned_attr(), cpu_engine(), problem.forward(weights, {ops::Activation::none}));
  });
  std::vector<Argument> arguments{{DNNL_ARG_DIFF_DST, Place::input, 0, pd.diff_dst_desc()},
                                  {DNNL_ARG_SRC, Place::input, 1, pd.src_desc(), problem.src.image_layout()},
                                  {DNNL_ARG_DIFF_WEIGHTS, Place::output, 0, pd.diff_weights_desc(),
                                   problem.src.unflatten(to_layout(pd.diff_weights_desc()))}};
  if (attrs.bias) arguments.push_back({DNNL_ARG_DIFF_BIAS, Place::output, 1, pd.diff_bias_desc()});
  return make_dnnl_kernel(node, dnnl::inner_product_backward_weights(pd), pd.scratchpad_desc(),
                          std::move(arguments));
}

Decision accept(const KernelRequest& request) {
  for (int i = 0; i < 2; ++i) {
    const int rank = request.node.input_shape(i).rank();
    if (rank != 2 && rank != 4) return Decision::no("wants a matrix or an image");
  }
  return wants_f32(request.node);
}

}  // namespace

std::vector<Candidate> dense_candidates() {
  return {{&ops::dense_op, "onednn:dense", accept, make_forward},
          {&ops::dense_d_src_op, "onednn:dense_d_src", accept, make_d_src},
          {&ops::dense_d_weight_op, "onednn:dense_d_weight", accept, make_d_weight}};
}

}  // namespace trainyard::backend::onednn
