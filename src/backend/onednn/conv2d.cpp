#include "backend/onednn/conv2d.h"

#include "backend/onednn/backend.h"
#include "backend/onednn/runtime/dnnl_kernel.h"
#include "base/parallel.h"
#include "ops/conv2d.h"

namespace trainyard::backend::onednn {

namespace {

using dnnl::memory;

dnnl::convolution_forward::primitive_desc transposed_desc(const graph::NodeView& node) {
  const auto& attrs = node.attrs<ops::Conv2dGradAttrs>();
  const ops::Window2d& w = attrs.conv.window;
  const Shape &d_dst = node.input_shape(0), &weight = node.input_shape(1), &d_src = attrs.shape;
  const Layout last = Layout::channels_last(4);
  const memory::dims before{w.reach_h() - 1 - w.pad_top, w.reach_w() - 1 - w.pad_left};
  // The padding below and right takes the rest: the forward pass may have ignored a last row or column.
  const memory::dims after{d_src[2] + w.reach_h() - 1 - d_dst[2] - before[0],
                           d_src[3] + w.reach_w() - 1 - d_dst[3] - before[1]};
  const dnnl::convolution_forward::desc desc(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct, to_desc(d_dst, last),
      any_desc({weight[1], weight[0], weight[2], weight[3]}), to_desc(d_src, last), {1, 1},
      window_dilations(w), before, after);
  return {desc, planned_attr(), cpu_engine()};
}

// Blocked layouts add up one offset per axis: a table for each replaces the arithmetic for every element.
std::vector<std::int64_t> axis_offsets(const Layout& layout, const Shape& shape, int axis) {
  const LayoutIndex index(layout, shape);
  std::vector<std::int64_t> offsets;
  std::array<std::int64_t, Shape::kMaxRank> at{};
  for (; at[static_cast<std::size_t>(axis)] < shape[axis]; ++at[static_cast<std::size_t>(axis)])
    offsets.push_back(index.offset_of(at.data()));
  return offsets;
}

class TransposedConv2d final : public Kernel {
 public:
  TransposedConv2d(KernelIo io, const graph::NodeView& node,
                   const dnnl::convolution_forward::primitive_desc& pd)
      : Kernel(std::move(io)),
        turned_bytes_(pd.weights_desc().get_size()),
        taps_(node.input_shape(1)[2] * node.input_shape(1)[3]) {
    const Shape& weight = node.input_shape(1);
    const Shape turned{weight[1], weight[0], weight[2], weight[3]};
    const Layout turned_layout = to_layout(pd.weights_desc());
    for (int axis = 0; axis < 4; ++axis) {
      from_[axis] = axis_offsets(io_.inputs[1], weight, axis);
      to_[axis] = axis_offsets(turned_layout, turned, axis);
    }
    std::vector<DnnlKernel::Argument> arguments{
        {DNNL_ARG_SRC, DnnlKernel::Place::input, 0, pd.src_desc()},
        {DNNL_ARG_WEIGHTS, DnnlKernel::Place::input, 1, pd.weights_desc()},
        {DNNL_ARG_DST, DnnlKernel::Place::output, 0, pd.dst_desc()}};
    if (pd.scratchpad_desc().get_size() > 0)
      arguments.push_back({DNNL_ARG_SCRATCHPAD, DnnlKernel::Place::workspace, 0, pd.scratchpad_desc()});
    convolution_ =
        std::make_unique<DnnlKernel>(KernelIo{}, dnnl::convolution_forward(pd), std::move(arguments));
  }

  void bind(const Binding& binding) override {
    weight_ = reinterpret_cast<const float*>(binding.inputs[1]);
    turned_ = reinterpret_cast<float*>(binding.workspace);
    convolution_->bind({{binding.inputs[0], binding.workspace},
                        binding.outputs,
                        binding.workspace + align_up(turned_bytes_)});
  }

  void run(const StepContext& context) override {
    turn_weights();
    convolution_->run(context);
  }

