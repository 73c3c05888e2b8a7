#include "ops/conv2d.h"
#include "backend/cuda/conv/conv2d_kernels.h"
#include "backend/cuda/conv/convolution.h"
#include "backend/cuda/elementwise/elementwise.h"
#include "backend/cuda/elementwise/elementwise_kernels.h"
#include "backend/cuda/pool/pool.h"
#include "backend/cuda/runtime/channel_sums.h"
#include "backend/cuda/runtime/launch_kernel.h"
#include "backend/cuda/runtime/list.h"
#include "tensor/tensor.h"

namespace trainyard::backend::cuda {

namespace {

ConvolutionProblem forward_problem(const graph::NodeView& node) {
  return {ConvolutionKind::forward, node.attrs<ops::Conv2dAttrs>().window,
          node.input_shape(0),      node.input_shape(1),
          node.output_shape(0),     node.dtype()};
}

ConvolutionProblem d_src_problem(const graph::NodeView& node) {
  const auto& attrs = node.attrs<ops::Conv2dGradAttrs>();
  return {ConvolutionKind::d_src, attrs.conv.window,   attrs.shape,
          node.input_shape(1),    node.input_shape(0), node.dtype()};
}

ConvolutionProblem d_weight_problem(const graph::NodeView& node) {
  const auto& attrs = node.attrs<ops::Conv2dGradAttrs>();
  return {ConvolutionKind::d_weight, attrs.conv.window, node.input_shape(1), attrs.shape,
          node.input_shape(0),       node.dtype()};
}

using ProblemOf = ConvolutionProblem (*)(const graph::NodeView&);

// A ConvolutionKernel is one convolution of cuDNN, and what each op has before or after it.
class ConvolutionKernel : public Kernel {
 public:
  ConvolutionKernel(const KernelRequest& request, ProblemOf problem_of)
      : Kernel(natural_io(request.node)),
        node_(request.node),
        device_(context_of(request)),
        convolution_(device_, device_.convolutions().find(device_, problem_of(request.node))) {
    io_.workspace_bytes = convolution_.workspace_bytes();
  }
  std::string choice() const override { return convolution_.tuned().to_string(); }
  std::vector<Alternative> alternatives() const override { return convolution_.tuned().slower; }

 protected:
  graph::NodeView node_;
  Context& device_;
  Convolution convolution_;
};

class Forward final : public ConvolutionKernel {
 public:
  explicit Forward(const KernelRequest& request) : ConvolutionKernel(request, forward_problem) {}
  void bind(const Binding& binding) override {
    convolution_.bind(binding.inputs[0], binding.inputs[1], binding.outputs[0], binding.workspace);
    bias_ = node_.inputs() == 3 ? reinterpret_cast<const float*>(binding.inputs[2]) : nullptr;
    dst_ = binding.outputs[0];
  }
  void run(const StepContext&) override {
    convolution_.run();
    const ops::ActivationAttrs& activation = node_.attrs<ops::Conv2dAttrs>().activation;
    if (bias_ == nullptr && activation.kind == ops::Activation::none) return;
    const Shape& shape = node_.output_shape(0);
    with_float_type(node_.dtype(), [&]<typename T>() {
      device::bias_activation(device_.stream(), to_device(activation), bias_, reinterpret_cast<T*>(dst_),
                              shape.elements() / shape[1], shape[1]);
    });
  }

