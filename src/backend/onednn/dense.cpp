#include "ops/dense.h"

#include <type_traits>

#include "backend/onednn/backend.h"
#include "backend/onednn/runtime/dnnl_kernel.h"

namespace trainyard::backend::onednn {
namespace {

using dnnl::memory;
using Argument = DnnlKernel::Argument;
using Place = DnnlKernel::Place;

// An image is, row by row, a plain matrix whose columns are channels and pixels in some order: channels last
// gives N rows of (H, W, C), "aBcd16b" N rows of (C/16, H, W, 16). So oneDNN only ever sees matrices, for
// which it has its fastest kernels, and no flatten or reorder is needed. A layout of the weight matrix (O, K)
// is named over the image's axes, which works as long as a block of K stays inside the channels of one pixel:
// "AB16b64a" becomes "AcdB16b64a".
class Flattened {
 public:
  Flattened(const Shape& shape, const Layout& layout)
      : shape_(shape), layout_(layout), flat_{shape[0], layout.padded(shape).elements_from(1)} {}

  const Shape& flat() const { return flat_; }
  const Layout& image_layout() const { return layout_; }

  // Weight layout (O, K) -> over the image's axes; nothing when it has no such name.
  std::optional<Layout> unflatten(const Layout& matrix) const {
    if (shape_.rank() == 2) return matrix;
    const std::int64_t channel_block = layout_.block_of(1), k_block = matrix.block_of(1);
    std::vector<Layout::Block> blocks = matrix.blocks();
    if (channel_block > 1) {
      // K is already cut into channel blocks: it must be cut the same way, or not at all.
      if (k_block == 1 && matrix.is_plain())
        blocks.push_back({1, channel_block});
      else if (k_block != channel_block)
        return std::nullopt;
    } else if (shape_[1] % k_block != 0) {
      return std::nullopt;
    }
    const std::vector<int> k_axes = channel_block > 1 ? std::vector<int>{1, 2, 3} : std::vector<int>{2, 3, 1};
    std::vector<int> order;
    for (const int axis : matrix.is_plain() ? std::vector<int>{0, 1} : matrix.order()) {
      if (axis == 0) order.push_back(0);
      if (axis == 1) order.insert(order.end(), k_axes.begin(), k_axes.end());
    }
    return Layout(order, blocks);
  }

  // Returns the way back; nothing for a layout that unflatten() does not make.
  std::optional<Layout> flatten(const Layout& weight) const {
    if (shape_.rank() == 2) return weight;
    std::vector<int> order;
    for (const int axis : weight.order())
      if (axis < 2) order.push_back(axis);
    // Rows in blocks of K ("aB8b") lie as plain rows do, but oneDNN has fast kernels for rows called plain
    // only.
    for (const Layout& matrix : {Layout(), Layout(order, weight.blocks())})
      if (unflatten(matrix) == weight) return matrix;
    return std::nullopt;
  }

 private:
  Shape shape_;
  Layout layout_;
  Shape flat_;
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
  return request.node.input_shape(input).rank() == 2 ? Layout{} : image_layout(request, input);
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

// From so many rows on, up to so many weights, a copy of the weights in each step costs less than it saves.
constexpr std::int64_t kManyRows = 512, kMostCopied = std::int64_t{1} << 21;

// The forward pass is fastest with weights in blocks, the gradients with plain rows: a training keeps them
// plain, and its forward pass makes a copy in its workspace.
class CopyingDense final : public Kernel {
 public:
  CopyingDense(KernelIo io, std::unique_ptr<DnnlKernel> copy, std::unique_ptr<DnnlKernel> dense)
      : Kernel(std::move(io)), copy_(std::move(copy)), dense_(std::move(dense)) {}

  void bind(const Binding& binding) override {
    copy_->bind(binding);
    dense_->bind(binding);
  }
  void run(const StepContext& context) override {
    copy_->run(context);
    dense_->run(context);
  }