 private:
  // turned(i, o, tap) = weight(o, i, last tap - tap); padding channels stay zero.
  void turn_weights() {
    const std::size_t outputs = from_[0].size(), inputs = from_[1].size(), columns = from_[3].size();
    if (static_cast<std::size_t>(taps_) * outputs * inputs * sizeof(float) < turned_bytes_)
      std::fill_n(turned_, turned_bytes_ / sizeof(float), 0.0f);
    parallel_chunks(static_cast<std::int64_t>(inputs), 16, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t tap = 0; tap < taps_; ++tap) {
        const std::size_t row = static_cast<std::size_t>(tap) / columns,
                          column = static_cast<std::size_t>(tap) % columns;
        const float* from = weight_ + from_[2][from_[2].size() - 1 - row] + from_[3][columns - 1 - column];
        float* to = turned_ + to_[2][row] + to_[3][column];
        for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
          for (std::size_t o = 0; o < outputs; ++o)
            to[to_[0][i] + to_[1][o]] = from[from_[0][o] + from_[1][i]];
      }
    });
  }

  std::size_t turned_bytes_;
  std::int64_t taps_;
  std::array<std::vector<std::int64_t>, 4> from_, to_;
  std::unique_ptr<DnnlKernel> convolution_;
  const float* weight_ = nullptr;
  float* turned_ = nullptr;
};

}  // namespace

Decision accept_transposed(const KernelRequest& request) {
  const graph::NodeView& node = request.node;
  const Decision f32 = wants_f32(node);
  if (!f32.accepted()) return f32;
  if (!has_matrix_convolutions())
    return Decision::no("this CPU has no matrix-product convolutions (AVX-512)");
  const auto& attrs = node.attrs<ops::Conv2dGradAttrs>().conv;
  const ops::Window2d& w = attrs.window;
  if (w.stride_h != 1 || w.stride_w != 1) return Decision::no("wants stride 1");
  if (attrs.groups != 1) return Decision::no("wants one group");
  if (w.pad_top >= w.reach_h() || w.pad_left >= w.reach_w()) return Decision::no("more padding than window");
  try {
    const std::string implementation = transposed_desc(node).impl_info_str();
    if (!implementation.starts_with("brgconv"))
      return Decision::no("as a forward convolution it would run as " + implementation);
    return Decision::yes();
  } catch (const dnnl::error& error) {
    return Decision::no(std::string("as a forward convolution: ") + error.what());
  }
}

std::unique_ptr<Kernel> make_transposed(const KernelRequest& request) {
  const auto pd = transposed_desc(request.node);
  const Layout last = Layout::channels_last(4);
  KernelIo io{{last, request.input_or_plain(1)},
              {last},
              align_up(pd.weights_desc().get_size()) + pd.scratchpad_desc().get_size(),
              {}};
  return std::make_unique<TransposedConv2d>(std::move(io), request.node, pd);
}

namespace {

using Argument = DnnlKernel::Argument;
using Place = DnnlKernel::Place;

constexpr auto kDirect = dnnl::algorithm::convolution_direct;

// The order of an image in memory: in blocks as oneDNN chooses, or with channels last.
enum class Images { free, channels_last };

memory::desc image_desc(const Shape& shape, Images images) {
  return images == Images::free ? any_desc(shape) : to_desc(shape, Layout::channels_last(4));
}

// oneDNN gives the groups of a weight an axis of their own: (G, O/G, I/G, h, w). Ours is (O, I/G, h, w). For
// depthwise weights O/G is 1, so dropping that axis maps every layout that does not block it; otherwise both
// agree in plain layout only.
struct WeightShape {
  Shape shape;
  bool grouped, depthwise;

  WeightShape(const Shape& weight, std::int64_t groups)
      : shape(weight), grouped(groups > 1), depthwise(groups > 1 && weight[0] == groups && weight[1] == 1) {
    if (grouped) shape = {groups, weight[0] / groups, weight[1], weight[2], weight[3]};
  }
  memory::desc any() const { return grouped && !depthwise ? to_desc(shape, Layout{}) : any_desc(shape); }
  // Returns false where its kernels for dense groups pad the one output of each to a whole block.
  bool has_ours(const memory::desc& desc) const { return !depthwise || to_layout(desc).block_of(1) == 1; }
  // REQUIRES: has_ours(desc).
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

// Problem is the description that the three primitives of one convolution share.
struct Problem {
  const ops::Conv2dAttrs& attrs;
  Shape src, dst;
  WeightShape weight;
  bool bias;
  Images images;