 private:
  const float* bias_ = nullptr;
  std::byte* dst_ = nullptr;
};

class DSrc final : public ConvolutionKernel {
 public:
  explicit DSrc(const KernelRequest& request) : ConvolutionKernel(request, d_src_problem) {}
  void bind(const Binding& binding) override {
    convolution_.bind(binding.outputs[0], binding.inputs[1], binding.inputs[0], binding.workspace);
  }
  void run(const StepContext&) override { convolution_.run(); }
};

class DWeight final : public ConvolutionKernel {
 public:
  explicit DWeight(const KernelRequest& request) : ConvolutionKernel(request, d_weight_problem) {
    const Shape& d_dst = node_.input_shape(0);
    if (node_.outputs() < 2 || d_dst.elements() < kManyElements) return;
    sums_.emplace(d_dst.elements() / d_dst[1], d_dst[1], size_of(node_.dtype()),
                  device_.properties().multiProcessorCount);
    done_.emplace(device_, sums_->channel_blocks);
    io_.workspace_bytes = std::max(io_.workspace_bytes, sums_->workspace_bytes());
  }
  void bind(const Binding& binding) override {
    convolution_.bind(binding.inputs[1], binding.outputs[0], binding.inputs[0], binding.workspace);
    d_dst_ = binding.inputs[0];
    d_bias_ = node_.outputs() == 2 ? reinterpret_cast<float*>(binding.outputs[1]) : nullptr;
    workspace_ = reinterpret_cast<float*>(binding.workspace);
  }
  void run(const StepContext&) override {
    convolution_.run();
    if (d_bias_ == nullptr) return;
    const Shape& shape = node_.input_shape(0);
    with_float_type(node_.dtype(), [&]<typename T>() {
      const auto* d_dst = reinterpret_cast<const T*>(d_dst_);
      if (sums_)
        device::channel_sum_of_many(device_.stream(), *sums_, d_dst, d_bias_,
                                    sums_->workspace(workspace_, done_->get()));
      else
        device::channel_sum(device_.stream(), d_dst, d_bias_, shape.elements() / shape[1], shape[1]);
    });
  }

 private:
  static constexpr std::int64_t kManyElements = 4 << 20;
  std::optional<device::ChannelSums> sums_;  // of the bias, where there is much to sum
  std::optional<BlockCounter> done_;
  const std::byte* d_dst_ = nullptr;
  float *d_bias_ = nullptr, *workspace_ = nullptr;
};

template <ProblemOf problem_of>
Decision accept(const KernelRequest& request) {
  if (Decision floats = want_device_floats(request); !floats.accepted()) return floats;
  Context& context = context_of(request);
  if (context.convolutions().find(context, problem_of(request.node)) == nullptr)
    return Decision::no("cuDNN has no engine for it");
  return Decision::yes();
}

// Simple loops, for what cuDNN does not take.
template <ProblemOf problem_of>
Decision accept_plain(const KernelRequest& request) {
  if (Decision floats = want_device_floats(request); !floats.accepted()) return floats;
  return accept<problem_of>(request).accepted() ? Decision::no("cuDNN takes it") : Decision::yes();
}

template <LaunchFunction function>
std::unique_ptr<Kernel> make_plain(const KernelRequest& request) {
  return std::make_unique<LaunchKernel>(request, natural_io(request.node), function);
}

template <typename ConvKernel>
std::unique_ptr<Kernel> make(const KernelRequest& request) {
  return std::make_unique<ConvKernel>(request);
}

ConvolutionProblem problem_of(const graph::NodeView& node) {
  const auto& attrs = node.attrs<ops::Conv2dMaxPoolAttrs>();
  const Shape &src = node.input_shape(0), &weight = node.input_shape(1);
  return {ConvolutionKind::forward,
          attrs.conv.window,
          src,
          weight,
          ops::convolved_shape(attrs, src, weight),
          node.dtype()};
}

// The convolution goes into the workspace; one pass over it does the rest.
class ConvolveThenPool final : public Kernel {
 public:
  explicit ConvolveThenPool(const KernelRequest& request)
      : Kernel(natural_io(request.node)),
        node_(request.node),
        device_(context_of(request)),
        convolution_(device_, device_.convolutions().find(device_, problem_of(request.node))) {
    const Shape between = problem_of(node_).dst;
    between_bytes_ = align_up(static_cast<std::size_t>(between.elements()) * size_of(node_.dtype()));
    pool_ = make_pool(node_.attrs<ops::Conv2dMaxPoolAttrs>().pool, between, node_.output_shape(0));
    io_.workspace_bytes = between_bytes_ + convolution_.workspace_bytes();
  }
  std::string choice() const override { return convolution_.tuned().to_string(); }
  std::vector<Alternative> alternatives() const override { return convolution_.tuned().slower; }
  void bind(const Binding& binding) override {
    memory_ = binding;
    convolution_.bind(binding.inputs[0], binding.inputs[1], binding.workspace,
                      binding.workspace + between_bytes_);
  }
  void run(const StepContext&) override {
    convolution_.run();
    const Launch at{node_, io_, memory_, device_};
    with_float_type(node_.dtype(), [&]<typename T>() {
      device::bias_activation_pool<T>(at.stream(), pool_,
                                      to_device(node_.attrs<ops::Conv2dMaxPoolAttrs>().conv.activation),
                                      node_.inputs() == 3 ? at.input<float>(2) : nullptr, at.workspace<T>(),
                                      at.output<T>(0), at.output<std::uint8_t>(1));
    });
  }

