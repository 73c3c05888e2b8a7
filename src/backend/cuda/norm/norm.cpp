#include "ops/norm.h"
#include "backend/cuda/elementwise/elementwise.h"
#include "backend/cuda/elementwise/elementwise_kernels.h"
#include "backend/cuda/norm/norm_kernels.h"
#include "backend/cuda/runtime/chunk_table.h"
#include "backend/cuda/runtime/launch_kernel.h"
#include "backend/cuda/runtime/list.h"

namespace trainyard::backend::cuda {

namespace {

using device::BatchNormGradient;
using device::BatchNormScales;
using device::ChannelSums;
using device::ChannelSumsWorkspace;

// A SummingKernel is a kernel that sums over rows of a tensor: it has memory for the sums of the blocks, and
// counts the blocks that have finished.
class SummingKernel : public Kernel {
 public:
  SummingKernel(const KernelRequest& request, const Shape& summed)
      : Kernel(natural_io(request.node)),
        node_(request.node),
        device_(context_of(request)),
        sums_(summed.elements() / summed[1], summed[1], size_of(request.node.dtype()),
              device_.properties().multiProcessorCount),
        done_(device_, sums_.channel_blocks) {
    io_.workspace_bytes = sums_.workspace_bytes();
  }
  void bind(const Binding& binding) override {
    launch_.emplace(Launch{node_, io_, binding_ = binding, device_});
  }

 protected:
  ChannelSumsWorkspace workspace() const { return sums_.workspace(launch_->workspace<float>(), done_.get()); }

  graph::NodeView node_;
  Context& device_;
  ChannelSums sums_;
  Binding binding_;
  std::optional<Launch> launch_;
  BlockCounter done_;  // one for each group of channels
};

class BatchNorm final : public SummingKernel {
 public:
  explicit BatchNorm(const KernelRequest& request)
      : SummingKernel(request, request.node.input_shape(0)),
        attrs_(request.node.attrs<ops::BatchNormAttrs>()) {
    io_.in_place = in_place_of_row(request.node, io_);
  }

  void run(const StepContext&) override {
    with_float_type(node_.dtype(), [this]<typename T>() { start<T>(); });
  }

 private:
  template <typename T>
  void start() {
    const Launch& at = *launch_;
    const BatchNormScales scales{.gamma = at.input<float>(1),
                                 .beta = at.input<float>(2),
                                 .running_mean = at.state<float>(3),
                                 .running_variance = at.state<float>(4),
                                 .mean = at.output<float>(1),
                                 .inverse = at.output<float>(2),
                                 .epsilon = static_cast<float>(attrs_.epsilon),
                                 .momentum = static_cast<float>(attrs_.momentum)};
    if (attrs_.training)
      device::batch_norm_statistics(at.stream(), sums_, at.input<T>(0), scales, workspace());
    else
      device::batch_norm_running(at.stream(), sums_, scales, workspace());
    device::batch_norm_apply<T>(at.stream(), sums_, at.input<T>(0),
                                attrs_.residual ? at.input<T>(5) : nullptr, workspace(),
                                to_device(attrs_.activation), at.output<T>(0));
  }

  ops::BatchNormAttrs attrs_;
};

class BatchNormApply final : public SummingKernel {
 public:
  explicit BatchNormApply(const KernelRequest& request)
      : SummingKernel(request, request.node.input_shape(0)),
        attrs_(request.node.attrs<ops::BatchNormApplyAttrs>()) {
    io_.in_place = in_place_of_row(request.node, io_);
  }

  void run(const StepContext&) override {
    with_float_type(node_.dtype(), [this]<typename T>() { start<T>(); });
  }

 private:
  template <typename T>
  void start() {
    const Launch& at = *launch_;
    device::batch_norm_given(at.stream(), sums_,
                             {.gamma = at.input<float>(1),
                              .beta = at.input<float>(2),
                              .mean = at.input<float>(3),
                              .inverse = at.input<float>(4)},
                             workspace());
    device::batch_norm_apply<T>(at.stream(), sums_, at.input<T>(0),
                                attrs_.residual ? at.input<T>(5) : nullptr, workspace(),
                                to_device(attrs_.activation), at.output<T>(0));
  }

  ops::BatchNormApplyAttrs attrs_;
};

class BatchNormGrad final : public SummingKernel {
 public:
  explicit BatchNormGrad(const KernelRequest& request)
      : SummingKernel(request, request.node.input_shape(1)),
        attrs_(request.node.attrs<ops::BatchNormGradAttrs>()) {
    io_.in_place = in_place_of_row(request.node, io_);
  }

  void run(const StepContext&) override {
    with_float_type(node_.dtype(), [this]<typename T>() { start<T>(); });
  }

 private:
  template <typename T>
  void start() {
    const Launch& at = *launch_;
    const BatchNormGradient<T> gradient{.d_dst = at.input<T>(0),
                                        .src = at.input<T>(1),
                                        .dst = attrs_.mask_by_dst ? at.input<T>(5) : nullptr,
                                        .gamma = at.input<float>(2),
                                        .beta = attrs_.mask_by_beta ? at.input<float>(5) : nullptr,
                                        .mean = at.input<float>(3),
                                        .inverse = at.input<float>(4)};
    device::batch_norm_gradient_sums(at.stream(), sums_, gradient, at.output<float>(1), at.output<float>(2),
                                     workspace());
    device::batch_norm_gradient_apply(at.stream(), sums_, gradient, workspace(), at.output<T>(0));
  }

