#include "backend/onednn/conv2d_transposed.h"

#include <algorithm>
#include <string>

#include "backend/onednn/dnnl_kernel.h"
#include "base/parallel.h"
#include "ops/conv2d.h"
#include "tensor/host_tensor.h"

namespace trainyard::backend::onednn {
namespace {

using dnnl::memory;

dnnl::convolution_forward::primitive_desc transposed_desc(const graph::NodeView& node) {
  const auto& attrs = node.attrs<ops::Conv2dGradAttrs>();
  const ops::Window2d& w = attrs.conv.window;
  const Shape &d_dst = node.input_shape(0), &weight = node.input_shape(1), &d_src = attrs.shape;
  const Layout last = Layout::channels_last(4);
  const memory::dims before{w.reach_h() - 1 - w.pad_top, w.reach_w() - 1 - w.pad_left};
  // Whatever is left over below and right: the forward pass may have ignored a last row or column.
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

}  // namespace trainyard::backend::onednn
