#include "ops/conv2d_max_pool.h"

#include "backend/cuda/activation.h"
#include "backend/cuda/conv2d_plain.h"
#include "backend/cuda/convolution.h"
#include "backend/cuda/device/bias_activation_pool.h"
#include "backend/cuda/launch_kernel.h"
#include "backend/cuda/list.h"
#include "backend/cuda/pool.h"
#include "tensor/host_tensor.h"

namespace trainyard::backend::cuda {
namespace {

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

std::vector<Candidate> conv2d_max_pool_candidates() {
  return {{&ops::conv2d_max_pool_op, "cudnn:conv2d_max_pool", accept, make},
          {&ops::conv2d_max_pool_op, "own:conv2d_max_pool_plain", accept_plain, make_plain},
          {&ops::conv2d_max_pool_d_weight_op, "own:conv2d_max_pool_d_weight_plain", want_countable_elements,
           make_d_weight_plain}};
}

}  // namespace trainyard::backend::cuda