  memory::desc src_desc() const { return image_desc(src, images); }
  memory::desc dst_desc() const { return image_desc(dst, images); }
  memory::desc bias_desc() const { return bias ? to_desc({dst[1]}, Layout{}) : memory::desc(); }

  dnnl::convolution_forward::primitive_desc forward() const {
    const ops::Window2d& w = attrs.window;
    const dnnl::convolution_forward::desc desc(dnnl::prop_kind::forward_training, kDirect, src_desc(),
                                               weight.any(), bias_desc(), dst_desc(), window_strides(w),
                                               window_dilations(w), padding_before(w), padding_after(w));
    return {desc, planned_attr(attrs.activation), cpu_engine()};
  }
  dnnl::convolution_backward_data::primitive_desc d_src() const {
    const ops::Window2d& w = attrs.window;
    const dnnl::convolution_backward_data::desc desc(kDirect, src_desc(), weight.any(), dst_desc(),
                                                     window_strides(w), window_dilations(w),
                                                     padding_before(w), padding_after(w));
    return {desc, planned_attr(), cpu_engine(), forward()};
  }
  dnnl::convolution_backward_weights::primitive_desc d_weight(const memory::desc& d_weight_desc) const {
    const ops::Window2d& w = attrs.window;
    const dnnl::convolution_backward_weights::desc desc(kDirect, src_desc(), d_weight_desc, bias_desc(),
                                                        dst_desc(), window_strides(w), window_dilations(w),
                                                        padding_before(w), padding_after(w));
    return {desc, planned_attr(), cpu_engine(), forward()};
  }
};

Problem forward_problem(const graph::NodeView& node, Images images) {
  const auto& attrs = node.attrs<ops::Conv2dAttrs>();
  return {attrs,
          node.input_shape(0),
          node.output_shape(0),
          {node.input_shape(1), attrs.groups},
          node.inputs() == 3,
          images};
}

Problem d_src_problem(const graph::NodeView& node, Images images) {
  const auto& attrs = node.attrs<ops::Conv2dGradAttrs>();
  return {attrs.conv, attrs.shape, node.input_shape(0), {node.input_shape(1), attrs.conv.groups},
          false,      images};
}

Problem d_weight_problem(const graph::NodeView& node, Images images) {
  const auto& attrs = node.attrs<ops::Conv2dGradAttrs>();
  return {attrs.conv, node.input_shape(1), node.input_shape(0), {attrs.shape, attrs.conv.groups}, attrs.bias,
          images};
}

template <Images images>
std::unique_ptr<Kernel> make_forward(const KernelRequest& request) {
  const Problem problem = forward_problem(request.node, images);
  const auto pd = problem.forward();
  std::vector<Argument> arguments{
      {DNNL_ARG_SRC, Place::input, 0, pd.src_desc()},
      {DNNL_ARG_WEIGHTS, Place::input, 1, pd.weights_desc(), problem.weight.ours(pd.weights_desc())},
      {DNNL_ARG_DST, Place::output, 0, pd.dst_desc()}};
  if (problem.bias) arguments.push_back({DNNL_ARG_BIAS, Place::input, 2, pd.bias_desc()});
  return make_dnnl_kernel(request.node, dnnl::convolution_forward(pd), pd.scratchpad_desc(),
                          std::move(arguments));
}

template <Images images>
std::unique_ptr<Kernel> make_d_src(const KernelRequest& request) {
  const Problem problem = d_src_problem(request.node, images);
  const auto pd = problem.d_src();
  return make_dnnl_kernel(
      request.node, dnnl::convolution_backward_data(pd), pd.scratchpad_desc(),
      {{DNNL_ARG_DIFF_DST, Place::input, 0, pd.diff_dst_desc()},
       {DNNL_ARG_WEIGHTS, Place::input, 1, pd.weights_desc(), problem.weight.ours(pd.weights_desc())},
       {DNNL_ARG_DIFF_SRC, Place::output, 0, pd.diff_src_desc()}});
}

template <Images images>
std::unique_ptr<Kernel> make_d_weight(const KernelRequest& request) {
  const Problem problem = d_weight_problem(request.node, images);
  auto pd = problem.d_weight(problem.weight.any());
  // The parameter's own layout saves a reorder, if the same implementation can write it.
  if (!problem.weight.grouped && request.outputs[0]) {
    try {
      const auto pinned = problem.d_weight(to_desc(problem.weight.shape, *request.outputs[0]));
      if (std::string(pinned.impl_info_str()) == pd.impl_info_str()) pd = pinned;
    } catch (const dnnl::error&) {
      // No implementation writes that layout: keep the free choice.
    }
  }
  std::vector<Argument> arguments{{DNNL_ARG_DIFF_DST, Place::input, 0, pd.diff_dst_desc()},
                                  {DNNL_ARG_SRC, Place::input, 1, pd.src_desc()},
                                  {DNNL_ARG_DIFF_WEIGHTS, Place::output, 0, pd.diff_weights_desc(),
                                   problem.weight.ours(pd.diff_weights_desc())}};
  if (problem.bias) arguments.push_back({DNNL_ARG_DIFF_BIAS, Place::output, 1, pd.diff_bias_desc()});
  return make_dnnl_kernel(request.node, dnnl::convolution_backward_weights(pd), pd.scratchpad_desc(),
                          std::move(arguments));
}

Decision accept(const KernelRequest& request) { return wants_f32(request.node); }

// Channels last, where the implementation that oneDNN would take is one of its fast ones.
template <typename MakeDesc>
Decision accept_channels_last(const KernelRequest& request, const Problem& problem, dnnl::query weights,
                              const MakeDesc& make_desc) {
  const Decision f32 = wants_f32(request.node);
  if (!f32.accepted()) return f32;
  if (!has_matrix_convolutions())
    return Decision::no("this CPU has no matrix-product convolutions (AVX-512)");
  try {
    const auto pd = make_desc(problem);
    const std::string implementation = pd.impl_info_str();
    if (!implementation.starts_with("brgconv") && !implementation.starts_with("jit"))
      return Decision::no("channels last would run as " + implementation);
    // Their buffer is up to 256 times ours, and so is the work.
    if (!problem.weight.has_ours(pd.query_md(weights)))
      return Decision::no("channels last would run as " + implementation + ", which pads depthwise weights");
    return Decision::yes();
  } catch (const dnnl::error& error) {
    return Decision::no(std::string("channels last: ") + error.what());
  }
}

Decision accept_forward_last(const KernelRequest& request) {
  return accept_channels_last(request, forward_problem(request.node, Images::channels_last),
                              dnnl::query::weights_md,
                              [](const Problem& problem) { return problem.forward(); });
}
Decision accept_d_src_last(const KernelRequest& request) {
  return accept_channels_last(request, d_src_problem(request.node, Images::channels_last),
                              dnnl::query::weights_md,
                              [](const Problem& problem) { return problem.d_src(); });
}
Decision accept_d_weight_last(const KernelRequest& request) {
  return accept_channels_last(request, d_weight_problem(request.node, Images::channels_last),
                              dnnl::query::diff_weights_md,
                              [](const Problem& problem) { return problem.d_weight(problem.weight.any()); });
}

}  // namespace

std::vector<Candidate> conv2d_candidates() {
  return {{&ops::conv2d_op, "onednn:conv2d_last", accept_forward_last, make_forward<Images::channels_last>},
          {&ops::conv2d_op, "onednn:conv2d", accept, make_forward<Images::free>},
          {&ops::conv2d_d_src_op, "onednn:conv2d_transposed", accept_transposed, make_transposed},
          {&ops::conv2d_d_src_op, "onednn:conv2d_d_src_last", accept_d_src_last,
           make_d_src<Images::channels_last>},
          {&ops::conv2d_d_src_op, "onednn:conv2d_d_src", accept, make_d_src<Images::free>},
          {&ops::conv2d_d_weight_op, "onednn:conv2d_d_weight_last", accept_d_weight_last,
           make_d_weight<Images::channels_last>},
          {&ops::conv2d_d_weight_op, "onednn:conv2d_d_weight", accept, make_d_weight<Images::free>}};
}

}  // namespace trainyard::backend::onednn
