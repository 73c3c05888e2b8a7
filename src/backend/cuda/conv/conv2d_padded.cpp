// First layers: tensor cores want the channels of an image in groups, so copies with 4 or 8 of them are made.

#include "backend/cuda/conv/conv2d_kernels.h"
#include "backend/cuda/conv/convolution.h"
#include "backend/cuda/elementwise/elementwise.h"
#include "backend/cuda/elementwise/elementwise_kernels.h"
#include "backend/cuda/runtime/launch_kernel.h"
#include "backend/cuda/runtime/list.h"
#include "ops/conv2d.h"
#include "tensor/tensor.h"

namespace trainyard::backend::cuda {

namespace {

struct Padded {
  ConvolutionProblem problem;  // with the padded channels
  std::shared_ptr<const PlannedConvolution> planned;

  int channels() const { return static_cast<int>(problem.src[1]); }
};

// Returns the faster one of 4 and 8 channels; `planned` is null when cuDNN has neither.
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

// Both directions share this: padded copies of src and weight in the workspace, then a convolution of cuDNN.
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

Decision accept_conv2d(const KernelRequest& request, const ConvolutionProblem& problem, std::int64_t groups) {
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

Decision accept_forward_conv2d(const KernelRequest& request) {
  return accept_conv2d(request, forward_problem(request.node), request.node.attrs<ops::Conv2dAttrs>().groups);
}

Decision accept_d_weight_conv2d(const KernelRequest& request) {
  return accept_conv2d(request, d_weight_problem(request.node),
                       request.node.attrs<ops::Conv2dGradAttrs>().conv.groups);
}

template <typename ConvKernel>
std::unique_ptr<Kernel> make(const KernelRequest& request) {
  return std::make_unique<ConvKernel>(request);
}

}  // namespace

std::vector<Candidate> conv2d_padded_candidates() {
  return {{&ops::conv2d_op, "cudnn:conv2d_padded", accept_forward_conv2d, make<Forward>},
          {&ops::conv2d_d_weight_op, "cudnn:conv2d_d_weight_padded", accept_d_weight_conv2d, make<DWeight>}};
}

namespace {

using device::FewChannels;

constexpr std::size_t kSharedBytes = 48 << 10;

FewChannels sizes_of(const ops::Conv2dMaxPoolAttrs& attrs, const Shape& src, const Shape& weight,
                     const Shape& dst) {
  const Shape between = ops::convolved_shape(attrs, src, weight);
  const auto number = [](std::int64_t x) { return static_cast<int>(x); };
  return {.batch = number(src[0]),
          .channels = number(src[1]),
          .height = number(src[2]),
          .width = number(src[3]),
          .outputs = number(weight[0]),
          .kernel = number(attrs.conv.window.kernel_h),
          .pad_top = number(attrs.conv.window.pad_top),
          .pad_left = number(attrs.conv.window.pad_left),
          .pool = number(attrs.pool.kernel_h),
          .convolved_h = number(between[2]),
          .convolved_w = number(between[3]),
          .pooled_h = number(dst[2]),
          .pooled_w = number(dst[3])};
}

FewChannels forward_sizes(const graph::NodeView& node) {
  return sizes_of(node.attrs<ops::Conv2dMaxPoolAttrs>(), node.input_shape(0), node.input_shape(1),
                  node.output_shape(0));
}

FewChannels d_weight_sizes(const graph::NodeView& node) {
  const auto& attrs = node.attrs<ops::Conv2dMaxPoolGradAttrs>();
  return sizes_of(attrs.forward, node.input_shape(2), attrs.weight, node.input_shape(0));
}

Decision accept_conv2d_max_pool(const KernelRequest& request, const ops::Conv2dMaxPoolAttrs& attrs,
                                const FewChannels& sizes) {
  const ops::Window2d &conv = attrs.conv.window, &pool = attrs.pool;
  if (const Decision floats = want_device_floats(request); !floats.accepted()) return floats;
  if (attrs.conv.groups != 1 || conv.kernel_h != conv.kernel_w || pool.kernel_h != pool.kernel_w ||
      !FewChannels::has(sizes.channels, sizes.kernel, sizes.pool))
    return Decision::no("made for 1 or 3 channels, 3x3 or 5x5, and pools of 2x2 or 3x3");
  if (conv.stride_h != 1 || conv.stride_w != 1 || conv.dilation_h != 1 || conv.dilation_w != 1)
    return Decision::no("made for stride 1 without dilation");
  if (pool.stride_h != 2 || pool.stride_w != 2 || pool.pad_top != 0 || pool.pad_left != 0 ||
      pool.dilation_h != 1 || pool.dilation_w != 1)
    return Decision::no("made for pools of stride 2 with no padding above or left");
  if (sizes.outputs % 32 != 0) return Decision::no("outputs are not a multiple of 32");
  const auto strip =
      static_cast<std::size_t>(sizes.channels * (16 + sizes.kernel) * (sizes.strip_width() + 8));
  if (strip * sizeof(float) > kSharedBytes) return Decision::no("images are too wide for shared memory");
  return Decision::yes();
}

Decision accept_forward_conv2d_max_pool(const KernelRequest& request) {
  if (request.node.input(1).type.dtype != request.node.output(0).type.dtype)
    return Decision::no("weights and outputs of one type only");
  return accept_conv2d_max_pool(request, request.node.attrs<ops::Conv2dMaxPoolAttrs>(),
                                forward_sizes(request.node));
}

Decision accept_d_weight_conv2d_max_pool(const KernelRequest& request) {
  return accept_conv2d_max_pool(request, request.node.attrs<ops::Conv2dMaxPoolGradAttrs>().forward,
                                d_weight_sizes(request.node));
}

// Accepts products with weights of this type on the matrix units.
Decision accept_matrix(const Decision& few_channels, const KernelRequest& request, const FewChannels& sizes,
                       DType weights) {
  if (!few_channels.accepted()) return few_channels;
  const bool rounded = weights == DType::bf16;
  if (!rounded && context_of(request).precision() == Precision::f32)
    return Decision::no("rounds to tf32 before it multiplies");
  return sizes.has_matrix(rounded)
             ? Decision::yes()
             : Decision::no("made for pools of 2x2, rows of at most 28 behind them, and 1 channel or bf16");
}
Decision accept_forward_matrix(const KernelRequest& request) {
  return accept_matrix(accept_forward_conv2d_max_pool(request), request, forward_sizes(request.node),
                       request.node.output(0).type.dtype);
}
Decision accept_d_weight_matrix(const KernelRequest& request) {
  return accept_matrix(accept_d_weight_conv2d_max_pool(request), request, d_weight_sizes(request.node),
                       request.node.dtype());
}

template <bool kMatrix, typename Source, typename T>
void forward_of(const Launch& at) {
  const FewChannels sizes = forward_sizes(at.node);
  const auto* bias = at.node.inputs() == 3 ? at.input<float>(2) : nullptr;
  const auto activation = to_device(at.node.attrs<ops::Conv2dMaxPoolAttrs>().conv.activation);
  if (kMatrix)
    device::conv2d_max_pool_few_channels_matrix(
        at.stream(), sizes, at.device.properties().multiProcessorCount, at.input<Source>(0), at.input<T>(1),
        bias, activation, at.output<T>(0), at.output<std::uint8_t>(1));
  else
    device::conv2d_max_pool_few_channels(at.stream(), sizes, at.input<Source>(0), at.input<T>(1), bias,
                                         activation, at.output<T>(0), at.output<std::uint8_t>(1));
}

template <bool kMatrix>
void forward(const Launch& at) {
  if (at.node.output(0).type.dtype == DType::f32) return forward_of<kMatrix, float, float>(at);
  with_float_type(at.node.dtype(),
                  [&]<typename Source>() { forward_of<kMatrix, Source, __nv_bfloat16>(at); });
}

template <bool kMatrix>
void d_weight(const Launch& at) {
  const auto& attrs = at.node.attrs<ops::Conv2dMaxPoolGradAttrs>();
  with_float_type(at.node.dtype(), [&]<typename T>() {
    const auto start = kMatrix ? device::conv2d_max_pool_d_weight_few_channels_matrix<T>
                               : device::conv2d_max_pool_d_weight_few_channels<T>;
    start(at.stream(), d_weight_sizes(at.node), at.device.properties().multiProcessorCount, at.input<T>(0),
          at.input<std::uint8_t>(1), at.input<T>(2), attrs.mask_by_dst ? at.input<T>(3) : nullptr,
          at.workspace<float>(), at.output<T>(0), attrs.bias ? at.output<float>(1) : nullptr);
  });
}

template <bool kMatrix>
std::unique_ptr<Kernel> make_forward(const KernelRequest& request) {
  KernelIo io = natural_io(request.node);
  io.inputs[0] = {};  // images come plain
  return std::make_unique<LaunchKernel>(request, std::move(io), forward<kMatrix>);
}

template <bool kMatrix>
std::unique_ptr<Kernel> make_d_weight(const KernelRequest& request) {
  KernelIo io = natural_io(request.node);
  io.inputs[2] = {};
  io.workspace_bytes = device::conv2d_max_pool_d_weight_workspace(
      d_weight_sizes(request.node), context_of(request).properties().multiProcessorCount);
  return std::make_unique<LaunchKernel>(request, std::move(io), d_weight<kMatrix>);
}

}  // namespace

std::vector<Candidate> conv2d_few_channels_candidates() {
  return {{&ops::conv2d_max_pool_op, "own:conv2d_max_pool_few_channels", accept_forward_conv2d_max_pool,
           make_forward<false>},
          {&ops::conv2d_max_pool_op, "own:conv2d_max_pool_few_channels_matrix", accept_forward_matrix,
           make_forward<true>},
          {&ops::conv2d_max_pool_d_weight_op, "own:conv2d_max_pool_d_weight_few_channels",
           accept_d_weight_conv2d_max_pool, make_d_weight<false>},
          {&ops::conv2d_max_pool_d_weight_op, "own:conv2d_max_pool_d_weight_few_channels_matrix",
           accept_d_weight_matrix, make_d_weight<true>}};
}

}  // namespace trainyard::backend::cuda
