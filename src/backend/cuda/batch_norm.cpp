#include "ops/batch_norm.h"

#include "backend/cuda/activation.h"
#include "backend/cuda/counter.h"
#include "backend/cuda/device/batch_norm.h"
#include "backend/cuda/launch_kernel.h"
#include "backend/cuda/list.h"

namespace trainyard::backend::cuda {
namespace {

using device::BatchNormGradient;
using device::BatchNormScales;
using device::ChannelSums;
using device::ChannelSumsWorkspace;

// What sums over rows of a tensor need: the shares of the blocks, and how many have finished.
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
  Counter done_;  // one for each group of channels
};

class BatchNorm final : public SummingKernel {
 public:
  explicit BatchNorm(const KernelRequest& request)
      : SummingKernel(request, request.node.input_shape(0)),
        attrs_(request.node.attrs<ops::BatchNormAttrs>()) {
    io_.in_place = {{0, 0}};
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

class BatchNormGrad final : public SummingKernel {
 public:
  explicit BatchNormGrad(const KernelRequest& request)
      : SummingKernel(request, request.node.input_shape(1)),
        attrs_(request.node.attrs<ops::BatchNormGradAttrs>()) {
    io_.in_place = {{0, 0}};
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

}  // namespace

std::vector<Candidate> batch_norm_candidates() {
  return {{&ops::batch_norm_op, "own:batch_norm", want_device_floats, make<BatchNorm>},
          {&ops::batch_norm_grad_op, "own:batch_norm_grad", want_device_floats, make<BatchNormGrad>}};
}

}  // namespace trainyard::backend::cuda
