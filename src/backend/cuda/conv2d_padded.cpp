#include <fmt/core.h>

#include "backend/cuda/activation.h"
#include "backend/cuda/convolution.h"
#include "backend/cuda/device/bias_activation.h"
#include "backend/cuda/device/channel_sum.h"
#include "backend/cuda/device/pad_channels.h"
#include "backend/cuda/launch_kernel.h"
#include "backend/cuda/list.h"
#include "ops/conv2d.h"
#include "tensor/host_tensor.h"

// First layers: tensor cores want the channels of an image in groups, so copies with 4 or 8 of them are made.
namespace trainyard::backend::cuda {
namespace {

struct Padded {
  ConvolutionProblem problem;  // with the padded channels
  std::shared_ptr<const PlannedConvolution> planned;

  int channels() const { return static_cast<int>(problem.src[1]); }
};

// The faster one of 4 and 8 channels; `planned` is null when cuDNN has neither.
Padded fastest(Context& context, ConvolutionProblem problem) {
  Padded best{problem, nullptr};
  for (const std::int64_t channels : {4, 8}) {
    if (channels < problem.src[1]) continue;
    Padded tried{problem, nullptr};
    tried.problem.src[1] = tried.problem.weight[1] = channels;
    tried.planned = context.convolutions().find(context, tried.problem);
    if (tried.planned != nullptr &&
        (best.planned == nullptr || tried.planned->tuned.seconds < best.planned->tuned.seconds))
      best = std::move(tried);
  }
  return best;
}

ConvolutionProblem forward_problem(const graph::NodeView& node) {
  return {ConvolutionKind::forward, node.attrs<ops::Conv2dAttrs>().window,
          node.input_shape(0),      node.input_shape(1),
          node.output_shape(0),     node.dtype()};
}

ConvolutionProblem d_weight_problem(const graph::NodeView& node) {
  const auto& attrs = node.attrs<ops::Conv2dGradAttrs>();
  return {ConvolutionKind::d_weight, attrs.conv.window, node.input_shape(1), attrs.shape,
          node.input_shape(0),       node.dtype()};
}

device::FewChannelImages images_of(const Shape& shape, const Layout& layout) {
  const LayoutIndex index(layout, shape);
  return {shape[0],
          shape[2] * shape[3],
          shape[1],
          index.outer_stride(0),
          layout.is_plain() ? 1 : shape[1],
          layout.is_plain() ? shape[2] * shape[3] : 1};
}

// What both directions share: padded copies of src and weight in the workspace, then cuDNN's own.
class PaddedKernel : public Kernel {
 public:
  PaddedKernel(const KernelRequest& request, ConvolutionProblem problem, int src_input)
      : Kernel(natural_io(request.node)),
        node_(request.node),
        device_(context_of(request)),
        padded_(fastest(device_, std::move(problem))),
        convolution_(device_, padded_.planned) {
    // Images come plain from outside; reordering them is part of the copy.
    if (request.input_or_plain(src_input).is_plain()) io_.inputs[static_cast<std::size_t>(src_input)] = {};
    src_bytes_ = bytes_of(padded_.problem.src);
    weight_bytes_ = bytes_of(padded_.problem.weight);
    io_.workspace_bytes = src_bytes_ + weight_bytes_ + convolution_.workspace_bytes();
  }
  std::string choice() const override {
    return fmt::format("{} channels, {}", padded_.channels(), convolution_.tuned().to_string());
  }
  std::vector<Alternative> alternatives() const override { return convolution_.tuned().slower; }

 protected:
  std::size_t bytes_of(const Shape& shape) const {
    return align_up(static_cast<std::size_t>(shape.elements()) * size_of(node_.dtype()));
  }
  void bind_convolution(const Binding& binding, std::byte* dst) {
    memory_ = binding;
    convolution_.bind(binding.workspace, padded_weight(), dst, padded_weight() + weight_bytes_);
  }
  std::byte* padded_weight() const { return memory_.workspace + src_bytes_; }
  template <typename T>
  void pad(int input, std::byte* to) const {
    const auto i = static_cast<std::size_t>(input);
    device::pad_channels(device_.stream(), images_of(node_.input_shape(input), io_.inputs[i]),
                         reinterpret_cast<const T*>(memory_.inputs[i]), padded_.channels(),
                         reinterpret_cast<T*>(to));
  }

