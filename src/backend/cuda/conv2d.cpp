#include "ops/conv2d.h"

#include "backend/cuda/activation.h"
#include "backend/cuda/conv2d_plain.h"
#include "backend/cuda/convolution.h"
#include "backend/cuda/counter.h"
#include "backend/cuda/device/bias_activation.h"
#include "backend/cuda/device/channel_sum.h"
#include "backend/cuda/device/channel_sums.h"
#include "backend/cuda/launch_kernel.h"
#include "backend/cuda/list.h"

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

// One convolution of cuDNN, and what each op has before or after it.
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
  std::optional<Counter> done_;
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

}  // namespace

std::vector<Candidate> conv2d_candidates() {
  return {{&ops::conv2d_op, "cudnn:conv2d", accept<forward_problem>, make<Forward>},
          {&ops::conv2d_d_src_op, "cudnn:conv2d_d_src", accept<d_src_problem>, make<DSrc>},
          {&ops::conv2d_d_weight_op, "cudnn:conv2d_d_weight", accept<d_weight_problem>, make<DWeight>},
          {&ops::conv2d_op, "own:conv2d_plain", accept_plain<forward_problem>, make_plain<conv2d_plain>},
          {&ops::conv2d_d_src_op, "own:conv2d_d_src_plain", accept_plain<d_src_problem>,
           make_plain<conv2d_d_src_plain>},
          {&ops::conv2d_d_weight_op, "own:conv2d_d_weight_plain", accept_plain<d_weight_problem>,
           make_plain<conv2d_d_weight_plain>}};
}

}  // namespace trainyard::backend::cuda
