#include "ops/classify.h"

#include "backend/cuda/counter.h"
#include "backend/cuda/device/classify.h"
#include "backend/cuda/launch_kernel.h"
#include "backend/cuda/list.h"

namespace trainyard::backend::cuda {
namespace {

using device::ClassifyShape;

// The losses of the rows lie in the workspace, and the last block to finish adds them up.
class ClassifyKernel final : public Kernel {
 public:
  explicit ClassifyKernel(const KernelRequest& request)
      : Kernel(natural_io(request.node)),
        node_(request.node),
        device_(context_of(request)),
        counter_(device_) {
    io_.workspace_bytes = static_cast<std::size_t>(node_.input_shape(0)[0]) * sizeof(float);
  }
  void bind(const Binding& binding) override { binding_ = binding; }

  void run(const StepContext&) override {
    const Launch at{node_, io_, binding_, device_};
    const auto& attrs = node_.attrs<ops::ClassifyAttrs>();
    const Shape &src = node_.input_shape(0), &weight = node_.input_shape(1);
    with_float_type(node_.dtype(), [&]<typename T>() {
      device::classify<T>(
          at.stream(), {src[0], src[1], static_cast<int>(weight[0])},
          {.src = at.input<T>(0),
           .weight = at.input<T>(1),
           .bias = at.input<float>(2),
           .labels = at.input<std::int32_t>(3),
           .smoothing = static_cast<float>(attrs.label_smoothing),
           .mask_scale = static_cast<float>(attrs.mask_scale),
           .dropout = {at.context(), attrs.dropout.stream, static_cast<float>(attrs.dropout.rate),
                       static_cast<float>(1 / (1 - attrs.dropout.rate))},
           .dropped = attrs.dropout.rate > 0 ? at.output<T>(5) : nullptr,
           .logits = at.output<T>(0),
           .d_logits = at.output<T>(3),
           .d_src = at.output<T>(4),
           .loss = at.output<float>(1),
           .probabilities = at.output<float>(2),
           .row_losses = at.workspace<float>(),
           .counter = counter_.get()});
    });
  }

 private:
  graph::NodeView node_;
  Context& device_;
  Counter counter_;
  Binding binding_;
};

Decision accept(const KernelRequest& request) {
  if (Decision floats = want_device_floats(request); !floats.accepted()) return floats;
  if (request.node.dtype() != request.node.input(1).type.dtype)
    return Decision::no("inputs and weights of one type only");
  if (request.node.input(2).type.dtype != DType::f32) return Decision::no("adds the bias in f32");
  const Shape &src = request.node.input_shape(0), &weight = request.node.input_shape(1);
  if (src.elements() == 0) return Decision::no("there is nothing to classify");
  if (weight[0] > ClassifyShape::kMostClasses) return Decision::no("made for at most 32 classes");
  // Every row reads all weights; a matrix product reads them once for many rows.
  constexpr std::int64_t kMostReads = 32 << 20;
  if (src[0] * weight.elements() * static_cast<std::int64_t>(size_of(request.node.dtype())) > kMostReads)
    return Decision::no("made for little: matrix products are faster");
  return Decision::yes();
}

std::unique_ptr<Kernel> make(const KernelRequest& request) {
  return std::make_unique<ClassifyKernel>(request);
}

}  // namespace

std::vector<Candidate> classify_candidates() { return {{&ops::classify_op, "own:classify", accept, make}}; }

}  // namespace trainyard::backend::cuda