  graph::NodeView node_;
  Context& device_;
  Padded padded_;
  Convolution convolution_;
  std::size_t src_bytes_ = 0, weight_bytes_ = 0;
  Binding memory_;
};

class Forward final : public PaddedKernel {
 public:
  explicit Forward(const KernelRequest& request) : PaddedKernel(request, forward_problem(request.node), 0) {}
  void bind(const Binding& binding) override { bind_convolution(binding, binding.outputs[0]); }
  void run(const StepContext&) override {
    with_float_type(node_.dtype(), [&]<typename T>() {
      pad<T>(0, memory_.workspace);
      pad<T>(1, padded_weight());
      convolution_.run();
      const ops::ActivationAttrs& activation = node_.attrs<ops::Conv2dAttrs>().activation;
      const bool bias = node_.inputs() == 3;
      if (!bias && activation.kind == ops::Activation::none) return;
      const Shape& shape = node_.output_shape(0);
      device::bias_activation(device_.stream(), to_device(activation),
                              bias ? reinterpret_cast<const float*>(memory_.inputs[2]) : nullptr,
                              reinterpret_cast<T*>(memory_.outputs[0]), shape.elements() / shape[1],
                              shape[1]);
    });
  }
};

class DWeight final : public PaddedKernel {
 public:
  explicit DWeight(const KernelRequest& request) : PaddedKernel(request, d_weight_problem(request.node), 1) {}
  void bind(const Binding& binding) override { bind_convolution(binding, binding.inputs[0]); }
  void run(const StepContext&) override {
    with_float_type(node_.dtype(), [&]<typename T>() {
      pad<T>(1, memory_.workspace);
      convolution_.run();
      const Shape& weight = node_.output_shape(0);
      device::strip_channels(device_.stream(), reinterpret_cast<const T*>(padded_weight()),
                             padded_.channels(), reinterpret_cast<T*>(memory_.outputs[0]),
                             static_cast<int>(weight[1]), weight.elements() / weight[1]);
      if (node_.outputs() == 1) return;
      const Shape& shape = node_.input_shape(0);
      device::channel_sum(device_.stream(), reinterpret_cast<const T*>(memory_.inputs[0]),
                          reinterpret_cast<float*>(memory_.outputs[1]), shape.elements() / shape[1],
                          shape[1]);
    });
  }
};

Decision accept(const KernelRequest& request, const ConvolutionProblem& problem, std::int64_t groups) {
  if (Decision floats = want_device_floats(request); !floats.accepted()) return floats;
  Context& context = context_of(request);
  if (context.precision() == Precision::f32)
    return Decision::no("made for tensor cores, which f32 does not use");
  if (groups != 1 || problem.src[1] >= 8 || problem.src[1] == 4)
    return Decision::no("made for fewer than 8 channels, 4 apart, in one group");
  if (fastest(context, problem).planned == nullptr)
    return Decision::no("cuDNN has no engine for it with 4 or 8 channels");
  return Decision::yes();
}

Decision accept_forward(const KernelRequest& request) {
  return accept(request, forward_problem(request.node), request.node.attrs<ops::Conv2dAttrs>().groups);
}

Decision accept_d_weight(const KernelRequest& request) {
  return accept(request, d_weight_problem(request.node),
                request.node.attrs<ops::Conv2dGradAttrs>().conv.groups);
}

template <typename ConvKernel>
std::unique_ptr<Kernel> make(const KernelRequest& request) {
  return std::make_unique<ConvKernel>(request);
}

}  // namespace

std::vector<Candidate> conv2d_padded_candidates() {
  return {{&ops::conv2d_op, "cudnn:conv2d_padded", accept_forward, make<Forward>},
          {&ops::conv2d_d_weight_op, "cudnn:conv2d_d_weight_padded", accept_d_weight, make<DWeight>}};
}

}  // namespace trainyard::backend::cuda