 private:
  graph::NodeView node_;
  Context& device_;
  Convolution convolution_;
  std::size_t between_bytes_ = 0;
  device::Pool pool_{};
  Binding memory_;
};

Decision accept(const KernelRequest& request) {
  if (Decision floats = want_device_floats(request); !floats.accepted()) return floats;
  if (Decision countable = want_countable_elements(request); !countable.accepted()) return countable;
  if (request.node.dtype() != request.node.input(1).type.dtype)
    return Decision::no("images and weights of one type only");
  Context& context = context_of(request);
  if (context.convolutions().find(context, problem_of(request.node)) == nullptr)
    return Decision::no("cuDNN has no engine for the convolution");
  return Decision::yes();
}

std::unique_ptr<Kernel> make(const KernelRequest& request) {
  return std::make_unique<ConvolveThenPool>(request);
}

std::size_t plain_bytes(const KernelRequest& request, const Shape& between) {
  return static_cast<std::size_t>(between.elements()) * size_of(request.node.dtype());
}

// Any attributes; the fusion pass does not count on these.
Decision accept_plain(const KernelRequest& request) {
  if (accept(request).accepted()) return Decision::no("cuDNN takes it");
  if (request.node.dtype() != request.node.input(1).type.dtype)
    return Decision::no("images and weights of one type only");
  return want_countable_elements(request);
}

std::unique_ptr<Kernel> make_plain(const KernelRequest& request) {
  KernelIo io = natural_io(request.node);
  io.workspace_bytes = plain_bytes(request, problem_of(request.node).dst);
  return std::make_unique<LaunchKernel>(request, std::move(io), conv2d_max_pool_plain);
}

std::unique_ptr<Kernel> make_d_weight_plain(const KernelRequest& request) {
  const auto& attrs = request.node.attrs<ops::Conv2dMaxPoolGradAttrs>();
  const Shape between = ops::convolved_shape(attrs.forward, request.node.input_shape(2), attrs.weight);
  KernelIo io = natural_io(request.node);
  io.workspace_bytes = plain_bytes(request, between);
  return std::make_unique<LaunchKernel>(request, std::move(io), conv2d_max_pool_d_weight_plain);
}

}  // namespace

std::vector<Candidate> conv2d_candidates() {
  return {{&ops::conv2d_op, "cudnn:conv2d", accept<forward_problem>, make<Forward>},
          {&ops::conv2d_d_src_op, "cudnn:conv2d_d_src", accept<d_src_problem>, make<DSrc>},
          {&ops::conv2d_d_weight_op, "cudnn:conv2d_d_weight", accept<d_weight_problem>, make<DWeight>},
          {&ops::conv2d_op, "own:conv2d_plain", accept_plain<forward_problem>, make_plain<conv2d_plain>},
          {&ops::conv2d_d_src_op, "own:conv2d_d_src_plain", accept_plain<d_src_problem>,
           make_plain<conv2d_d_src_plain>},
          {&ops::conv2d_d_weight_op, "own:conv2d_d_weight_plain", accept_plain<d_weight_problem>,
           make_plain<conv2d_d_weight_plain>},
          {&ops::conv2d_max_pool_op, "cudnn:conv2d_max_pool", accept, make},
          {&ops::conv2d_max_pool_op, "own:conv2d_max_pool_plain", accept_plain, make_plain},
          {&ops::conv2d_max_pool_d_weight_op, "own:conv2d_max_pool_d_weight_plain", want_countable_elements,
           make_d_weight_plain}};
}

}  // namespace trainyard::backend::cuda