 private:
  std::unique_ptr<DnnlKernel> copy_, dense_;
};

bool trains(const graph::NodeView& node) {
  const std::vector<graph::Node>& nodes = node.graph().nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](const graph::Node& other) {
    return other.op == &ops::dense_d_weight_op && other.inputs[1] == node.node().inputs[0];
  });
}

// Returns nothing where the forward pass is best without a copy.
std::unique_ptr<Kernel> make_copying(const KernelRequest& request, const Problem& problem) {
  const graph::NodeView& node = request.node;
  const Shape weight = problem.weight();
  if (node.input_shape(0).rank() != 2 || node.input_shape(0)[0] < kManyRows ||
      weight.elements() > kMostCopied || !(request.inputs[1] ? request.inputs[1]->is_plain() : trains(node)))
    return nullptr;
  const auto pd = problem.forward(any_desc(weight), node.attrs<ops::DenseAttrs>().activation);
  const std::string name = pd.impl_info_str();
  if (!name.starts_with("brgemm") || to_layout(pd.weights_desc()).is_plain()) return nullptr;
  const dnnl::reorder::primitive_desc copy(cpu_engine(), plain_desc(weight), cpu_engine(), pd.weights_desc(),
                                           planned_attr());
  KernelIo io = plain_io(node);
  Workspace workspace;
  const auto place = [&](const memory::desc& desc) {
    return static_cast<std::int64_t>(workspace.add(desc.get_size()));
  };
  const Argument copied{DNNL_ARG_TO, Place::workspace, place(pd.weights_desc()), pd.weights_desc()};
  std::vector<Argument> of_copy{{DNNL_ARG_FROM, Place::input, 1, plain_desc(weight)}, copied};
  std::vector<Argument> of_dense{{DNNL_ARG_SRC, Place::input, 0, pd.src_desc()},
                                 {DNNL_ARG_WEIGHTS, Place::workspace, copied.index, pd.weights_desc()},
                                 {DNNL_ARG_DST, Place::output, 0, pd.dst_desc()}};
  if (problem.bias) of_dense.push_back({DNNL_ARG_BIAS, Place::input, 2, pd.bias_desc()});
  const auto add_scratchpad = [&](std::vector<Argument>& arguments, const memory::desc& desc) {
    if (desc.get_size() > 0) arguments.push_back({DNNL_ARG_SCRATCHPAD, Place::workspace, place(desc), desc});
  };
  add_scratchpad(of_copy, copy.scratchpad_desc());
  add_scratchpad(of_dense, pd.scratchpad_desc());
  io.workspace_bytes = workspace.bytes();
  return std::make_unique<CopyingDense>(
      io, std::make_unique<DnnlKernel>(io, dnnl::reorder(copy), std::move(of_copy)),
      std::make_unique<DnnlKernel>(io, dnnl::inner_product_forward(pd), std::move(of_dense)));
}

std::unique_ptr<Kernel> make_forward(const KernelRequest& request) {
  const graph::NodeView& node = request.node;
  const Problem problem{
      {node.input_shape(0), image_or_plain(request, 0)}, node.output_shape(0)[1], node.inputs() == 3};
  if (std::unique_ptr<Kernel> copying = make_copying(request, problem)) return copying;
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
  const Layout& wanted = request.outputs[0] ? *request.outputs[0] : preferred_image_layout();
  return is_vector_layout(wanted) ? wanted : preferred_image_layout();
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
  const bool any = request.outputs[0] || attrs.shape.rank() != 2 || node.input_shape(0)[0] < kManyRows;
  const auto pd = nameable(problem, any ? request.outputs[0] : Layout{}, [&](const memory::desc& weights) {
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

// oneDNN 2.6 crashes here when it splits the outputs among threads: seen for up to 16 inputs and from 4096
// outputs on, not for 17 inputs or 1001 outputs.
Decision accept_d_src(const KernelRequest& request) {
  constexpr std::int64_t kFewInputs = 16, kManyOutputs = 1024;
  const std::int64_t inputs = request.node.attrs<ops::DenseGradAttrs>().shape.elements_from(1);
  if (inputs <= kFewInputs && request.node.input_shape(0)[1] > kManyOutputs)
    return Decision::no("oneDNN crashes on at most 16 inputs with many outputs");
  return accept(request);
}

}  // namespace

std::vector<Candidate> dense_candidates() {
  return {{&ops::dense_op, "onednn:dense", accept, make_forward},
          {&ops::dense_d_src_op, "onednn:dense_d_src", accept_d_src, make_d_src},
          {&ops::dense_d_weight_op, "onednn:dense_d_weight", accept, make_d_weight}};
}

}  // namespace trainyard::backend::onednn