  ops::BatchNormGradAttrs attrs_;
};

template <typename Made>
std::unique_ptr<Kernel> make(const KernelRequest& request) {
  return std::make_unique<Made>(request);
}

device::ResponseNorm norm_of(const graph::NodeView& node) {
  const auto& attrs = node.attrs<ops::LocalResponseNormAttrs>();
  const Shape& shape = node.input_shape(0);
  return {.pixels = shape[0] * shape[2] * shape[3],
          .channels = static_cast<int>(shape[1]),
          .radius = static_cast<int>(attrs.window / 2),
          .k = static_cast<float>(attrs.k),
          .alpha = static_cast<float>(attrs.alpha),
          .beta = static_cast<float>(attrs.beta)};
}

void norm(const Launch& launch) {
  with_float_type(launch.node.dtype(), [&]<typename T>() {
    device::local_response_norm(launch.stream(), norm_of(launch.node), launch.input<T>(0),
                                launch.output<T>(0));
  });
}

void norm_grad(const Launch& launch) {
  with_float_type(launch.node.dtype(), [&]<typename T>() {
    device::local_response_norm_grad(launch.stream(), norm_of(launch.node), launch.input<T>(0),
                                     launch.input<T>(1), launch.output<T>(0));
  });
}

Decision accept(const KernelRequest& request) {
  if (request.node.input_shape(0)[1] > device::kMaxResponseNormChannels)
    return Decision::no("a pixel's channels do not fit into shared memory");
  return want_device_floats(request);
}

template <LaunchFunction function>
std::unique_ptr<Kernel> make(const KernelRequest& request) {
  return std::make_unique<LaunchKernel>(request, in_place_io(request.node), function);
}

float coefficient_of(const graph::NodeView& node) {
  return static_cast<float>(node.attrs<ops::L2PenaltyAttrs>().coefficient);
}

class PenaltyKernel final : public Kernel {
 public:
  PenaltyKernel(const KernelRequest& request, KernelIo io)
      : Kernel(std::move(io)), node_(request.node), device_(context_of(request)), counter_(device_) {}

  void bind(const Binding& binding) override {
    binding_ = binding;
    std::vector<device::PenaltyTensor> tensors;
    for (int i = 0; i < node_.inputs(); ++i)
      tensors.push_back({.weight = binding.inputs[static_cast<std::size_t>(i)],
                         .elements = node_.input_shape(i).elements(),
                         .first_chunk = 0,
                         .is_bf16 = node_.input(i).type.dtype == DType::bf16});
    table_.fill(device_, std::move(tensors));
  }

  void run(const StepContext&) override {
    const Launch launch{node_, io_, binding_, device_};
    with_float_type(node_.output(0).type.dtype, [&]<typename T>() {
      device::l2_penalty(launch.stream(), table_.chunks(), coefficient_of(node_) / 2,
                         launch.workspace<float>(), counter_.get(), launch.output<T>(0));
    });
  }

 private:
  graph::NodeView node_;
  Context& device_;
  BlockCounter counter_;
  ChunkTable<device::PenaltyTensor> table_;
  Binding binding_;
};

std::unique_ptr<Kernel> make(const KernelRequest& request) {
  KernelIo io = natural_io(request.node);
  for (int i = 0; i < request.node.inputs(); ++i)
    io.inputs[static_cast<std::size_t>(i)] = present_or_natural_layout(request, i);
  io.workspace_bytes = device::kMaxPenaltyParts * sizeof(float);
  return std::make_unique<PenaltyKernel>(request, std::move(io));
}

void grad(const Launch& launch) {
  with_float_type(launch.node.dtype(), [&]<typename T>() {
    device::scale_by(launch.stream(), coefficient_of(launch.node), launch.input<T>(0), launch.input<T>(1),
                     launch.output<T>(0), launch.node.output_shape(0).elements());
  });
}

// The gradient lies as its weight does.
std::unique_ptr<Kernel> make_grad(const KernelRequest& request) {
  KernelIo io = natural_io(request.node);
  io.inputs[1] = io.outputs[0] = present_or_natural_layout(request, 1);
  io.in_place = in_place_of_row(request.node, io);
  return std::make_unique<LaunchKernel>(request, std::move(io), grad);
}

}  // namespace

std::vector<Candidate> norm_candidates() {
  return {{&ops::batch_norm_op, "own:batch_norm", want_device_floats, make<BatchNorm>},
          {&ops::batch_norm_apply_op, "own:batch_norm_apply", want_device_floats, make<BatchNormApply>},
          {&ops::batch_norm_grad_op, "own:batch_norm_grad", want_device_floats, make<BatchNormGrad>},
          {&ops::local_response_norm_op, "own:local_response_norm", accept, make<norm>},
          {&ops::local_response_norm_grad_op, "own:local_response_norm_grad", accept, make<norm_grad>},
          {&ops::l2_penalty_op, "own:l2_penalty", want_device_floats, make},
          {&ops::l2_penalty_grad_op, "own:l2_penalty_grad", want_device_floats, make_grad}};
}

}  // namespace trainyard::backend::cuda
